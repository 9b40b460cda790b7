// Drawing the next token. graph/ops/decoding.h speaks of tokens in the order of decreasing logits; putting a
// whole vocabulary in order would take many times as long as everything else here. Instead:
//
//   The k likeliest. Of the maxima of short blocks, the k-th largest is a lower bound of the k-th largest
//   logit, since k blocks have one as large. Few blocks reach it, and only those are looked at again.
//
//   The sums. Tokens are put into narrow buckets by their distance from the largest logit, and their weights
//   are summed by bucket. Buckets are in the order of decreasing logits, so a pass over their sums finds the
//   one in which a sum is crossed, and only that one is sorted.
//
// A row belongs to one thread. Sums in double precision depend on their order by some 1e-13 of the whole for
// a vocabulary of 10^5: about that seldom is a token not the reference's.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "nadi/base/random.h"
#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"
#include "nadi/cpu/workspace_slices.h"
#include "nadi/graph/ops/decoding.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Logits per maximum. A vocabulary of 50,000 has 800 maxima, more than any usual top_k.
constexpr std::int64_t kMaximumOf = 64;

// Buckets per unit of (largest logit - logit) / temperature, and how many: the last one begins at e^-32 and
// takes all the rest, which has hardly any weight.
constexpr double kBucketsPerUnit = 64;
constexpr std::int64_t kBuckets = 2048;

struct Candidate {
  float logit;
  std::int32_t token;
};
bool comes_before(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

// e^x for x up to 0, to a unit in the last place; 0 below -700.
inline double exp_of_negative(double x) {
  constexpr double kLowest = -700;
  constexpr double kLog2E = 1.4426950408889634;
  // ln 2 in two parts, the first short enough that n * high is exact.
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;  // leaves no bits for a fraction
  const double clamped = x < kLowest ? kLowest : x;
  const double shifted = clamped * kLog2E + kRound;
  const double n = shifted - kRound;
  const double r = (clamped - n * kLn2High) - n * kLn2Low;
  // Taylor series: for |r| up to ln(2) / 2 the first term left out is 4e-18.
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const std::int64_t exponent = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kRound);
  const double result = p * std::bit_cast<double>((exponent + 1023) << 52);
  return x < kLowest ? 0.0 : result;
}

// Draws from one row after the other, on the workspace of one thread.
class Sampler {
 public:
  Sampler(WorkspaceSlices& slices, std::int64_t vocabulary)
      : vocabulary_(vocabulary),
        blocks_(divided_up(vocabulary, kMaximumOf)),
        row_(slices.take<float>(vocabulary)),
        maxima_(slices.take<float>(blocks_)),
        ordered_maxima_(slices.take<float>(blocks_)),
        candidates_(slices.take<Candidate>(vocabulary)),
        weights_(slices.take<double>(vocabulary)),
        bucket_of_(slices.take<std::int32_t>(vocabulary)),
        members_(slices.take<std::int32_t>(vocabulary)),
        sums_(slices.take<double>(kBuckets)) {}

  std::int32_t token(const void* row, DType dtype, const SamplingSettings& settings, double number) {
    const float* logits = load_row(row, dtype, vocabulary_, row_);
    const float largest = take_maxima(logits);
    if (settings.temperature == 0 || !std::isfinite(largest)) return first_of(largest, logits);
    choose_candidates(logits, settings.top_k);
    weigh(static_cast<double>(largest), settings.temperature);
    double kept = 0;
    for (std::int64_t b = 0; b < kBuckets; ++b) kept += sums_[b];
    // To reach a sum is to exceed the number below it.
    if (settings.top_p < 1) kept = crossing(std::nextafter(settings.top_p * kept, -1.0)).sum;
    // number * kept may round to the whole of it, which no sum exceeds.
    return crossing(std::min(number * kept, std::nextafter(kept, 0.0))).token;
  }

 private:
  struct Crossing {
    std::int32_t token;
    double sum;  // of the weights up to the token
  };

  float take_maxima(const float* logits) {
    for (std::int64_t b = 0; b < blocks_; ++b)
      maxima_[b] = largest_of(logits + b * kMaximumOf, std::min(kMaximumOf, vocabulary_ - b * kMaximumOf));
    return largest_of(maxima_, blocks_);
  }

  // 0 in a row of NaN.
  std::int32_t first_of(float largest, const float* logits) const {
    const std::int64_t block = std::find(maxima_, maxima_ + blocks_, largest) - maxima_;
    const float* end = logits + vocabulary_;
    const float* found = std::find(logits + block * kMaximumOf, end, largest);
    return found == end ? 0 : static_cast<std::int32_t>(found - logits);
  }

