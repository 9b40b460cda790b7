#include "nadi/testing/source_folder.h"

namespace nadi::inline ground {

std::filesystem::path source_folder() {
  return NADI_SOURCE_DIR;
}

std::filesystem::path shared_data() {
  return source_folder() / "../shared/data";
}

}  // namespace nadi::inline ground
