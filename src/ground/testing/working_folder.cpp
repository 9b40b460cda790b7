#include "nadi/testing/working_folder.h"

#include <cstdlib>

namespace nadi::inline ground {

namespace fs = std::filesystem;

// What the program remembers for its user is in the folder, too: tests do not write into a home.
constexpr const char* kStateVariable = "XDG_STATE_HOME";

WorkingFolder::WorkingFolder() : before_(fs::current_path()) {
  fs::current_path(folder_.path());
  ::setenv(kStateVariable, (folder_.path() / ".state").c_str(), 1);
}

WorkingFolder::~WorkingFolder() {
  ::unsetenv(kStateVariable);
  fs::current_path(before_);
}

}  // namespace nadi::inline ground
