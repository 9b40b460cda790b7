#include "nadi/base/retire_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/hidden_name.h"

namespace nadi::inline ground {
namespace {

// The names in the folder; closes the descriptor. All of them before the first is removed: a file system may
// skip some when a folder changes while it is read.
std::vector<std::string> take_names(int descriptor) {
  std::vector<std::string> names;
  DIR* const folder = fdopendir(descriptor);
  if (folder == nullptr) {
    close(descriptor);
    return names;
  }
  while (const dirent* const entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(folder);
  return names;
}

// Each folder is opened within its parent, and only when it is one: a name on the way cannot lead elsewhere.
// Returns the number of the first error, 0 for none.
int remove_within(int parent, const char* name) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  const int not_a_file = errno;
  if (not_a_file != EISDIR && not_a_file != EPERM) return not_a_file;
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return errno == ENOTDIR || errno == ELOOP ? not_a_file : errno;
  int failed = 0;
  const int names_of = fcntl(folder, F_DUPFD_CLOEXEC, 0);
  if (names_of < 0) failed = errno;
  for (const std::string& entry : names_of < 0 ? std::vector<std::string>() : take_names(names_of))
    if (const int now = remove_within(folder, entry.c_str()); now != 0 && failed == 0) failed = now;
  close(folder);
  if (failed == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) failed = errno;
  return failed;
}

}  // namespace

std::error_code remove_tree(const std::filesystem::path& path) noexcept {
  try {
    return {remove_within(AT_FDCWD, path.c_str()), std::generic_category()};
  } catch (const std::bad_alloc&) {
    return std::make_error_code(std::errc::not_enough_memory);
  }
}

std::error_code retire_folder(const std::filesystem::path& given) {
  const std::filesystem::path folder = given.has_filename() ? given : given.parent_path();
  const std::filesystem::path hidden = hidden_sibling(folder, kUnfinishedSuffix);
  remove_tree(hidden);  // of an earlier process of this number
  if (rename(folder.c_str(), hidden.c_str()) != 0)
    return {errno == ENOENT ? 0 : errno, std::generic_category()};
  return remove_tree(hidden);
}

}  // namespace nadi::inline ground
