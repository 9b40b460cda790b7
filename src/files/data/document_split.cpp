#include "nadi/data/document_split.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline files {
namespace {

using Weights = std::array<double, 3>;

Error bad_weights(std::string_view text) {
  return usage_error(format("a split takes up to three weights that are not all 0, not '{}'", text),
                     "969,30,1 gives 96.9% to training, 3% to validation and 0.1% to tests");
}

Weights parse_weights(std::string_view text) {
  Weights weights{};
  const char separator = text.find(',') != std::string_view::npos ? ',' : '/';
  std::string_view rest = text;
  for (double& weight : weights) {
    const std::string_view word = rest.substr(0, rest.find(separator));
    if (!read_number(word, weight) || !std::isfinite(weight) || weight < 0) throw bad_weights(text);
    if (word.size() == rest.size()) return weights;
    rest.remove_prefix(word.size() + 1);
  }
  throw bad_weights(text);
}

}  // namespace

DocumentSplit split_documents(std::string_view text, std::int64_t documents) {
  const Weights weights = parse_weights(text);
  const double sum = weights[0] + weights[1] + weights[2];
  if (!(sum > 0) || !std::isfinite(sum)) throw bad_weights(text);
  std::array<std::int64_t, 4> bounds{};
  for (std::size_t i = 0; i < weights.size(); ++i)
    bounds[i + 1] = bounds[i] + static_cast<std::int64_t>(
                                    std::nearbyint(weights[i] / sum * static_cast<double>(documents)));
  const std::int64_t surplus = bounds.back() - documents;
  // Where the first part is too small to give, the second one gives.
  for (std::size_t i = 1; i < bounds.size(); ++i)
    bounds[i] = std::max(bounds[i - 1], std::min(bounds[i] - surplus, documents));
  return {
      .train = {bounds[0], bounds[1]}, .validation = {bounds[1], bounds[2]}, .test = {bounds[2], bounds[3]}};
}

}  // namespace nadi::inline files
