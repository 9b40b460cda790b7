#include "nadi/testing/working_folder.h"

namespace nadi {

namespace fs = std::filesystem;

WorkingFolder::WorkingFolder() : before_(fs::current_path()) {
  fs::current_path(folder_.path());
}

WorkingFolder::~WorkingFolder() {
  fs::current_path(before_);
}

}  // namespace nadi
