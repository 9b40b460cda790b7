#include "nadi/data/hugging_face_cache.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/json.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// Descriptions are a line; a data file may end with .json as well, and be large.
constexpr std::uintmax_t kLargestDescription = 65536;

// The address in a description; "" in any other file.
std::string url_in(const fs::path& description) {
  std::error_code failed;
  if (fs::file_size(description, failed) > kLargestDescription || failed) return "";
  try {
    const JsonDocument document = read_json(description);
    const JsonValue root = document.root();
    if (!root.is_object()) return "";
    const auto url = root.find("url");
    return url && url->is_string() ? url->as_string() : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::optional<fs::path> find_downloaded(const fs::path& cache, std::string_view name) {
  std::error_code failed;
  std::vector<fs::path> descriptions;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache / "downloads", failed))
    if (entry.path().extension() == ".json") descriptions.push_back(entry.path());
  std::ranges::sort(descriptions);
  const std::string end = "/" + std::string(name);
  for (const fs::path& description : descriptions) {
    fs::path file = description;
    file.replace_extension();  // takes ".json" away
    if (url_in(description).ends_with(end) && fs::is_regular_file(file, failed)) return file;
  }
  return std::nullopt;
}

}  // namespace nadi::inline files
