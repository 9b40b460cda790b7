#include "nadi/download/npm_package.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/download/run_program.h"

namespace nadi::inline files {

std::filesystem::path get_npm_package(const std::string& package, const std::filesystem::path& folder,
                                      const std::function<void()>& wait) {
  run_program({"npm", "pack", "--loglevel=error", "--pack-destination", folder.string(), package},
              {.install = "apt-get install npm (Debian, Ubuntu)", .wait = wait});
  std::filesystem::path archive;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".tgz") archive = entry.path();
  if (archive.empty()) throw environment_error(format("npm left no archive of {}", package));
  run_program({"tar", "-xzf", archive.string(), "-C", folder.string()},
              {.install = "apt-get install tar", .wait = wait});
  return folder / "package";
}

}  // namespace nadi::inline files
