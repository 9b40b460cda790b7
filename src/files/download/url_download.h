// Gets a file from an address, with curl or wget, whichever there is.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace nadi::inline files {

// http:// or https://.
bool is_url(std::string_view text);

// Error (environment) where there is neither program, or the file cannot be had.
void download_url(const std::string& url, const std::filesystem::path& to, const std::function<void()>& wait);

}  // namespace nadi::inline files
