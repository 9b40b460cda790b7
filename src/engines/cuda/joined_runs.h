// Runs of ops that can be computed as one since they share a factor: queries, keys and values of attention
// are products of the same rows x with three weights w_i. joined_products.h has what is computed instead.
//
//   const JoinedRuns runs(program, graph);
//   if (const std::optional<ResultsRun> run = runs.results(ops)) ...;   // the first run->ops of them
//
// Two kinds of runs are found, as models and the gradient transformation write them, views left out:
//
//   results     y_i = x w_i^T [+ b_i] [, turned by rotary], for each i
//   gradients   [dy_i turned back] [db_i (+)= sum of dy_i's rows] [dx += dy_i w_i] [dw_i (+)= dy_i^T x], for
//               each i the same of these
//
// Weights lie one after the other in memory (parallel/variable_buckets.h), and so do biases and gradients.
// The y_i, and the dy_i, can share the rows of one matrix (SharedRows): one kernel writes them, and all who
// read or write them go from row to row by a stride (KernelNeeds::takes_shared_rows). Of a run that does not
// suit, nothing is joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/parallel/program.h"

namespace nadi::inline engines::cuda {

// Inputs of a product.
namespace joined_input {
enum Input { kRows, kWeight, kBias, kFirstScale };
}

inline TensorId output_of(const Op* op) {
  return op->outputs[0].tensor;
}

// A product of the forward pass.
struct JoinedResult {
  const Op* product = nullptr;
  const Op* rotary = nullptr;  // nullptr means none

  TensorId value() const { return output_of(rotary != nullptr ? rotary : product); }
};

// What one dy is used for; nullptr means not that.
struct JoinedGradient {
  const Op* rotary = nullptr;
  const Op* bias_sum = nullptr;
  const Op* to_input = nullptr;
  const Op* add = nullptr;
  const Op* to_weight = nullptr;
  TensorId value = kNoTensor;  // dy before it is turned

  TensorId turned() const { return rotary != nullptr ? output_of(rotary) : value; }
  bool same_uses(const JoinedGradient& other) const {
    return (bias_sum != nullptr) == (other.bias_sum != nullptr) &&
           (to_input != nullptr) == (other.to_input != nullptr) &&
           (to_weight != nullptr) == (other.to_weight != nullptr);
  }
};

// The first so many of the ops given. Members are in the order of their weights in memory.
struct ResultsRun {
  std::size_t ops = 0;
  std::vector<JoinedResult> members = {};
};
struct GradientsRun {
  std::size_t ops = 0;
  std::vector<JoinedGradient> members = {};
  const Op* last_add = nullptr;  // makes dx; nullptr means nobody wants it
  TensorId summand = kNoTensor;  // what there was of dx; kNoTensor: nothing
};

class JoinedRuns {
 public:
  // The program must outlive this.
  JoinedRuns(const Program& program, std::size_t graph);

  const Graph& graph() const { return graph_; }

  // `ops`: numbers of ops of one section, in order, without views.
  std::optional<ResultsRun> results(std::span<const std::uint32_t> ops) const;
  std::optional<GradientsRun> gradients(std::span<const std::uint32_t> ops) const;

 private:
  const Op& op(std::uint32_t number) const { return graph_.ops()[number]; }
  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }
  std::size_t readers_of(TensorId id) const { return readers_[index(id)].size(); }
  bool is_product(const Op& op, bool transpose_a, bool transpose_b) const;
  bool is_rotary_of(const Op& op, TensorId value) const;
  bool adds(const Op& op, TensorId value) const;
  bool follow(const std::vector<TensorId>& variables) const;
  bool can_share_rows(const std::vector<TensorId>& values) const;
  bool suits(ResultsRun& run) const;
  std::size_t read(std::span<const std::uint32_t> ops, JoinedGradient& member) const;
  bool continues(const GradientsRun& run, const JoinedGradient& member) const;
  bool sums_up(GradientsRun& run) const;
  bool suits(GradientsRun& run) const;

  const Graph& graph_;
  const BucketOrder order_;
  std::vector<std::vector<std::uint32_t>> readers_;  // by tensor: numbers of ops
};

// What `get` gives of each member.
template <class Member, class Get>
std::vector<TensorId> each_of(const std::vector<Member>& members, const Get& get) {
  std::vector<TensorId> tensors;
  for (const Member& member : members) tensors.push_back(get(member));
  return tensors;
}

}  // namespace nadi::inline engines::cuda
