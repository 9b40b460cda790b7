// Learns which neighbouring symbols to merge: what training BPE and WordPiece have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// A word of the text as symbols, and how often it occurs.
struct CountedWord {
  std::vector<TokenId> symbols;
  std::int64_t count = 0;
};

// Merges the most frequent pair of neighbours everywhere, again and again; of equally frequent ones the pair
// with the smaller numbers. Before each merge `on_merge` is asked for the symbol that the pair becomes, which
// may be known already under another pair, and ends the learning by answering with nothing. It may be asked
// for the same pair again, when another merge made one of its halves anew. Learning also ends when no pair is
// left that occurs `minimum_count` times, which is at least 1. The order of the words does not matter.
void learn_merges(std::vector<CountedWord> words, std::int64_t minimum_count,
                  const std::function<std::optional<TokenId>(TokenId left, TokenId right)>& on_merge);

}  // namespace nadi::inline files
