#include "nadi/base/atomic_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".nadi.";
constexpr std::string_view kNewSuffix = ".tmp";
constexpr std::string_view kOldSuffix = ".old";

Error folder_error(const fs::path& path, std::string_view action, int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  return {ErrorKind::kEnvironment, {.file = path.string()}, format("cannot {}: {}", action, reason)};
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

fs::path hidden_sibling(const fs::path& target, std::string_view suffix) {
  return parent_of(target) /
         format("{}{}.{}@{}{}", kPrefix, target.filename().string(), getpid(), host_name(), suffix);
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

// Removes a folder with all that is in it, or a symbolic link, which is not followed. Leaves what it cannot
// remove.
void remove_tree(const fs::path& folder) noexcept {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

// Throws when a folder within `folder`, at any depth, may not be removed.
void check_folders_within(const fs::path& target, const fs::path& folder,
                          const AtomicFolderOptions& options) {
  for (const fs::path& entry : entries_of(folder)) {
    if (!is_real_folder(entry)) continue;
    const fs::path within = entry.lexically_relative(target);
    if (!options.removable || !options.removable(within))
      throw Error{ErrorKind::kEnvironment,
                  {.file = target.string()},
                  format("the folder holds another folder, '{}', and is not replaced", within.string()),
                  "move it away, or choose another name"};
    check_folders_within(target, entry, options);
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
  check_folders_within(target, target, options);
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

// The parts of a hidden folder's name, if it is one of this machine.
struct Hidden {
  std::string target;
  pid_t owner = 0;
  bool is_old = false;
};

std::optional<Hidden> parse_hidden(std::string_view name) {
  Hidden hidden;
  hidden.is_old = name.ends_with(kOldSuffix);
  if (!name.starts_with(kPrefix) || (!hidden.is_old && !name.ends_with(kNewSuffix))) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kNewSuffix.size());
  const std::string at_host = "@" + host_name();
  if (!name.ends_with(at_host)) return std::nullopt;
  name.remove_suffix(at_host.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view pid = name.substr(dot + 1);
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), hidden.owner);
  if (error != std::errc() || end != pid.data() + pid.size() || hidden.owner <= 0) return std::nullopt;
  hidden.target = name.substr(0, dot);
  return hidden;
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
  const fs::path temporary = hidden_sibling(target_, kNewSuffix);
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
  } else if (options_.exchange) {
    exchange_with_old();
  } else {
    replace_in_two_steps();
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
  const fs::path aside = hidden_sibling(target_, kOldSuffix);
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

int remove_stale_folders(const fs::path& parent) {
  if (!is_there(parent)) return 0;
  int done = 0;
  for (const fs::path& path : entries_of(parent)) {
    const std::optional<Hidden> hidden = parse_hidden(path.filename().string());
    if (!hidden) continue;
    // Nobody is between the two steps now, so an old folder of this process's number is an earlier one's.
    const bool earlier_one = hidden->is_old && hidden->owner == getpid();
    if (runs(hidden->owner) && !earlier_one) continue;
    const fs::path target = parent / hidden->target;
    if (hidden->is_old && !is_there(target)) {
      if (rename(path.c_str(), target.c_str()) != 0) throw folder_error(target, "put the folder back", errno);
    } else {
      remove_tree(path);
    }
    if (!is_there(path)) ++done;
  }
  if (done > 0) sync_folder(parent);
  return done;
}

}  // namespace nadi
