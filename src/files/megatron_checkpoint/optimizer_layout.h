// Which parameter of a rank is which in Megatron-LM's optimizers: pure arithmetic, no files. Parameters are
// all tensors of a rank in the order of the model, chunk after chunk (shard_layout.h).
//
//   plain        two groups of parameters, with weight decay (matrices) and without (vectors); the one whose
//                first parameter comes first in the model is first. Indices count through the groups.
//   distributed  one flat buffer per chunk (parallel/parameter_layout.h)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nadi/megatron_checkpoint/shard_layout.h"
#include "nadi/parallel/parameter_layout.h"

namespace nadi::inline files {

struct OptimizerGroup {
  bool decays = false;                       // wd_mult 1.0, else 0.0
  std::vector<std::size_t> parameters = {};  // places in the list
};
std::vector<OptimizerGroup> optimizer_groups(std::span<const ShardTensor> parameters);

// What buckets depend on.
struct BucketRules {
  // `full`: one bucket without --overlap-grad-reduce, on all stages but the first and in all chunks but the first.
  FlatBufferRules flat = {};
  std::string shared_embedding =
      {};  // the tensor that has a bucket of its own: word embeddings tied across stages
};

// Of parameters as parallel/parameter_layout.h lays them out. Error (infeasible) where Megatron itself loses
// elements.
FlatBuffer flat_buffer(std::span<const ShardTensor> parameters, const BucketRules& rules);

}  // namespace nadi::inline files
