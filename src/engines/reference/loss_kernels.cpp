#include <algorithm>
#include <cmath>
#include <limits>

#include "nadi/base/format.h"
#include "nadi/graph/ops/cross_entropy.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

using namespace cross_entropy_input;

// The target of a row, or kIgnoredTarget.
std::int64_t target_of(const KernelCall& call, std::int64_t row, std::int64_t vocabulary) {
  const std::int64_t target = call.integer(kTargets, row);
  if (!(target == kIgnoredTarget || (target >= 0 && target < vocabulary)))
    call.op().refuse(format("target {} of row {} is not in a vocabulary of {}", target, row, vocabulary));
  return target;
}

// The first vocabulary entry of this rank's columns, and how many of them are no padding.
struct Columns {
  std::int64_t first, count;
};
Columns columns_of(const KernelCall& call, int place_input) {
  const std::int64_t columns = call.shape(kLogits)[-1];
  const std::int64_t first = call.has(place_input) ? call.integer(place_input, 0) * columns : 0;
  return {first, std::clamp<std::int64_t>(call.attributes().integer("vocabulary") - first, 0, columns)};
}

}  // namespace

// Output 1 is, per row, log of the sum of exp(logit) over the vocabulary.
void cross_entropy_kernel(KernelCall& call) {
  const std::int64_t columns = call.shape(kLogits)[-1];
  const std::int64_t vocabulary = call.attributes().integer("vocabulary");
  double sum = 0;
  for (std::int64_t row = 0; row < call.shape(kTargets).elements(); ++row) {
    const std::span<const double> logits = call.in(kLogits).subspan(row * columns, vocabulary);
    const double largest = *std::ranges::max_element(logits);
    double denominator = 0;
    for (const double logit : logits) denominator += std::exp(logit - largest);
    const double log_sum = largest + std::log(denominator);
    call.out(1)[row] = log_sum;
    const std::int64_t target = target_of(call, row, vocabulary);
    if (target != kIgnoredTarget) sum += log_sum - logits[target];
  }
  call.out(0)[0] = sum / call.scalar(kCount);
}

// d logits = (softmax - one-hot target) * d loss / count; zero in ignored rows and padded columns.
void cross_entropy_grad_kernel(KernelCall& call) {
  const std::int64_t columns = call.shape(kLogits)[-1];
  const std::int64_t vocabulary = call.attributes().integer("vocabulary");
  const Columns own = columns_of(call, kPlace);
  const double factor = call.scalar(kGradient) / call.scalar(kCount);
  for (std::int64_t row = 0; row < call.shape(kTargets).elements(); ++row) {
    const std::int64_t target = target_of(call, row, vocabulary);
    if (target == kIgnoredTarget) continue;
    for (std::int64_t v = 0; v < own.count; ++v) {
      const double probability = std::exp(call.in(kLogits)[row * columns + v] - call.in(kStatistics)[row]);
      call.out(0)[row * columns + v] = (probability - (own.first + v == target ? 1 : 0)) * factor;
    }
  }
}

// Inputs: logits, place. Minus infinity where all columns are padding.
void vocab_max_kernel(KernelCall& call) {
  const std::int64_t columns = call.shape(kLogits)[-1];
  const Columns own = columns_of(call, 1);
  for (std::size_t row = 0; row < call.out(0).size(); ++row) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t v = 0; v < own.count; ++v)
      largest = std::max(largest, call.in(kLogits)[row * columns + v]);
    call.out(0)[row] = largest;
  }
}

// Inputs: logits, targets, maximum, place. Output: [2, rows].
void vocab_sums_kernel(KernelCall& call) {
  const std::int64_t columns = call.shape(kLogits)[-1];
  const std::int64_t rows = call.shape(kTargets).elements();
  const Columns own = columns_of(call, 3);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double largest = call.in(2)[row];
    const std::span<const double> logits = call.in(kLogits).subspan(row * columns, own.count);
    for (const double logit : logits) call.out(0)[row] += std::exp(logit - largest);
    const std::int64_t target = target_of(call, row, call.attributes().integer("vocabulary"));
    if (target >= own.first && target < own.first + own.count)
      call.out(0)[rows + row] = logits[target - own.first] - largest;
  }
}

void sharded_cross_entropy_kernel(KernelCall& call) {
  using sharded_cross_entropy_input::kMaximum;
  using sharded_cross_entropy_input::kSums;
  const std::int64_t rows = call.shape(kTargets).elements();
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double log_denominator = std::log(call.in(kSums)[row]);
    call.out(1)[row] = call.in(kMaximum)[row] + log_denominator;
    if (target_of(call, row, call.attributes().integer("vocabulary")) != kIgnoredTarget)
      sum += log_denominator - call.in(kSums)[rows + row];
  }
  call.out(0)[0] = sum / call.scalar(kCount);
}

}  // namespace nadi::inline engines
