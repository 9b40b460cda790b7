// Programs on PATH.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace nadi::inline ground {

// A name with a slash is a path already; any other is looked for in the folders of PATH. Nothing when there
// is no such file that may be executed.
std::optional<std::filesystem::path> find_program(const std::string& name);

// The file of the running program.
std::filesystem::path own_program();

}  // namespace nadi::inline ground
