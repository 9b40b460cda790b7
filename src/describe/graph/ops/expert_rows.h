// Tokens in the order of their experts, so that each expert has its rows one after the other. Letters: T
// tokens, k experts of each, E experts, R rows, W width.
//
//   const PlacedTokens placed = place_tokens(builder, {.experts = experts, .expert_count = 8});
//   const TensorId rows = permute_tokens(builder, x, placed);             // [R, W], by expert
//   ...                                                                  // each expert on its rows
//   const TensorId y = unpermute_tokens(builder, rows, placed);           // the sum of a token's rows
//
// How many rows an expert gets is known while the step runs, not before: shapes are those of the bound, and
// `counts` says how many rows of each expert are in use. Rows behind them are zeros.
//
// Dropless, the bound is all T * k rows, so that every token has its place. With a capacity an expert takes at most
// ceil(T * k / E * factor) tokens, the ones with the largest weights or the first ones, and the others are
// dropped: they have no row and add nothing. Padded to the capacity, every expert has exactly so many rows.
#pragma once

#include "nadi/graph/builder.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline describe {

enum class DropPolicy : std::uint8_t { kProbs, kPosition };
std::string_view to_string(DropPolicy policy);  // "probs", "position"
DropPolicy drop_policy_named(std::string_view name);

struct PlaceTokensArgs {
  TensorId experts = kNoTensor;  // i32 [..., k]
  TensorId weights = kNoTensor;  // f32 [..., k]: by which kProbs drops
  std::int64_t expert_count = 1;
  double capacity_factor = 0;  // 0 means dropless
  bool padded = false;         // to the capacity
  DropPolicy policy = DropPolicy::kProbs;
};
struct PlacedTokens {
  TensorId sources;  // i32 [R]: token * k + number of its expert, -1 for a row that is not in use
  TensorId slots;    // i32 [..., k]: its row, -1 where it was dropped
  TensorId counts;   // i32 [E]: rows of each expert
  TensorId load;     // f32 [2, E]: tokens that chose each expert, and those of them that were kept
  std::int64_t rows_in_use = 0;  // of R, as far as it is known before the step runs: what costs count
};
PlacedTokens place_tokens(GraphBuilder& builder, const PlaceTokensArgs& args);

// Rows that an expert takes at most: of `choices` (tokens times experts per token).
std::int64_t expert_capacity(std::int64_t choices, std::int64_t experts, double factor);

// The token of each row: x [..., W] with as many rows as slots has tokens.
TensorId permute_tokens(GraphBuilder& builder, TensorId x, const PlacedTokens& placed);
// The sum of each token's rows [..., W].
TensorId unpermute_tokens(GraphBuilder& builder, TensorId rows, const PlacedTokens& placed);
// Likewise for the number that goes with each choice: weights [..., k] as [R, 1].
TensorId permute_weights(GraphBuilder& builder, TensorId weights, const PlacedTokens& placed);

// Rows that go to the ranks of a group, and come from them: how many to each, the counts tell.
struct PlaceReceivedArgs {
  TensorId counts = kNoTensor;  // i32 [P, E]: rows of each expert on every rank of the group
  TensorId place = kNoTensor;   // i32 [1]: of this rank in the group
  std::int64_t rows = 0;        // the bound; more stop the step
  std::int64_t rows_in_use = 0;
};
struct PlacedRows {
  TensorId sent;        // i32 [P]: rows to each rank
  TensorId received;    // i32 [P]: and from each
  PlacedTokens placed;  // of what was received, by expert of this rank; slots [rows, 1]
};
PlacedRows place_received(GraphBuilder& builder, const PlaceReceivedArgs& args);

// The first sent[0] rows of x go to member 0, the next sent[1] to member 1; what members give to this one stands
// in their order, [rows, W].
struct ExchangeRowsArgs {
  TensorId x = kNoTensor;
  TensorId sent = kNoTensor;
  TensorId received = kNoTensor;
  std::int64_t rows = 0;
  std::int64_t rows_in_use = 0;  // of what is sent
  GroupArgs group;
};
TensorId exchange_rows(GraphBuilder& builder, const ExchangeRowsArgs& args);

namespace place_tokens_output {
enum : int { kSources, kSlots, kCounts, kLoad };
}
namespace permute_tokens_input {
enum : int { kRows, kSources, kSlots };
}
namespace place_received_output {
enum : int { kSent, kReceived, kSources, kSlots, kCounts };
}
namespace exchange_rows_input {
enum : int { kRows, kSent, kReceived };
}

}  // namespace nadi::inline describe
