#include "nadi/cpu/attention_operands.h"

#include <algorithm>
#include <limits>

#include "nadi/base/round_up.h"
#include "nadi/cpu/softmax_row.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {
namespace {

using namespace attention_input;

const std::int32_t* integers(const KernelCall& call, int input) {
  return call.has(input) ? call.in<std::int32_t>(input) : nullptr;
}

// As long as an element of a plain loop, by which parallel.h measures.
constexpr std::int64_t kMultiplyAddsPerElement = 4;

}  // namespace

int attention_threads(const AttentionExtents& extents, int threads) {
  const AttentionExtents& e = extents;
  return worthwhile_threads(e.B * e.H * e.T * e.S * e.D / kMultiplyAddsPerElement, threads);
}

std::int64_t KeyTile::columns(std::int64_t limit) const {
  if (positions == nullptr) return std::clamp<std::int64_t>(limit - lowest, 0, count);
  std::int64_t end = count;
  while (end > 0 && positions[end - 1] >= limit) --end;
  return end;
}

void KeyTile::mask(float* scores, std::int64_t columns, std::int64_t limit) const {
  if (positions == nullptr) {
    const std::int64_t seen = std::clamp<std::int64_t>(limit - lowest, 0, count);
    for (std::int64_t j = seen; j < columns; ++j) scores[j] = kMinusInfinity;
    return;
  }
  for (std::int64_t j = 0; j < columns; ++j)
    if (j >= count || positions[j] >= limit) scores[j] = kMinusInfinity;
}

AttentionOperands::AttentionOperands(const KernelCall& call)
    : extents(attention_extents(call.op)),
      group(extents.H / extents.K),
      rows(extents.T * group),
      scale(static_cast<float>(call.attributes().real("scale"))),
      drops(call.attributes().real("dropout") > 0),
      q(call.inputs[kQ], extents.D),
      causal_(call.attributes().boolean("causal")),
      positions_(integers(call, kPositions)),
      lengths_(integers(call, kLengths)),
      query_positions_(integers(call, kQueryPositions)),
      key_positions_(integers(call, kKeyPositions)),
      head_ids_(integers(call, kHeadIds)),
      whole_heads_(head_ids_ != nullptr ? call.attributes().integer("whole_heads") : extents.H) {
  const bool packed = !call.has(kK);
  k = packed ? HeadRows(call.inputs[kQ], extents.D, extents.H) : HeadRows(call.inputs[kK], extents.D);
  v = packed ? HeadRows(call.inputs[kQ], extents.D, extents.H + extents.K)
             : HeadRows(call.inputs[kV], extents.D);
  if (drops)
    dropout_.emplace(DropoutArguments{.random = call.inputs[kRandom],
                                      .rate = call.attributes().real("dropout"),
                                      .site = call.attributes().integer("site"),
                                      .elements_per_sample = whole_heads_ * dropout_tokens() * extents.S});
}

std::int64_t AttentionOperands::query_position(std::int64_t b, std::int64_t token) const {
  if (query_positions_ != nullptr) return query_positions_[token];
  return (positions_ != nullptr ? positions_[b] : 0) + token;
}

std::int64_t AttentionOperands::limit(std::int64_t b, std::int64_t token) const {
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  if (causal_) limit = query_position(b, token) + 1;
  if (lengths_ != nullptr) limit = std::min<std::int64_t>(limit, lengths_[b]);
  return limit;
}

void AttentionOperands::fill_limits(std::int64_t b, std::int64_t first,
                                    std::span<std::int64_t> limits) const {
  for (std::size_t i = 0; i < limits.size(); ++i)
    limits[i] = limit(b, (first + static_cast<std::int64_t>(i)) / group);
}

KeyTile AttentionOperands::key_tile(std::int64_t first) const {
  KeyTile tile{.first = first, .count = std::min(kKeyRows, extents.S - first), .lowest = first};
  if (key_positions_ == nullptr) return tile;
  const std::span positions(key_positions_ + first, static_cast<std::size_t>(tile.count));
  tile.lowest = *std::ranges::min_element(positions);
  // Ranks that share a sequence have runs of its tokens, so most tiles need no list.
  for (std::int64_t j = 0; j < tile.count; ++j)
    if (positions[j] != tile.lowest + j) tile.positions = positions.data();
  return tile;
}

