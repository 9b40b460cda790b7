#include "nadi/text/bpe_trainer.h"

#include <array>
#include <map>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/text/byte_alphabet.h"
#include "nadi/text/byte_level_tokenizer.h"
#include "nadi/text/merge_learner.h"
#include "nadi/text/unicode.h"
#include "nadi/text/utf8.h"
#include "nadi/text/word_counts.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kSmallest = 256 + 1;  // the bytes and <|endoftext|>

void check_options(const BpeTrainingOptions& options) {
  if (options.vocabulary_size < kSmallest || options.vocabulary_size > kMaximumVocabulary)
    throw usage_error(format("a byte-level vocabulary of {} tokens is not between {} and {}",
                             options.vocabulary_size, kSmallest, kMaximumVocabulary));
  if (options.minimum_count < 1)
    throw usage_error(format("a minimum count of {} is below 1", options.minimum_count));
}

WordCounts count_pieces(const TextSource& source) {
  const CharacterTable& table = character_table();
  const Splitter& splitter = gpt2_splitter();
  WordCounts counts;
  const auto count_plain = [&](std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
      const char* const stop = splitter.piece_end(table, at, end);
      counts.add({at, static_cast<std::size_t>(stop - at)});
      at = stop;
    }
  };
  std::string document;
  while (source(document)) {
    require_utf8(document);
    std::string_view rest = document;
    for (std::size_t at = 0; (at = rest.find(kEndOfText)) != std::string_view::npos;) {
      count_plain(rest.substr(0, at));
      rest.remove_prefix(at + kEndOfText.size());
    }
    count_plain(rest);
  }
  return counts;
}

}  // namespace

std::unique_ptr<Tokenizer> train_bpe(const TextSource& source, const BpeTrainingOptions& options) {
  check_options(options);
  ByteLevelVocabulary vocabulary;
  vocabulary.splitter = &gpt2_splitter();
  std::unordered_map<std::string, TokenId> number_of;
  const auto add_token = [&](std::string token) {
    const auto id = static_cast<TokenId>(vocabulary.tokens.size());
    number_of.emplace(token, id);
    vocabulary.tokens.push_back(std::move(token));
    return id;
  };
  std::array<TokenId, 256> byte_tokens;
  for (const std::uint8_t byte : byte_alphabet_order())
    byte_tokens[byte] = add_token(to_byte_alphabet(std::string(1, static_cast<char>(byte))));

  std::vector<CountedWord> words;
  {
    const WordCounts counts = count_pieces(source);
    for (const auto& [word, count] : counts.counts()) {
      CountedWord& counted = words.emplace_back();
      counted.count = count;
      for (const char byte : word) counted.symbols.push_back(byte_tokens[static_cast<unsigned char>(byte)]);
    }
  }

  std::map<std::pair<TokenId, TokenId>, TokenId> known_pairs;
  learn_merges(std::move(words), options.minimum_count,
               [&](TokenId left, TokenId right) -> std::optional<TokenId> {
                 if (const auto known = known_pairs.find({left, right}); known != known_pairs.end())
                   return known->second;
                 const std::string token = vocabulary.tokens[static_cast<std::size_t>(left)] +
                                           vocabulary.tokens[static_cast<std::size_t>(right)];
                 const auto same = number_of.find(token);
                 if (same == number_of.end() &&
                     static_cast<std::int64_t>(vocabulary.tokens.size()) + 1 == options.vocabulary_size)
                   return std::nullopt;
                 const TokenId merged = same != number_of.end() ? same->second : add_token(token);
                 known_pairs.emplace(std::pair(left, right), merged);
                 vocabulary.merges.push_back({left, right, merged});
                 return merged;
               });

  // Longer than any merge could make it: pieces do not mix letters with "<|".
  vocabulary.added.push_back(
      {.text = std::string(kEndOfText), .id = add_token(std::string(kEndOfText)), .special = true});
  return make_byte_level_tokenizer(std::move(vocabulary));
}

}  // namespace nadi::inline files
