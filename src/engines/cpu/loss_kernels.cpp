// Cross entropy, whole and with the vocabulary split over ranks. Rows have 50 thousand logits and more, so
// what counts is that they are read once and that nothing of their size is made: a block of logits at a time
// goes into the running maximum and sum of a row, and is looked at twice only in the cache.
//
// Each row's loss is kept in double precision and they are summed in order, so that the loss does not depend
// on the number of threads.
#include <cmath>

#include "nadi/cpu/blocks.h"
#include "nadi/cpu/vector_math.h"
#include "nadi/engine/input_numbers.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline engines::cpu {
namespace {

using namespace cross_entropy_input;

// Targets are checked before threads start, since an error cannot leave a parallel region.
void check_targets(const KernelCall& call) {
  const Operand& targets = call.inputs[kTargets];
  refuse_wrong_numbers(call.op, kTargets, targets.elements(),
                       [&](std::int64_t row) { return integer_at(targets, row); });
}

// The first vocabulary entry of this rank's columns, and how many of them are no padding.
struct Columns {
  std::int64_t all, first, count;

  Columns(const KernelCall& call, std::size_t place_input)
      : all(call.shape(kLogits)[-1]),
        first(call.has(place_input) ? integer_at(call.inputs[place_input], 0) * all : 0),
        count(std::clamp<std::int64_t>(call.attributes().integer("vocabulary") - first, 0, all)) {}
};

// body(row) for all rows of logits.
template <class Body>
void for_each_row(const KernelCall& call, const Body& body) {
  const std::int64_t columns = call.shape(kLogits)[-1];
  const std::int64_t rows = columns > 0 ? call.inputs[kLogits].elements() / columns : 0;
  parallel_for(rows, worthwhile_threads(rows * columns, call.threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t row = first; row < end; ++row) body(row);
               });
}

float sum_of_exponentials(const float* logits, std::int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += fast_exp(logits[i] - largest);
  return sum;
}

// log of the sum of exp(logit) over `count` logits from `start` on. When a block has a new maximum, what was
// summed so far is scaled to it.
double log_sum_of_exponentials(const Source& logits, std::int64_t start, std::int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  double sum = 0;
  walk_blocks(0, count, [&](std::int64_t first, std::int64_t block) {
    Block buffer;
    const float* from = logits.load(start + first, block, buffer);
    const float of_block = largest_of(from, block);
    if (of_block > largest) {
      sum *= std::exp(static_cast<double>(largest) - static_cast<double>(of_block));
      largest = of_block;
    }
    // As long as all were minus infinity, any other number will do.
    const float base = largest > -std::numeric_limits<float>::infinity() ? largest : 0.0F;
    sum += static_cast<double>(sum_of_exponentials(from, block, base));
  });
  return static_cast<double>(largest) + std::log(sum);
}

double logit_at(const Source& logits, std::int64_t index) {
  float buffer = 0;
  return static_cast<double>(*logits.load(index, 1, &buffer));
}

// Output 0: the sum of the rows' losses over the count.
void put_loss(const KernelCall& call) {
  const auto* losses = reinterpret_cast<const double*>(call.workspace.data());
  double sum = 0;
  for (std::int64_t row = 0; row < call.inputs[kTargets].elements(); ++row) sum += losses[row];
  const auto loss = static_cast<float>(sum / static_cast<double>(call.scalar(kCount)));
  Target(call, 0).put(0, 1, &loss);
}

