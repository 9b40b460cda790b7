// Byte-pair encoding of one piece of text: begins with a token per byte and, as long as two neighbours can be
// merged, merges the pair that was learnt first, the leftmost of several.
//
//   const BpeMerger merger(byte_tokens, merges);
//   merger.encode(" tokenization", ids);      // appends
//
// Immutable after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// Two neighbouring tokens become one.
struct Merge {
  TokenId left;
  TokenId right;
  TokenId merged;
};

// What fits the 64-bit entries of the table of merges. The largest vocabularies in use are a tenth of it.
inline constexpr std::int64_t kMaximumVocabulary = std::int64_t{1} << 21;
inline constexpr std::size_t kMaximumMerges = (std::size_t{1} << 22) - 1;

class BpeMerger {
 public:
  // `merges` in the order in which they were learnt, without a pair twice, within the limits above.
  BpeMerger(const std::array<TokenId, 256>& byte_tokens, std::vector<Merge> merges);

  void encode(std::string_view piece, std::vector<TokenId>& ids) const;

  // The definition above, word by word; quadratic. The oracle for encode().
  void encode_reference(std::string_view piece, std::vector<TokenId>& ids) const;

  const std::vector<Merge>& merges() const { return merges_; }

 private:
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFF;

  // The position of the pair in merges_, or kNoRank.
  std::uint32_t rank_of(TokenId left, TokenId right) const;
  void encode_short(std::string_view piece, std::vector<TokenId>& ids) const;
  void encode_long(std::string_view piece, std::vector<TokenId>& ids) const;

  std::array<TokenId, 256> byte_tokens_;
  std::vector<Merge> merges_;
  std::vector<std::uint32_t> rank_of_bytes_;  // [first byte * 256 + second byte]
  std::vector<std::uint64_t> slots_;          // left << 43 | right << 22 | rank; kFree where empty
  std::size_t mask_ = 0;
};

}  // namespace nadi::inline files
