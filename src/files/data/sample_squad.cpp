#include "nadi/data/sample_squad.h"

#include "nadi/base/embedded_file.h"

namespace nadi::inline files {

std::span<const EmbeddedFile> sample_squad_files();

std::string_view sample_squad_train() {
  return embedded_text(sample_squad_files(), "train");
}

std::string_view sample_squad_dev() {
  return embedded_text(sample_squad_files(), "dev");
}

}  // namespace nadi::inline files
