#include "nadi/base/atomic_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/hidden_name.h"
#include "nadi/base/retire_folder.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

Error folder_error(const fs::path& path, std::string_view action, int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  return {ErrorKind::kEnvironment, {.file = path.string()}, format("cannot {}: {}", action, reason)};
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

bool is_there(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

bool is_real_folder(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error) throw folder_error(folder, "read the folder", error.value());
  return entries;
}

bool may_go(const fs::path& within, bool is_folder, const AtomicFolderOptions& options) {
  return options.removable ? options.removable(within) : !is_folder;
}

// Throws when something within `folder`, at any depth, may neither be removed nor kept.
void check_contents(const fs::path& target, const fs::path& folder, const AtomicFolderOptions& options) {
  for (const fs::path& entry : entries_of(folder)) {
    const fs::path within = entry.lexically_relative(target);
    const bool is_folder = is_real_folder(entry);
    if (!may_go(within, is_folder, options) && (is_folder || options.strangers == Strangers::kRefuse))
      throw Error{ErrorKind::kEnvironment,
                  {.file = target.string()},
                  format("the folder holds {}, '{}', and is not replaced",
                         is_folder ? "another folder" : "a file of another kind", within.string()),
                  "move it away, or choose another name"};
    if (is_folder) check_contents(target, entry, options);
  }
}

// Gives files of `old` that may not go a second name in `made`, where that has no file of this name.
void keep_strangers(const fs::path& target, const fs::path& old, const fs::path& made,
                    const AtomicFolderOptions& options) {
  for (const fs::path& entry : entries_of(old)) {
    const fs::path within = entry.lexically_relative(target), kept = made / within;
    if (is_real_folder(entry)) {
      keep_strangers(target, entry, made, options);
      continue;
    }
    if (may_go(within, false, options) || is_there(kept)) continue;
    std::error_code error;
    fs::create_directories(kept.parent_path(), error);
    if (error) throw folder_error(kept.parent_path(), "create the folder", error.value());
    if (link(entry.c_str(), kept.c_str()) != 0) throw folder_error(entry, "keep the file", errno);
  }
}

// Throws unless there is nothing at `target`, a symbolic link, or a folder that may be replaced. Returns
// whether there is something.
bool check_replaceable(const fs::path& target, const AtomicFolderOptions& options) {
  struct stat status {};
  if (lstat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    throw folder_error(target, "write the folder", errno);
  }
  if (S_ISLNK(status.st_mode)) return true;
  if (!S_ISDIR(status.st_mode)) throw folder_error(target, "write the folder", ENOTDIR);
  check_contents(target, target, options);
  return true;
}

Error folder_exists_error(const fs::path& path) {
  return {ErrorKind::kUsage, {.file = path.string()}, "the folder exists"};
}

void sync_file(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw folder_error(path, "open", errno);
  const int failed = fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (failed != 0) throw folder_error(path, "write", failed);
}

// All files and folders within, and the folder.
void sync_tree(const fs::path& folder) {
  for (const fs::path& entry : entries_of(folder)) {
    if (is_real_folder(entry)) {
      sync_tree(entry);
    } else {
      sync_file(entry);
    }
  }
  sync_folder(folder);
}

bool cannot_do_it(int error_number) {
  return error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP;
}

bool runs(pid_t process) {
  return kill(process, 0) == 0 || errno != ESRCH;
}

}  // namespace

AtomicFolder::AtomicFolder(fs::path target, AtomicFolderOptions options)
    : target_(std::move(target)), options_(std::move(options)) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "best_model/"
  if (options_.overwrite == Overwrite::kRefuse && is_there(target_)) throw folder_exists_error(target_);
  check_replaceable(target_, options_);
  std::error_code error;
  fs::create_directories(parent_of(target_), error);
  if (error) throw folder_error(parent_of(target_), "create the folder", error.value());
  const fs::path temporary = hidden_sibling(target_, kUnfinishedSuffix);
  // Left by a process of the same number: in containers that is the rule.
  remove_tree(temporary);
  if (mkdir(temporary.c_str(), 0777) != 0)
    throw folder_error(parent_of(target_), "create a folder in this folder", errno);
  temporary_ = temporary;
}

