#include "nadi/process/find_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {

namespace fs = std::filesystem;

std::optional<fs::path> find_program(const std::string& name) {
  const auto usable = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return usable(name) ? std::optional<fs::path>(name) : std::nullopt;
  const char* const variable = std::getenv("PATH");
  const std::string folders = variable != nullptr ? variable : "";
  for (std::size_t at = 0; at < folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    if (end > at && usable(fs::path(folders.substr(at, end - at)) / name))
      return fs::path(folders.substr(at, end - at)) / name;
    at = end + 1;
  }
  return std::nullopt;
}

fs::path own_program() {
  std::error_code failure;
  fs::path path = fs::read_symlink("/proc/self/exe", failure);
  if (failure)
    throw environment_error(format("cannot find the running program's own file: {}", failure.message()));
  return path;
}

}  // namespace nadi::inline ground
