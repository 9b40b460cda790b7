// Whole files as texts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nadi::inline ground {

std::string read_text(const std::filesystem::path& path);  // the test fails when there is no such file
void write_text(const std::filesystem::path& path, std::string_view text);  // makes the folder

}  // namespace nadi::inline ground
