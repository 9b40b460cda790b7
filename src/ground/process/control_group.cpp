#include "nadi/process/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "nadi/base/read_number.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> parse(std::string_view text) {
  std::int64_t number = 0;
  if (!read_number(text, number)) return std::nullopt;
  return number;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool names_memory(const std::string& list) {
  return std::ranges::count(split(list, ','), "memory") > 0;
}

// Where a hierarchy with a memory controller is mounted.
struct Mount {
  std::string begin;  // the part of the hierarchy that is mounted: "/" is all of it
  fs::path at;
};

// A line: id parent device begin at options ... - type source options
std::optional<Mount> find_mount(const fs::path& root, CgroupVersion version) {
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> left = split(line.substr(0, dash), ' ');
    const std::vector<std::string> right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    const bool matches = version == CgroupVersion::kTwo ? right[0] == "cgroup2"
                                                        : right[0] == "cgroup" && names_memory(right[2]);
    if (matches) return Mount{.begin = left[3], .at = root / fs::path(left[4]).relative_path()};
  }
  return std::nullopt;
}

// A line: number:controllers:path, with "0::path" for version 2.
std::optional<std::string> find_path(const fs::path& root, CgroupVersion version) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = version == CgroupVersion::kTwo ? controllers.empty() : names_memory(controllers);
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

void add_levels(const fs::path& root, CgroupVersion version, std::vector<MemoryGroup>& groups) {
  const std::optional<Mount> mount = find_mount(root, version);
  std::optional<std::string> path = find_path(root, version);
  if (!mount || !path) return;
  if (mount->begin != "/") {
    // What is above the mount cannot be seen. A path elsewhere is that of a group outside of ours.
    const bool below = path->starts_with(mount->begin + "/") || *path == mount->begin;
    *path = below ? path->substr(mount->begin.size()) : "";
  }
  std::error_code error;
  fs::path relative = fs::path(*path).relative_path().lexically_normal();
  if (relative == "." || *relative.begin() == ".." || !fs::is_directory(mount->at / relative, error))
    relative.clear();
  for (;;) {
    groups.push_back({.folder = relative.empty() ? mount->at : mount->at / relative, .version = version});
    if (relative.empty()) return;
    relative = relative.parent_path();
  }
}

}  // namespace

std::vector<MemoryGroup> memory_groups(const fs::path& root) {
  std::vector<MemoryGroup> groups;
  for (const CgroupVersion version : {CgroupVersion::kTwo, CgroupVersion::kOne})
    add_levels(root, version, groups);
  return groups;
}

std::optional<std::int64_t> number_in_file(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  return parse(word);
}

std::optional<std::int64_t> number_in_file(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, second;
    if (words >> first >> second && first == name) return parse(second);
  }
  return std::nullopt;
}

}  // namespace nadi::inline ground
