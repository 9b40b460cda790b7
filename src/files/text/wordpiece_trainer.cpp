#include "nadi/text/wordpiece_trainer.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/text/bpe_merger.h"
#include "nadi/text/merge_learner.h"
#include "nadi/text/utf8.h"
#include "nadi/text/word_counts.h"
#include "nadi/text/wordpiece_tokenizer.h"

namespace nadi::inline files {
namespace {

constexpr std::array<std::string_view, 5> kSpecials{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
constexpr TokenId kUnknownToken = 1;
constexpr std::string_view kContinuation = "##";

// A character where it begins a word, or where it continues one. In the order of the vocabulary.
struct Letter {
  bool continues;
  char32_t character;
  auto operator<=>(const Letter&) const = default;
};

std::string token_of(const Letter& letter) {
  std::string token(letter.continues ? kContinuation : "");
  append_utf8(letter.character, token);
  return token;
}

std::vector<Letter> letters_of(std::string_view word) {
  std::vector<Letter> letters;
  const char* at = word.data();
  while (at != word.data() + word.size()) letters.push_back({at != word.data(), next_character(at)});
  return letters;
}

void check_options(const WordPieceTrainingOptions& options) {
  constexpr auto kSmallest = static_cast<std::int64_t>(kSpecials.size()) + 1;
  if (options.vocabulary_size < kSmallest || options.vocabulary_size > kMaximumVocabulary)
    throw usage_error(format("a WordPiece vocabulary of {} tokens is not between {} and {}",
                             options.vocabulary_size, kSmallest, kMaximumVocabulary));
  if (options.minimum_count < 1)
    throw usage_error(format("a minimum count of {} is below 1", options.minimum_count));
  if (options.alphabet_limit < 1)
    throw usage_error(format("an alphabet of {} characters is too small", options.alphabet_limit));
}

// Words longer than a tokenizer would look at do not count.
WordCounts count_words(const TextSource& source, const WordPieceVocabulary& vocabulary) {
  const BertNormalizer normalizer(vocabulary.normalizer);
  const AddedTokenFinder specials(vocabulary.added);
  WordCounts counts;
  const auto count_plain = [&](std::string_view text) {
    for_each_word(character_table(), normalizer.normalize(text), [&](std::string_view word) {
      if (count_characters(word) <= static_cast<std::size_t>(vocabulary.maximum_characters)) counts.add(word);
    });
  };
  std::string document;
  while (source(document)) {
    require_utf8(document);
    const std::string_view text = document;
    std::size_t from = 0;
    while (const auto match = specials.find(text, from)) {
      count_plain(text.substr(from, match->begin - from));
      from = match->end;
    }
    count_plain(text.substr(from));
  }
  return counts;
}

// The most frequent letters, those first in the alphabet among equals; in the order of the alphabet.
std::vector<Letter> find_alphabet(const WordCounts& counts, std::size_t limit) {
  std::map<Letter, std::int64_t> frequency;
  for (const auto& [word, count] : counts.counts()) {
    for (const Letter& letter : letters_of(word)) frequency[letter] += count;
  }
  std::vector<std::pair<Letter, std::int64_t>> ranked(frequency.begin(), frequency.end());
  std::ranges::stable_sort(ranked, std::greater<>(), [](const auto& entry) { return entry.second; });
  ranked.resize(std::min(ranked.size(), limit));
  std::vector<Letter> alphabet;
  for (const auto& [letter, count] : ranked) alphabet.push_back(letter);
  std::ranges::sort(alphabet);
  return alphabet;
}

// The words of which every letter is in the alphabet, as the numbers of its tokens.
std::vector<CountedWord> words_in_letters(const WordCounts& counts,
                                          const std::map<Letter, TokenId>& numbers) {
  std::vector<CountedWord> words;
  for (const auto& [word, count] : counts.counts()) {
    CountedWord counted{.symbols = {}, .count = count};
    const std::vector<Letter> letters = letters_of(word);
    for (const Letter& letter : letters) {
      const auto number = numbers.find(letter);
      if (number == numbers.end()) break;
      counted.symbols.push_back(number->second);
    }
    if (counted.symbols.size() == letters.size()) words.push_back(std::move(counted));
  }
  return words;
}

}  // namespace

std::unique_ptr<Tokenizer> train_wordpiece(const TextSource& source,
                                           const WordPieceTrainingOptions& options) {
  check_options(options);
  WordPieceVocabulary vocabulary;
  vocabulary.normalizer = options.normalizer;
  vocabulary.unknown = kUnknownToken;
  vocabulary.continuation = kContinuation;
  std::unordered_map<std::string, TokenId> number_of;
  const auto add_token = [&](std::string token) {
    const auto id = static_cast<TokenId>(vocabulary.tokens.size());
    number_of.emplace(token, id);
    vocabulary.tokens.push_back(std::move(token));
    return id;
  };
  for (const std::string_view special : kSpecials) {
    const TokenId id = add_token(std::string(special));
    vocabulary.added.push_back({.text = std::string(special), .id = id, .special = true});
  }

  const WordCounts counts = count_words(source, vocabulary);
  const std::int64_t room = options.vocabulary_size - static_cast<std::int64_t>(kSpecials.size());
  std::map<Letter, TokenId> numbers;
  for (const Letter& letter :
       find_alphabet(counts, static_cast<std::size_t>(std::min(room, options.alphabet_limit))))
    numbers.emplace(letter, add_token(token_of(letter)));

  learn_merges(words_in_letters(counts, numbers), options.minimum_count,
               [&](TokenId left, TokenId right) -> std::optional<TokenId> {
                 std::string token =
                     vocabulary.tokens[static_cast<std::size_t>(left)] +
                     vocabulary.tokens[static_cast<std::size_t>(right)].substr(kContinuation.size());
                 if (const auto same = number_of.find(token); same != number_of.end()) return same->second;
                 if (static_cast<std::int64_t>(vocabulary.tokens.size()) == options.vocabulary_size)
                   return std::nullopt;
                 return add_token(std::move(token));
               });
  return make_wordpiece_tokenizer(std::move(vocabulary));
}

}  // namespace nadi::inline files
