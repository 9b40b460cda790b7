#include "nadi/draw/layer_name.h"

#include <algorithm>
#include <charconv>

namespace nadi::inline show {
namespace {

// Where the number of a part begins, and where both end.
struct NumberedPart {
  std::size_t begin = std::string_view::npos;
  std::size_t end = 0;
};

bool is_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  return !text.empty() && text.size() <= kMostDigits &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "Qwen2DecoderLayer", "TransformerBlock", of ResNets "Bottleneck"; not "LayerNorm".
bool is_layer_class(std::string_view module) {
  return module.ends_with("Layer") || module.ends_with("Block") || module.ends_with("Bottleneck");
}

NumberedPart numbered_part(std::string_view layer) {
  for (std::size_t begin = 0; begin < layer.size();) {
    const std::size_t end = std::min(layer.find('.', begin), layer.size());
    const std::string_view part = layer.substr(begin, end - begin);
    if (is_number(part)) return {begin, end};
    const std::size_t behind = part.rfind('_') + 1;
    if (behind > 0 && is_number(part.substr(behind)) && is_layer_class(part.substr(0, behind - 1)))
      return {begin + behind, end};
    begin = end + 1;
  }
  return {};
}

std::string_view first_parts(std::string_view layer, int parts) {
  std::size_t end = 0;
  while (parts-- > 0 && end < layer.size()) end = std::min(layer.find('.', end + 1), layer.size());
  return layer.substr(0, end);
}

}  // namespace

std::optional<std::int64_t> layer_number(std::string_view layer) {
  const NumberedPart part = numbered_part(layer);
  if (part.begin == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(layer.data() + part.begin, layer.data() + part.end, number);
  return number;
}

std::string layer_box(std::string_view layer) {
  const NumberedPart part = numbered_part(layer);
  return std::string(part.end > 0 ? layer.substr(0, part.end) : first_parts(layer, 2));
}

std::string block_box(std::string_view layer) {
  const NumberedPart part = numbered_part(layer);
  if (part.end == 0) return std::string(first_parts(layer, 2));
  const std::size_t end = part.end < layer.size() ? layer.find('.', part.end + 1) : layer.size();
  return std::string(layer.substr(0, std::min(end, layer.size())));
}

bool is_module_path(std::string_view layer) {
  const std::string_view first = layer.substr(0, layer.find('.'));
  const std::size_t behind = first.rfind('_') + 1;
  return behind > 1 && is_number(first.substr(behind));
}

std::string within_layer(std::string_view name) {
  const NumberedPart part = numbered_part(name);
  if (part.end > 0 && part.end + 1 < name.size()) return std::string(name.substr(part.end + 1));
  const std::size_t dot = name.find('.');
  return std::string(part.end == 0 && dot != std::string_view::npos ? name.substr(dot + 1) : name);
}

}  // namespace nadi::inline show
