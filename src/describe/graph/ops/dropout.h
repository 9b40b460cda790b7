// y = x / (1 - rate) where a counted random number is at least `rate`, else 0.
//
// The numbers are counted, not drawn: element i of the op takes number i of the sequence keyed by seed, step
// and the op's site, so that the backward pass, recomputation, resuming and any split over ranks see the same
// mask. The key comes in the input `random`, i64 [3] = {seed, step, number of the batch's first sample in the
// global batch}: the index of an element counts from the global batch's first sample. The site is a hash of
// the layer's name and the purpose.
//
// Where the second axis is only a part of a whole one (tokens or heads split over ranks), `rows` (i32, one
// per index of that axis) says which, and `whole_rows` how many there are in all.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct DropoutArgs {
  TensorId x = kNoTensor;  // [B, ...]: the first axis counts samples
  TensorId random = kNoTensor;
  double rate = 0;  // 0 means x itself comes back and no op is added
  std::string_view purpose = "";
  TensorId rows = kNoTensor;
  std::int64_t whole_rows = 0;
};
TensorId dropout(GraphBuilder& builder, const DropoutArgs& args);

// The site of a random op that is added to the builder now; `purpose` tells apart those of one layer.
std::int64_t dropout_site(const GraphBuilder& builder, std::string_view purpose);

// The key of the random numbers, one per step; made on first use.
TensorId random_input(GraphBuilder& builder);

}  // namespace nadi::inline describe
