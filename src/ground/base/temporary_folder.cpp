#include "nadi/base/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(std::string_view purpose) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  const char* hint = "set TMPDIR to a folder with room";
  if (error) throw environment_error(format("no folder for temporary files: {}", error.message()), hint);
  std::string name = (parent / format("nadi-{}{}XXXXXX", purpose, purpose.empty() ? "" : "-")).string();
  if (mkdtemp(name.data()) == nullptr)
    throw environment_error(
        format("cannot make a folder in {}: {}", parent.string(), std::generic_category().message(errno)),
        hint);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace nadi::inline ground
