#include "nadi/base/embedded_file.h"

#include "nadi/base/error.h"

namespace nadi::inline ground {

std::string_view embedded_text(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files)
    if (file.name == name) return file.text;
  check(false, "a file that was asked for is built into the program");
  unreachable();
}

}  // namespace nadi::inline ground