  // The top_k first tokens, in any order, without those that have no weight whatever the temperature.
  void choose_candidates(const float* logits, std::int64_t top_k) {
    float bound = std::numeric_limits<float>::lowest();
    if (top_k <= blocks_) {
      std::copy_n(maxima_, blocks_, ordered_maxima_);
      std::nth_element(ordered_maxima_, ordered_maxima_ + top_k - 1, ordered_maxima_ + blocks_,
                       std::greater{});
      bound = std::max(bound, ordered_maxima_[top_k - 1]);
    }
    count_ = 0;
    for (std::int64_t b = 0; b < blocks_; ++b) {
      if (maxima_[b] < bound) continue;
      const std::int64_t end = std::min((b + 1) * kMaximumOf, vocabulary_);
      for (std::int64_t i = b * kMaximumOf; i < end; ++i) {
        candidates_[count_] = {logits[i], static_cast<std::int32_t>(i)};
        count_ += logits[i] >= bound ? 1 : 0;
      }
    }
    if (count_ <= top_k) return;
    std::nth_element(candidates_, candidates_ + top_k, candidates_ + count_, comes_before);
    count_ = top_k;
  }

  void weigh(double largest, double temperature) {
#pragma omp simd
    for (std::int64_t i = 0; i < count_; ++i) {
      const double below = (static_cast<double>(candidates_[i].logit) - largest) / temperature;
      weights_[i] = exp_of_negative(below);
      const double bucket = -below * kBucketsPerUnit;
      bucket_of_[i] = static_cast<std::int32_t>(bucket < kBuckets - 1 ? bucket : kBuckets - 1);
    }
    std::fill_n(sums_, kBuckets, 0.0);
    for (std::int64_t i = 0; i < count_; ++i) sums_[bucket_of_[i]] += weights_[i];
  }

  // The first token, in order, with which the sum of weights exceeds `target`; `target` is below the whole.
  Crossing crossing(double target) {
    std::int64_t bucket = 0;
    double start = 0, end = sums_[0];  // the largest logit is in the first one
    while (!(end > target) && bucket + 1 < kBuckets) {
      start = end;
      end += sums_[++bucket];
    }
    std::int64_t members = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      members_[members] = static_cast<std::int32_t>(i);
      members += bucket_of_[i] == bucket ? 1 : 0;
    }
    std::sort(members_, members_ + members,
              [&](std::int32_t a, std::int32_t b) { return comes_before(candidates_[a], candidates_[b]); });
    Crossing found{candidates_[members_[0]].token, start};
    for (std::int64_t m = 0; m < members && !(found.sum > target) && weights_[members_[m]] > 0; ++m)
      found = {candidates_[members_[m]].token, found.sum + weights_[members_[m]]};
    // In this order the sum of the whole bucket may be another by rounding. It must not reach into the next.
    found.sum = std::min(found.sum, end);
    return found;
  }

  std::int64_t vocabulary_;
  std::int64_t blocks_;
  float* row_;
  float* maxima_;
  float* ordered_maxima_;
  Candidate* candidates_;
  double* weights_;
  std::int32_t* bucket_of_;
  std::int32_t* members_;  // candidates of one bucket
  double* sums_;
  std::int64_t count_ = 0;  // candidates
};

std::int64_t bytes_per_thread(std::int64_t vocabulary) {
  WorkspaceSlices slices;
  const Sampler counted(slices, vocabulary);
  return slices.bytes();
}

std::int64_t sample_workspace(const OpView& op, int threads) {
  const std::int64_t rows = op.output(0).shape.elements();
  return std::min<std::int64_t>(rows, threads) * bytes_per_thread(op.attributes().integer("vocabulary"));
}

void sample_kernel(const KernelCall& call) {
  using namespace sample_input;
  const auto* sampling = call.in<float>(kSampling);
  const SamplingSettings settings(call.op, static_cast<double>(sampling[0]), static_cast<double>(sampling[1]),
                                  static_cast<double>(sampling[2]));
  const Operand& random = call.inputs[kRandom];
  const RandomKey key{.seed = static_cast<std::uint64_t>(integer_at(random, 0)),
                      .step = static_cast<std::uint64_t>(integer_at(random, 1)),
                      .site = static_cast<std::uint64_t>(call.attributes().integer("site"))};
  const std::int64_t first_sample = integer_at(random, 2);
  const std::int64_t columns = call.shape(kLogits)[-1], vocabulary = call.attributes().integer("vocabulary");
  const std::int64_t rows = call.outputs[0].elements(), bytes = bytes_per_thread(vocabulary);
  const Source logits(call.inputs[kLogits]);
  parallel_for(rows, worthwhile_threads(rows * vocabulary, call.threads),
               [&](std::int64_t first, std::int64_t end, int thread) {
                 WorkspaceSlices slices(call.workspace.data() + thread * bytes);
                 Sampler sampler(slices, vocabulary);
                 for (std::int64_t row = first; row < end; ++row) {
                   const double number =
                       random_uniform_double(key, static_cast<std::uint64_t>(first_sample + row));
                   call.out<std::int32_t>(0)[row] =
                       sampler.token(logits.at(row * columns), logits.dtype(), settings, number);
                 }
               });
}

}  // namespace

const KernelEntry sample_entry{sample_kernel, sample_workspace};

}  // namespace nadi::inline engines::cpu
