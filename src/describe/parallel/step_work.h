// The work of ops as a device model or a network model reads it: floating-point operations and bytes by
// phase, kind and element type, matrix products by shape, messages by kind, group and size, each with its
// count.
//
//   StepWork work;
//   add_op(work, graph, op, times);
//
// A list holds each combination once when it was filled by add_op(), and may hold one several times where
// lists were joined: merged() puts those together.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/graph.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

enum class OpWorkKind : std::uint8_t {
  kLinear,     // products with weights, in transformer blocks
  kHead,       // products with weights outside of them: the output layer and what goes with it
  kAttention,  // all other matrix products
  kOther,
};

// `dtype` is that of the first operand of matrix products and attention, that of the first output of others.
struct WorkEntry {
  Phase phase{};
  OpWorkKind kind{};
  DType dtype{};
  std::int64_t ops = 0;
  Flops matrix = {};
  Flops vector = {};
  Bytes read = {};
  Bytes written = {};

  auto key() const { return std::tuple(phase, kind, dtype); }
  bool operator==(const WorkEntry&) const = default;
};

// `batches` products of [m, k] by [k, n].
struct Product {
  Phase phase{};
  DType dtype{};
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t batches = 1, m = 0, n = 0, k = 0;
  std::int64_t count = 0;

  auto key() const { return std::tuple(phase, dtype, transpose_a, transpose_b, batches, m, n, k); }
  bool operator==(const Product&) const = default;
};

// A collective, a send or a receive, as the rank takes part in it.
struct StepMessage {
  Phase phase{};
  OpKind kind{};
  GroupKind group{};
  Bytes size = {};  // what the rank gives to it; of a receive: what it gets
  std::int64_t count = 0;

  auto key() const { return std::tuple(phase, kind, group, size); }
  bool operator==(const StepMessage&) const = default;
};

struct StepWork {
  std::vector<WorkEntry> work;
  std::vector<Product> products;
  std::vector<StepMessage> messages;

  bool operator==(const StepWork&) const = default;
};

void add_op(StepWork& sum, const Graph& graph, const Op& op, std::int64_t times = 1);
void add(std::vector<WorkEntry>& sum, const WorkEntry& entry, std::int64_t times = 1);

// Sorted, every combination once, without those that occur 0 times.
StepWork merged(StepWork work);

}  // namespace nadi::inline describe
