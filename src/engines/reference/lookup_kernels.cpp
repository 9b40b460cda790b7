// Rows chosen by numbers: embeddings, caches, the next token. Letters: B sequences, T tokens of each, W
// width.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "nadi/base/format.h"
#include "nadi/graph/ops/decoding.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

// The row that element `element` of the ids names, or nothing when another rank has it. With `place` the
// table is part number place[0] of several.
std::optional<std::int64_t> row_of(const KernelCall& call, std::int64_t element, std::int64_t rows) {
  const std::int64_t id = call.integer(0, element);
  if (call.has(2)) {
    const std::int64_t row = id - call.integer(2, 0) * rows;
    return row >= 0 && row < rows ? std::optional(row) : std::nullopt;
  }
  if (!(id >= 0 && id < rows))
    call.op().refuse(format("id {} at element {} of '{}' is not in a table of {} rows", id, element,
                            call.op().input(0).name, rows));
  return id;
}

// The token that graph/ops/decoding.h says for one row and its random number.
std::int64_t draw(std::span<const double> row, const SamplingSettings& settings, double number) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Doubles logits(row.begin(), row.end());
  for (double& logit : logits)
    if (std::isnan(logit)) logit = -kInfinity;
  std::vector<std::int64_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::ranges::stable_sort(tokens, std::greater{}, [&](std::int64_t token) { return logits[token]; });
  const double largest = logits[tokens.front()];
  if (settings.temperature == 0 || !std::isfinite(largest)) return tokens.front();

  tokens.resize(settings.top_k);
  Doubles sums;  // of the weights up to each token
  for (const std::int64_t token : tokens)
    sums.push_back((sums.empty() ? 0 : sums.back()) +
                   std::exp((logits[token] - largest) / settings.temperature));
  const double enough = settings.top_p * sums.back();
  double kept = sums.back();
  if (settings.top_p < 1) kept = *std::ranges::find_if(sums, [&](double sum) { return sum >= enough; });
  // Where rounding makes number * kept the whole of it, the last token that adds something.
  const double target = std::min(number * kept, std::nextafter(kept, 0));
  return tokens[std::ranges::find_if(sums, [&](double sum) { return sum > target; }) - sums.begin()];
}

}  // namespace

void embedding_kernel(KernelCall& call) {
  const std::int64_t rows = call.shape(1)[0], W = call.shape(1)[1];
  for (std::int64_t i = 0; i < call.shape(0).elements(); ++i)
    if (const auto row = row_of(call, i, rows))
      std::ranges::copy(call.in(1).subspan(*row * W, W), call.out(0).begin() + i * W);
}

void embedding_grad_kernel(KernelCall& call) {
  const std::int64_t rows = call.attributes().integer("rows"), W = call.shape(1)[-1];
  for (std::int64_t i = 0; i < call.shape(0).elements(); ++i) {
    const auto row = row_of(call, i, rows);
    if (!row) continue;
    for (std::int64_t w = 0; w < W; ++w) call.out(0)[*row * W + w] += call.in(1)[i * W + w];
  }
}

// The first of several equal ones.
void argmax_kernel(KernelCall& call) {
  const std::int64_t columns = call.shape(0)[-1], vocabulary = call.attributes().integer("vocabulary");
  for (std::size_t row = 0; row < call.out(0).size(); ++row) {
    const std::span<const double> logits = call.in(0).subspan(row * columns, vocabulary);
    call.out(0)[row] = static_cast<double>(std::ranges::max_element(logits) - logits.begin());
  }
}

void sample_kernel(KernelCall& call) {
  using namespace sample_input;
  const std::span<const double> sampling = call.in(kSampling);
  const SamplingSettings settings(call.op(), sampling[0], sampling[1], sampling[2]);
  const RandomKey key{.seed = static_cast<std::uint64_t>(call.integer(kRandom, 0)),
                      .step = static_cast<std::uint64_t>(call.integer(kRandom, 1)),
                      .site = static_cast<std::uint64_t>(call.attributes().integer("site"))};
  const std::int64_t columns = call.shape(kLogits)[-1], vocabulary = call.attributes().integer("vocabulary");
  for (std::size_t row = 0; row < call.out(0).size(); ++row) {
    const double number =
        random_uniform_double(key, static_cast<std::uint64_t>(call.integer(kRandom, 2)) + row);
    call.out(0)[row] =
        static_cast<double>(draw(call.in(kLogits).subspan(row * columns, vocabulary), settings, number));
  }
}

void select_rows_kernel(KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], T = call.shape(0)[1], W = call.shape(0)[2];
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t length = call.integer(1, b);
    if (!(length >= 1 && length <= T))
      call.op().refuse(format("length {} of sequence {} is not between 1 and {}", length, b, T));
    std::ranges::copy(call.in(0).subspan((b * T + length - 1) * W, W), call.out(0).begin() + b * W);
  }
}

void take_tokens_kernel(KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], T = call.shape(0)[1], n = call.shape(1)[0];
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t i = 0; i < n; ++i) call.out(0)[b * n + i] = call.in(0)[b * T + call.integer(1, i)];
}

void cache_write_kernel(KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], L = call.shape(0)[1], W = call.shape(0)[2], T = call.shape(1)[1];
  call.pass(0, 0);
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t position = call.has(2) ? call.integer(2, b) : 0;
    if (!(position >= 0 && position + T <= L))
      call.op().refuse(
          format("{} rows from position {} of sequence {} do not fit a cache of {}", T, position, b, L));
    std::ranges::copy(call.in(1).subspan(b * T * W, T * W), call.out(0).begin() + (b * L + position) * W);
  }
}

void advance_kernel(KernelCall& call) {
  const auto by = static_cast<double>(call.attributes().integer("by"));
  for (std::size_t i = 0; i < call.in(0).size(); ++i) call.out(0)[i] = call.in(0)[i] + by;
}

}  // namespace nadi::inline engines
