#include "nadi/base/writable_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/hidden_name.h"

namespace nadi::inline ground {

void require_writable_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // A file without a name leaves nothing behind, whenever the program is killed; not every file system has
  // them.
  if (const int nameless = error ? -1 : open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
      nameless >= 0) {
    close(nameless);
    return;
  }
  if (!error) {
    const std::filesystem::path attempt = folder / hidden_name("try", kUnfinishedSuffix);
    const int descriptor = open(attempt.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) error = {errno, std::generic_category()};
    if (descriptor >= 0) {
      close(descriptor);
      unlink(attempt.c_str());
    }
  }
  if (error)
    throw Error(ErrorKind::kEnvironment, {.file = folder.string()},
                format("cannot write to the folder: {}", error.message()));
}

}  // namespace nadi::inline ground
