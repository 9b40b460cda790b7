// Which parameter of a rank is which in Megatron-LM's optimizers: pure arithmetic, no files. Parameters are
// all tensors of a rank in the order of the model, chunk after chunk (shard_layout.h).
//
//   plain        two groups of parameters, with weight decay (matrices) and without (vectors); the one whose
//                first parameter comes first in the model is first. Indices count through the groups.
//   distributed  one flat buffer per chunk, parameters in reverse order, each start rounded up to 64
//   elements,
//                cut into buckets, of which the file has no padding in between
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/megatron_checkpoint/shard_layout.h"

namespace nadi::inline files {

struct OptimizerGroup {
  bool decays = false;                       // wd_mult 1.0, else 0.0
  std::vector<std::size_t> parameters = {};  // places in the list
};
std::vector<OptimizerGroup> optimizer_groups(std::span<const ShardTensor> parameters);

// What buckets depend on.
struct BucketRules {
  std::int64_t data_parallel = 1;
  // Elements after which a bucket is full; nothing means one bucket, as without --overlap-grad-reduce, on all
  // stages but the first and in all chunks but the first.
  std::optional<std::int64_t> bucket_elements = {};
  bool wide_padding = false;  // --ddp-pad-buckets-for-high-nccl-busbw
  std::string shared_embedding =
      {};  // the tensor that has a bucket of its own: word embeddings tied across stages
};

struct FlatBuffer {
  std::vector<std::int64_t> first = {};  // of each parameter
  std::int64_t elements = 0;             // "numel_unpadded"
};

// Error (infeasible) where Megatron itself loses elements: a bucket of tied embeddings that starts within the
// padding of the one before, which happens only to models whose parameters do not have multiples of 128
// elements.
FlatBuffer flat_buffer(std::span<const ShardTensor> parameters, const BucketRules& rules);

}  // namespace nadi::inline files
