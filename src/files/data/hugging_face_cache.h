// Files that Hugging Face's library `datasets` has downloaded. It puts them into <cache>/downloads under
// names made of hashes, each with a file beside it that tells where it came from:
//   downloads/8d7a...          the file, as it was
//   downloads/8d7a....json     {"url": "https://.../train-v1.1.json", "etag": ...}
// What the library makes of them (Arrow tables) is not read.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace nadi::inline files {

// The downloaded file whose address ends with "/<name>"; of several the first by name. Nothing where there is
// none, or no such cache. Files there that describe no download are passed over: the folder is not ours.
std::optional<std::filesystem::path> find_downloaded(const std::filesystem::path& cache,
                                                     std::string_view name);

}  // namespace nadi::inline files
