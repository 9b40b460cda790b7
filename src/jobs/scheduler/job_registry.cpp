#include "nadi/scheduler/job_registry.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "nadi/base/format.h"
#include "nadi/base/natural_order.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

// "" where nobody says where the user's files are.
fs::path registry_folder() {
  if (const char* const state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return fs::path(state) / "nadi" / "jobs";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".local" / "state" / "nadi" / "jobs";
  return {};
}

void remove_old_links(const fs::path& registry) {
  std::error_code error;
  std::vector<fs::path> gone;
  for (fs::directory_iterator entry(registry, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code problem;
    if (fs::is_symlink(entry->path(), problem) && !fs::exists(entry->path(), problem))
      gone.push_back(entry->path());
  }
  for (const fs::path& link : gone) fs::remove(link, error);
}

// The link that was made last; "" where there is none.
std::string newest_link(const fs::path& registry) {
  std::string newest;
  std::pair<time_t, long> newest_time{0, 0};
  std::error_code error;
  for (fs::directory_iterator entry(registry, error), end; !error && entry != end; entry.increment(error)) {
    struct stat link {};
    std::error_code problem;
    if (::lstat(entry->path().c_str(), &link) != 0 || !fs::exists(entry->path(), problem)) continue;
    const std::pair<time_t, long> time{link.st_mtim.tv_sec, link.st_mtim.tv_nsec};
    if (time <= newest_time) continue;
    newest_time = time;
    newest = entry->path().filename().string();
  }
  return newest;
}

}  // namespace

std::string register_job(const std::string& id, const fs::path& folder) {
  const fs::path registry = registry_folder();
  if (registry.empty()) return "HOME is not set";
  std::error_code error;
  fs::create_directories(registry, error);
  if (error) return format("cannot make {}: {}", registry.string(), error.message());
  remove_old_links(registry);
  fs::create_directory_symlink(fs::absolute(folder), registry / id, error);
  return error ? format("cannot write in {}: {}", registry.string(), error.message()) : "";
}

void forget_job(const std::string& id) {
  const fs::path registry = registry_folder();
  std::error_code ignored;
  if (!registry.empty()) fs::remove(registry / id, ignored);
}

std::optional<fs::path> registered_job(const std::string& id) {
  if (id.empty() || id.find('/') != std::string::npos || id[0] == '.') return std::nullopt;
  const fs::path registry = registry_folder();
  if (registry.empty()) return std::nullopt;
  std::error_code error;
  const auto target = [&](const std::string& name) -> std::optional<fs::path> {
    const fs::path folder = fs::read_symlink(registry / name, error);
    if (error || !fs::is_directory(folder, error)) return std::nullopt;
    return folder;
  };
  if (id == kLastJob) {
    const std::string newest = newest_link(registry);
    return newest.empty() ? std::nullopt : target(newest);
  }
  if (const auto folder = target(id)) return folder;
  // A run of a sweep lies beside the sweep.
  const std::size_t line = id.rfind('_');
  const auto sweep = line == std::string::npos ? std::nullopt : target(id.substr(0, line));
  if (!sweep || !fs::is_directory(sweep->parent_path() / id, error)) return std::nullopt;
  return sweep->parent_path() / id;
}

std::vector<fs::path> registered_jobs() {
  std::vector<std::string> ids;
  std::error_code error;
  for (fs::directory_iterator entry(registry_folder(), error), end; !error && entry != end;
       entry.increment(error))
    ids.push_back(entry->path().filename().string());
  std::ranges::sort(ids, natural_less);
  std::vector<fs::path> folders;
  for (const std::string& id : ids)
    if (auto folder = registered_job(id)) folders.push_back(std::move(*folder));
  return folders;
}

}  // namespace nadi::inline jobs
