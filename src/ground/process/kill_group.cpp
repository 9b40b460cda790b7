#include "nadi/process/kill_group.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "nadi/process/control_group.h"
#include "nadi/process/descriptor.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

// Files of control groups take what one write() says, or nothing.
bool write_word(const fs::path& file, std::string_view word) {
  const Descriptor descriptor(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return descriptor.is_open() &&
         write(descriptor.get(), word.data(), word.size()) == static_cast<ssize_t>(word.size());
}

std::optional<fs::path> own_group(const fs::path& root) {
  const std::vector<MemoryGroup> groups = memory_groups(root);
  const auto innermost = std::ranges::find(groups, CgroupVersion::kTwo, &MemoryGroup::version);
  return innermost == groups.end() ? std::nullopt : std::optional(innermost->folder);
}

}  // namespace

std::optional<KillGroup> KillGroup::make(std::string_view name, const fs::path& root) {
  const auto parent = own_group(root);
  if (!parent) return std::nullopt;
  std::error_code error;
  const fs::path folder = *parent / name;
  if (!fs::create_directory(folder, error)) return std::nullopt;
  KillGroup group(folder);
  if (access((folder / "cgroup.kill").c_str(), W_OK) != 0) return std::nullopt;  // the folder is removed
  return group;
}

KillGroup::~KillGroup() {
  if (!folder_.empty()) rmdir(folder_.c_str());
}

bool KillGroup::take_this_process() const {
  return write_word(folder_ / "cgroup.procs", "0");
}

void KillGroup::kill() const {
  write_word(folder_ / "cgroup.kill", "1");
}

bool KillGroup::is_empty() const {
  return number_in_file(folder_ / "cgroup.events", "populated").value_or(0) == 0;
}

void leave_kill_group(std::string_view name_begin) {
  const auto group = own_group("/");
  if (group && group->filename().string().starts_with(name_begin))
    write_word(group->parent_path() / "cgroup.procs", "0");
}

}  // namespace nadi::inline ground
