#include "nadi/data/dataset_figures.h"

#include <algorithm>
#include <limits>
#include <system_error>

#include "nadi/data/indexed_dataset.h"

namespace nadi::inline files {
namespace {

std::vector<std::string> index_maps_of(const IndexedDataset& dataset) {
  const std::filesystem::path prefix = dataset.prefix();
  const std::string beginning = prefix.filename().string() + "_";
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(beginning) && name.find("_indexmap_") != std::string::npos && name.ends_with(".npy"))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

DatasetFigures dataset_figures(const IndexedDataset& dataset, const std::function<void()>& on_sequence) {
  DatasetFigures figures{.index_maps = index_maps_of(dataset)};
  figures.shortest = dataset.sequences() == 0 ? 0 : std::numeric_limits<std::int64_t>::max();
  for (std::int64_t i = 0; i < dataset.sequences(); ++i) {
    if (on_sequence) on_sequence();
    figures.shortest = std::min(figures.shortest, dataset.length(i));
    figures.longest = std::max(figures.longest, dataset.length(i));
    figures.largest_token = std::max<std::int64_t>(figures.largest_token, dataset.largest_token(i, i + 1));
  }
  if (dataset.sequences() > 0)
    figures.mean_length = static_cast<double>(dataset.tokens()) / static_cast<double>(dataset.sequences());
  for (std::int64_t d = 0; d < dataset.documents(); ++d)
    figures.empty_documents += dataset.first_sequence(d) == dataset.first_sequence(d + 1) ? 1 : 0;
  return figures;
}

}  // namespace nadi::inline files