std::int64_t AttentionOperands::dropout_tokens() const {
  return query_positions_ != nullptr ? extents.S : extents.T;
}

void AttentionOperands::dropout_factors(const HeadRows::Place& at, const KeyTile& tile, std::int64_t columns,
                                        float* factors) const {
  const std::int64_t count = std::min(columns, tile.count);
  std::fill(factors + count, factors + columns, 0.0F);
  const std::int64_t head = head_ids_ != nullptr ? head_ids_[at.head] : at.head;
  const std::int64_t token = query_positions_ != nullptr ? query_positions_[at.token] : at.token;
  const std::int64_t row = ((at.b * whole_heads_ + head) * dropout_tokens() + token) * extents.S;
  if (tile.positions == nullptr) return dropout_->factors(row + tile.lowest, count, factors);
  // Runs of neighbours.
  for (std::int64_t first = 0, end = 1; first < count; first = end++) {
    while (end < count && tile.positions[end] == tile.positions[end - 1] + 1) ++end;
    dropout_->factors(row + tile.positions[first], end - first, factors + first);
  }
}

std::int64_t AttentionOperands::keys_seen(std::int64_t b, std::int64_t token) const {
  return std::clamp<std::int64_t>(limit(b, token), 0, extents.S);
}

std::int64_t AttentionOperands::tokens_seeing(std::int64_t b, std::int64_t key) const {
  if (key_positions_ != nullptr) return extents.T;
  if (lengths_ != nullptr && key >= lengths_[b]) return 0;
  if (!causal_) return extents.T;
  return std::clamp<std::int64_t>(extents.T - (key - query_position(b, 0)), 0, extents.T);
}

SeenColumns::SeenColumns(std::span<const std::int64_t> limits, const KeyTile& tile)
    : queries_(static_cast<std::int64_t>(limits.size())),
      keys_(tile.count),
      panels_(divided_up(queries_, kPanelRows)) {
  for (std::int64_t panel = 0; panel < panels_; ++panel) {
    const std::int64_t first = panel * kPanelRows;
    const auto rows = limits.subspan(first, std::min<std::int64_t>(kPanelRows, queries_ - first));
    columns_[panel] = tile.columns(*std::ranges::max_element(rows));
  }
}

bool SeenColumns::any() const {
  return std::any_of(columns_.begin(), columns_.begin() + panels_,
                     [](std::int64_t columns) { return columns > 0; });
}

std::span<const PanelExtent> SeenColumns::scores(std::int64_t depth, Extents& extents) const {
  for (std::int64_t panel = 0; panel < panels_; ++panel)
    extents[panel] = {.columns = columns_[panel], .first = 0, .end = depth};
  return std::span(extents).first(panels_);
}

std::span<const PanelExtent> SeenColumns::per_query(std::int64_t width, Extents& extents) const {
  for (std::int64_t panel = 0; panel < panels_; ++panel)
    extents[panel] = {.columns = columns_[panel] > 0 ? width : 0, .first = 0, .end = columns_[panel]};
  return std::span(extents).first(panels_);
}

std::span<const PanelExtent> SeenColumns::per_key(std::int64_t width, Extents& extents) const {
  const std::int64_t key_panels = divided_up(keys_, kPanelRows);
  for (std::int64_t i = 0; i < key_panels; ++i) {
    const auto sees = [&](std::int64_t panel) { return columns_[panel] > i * kPanelRows; };
    std::int64_t first = 0, end = panels_;
    while (first < end && !sees(first)) ++first;
    while (first < end && !sees(end - 1)) --end;
    extents[i] = {.columns = first < end ? width : 0,
                  .first = first * kPanelRows,
                  .end = std::min(end * kPanelRows, queries_)};
  }
  return std::span(extents).first(key_panels);
}

}  // namespace nadi::inline engines::cpu