AtomicFolder::~AtomicFolder() {
  if (!committed_) remove_tree(temporary_);
}

void AtomicFolder::write(const std::string& name, std::string_view contents) {
  write(name, [&](AtomicFile& file) { file.write(contents); });
}

void AtomicFolder::write(const std::string& name, const std::function<void(AtomicFile&)>& fill) {
  AtomicFile file(path_of_new(name), Overwrite::kRefuse);
  fill(file);
  file.close(Durability::kLater);
  file.commit();
}

PositionedFile& AtomicFolder::open(const std::string& name, Bytes size) {
  const fs::path path = path_of_new(name);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) throw folder_error(path.parent_path(), "create the folder", error.value());
  open_files_.push_back(std::make_unique<PositionedFile>(path, size));
  return *open_files_.back();
}

fs::path AtomicFolder::path_of_new(const std::string& name) const {
  check(!committed_, "a file was added to an AtomicFolder after commit()");
  const fs::path path(name);
  check(path.is_relative() && path.has_filename() && path == path.lexically_normal() && *path.begin() != "..",
        "the name of a file in an AtomicFolder leads out of it");
  return temporary_ / path;
}

void AtomicFolder::commit() {
  check(!committed_, "AtomicFolder::commit() called twice");
  open_files_.clear();
  sync_tree(temporary_);
  if (options_.overwrite == Overwrite::kRefuse || !check_replaceable(target_, options_)) {
    publish_new();
  } else {
    if (options_.strangers == Strangers::kKeep && is_real_folder(target_)) {
      keep_strangers(target_, target_, temporary_, options_);
      sync_folder(temporary_);
    }
    if (options_.exchange) {
      exchange_with_old();
    } else {
      replace_in_two_steps();
    }
  }
}

void AtomicFolder::publish_new() {
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
    // Where the file system cannot: rename() replaces an empty folder at most.
    const int failed = !cannot_do_it(errno)                               ? errno
                       : rename(temporary_.c_str(), target_.c_str()) != 0 ? errno
                                                                          : 0;
    if (failed == EEXIST || failed == ENOTEMPTY) throw folder_exists_error(target_);
    if (failed != 0) throw folder_error(target_, "write the folder", failed);
  }
  committed_ = true;
  sync_folder(parent_of(target_));
}

void AtomicFolder::exchange_with_old() {
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    if (cannot_do_it(errno)) return replace_in_two_steps();
    throw folder_error(target_, "write the folder", errno);
  }
  committed_ = true;
  sync_folder(
      parent_of(target_));  // before the old folder is removed: one of the two must always be on the disk
  remove_tree(temporary_);
}

void AtomicFolder::replace_in_two_steps() {
  const fs::path aside = hidden_sibling(target_, kAsideSuffix);
  remove_tree(aside);
  if (rename(target_.c_str(), aside.c_str()) != 0) throw folder_error(target_, "write the folder", errno);
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int failed = errno;
    if (rename(aside.c_str(), target_.c_str()) != 0)
      throw Error{ErrorKind::kEnvironment,
                  {.file = target_.string()},
                  format("cannot write the folder: {}", std::generic_category().message(failed)),
                  format("what it held is now in '{}'", aside.string())};
    throw folder_error(target_, "write the folder", failed);
  }
  committed_ = true;
  sync_folder(parent_of(target_));
  remove_tree(aside);
}

int remove_leftovers(const fs::path& parent) {
  if (!is_there(parent)) return 0;
  int done = 0;
  for (const fs::path& path : entries_of(parent)) {
    const std::optional<HiddenName> hidden = parse_hidden_name(path.filename().string());
    if (!hidden) continue;
    // Nobody is between the two steps now, so an old folder of this process's number is an earlier one's.
    const bool earlier_one = hidden->is_aside && hidden->owner == getpid();
    if (runs(hidden->owner) && !earlier_one) continue;
    const fs::path target = parent / hidden->purpose;
    if (hidden->is_aside && !is_there(target)) {
      if (rename(path.c_str(), target.c_str()) != 0) throw folder_error(target, "put the folder back", errno);
    } else {
      remove_tree(path);
    }
    if (!is_there(path)) ++done;
  }
  if (done > 0) sync_folder(parent);
  return done;
}

}  // namespace nadi::inline ground
