// A file that the program carries in itself. The build writes the functions that list them:
// cmake/embedded_files.cmake.
//
//   std::span<const EmbeddedFile> sample_squad_files();                    // declared by who uses it
//   const std::string_view text = embedded_text(sample_squad_files(), "train");
#pragma once

#include <span>
#include <string_view>

namespace nadi::inline ground {

struct EmbeddedFile {
  std::string_view name;  // without its folder and its last ending
  std::string_view text;
};

// The file must be there: which ones there are is decided when the program is built.
std::string_view embedded_text(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace nadi::inline ground
