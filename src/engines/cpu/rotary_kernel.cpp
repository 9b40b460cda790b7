// Rotary position embedding. Letters: B sequences, T tokens, H heads, D width of a head.
//
// Sines and cosines are made once per position and used for all heads of all sequences that have a token
// there. Angles reach 131072 and more, so they are reduced in double precision: with n the nearest multiple
// of a quarter turn, sin and cos of the rest are Taylor series, and n mod 4 says which is which.
#include "nadi/graph/ops/rotary.h"

#include <bit>
#include <span>

#include "nadi/cpu/head_rows.h"
#include "nadi/cpu/tile_product.h"
#include "nadi/cpu/workspace_slices.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {
namespace {

// One per thread.
struct Buffers {
  Buffers(WorkspaceSlices& slices, std::int64_t D)
      : cosines(slices.take<float>(D / 2)),
        sines(slices.take<float>(D / 2)),
        x(slices.take<float>(padded_width(D))),
        y(slices.take<float>(padded_width(D))) {}

  float* cosines;
  float* sines;
  float* x;
  float* y;
};

std::int64_t bytes_per_thread(std::int64_t D) {
  WorkspaceSlices slices;
  const Buffers buffers(slices, D);
  return slices.bytes();
}

std::int64_t head_width(const OpView& op) {
  return op.in(0)[2] / op.attributes().integer("heads");
}

// Cosines and sines of the angles position * frequency, to about 1e-7 for any that fits in 2^40 quarter turns.
void fill_table(double position, std::span<const double> frequencies, float* cosines, float* sines) {
  constexpr double kQuarterTurnsPerRadian = 0.63661977236758134308;
  // A quarter turn in two parts; the first is pi/2 rounded to double.
  constexpr double kQuarterTurnHigh = 1.57079632679489661923;
  constexpr double kQuarterTurnLow = 6.12323399573676603587e-17;
  constexpr double kRound = 0x1.8p52;  // adding it leaves no bits for a fraction
  const auto count = static_cast<std::int64_t>(frequencies.size());
  const double* frequency = frequencies.data();
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const double angle = position * frequency[i];
    const double shifted = angle * kQuarterTurnsPerRadian + kRound;
    const double n = shifted - kRound;
    const double r = (angle - n * kQuarterTurnHigh) - n * kQuarterTurnLow;
    const double r2 = r * r;
    // |r| <= pi/4: the first terms left out are r^13/13! and r^14/14!, both under 1e-11.
    double sine = -1.0 / 39916800;
    sine = sine * r2 + 1.0 / 362880;
    sine = sine * r2 - 1.0 / 5040;
    sine = sine * r2 + 1.0 / 120;
    sine = sine * r2 - 1.0 / 6;
    sine = sine * r2 * r + r;
    double cosine = 1.0 / 479001600;
    cosine = cosine * r2 - 1.0 / 3628800;
    cosine = cosine * r2 + 1.0 / 40320;
    cosine = cosine * r2 - 1.0 / 720;
    cosine = cosine * r2 + 1.0 / 24;
    cosine = cosine * r2 - 1.0 / 2;
    cosine = cosine * r2 + 1;
    const auto quarter = std::bit_cast<std::int64_t>(shifted);
    const bool odd = (quarter & 1) != 0;
    const double c = odd ? sine : cosine;
    const double s = odd ? cosine : sine;
    // Quarters 0 to 3: (c, s), (-s, c), (-c, -s), (s, -c).
    cosines[i] = static_cast<float>(((quarter + 1) & 2) != 0 ? -c : c);
    sines[i] = static_cast<float>((quarter & 2) != 0 ? -s : s);
  }
}

void turn(const float* x, std::int64_t half, const Buffers& table, float* y) {
  const float* cosines = table.cosines;
  const float* sines = table.sines;
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const float low = x[i], high = x[i + half];
    y[i] = low * cosines[i] - high * sines[i];
    y[i + half] = high * cosines[i] + low * sines[i];
  }
}

std::int64_t rotary_workspace(const OpView& op, int threads) {
  WorkspaceSlices shared;
  shared.take<double>(head_width(op) / 2);
  return shared.bytes() + threads * bytes_per_thread(head_width(op));
}

void rotary_kernel(const KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], T = call.shape(0)[1], D = head_width(call.op);
  const std::int64_t H = call.shape(0)[2] / D;
  WorkspaceSlices shared(call.workspace.data());
  const std::span<double> frequencies(shared.take<double>(D / 2), static_cast<std::size_t>(D / 2));
  rotary_frequencies(call.attributes()).write(frequencies);
  const std::int64_t direction = call.attributes().boolean("inverse") ? -1 : 1;
  const auto position = [&](std::int64_t b, std::int64_t t) -> std::int64_t {
    if (call.has(2)) return call.in<std::int32_t>(2)[t];
    return (call.has(1) ? call.in<std::int32_t>(1)[b] : 0) + t;
  };
  const HeadRows x(call.inputs[0], D), y(call.outputs[0], D);
  const std::int64_t each = bytes_per_thread(D);
  // Sequences of one token after the other: most have it at the same position.
  parallel_for(B * T, worthwhile_threads(call.inputs[0].elements(), call.threads),
               [&](std::int64_t first, std::int64_t end, int thread) {
                 WorkspaceSlices slices(call.workspace.data() + shared.bytes() + thread * each);
                 const Buffers buffers(slices, D);
                 for (std::int64_t i = first; i < end; ++i) {
                   const std::int64_t b = i % B, t = i / B;
                   if (i == first || position(b, t) != position((i - 1) % B, (i - 1) / B))
                     fill_table(static_cast<double>(direction * position(b, t)), frequencies, buffers.cosines,
                                buffers.sines);
                   for (std::int64_t h = 0; h < H; ++h) {
                     const HeadRows::Place at{.b = b, .token = t, .head = h};
                     turn(x.read(at, buffers.x), D / 2, buffers, buffers.y);
                     y.store(at, 1, buffers.y, call.accumulates(0));
                   }
                 }
               });
}

}  // namespace

const KernelEntry rotary_entry{rotary_kernel, rotary_workspace, true};

}  // namespace nadi::inline engines::cpu
