#include "nadi/data/squad_split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/shuffle.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kUnasked = std::numeric_limits<std::size_t>::max();

// For each paragraph a number from 0 that paragraphs with the same context share; kUnasked where there is no
// question about it.
std::vector<std::size_t> number_contexts(const SquadSet& set) {
  std::unordered_map<std::string_view, std::size_t> numbers;
  std::vector<std::size_t> contexts(set.paragraphs.size(), kUnasked);
  for (const SquadQuestion& question : set.questions) {
    std::size_t& context = contexts[question.paragraph];
    if (context == kUnasked)
      context = numbers.try_emplace(set.paragraphs[question.paragraph].context, numbers.size()).first->second;
  }
  return contexts;
}

}  // namespace

SquadSplit split_squad(SquadSet set, const SplitOptions& options) {
  if (!(options.fraction > 0 && options.fraction < 1))
    throw usage_error(format("a fraction of {} for validation is not between 0 and 1", options.fraction));
  const std::vector<std::size_t> contexts = number_contexts(set);
  std::int64_t count = 0;
  for (const std::size_t context : contexts) {
    if (context != kUnasked) count = std::max(count, static_cast<std::int64_t>(context) + 1);
  }
  if (count < 2)
    throw input_error({}, "all questions are about the same context: none can be set aside for validation",
                      "give a file for validation");

  const std::int64_t wanted = std::llround(options.fraction * static_cast<double>(count));
  const std::int64_t aside = std::clamp<std::int64_t>(wanted, 1, count - 1);
  const RandomKey key{.seed = options.seed, .site = site_of("data.split")};
  const std::vector<std::uint32_t> order = shuffled_order(count, key);
  std::vector<bool> validates(order.size());  // by context
  for (std::size_t i = 0; i < static_cast<std::size_t>(aside); ++i) validates[order[i]] = true;

  SquadSplit split{.train = {.version = set.version}, .validation = {.version = set.version}};
  std::vector<std::size_t> moved(set.paragraphs.size());
  for (std::size_t p = 0; p < set.paragraphs.size(); ++p) {
    if (contexts[p] == kUnasked) continue;
    SquadSet& side = validates[contexts[p]] ? split.validation : split.train;
    moved[p] = side.paragraphs.size();
    side.paragraphs.push_back(std::move(set.paragraphs[p]));
  }
  for (SquadQuestion& question : set.questions) {
    SquadSet& side = validates[contexts[question.paragraph]] ? split.validation : split.train;
    question.paragraph = moved[question.paragraph];
    side.questions.push_back(std::move(question));
  }
  return split;
}

}  // namespace nadi::inline files
