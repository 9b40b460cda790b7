// What the attention kernels share: where queries, keys and values are, which keys a query sees, and what
// dropout does to a probability.
//
// Letters: B sequences, T queries, S keys, H heads, K key-value heads, D width of a head, G = H / K. All
// queries that use one key-value head of one sequence are worked on together, T*G of them: row r is query
// r / G of the group's head r % G. So keys are brought into the cache once for the whole group.
//
// Masks are one comparison: a query sees a key when the key's position is below the query's limit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "nadi/base/round_up.h"
#include "nadi/cpu/dropout_mask.h"
#include "nadi/cpu/head_rows.h"
#include "nadi/cpu/kernel.h"
#include "nadi/cpu/tile_product.h"
#include "nadi/graph/ops/attention.h"

namespace nadi::inline engines::cpu {

// Queries and keys that are worked on at a time. A tile of scores, and one of keys of width 64, takes 20 KiB.
inline constexpr std::int64_t kQueryRows = 64;
inline constexpr std::int64_t kKeyRows = 64;
inline constexpr std::int64_t kScoreStride = tile_stride(kKeyRows);

// How many threads an attention op is worth.
int attention_threads(const AttentionExtents& extents, int threads);

// Up to kKeyRows keys of a sequence.
struct KeyTile {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t lowest = 0;                  // position of a key in it
  const std::int32_t* positions = nullptr;  // nullptr where they are lowest, lowest + 1, ...

  // How many columns there are up to the last key that a query with this limit sees.
  std::int64_t columns(std::int64_t limit) const;
  // Makes the scores of keys that are not seen minus infinity, within the first `columns`.
  void mask(float* scores, std::int64_t columns, std::int64_t limit) const;
};

class AttentionOperands {
 public:
  explicit AttentionOperands(const KernelCall& call);

  AttentionExtents extents;
  std::int64_t group;  // G
  std::int64_t rows;   // T * G
  float scale;
  bool drops;

  HeadRows q, k, v;

  // Where the query of row r is, in q, y and their gradients.
  HeadRows::Place query(std::int64_t b, std::int64_t kv_head, std::int64_t r) const {
    return {.b = b, .token = r / group, .head = kv_head * group + r % group};
  }
  // Its number in [B, H, T].
  std::int64_t query_number(const HeadRows::Place& at) const {
    return (at.b * extents.H + at.head) * extents.T + at.token;
  }

  // Those of the queries of rows first to first + limits.size().
  void fill_limits(std::int64_t b, std::int64_t first, std::span<std::int64_t> limits) const;
  KeyTile key_tile(std::int64_t first) const;
  std::int64_t key_tiles() const { return divided_up(extents.S, kKeyRows); }
  // What dropout multiplies the probabilities of the tile's first `columns` keys by, for the query at this
  // place; zeros where there are fewer keys.
  void dropout_factors(const HeadRows::Place& at, const KeyTile& tile, std::int64_t columns,
                       float* factors) const;

  // Roughly, for sharing out work: how many keys the query of this token sees, and how many tokens see this
  // key.
  std::int64_t keys_seen(std::int64_t b, std::int64_t token) const;
  std::int64_t tokens_seeing(std::int64_t b, std::int64_t key) const;

 private:
  std::int64_t query_position(std::int64_t b, std::int64_t token) const;
  std::int64_t limit(std::int64_t b, std::int64_t token) const;
  // Tokens that dropout's numbers count: those of the whole sequence.
  std::int64_t dropout_tokens() const;

  bool causal_;
  const std::int32_t* positions_;  // these five: nullptr where absent
  const std::int32_t* lengths_;
  const std::int32_t* query_positions_;
  const std::int32_t* key_positions_;
  const std::int32_t* head_ids_;
  std::int64_t whole_heads_;
  std::optional<DropoutMask> dropout_;
};

// How far the queries of a tile, kQueryRows at most, see into a tile of keys: every panel of kPanelRows as
// far as the one that sees most. From this the extents of the products (tile_product.h) that skip what nobody
// sees.
class SeenColumns {
 public:
  SeenColumns(std::span<const std::int64_t> limits, const KeyTile& tile);

  bool any() const;
  // Columns of scores that are computed for row i; a multiple of kPanelColumns.
  std::int64_t computed(std::int64_t i) const { return padded_width(columns_[i / kPanelRows]); }

  using Extents = std::array<PanelExtent, divided_up(std::max(kQueryRows, kKeyRows), kPanelRows)>;
  // Scores, of queries and keys as sums over `depth`.
  std::span<const PanelExtent> scores(std::int64_t depth, Extents& extents) const;
  // Rows of `width` per query, as sums over the keys.
  std::span<const PanelExtent> per_query(std::int64_t width, Extents& extents) const;
  // Rows of `width` per key, as sums over the queries.
  std::span<const PanelExtent> per_key(std::int64_t width, Extents& extents) const;

 private:
  std::int64_t queries_;
  std::int64_t keys_;
  std::int64_t panels_;
  std::array<std::int64_t, divided_up(kQueryRows, kPanelRows)> columns_;
};

}  // namespace nadi::inline engines::cpu