std::int64_t bytes_for_losses(const OpView& op) {
  return op.in(kTargets).elements() * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t cross_entropy_workspace(const OpView& op, int) {
  return bytes_for_losses(op);
}

// Output 1 is, per row, log of the sum of exp(logit) over the vocabulary.
void cross_entropy_kernel(const KernelCall& call) {
  check_targets(call);
  const Source logits(call.inputs[kLogits]);
  const std::int64_t columns = call.shape(kLogits)[-1];
  const std::int64_t vocabulary = call.attributes().integer("vocabulary");
  double* losses = call.workspace_of<double>(0, 0);
  for_each_row(call, [&](std::int64_t row) {
    const double log_sum = log_sum_of_exponentials(logits, row * columns, vocabulary);
    const std::int64_t target = integer_at(call.inputs[kTargets], row);
    losses[row] = target == kIgnoredTarget ? 0 : log_sum - logit_at(logits, row * columns + target);
    call.out<float>(1)[row] = static_cast<float>(log_sum);
  });
  put_loss(call);
}

// d logits = (softmax - one-hot target) * d loss / count; zero in ignored rows and padded columns. Often over
// the logits themselves.
void cross_entropy_grad_kernel(const KernelCall& call) {
  check_targets(call);
  const Source logits(call.inputs[kLogits]);
  const Target gradient(call, 0);
  const Columns own(call, kPlace);
  const float factor = call.scalar(kGradient) / call.scalar(kCount);
  for_each_row(call, [&](std::int64_t row) {
    const std::int64_t target = integer_at(call.inputs[kTargets], row);
    const std::int64_t used = target == kIgnoredTarget ? 0 : own.count;
    const float log_sum = call.in<float>(kStatistics)[row];
    walk_blocks(0, used, [&](std::int64_t first, std::int64_t count) {
      Block from_buffer, to_buffer;
      const float* from = logits.load(row * own.all + first, count, from_buffer);
      float* to = gradient.begin(row * own.all + first, to_buffer);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to[i] = fast_exp(from[i] - log_sum) * factor;
      const std::int64_t hit = target - own.first - first;
      if (hit >= 0 && hit < count) to[hit] -= factor;
      gradient.end(row * own.all + first, count, to);
    });
    gradient.put_zeros(row * own.all + used, own.all - used);
  });
}

// Inputs: logits, place. Minus infinity where all columns are padding.
void vocab_max_kernel(const KernelCall& call) {
  const Source logits(call.inputs[kLogits]);
  const Columns own(call, 1);
  for_each_row(call, [&](std::int64_t row) {
    float largest = -std::numeric_limits<float>::infinity();
    walk_blocks(0, own.count, [&](std::int64_t first, std::int64_t count) {
      Block buffer;
      largest = std::max(largest, largest_of(logits.load(row * own.all + first, count, buffer), count));
    });
    call.out<float>(0)[row] = largest;
  });
}

// Inputs: logits, targets, maximum, place. Output: [2, rows].
void vocab_sums_kernel(const KernelCall& call) {
  check_targets(call);
  const Source logits(call.inputs[kLogits]);
  const std::int64_t rows = call.inputs[kTargets].elements();
  const Columns own(call, 3);
  for_each_row(call, [&](std::int64_t row) {
    const float largest = call.in<float>(2)[row];
    double sum = 0;
    walk_blocks(0, own.count, [&](std::int64_t first, std::int64_t count) {
      Block buffer;
      const float* from = logits.load(row * own.all + first, count, buffer);
      sum += static_cast<double>(sum_of_exponentials(from, count, largest));
    });
    const std::int64_t target = integer_at(call.inputs[kTargets], row) - own.first;
    const bool mine = target >= 0 && target < own.count;
    const double distance =
        mine ? logit_at(logits, row * own.all + target) - static_cast<double>(largest) : 0;
    call.out<float>(0)[row] = static_cast<float>(sum);
    call.out<float>(0)[rows + row] = static_cast<float>(distance);
  });
}

std::int64_t sharded_cross_entropy_workspace(const OpView& op, int) {
  return bytes_for_losses(op);
}

void sharded_cross_entropy_kernel(const KernelCall& call) {
  check_targets(call);
  using sharded_cross_entropy_input::kMaximum;
  using sharded_cross_entropy_input::kSums;
  const std::int64_t rows = call.inputs[kTargets].elements();
  const float* maximum = call.in<float>(kMaximum);
  const float* sums = call.in<float>(kSums);
  double* losses = call.workspace_of<double>(0, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double log_denominator = std::log(static_cast<double>(sums[row]));
    call.out<float>(1)[row] = static_cast<float>(static_cast<double>(maximum[row]) + log_denominator);
    const bool ignored = integer_at(call.inputs[kTargets], row) == kIgnoredTarget;
    losses[row] = ignored ? 0 : log_denominator - static_cast<double>(sums[rows + row]);
  }
  put_loss(call);
}

}  // namespace

const KernelEntry cross_entropy_entry{cross_entropy_kernel, cross_entropy_workspace};
const KernelEntry cross_entropy_grad_entry{cross_entropy_grad_kernel};
const KernelEntry vocab_max_entry{vocab_max_kernel};
const KernelEntry vocab_sums_entry{vocab_sums_kernel};
const KernelEntry sharded_cross_entropy_entry{sharded_cross_entropy_kernel, sharded_cross_entropy_workspace};

}  // namespace nadi::inline engines::cpu
