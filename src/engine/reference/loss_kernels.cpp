#include <algorithm>
#include <cmath>

#include "nadi/base/format.h"
#include "nadi/engine/reference/kernel.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi {
namespace {

enum Input { kLogits, kTargets, kCount, kStatistics, kGradient };

// The target of a row, or kIgnoredTarget.
std::int64_t target_of(const KernelCall& call, std::int64_t row, std::int64_t vocabulary) {
  const std::int64_t target = call.integer(kTargets, row);
  call.op().require(target == kIgnoredTarget || (target >= 0 && target < vocabulary),
                    format("target {} of row {} is not in a vocabulary of {}", target, row, vocabulary));
  return target;
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
  const double factor = call.scalar(kGradient) / call.scalar(kCount);
  for (std::int64_t row = 0; row < call.shape(kTargets).elements(); ++row) {
    const std::int64_t target = target_of(call, row, vocabulary);
    if (target == kIgnoredTarget) continue;
    for (std::int64_t v = 0; v < vocabulary; ++v) {
      const double probability = std::exp(call.in(kLogits)[row * columns + v] - call.in(kStatistics)[row]);
      call.out(0)[row * columns + v] = (probability - (v == target ? 1 : 0)) * factor;
    }
  }
}

}  // namespace nadi
