#include "nadi/data/data_path.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/base/read_number.h"
#include "nadi/data/indexed_dataset.h"

namespace nadi::inline files {
namespace {

std::optional<double> parse_number(const std::string& word) {
  double number = 0;
  if (!read_number(word, number)) return std::nullopt;
  return number;
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::vector<DataPath> datasets_in(const std::filesystem::path& folder) {
  std::vector<DataPath> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == kIndexSuffix)
      paths.push_back({.prefix = indexed_dataset_prefix(entry.path())});
  }
  if (error) throw read_error(folder.string(), error.value());
  if (paths.empty())
    throw input_error({.file = folder.string()}, "there is no dataset in this folder: no .idx",
                      "'nadi data preprocess' makes one of text");
  std::sort(paths.begin(), paths.end(),
            [](const DataPath& a, const DataPath& b) { return a.prefix < b.prefix; });
  return paths;
}

// "0.3 a 0.7 b": numbers at every other place.
bool has_weights(std::span<const std::string> words) {
  if (words.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (!parse_number(words[i])) return false;
  }
  return true;
}

}  // namespace

std::vector<DataPath> parse_data_path(std::span<const std::string> words) {
  if (words.empty()) throw usage_error("no dataset is named");
  std::vector<DataPath> paths;
  if (!has_weights(words)) {
    for (const std::string& word : words) {
      if (words.size() > 1 && parse_number(word))
        throw usage_error(format("data path: '{}' is a weight, but not every dataset has one", word),
                          "put a weight in front of each dataset, or of none: 0.3 a 0.7 b");
      if (is_folder(word)) {
        for (DataPath& path : datasets_in(word)) paths.push_back(std::move(path));
      } else {
        paths.push_back({.prefix = indexed_dataset_prefix(word)});
      }
    }
    return paths;
  }
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const double weight = *parse_number(words[i]);
    if (!(weight > 0) || !std::isfinite(weight))
      throw usage_error(format("data path: a weight of {} is not positive", words[i]));
    if (is_folder(words[i + 1]))
      throw usage_error(format("data path: '{}' is a folder, and a weight is for one dataset", words[i + 1]));
    paths.push_back({.prefix = indexed_dataset_prefix(words[i + 1]), .weight = weight});
  }
  return paths;
}

}  // namespace nadi::inline files
