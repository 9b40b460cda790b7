#include "nadi/testing/temporary_folder.h"

#include <stdlib.h>

#include <stdexcept>
#include <string>

namespace nadi {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "nadi_test_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

WorkingFolder::WorkingFolder() : before_(fs::current_path()) {
  fs::current_path(folder_.path());
}

WorkingFolder::~WorkingFolder() {
  fs::current_path(before_);
}

}  // namespace nadi
