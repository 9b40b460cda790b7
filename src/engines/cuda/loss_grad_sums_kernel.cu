// The gradient of cross entropy with its sum over rows, the gradient of the vocabulary's bias: given the
// statistics of the rows it is element-wise, so that blocks may take columns instead of rows, and what they
// write they need not read again for the sum.
#include <type_traits>

#include "nadi/cuda/column_sums.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/logit_rows.cuh"
#include "nadi/cuda/packed.cuh"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline engines::cuda {
namespace {

using namespace cross_entropy_input;

// What a step gives, and stays the same for all elements.
struct LossScalars {
  const float* dloss;
  const float* count;
  std::int64_t vocabulary;
  Integers place;
};

// d logits = (softmax - one-hot target) * d loss / count; zero in ignored rows and padded columns, also in
// those behind the last (padded_rows.h). N elements at a time: all that begin at round addresses, or one.
template <class T, int N>
struct LogitGradRows {
  static constexpr int kVector = N, kRowsAtOnce = 2;
  static constexpr int kNowhere = -1, kIgnored = -2;
  using Elements = std::conditional_t<N == 1, Vector<T, 1>, Packed<T>>;
  struct Raw {
    Elements x;
    float log_sum;
    int hit;  // the target's column, kNowhere where this rank does not have it, kIgnored
  };
  const T* logits;
  T* gradient;  // nullptr means only the sums are wanted
  std::int64_t logits_stride, gradient_stride;
  int columns;
  Integers targets;
  const float* statistics;
  LossScalars scalars;
  // What the scalars give, once a kernel has begun.
  float factor = 0;
  std::int64_t first = 0;
  int used = 0;

  __device__ LogitGradRows ready() const {
    LogitGradRows own = *this;
    const OwnColumns here(columns, scalars.vocabulary, scalars.place);
    own.factor = *scalars.dloss / *scalars.count;
    own.first = here.first;
    own.used = here.count;
    return own;
  }

  __device__ Raw fetch(std::int64_t row, std::int64_t column) const {
    Raw raw;
    const T* from = logits + row * logits_stride + column;
    if constexpr (N == 1)
      raw.x = load_vector<T, 1>(from);
    else
      raw.x = load_packed(from);
    raw.log_sum = statistics[row];
    const std::int64_t target = targets[row];
    const bool mine = target >= first && target < first + used;
    raw.hit = target == kIgnoredTarget ? kIgnored : mine ? static_cast<int>(target - first) : kNowhere;
    return raw;
  }

  // Sums are taken of what a kernel that reads the gradient would see.
  __device__ void values(const Raw& raw, std::int64_t row, std::int64_t column, float (&v)[N]) const {
    const auto place = static_cast<int>(column);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const bool counts = raw.hit != kIgnored && place + i < used;
      const float whole = place + i == raw.hit ? factor : 0.0F;
      v[i] = counts ? quick_exp(raw.x.at(i) - raw.log_sum) * factor - whole : 0.0F;
    }
    T* const to = gradient + row * gradient_stride + column;
    if constexpr (N == 1) {
      const T rounded = from_float<T>(v[0]);
      v[0] = to_float(rounded);
      if (gradient != nullptr) *to = rounded;
    } else {
      const Packed<T> rounded = packed<T>(v);
#pragma unroll
      for (int i = 0; i < N; ++i) v[i] = rounded.at(i);
      if (gradient != nullptr) store_packed(to, rounded);
    }
    if (gradient == nullptr || place + N < columns) return;
#pragma unroll 1
    for (std::int64_t behind = N; column + behind < gradient_stride; behind += N) {
      if constexpr (N == 1)
        to[behind] = from_float<T>(0);
      else
        store_packed(to + behind, Packed<T>{});
    }
  }
};

}  // namespace

// cross_entropy_grad sum_rows.
void loss_grad_sums_kernel(const KernelCall& call) {
  const OpCall& loss = call.ops[0];
  const OpCall& sum = call.ops[1];
  const Operand& logits = loss.inputs[kLogits];
  const Operand& gradient = loss.outputs[0];
  const std::int64_t columns = logits.columns(), rows = columns > 0 ? logits.rows() : 0;
  check(sum.outputs[0].elements() == columns, "a fused sum over rows keeps the vocabulary");
  check(!loss.accumulates(0), "a fused gradient of logits is not added to another");
  const ColumnSumsPlan plan(rows, columns, call.device.traits());
  with_type(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto launch = [&]<int N>() {
      launch_column_sums(
          call, plan,
          LogitGradRows<T, N>{.logits = loss.in<T>(kLogits),
                              .gradient = loss.out<T>(0),
                              .logits_stride = logits.row_stride(),
                              .gradient_stride = gradient.row_stride(),
                              .columns = static_cast<int>(columns),
                              .targets = integers_of(loss, kTargets),
                              .statistics = loss.in<float>(kStatistics),
                              .scalars = {.dloss = loss.in<float>(kGradient),
                                          .count = loss.in<float>(kCount),
                                          .vocabulary = loss.attributes().integer("vocabulary"),
                                          .place = integers_of(loss, kPlace)}},
          sum_target(sum, 0));
    };
    constexpr int kWide = 16 / sizeof(T);
    const bool suits = logits.row_stride() % kWide == 0 && gradient.row_stride() % kWide == 0 &&
                       is_aligned(logits.data, 16) && is_aligned(gradient.data, 16);
    if (suits)
      launch.template operator()<kWide>();
    else
      launch.template operator()<1>();
  });
}

}  // namespace nadi::inline engines::cuda
