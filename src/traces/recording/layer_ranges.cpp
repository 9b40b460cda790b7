#include "nadi/recording/layer_ranges.h"

namespace nadi::inline traces {

void split_layer_path(std::string_view path, std::vector<std::string_view>& layers) {
  layers.clear();
  const auto starts_number = [&](std::size_t dot) {
    return dot + 1 < path.size() && path[dot + 1] >= '0' && path[dot + 1] <= '9';
  };
  std::size_t dot = path.find('.');
  while (dot != std::string_view::npos) {
    if (dot > 0 && !starts_number(dot)) layers.push_back(path.substr(0, dot));
    dot = path.find('.', dot + 1);
  }
  if (!path.empty()) layers.push_back(path);
}

RangeChange LayerRanges::enter(std::string_view phase, std::string_view layer) {
  split_layer_path(layer, path_);
  path_.insert(path_.begin(), phase);
  std::size_t common = 0;
  while (common < names_.size() && common < path_.size() && names_[common] == path_[common]) ++common;
  const std::size_t closed = names_.size() - common;
  names_.resize(common);
  for (std::size_t i = common; i < path_.size(); ++i) names_.emplace_back(path_[i]);
  return {.closed = closed, .opened = std::span(names_).subspan(common)};
}

}  // namespace nadi::inline traces
