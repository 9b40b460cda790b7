// Short pieces, which are nearly all: the ranks of all neighbouring pairs are kept in an array, the least is
// found by looking at all of them, and a merge looks up two new pairs. Quadratic with a very small constant.
//
// Long pieces (text without spaces): the same with a heap of (rank, position) over a linked list, so
// n log n. An entry of the heap is stale, and is passed over, when the pair at its position has changed.

#include "nadi/text/bpe_merger.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <queue>

#include "nadi/base/error.h"
#include "nadi/base/hash.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kLongestShort = 64;  // bytes
constexpr int kRankBits = 22;
constexpr int kIdBits = 21;
constexpr std::uint64_t kRankMask = (std::uint64_t{1} << kRankBits) - 1;
// All bits: its rank is beyond kMaximumMerges, so that it is no entry.
constexpr std::uint64_t kFree = ~std::uint64_t{0};

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(left) << kIdBits | static_cast<std::uint64_t>(right)) << kRankBits;
}

std::size_t hash_of(std::uint64_t key) {
  const std::uint64_t mixed = (key >> kRankBits) * kGoldenRatio64;
  return static_cast<std::size_t>(mixed >> 32 ^ mixed >> 17);
}

std::size_t byte_of(char letter) {
  return static_cast<unsigned char>(letter);
}

}  // namespace

BpeMerger::BpeMerger(const std::array<TokenId, 256>& byte_tokens, std::vector<Merge> merges)
    : byte_tokens_(byte_tokens), merges_(std::move(merges)) {
  check(merges_.size() <= kMaximumMerges, "more merges than the table can number");
  slots_.assign(std::bit_ceil(2 * merges_.size() + 2), kFree);
  mask_ = slots_.size() - 1;
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const std::uint64_t key = pair_key(merges_[rank].left, merges_[rank].right);
    std::size_t at = hash_of(key) & mask_;
    while (slots_[at] != kFree) at = (at + 1) & mask_;
    slots_[at] = key | rank;
  }
  rank_of_bytes_.resize(256 * 256);
  for (std::size_t first = 0; first < 256; ++first) {
    for (std::size_t second = 0; second < 256; ++second)
      rank_of_bytes_[first * 256 + second] = rank_of(byte_tokens_[first], byte_tokens_[second]);
  }
}

std::uint32_t BpeMerger::rank_of(TokenId left, TokenId right) const {
  const std::uint64_t key = pair_key(left, right);
  for (std::size_t at = hash_of(key) & mask_;; at = (at + 1) & mask_) {
    const std::uint64_t slot = slots_[at];
    if ((slot & ~kRankMask) == key && slot != kFree) return static_cast<std::uint32_t>(slot & kRankMask);
    if (slot == kFree) return kNoRank;
  }
}

void BpeMerger::encode(std::string_view piece, std::vector<TokenId>& ids) const {
  if (piece.size() <= kLongestShort) {
    encode_short(piece, ids);
  } else {
    encode_long(piece, ids);
  }
}

void BpeMerger::encode_short(std::string_view piece, std::vector<TokenId>& ids) const {
  std::size_t count = piece.size();
  if (count == 0) return;
  std::array<TokenId, kLongestShort> tokens;
  std::array<std::uint32_t, kLongestShort> ranks;  // of the pair that begins at each token but the last
  tokens[0] = byte_tokens_[byte_of(piece[0])];
  for (std::size_t i = 1; i < count; ++i) {
    tokens[i] = byte_tokens_[byte_of(piece[i])];
    ranks[i - 1] = rank_of_bytes_[byte_of(piece[i - 1]) * 256 + byte_of(piece[i])];
  }
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == kNoRank) break;
    tokens[best] = merges_[ranks[best]].merged;
    const std::size_t behind = count - best - 2;  // tokens after the pair
    if (behind > 0) {
      std::memmove(&tokens[best + 1], &tokens[best + 2], behind * sizeof tokens[0]);
      std::memmove(&ranks[best], &ranks[best + 1], behind * sizeof ranks[0]);
      ranks[best] = rank_of(tokens[best], tokens[best + 1]);
    }
    if (best > 0) ranks[best - 1] = rank_of(tokens[best - 1], tokens[best]);
    --count;
  }
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
}

void BpeMerger::encode_long(std::string_view piece, std::vector<TokenId>& ids) const {
  constexpr TokenId kGone = -1;  // merged into the token before it
  struct Symbol {
    TokenId token;
    std::size_t previous;
    std::size_t next;
  };
  struct Candidate {
    std::uint32_t rank;
    std::size_t at;
    auto operator<=>(const Candidate&) const = default;
  };
  const std::size_t end = piece.size();
  std::vector<Symbol> symbols(end);
  for (std::size_t i = 0; i < end; ++i) symbols[i] = {byte_tokens_[byte_of(piece[i])], i - 1, i + 1};

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](std::size_t at) {
    const std::size_t next = symbols[at].next;
    if (next == end) return;
    const std::uint32_t rank = rank_of(symbols[at].token, symbols[next].token);
    if (rank != kNoRank) queue.push({rank, at});
  };
  for (std::size_t i = 0; i < end; ++i) consider(i);

  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    const Merge& merge = merges_[best.rank];
    if (left.token != merge.left || left.next == end || symbols[left.next].token != merge.right) continue;
    symbols[left.next].token = kGone;
    left.token = merge.merged;
    left.next = symbols[left.next].next;
    if (left.next != end) symbols[left.next].previous = best.at;
    consider(best.at);
    if (best.at != 0) consider(left.previous);
  }
  for (std::size_t at = 0; at < end; at = symbols[at].next) ids.push_back(symbols[at].token);
}

void BpeMerger::encode_reference(std::string_view piece, std::vector<TokenId>& ids) const {
  std::vector<TokenId> tokens;
  for (const char letter : piece) tokens.push_back(byte_tokens_[byte_of(letter)]);
  for (;;) {
    std::uint32_t least = kNoRank;
    std::size_t where = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const std::uint32_t rank = rank_of(tokens[i], tokens[i + 1]);
      if (rank < least) {
        least = rank;
        where = i;
      }
    }
    if (least == kNoRank) break;
    tokens[where] = merges_[least].merged;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
  ids.insert(ids.end(), tokens.begin(), tokens.end());
}

}  // namespace nadi::inline files
