// What BERT does to text before it looks words up, as Hugging Face's tokenizers do it.
//
//   const BertNormalizer normalizer({});                    // uncased
//   normalizer.normalize("Naïve\tcafé 東京")                 // "naive cafe  東  京 "
//   for_each_word(table, normalized, [](std::string_view word) { ... });
//
// Those tokenizers (0.23) know the categories of Unicode 8, this one those of the library it was built with.
// So 568 characters, marks and punctuation that entered Unicode later, are treated differently.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nadi/text/unicode.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {

struct BertNormalizerOptions {
  bool clean_text = true;               // drop control characters; any white space becomes a space
  bool separate_ideographs = true;      // a space before and after each
  std::optional<bool> strip_accents{};  // when not given, as lower_case
  bool lower_case = true;

  bool operator==(const BertNormalizerOptions&) const = default;
};

class BertNormalizer {
 public:
  // Error (environment) in a build without Unicode tables.
  explicit BertNormalizer(const BertNormalizerOptions& options)
      : table_(character_table()),
        options_(options),
        strip_accents_(options.strip_accents.value_or(options.lower_case)) {}

  // The text is valid UTF-8.
  std::string normalize(std::string_view text) const;

 private:
  void append_foreign(std::string_view run, std::string& out) const;

  const CharacterTable& table_;
  BertNormalizerOptions options_;
  bool strip_accents_;
};

// Words in order: what white space separates, with every punctuation character a word of its own.
template <typename Use>
void for_each_word(const CharacterTable& table, std::string_view text, Use&& use) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const char* begin = at;  // of the word so far
  const auto flush = [&](const char* stop) {
    if (stop != begin) use(std::string_view(begin, static_cast<std::size_t>(stop - begin)));
  };
  while (at != end) {
    const char* const here = at;
    const std::uint8_t classes = table[next_character(at)];
    if ((classes & (kSpace | kPunctuation)) == 0) continue;
    flush(here);
    begin = at;
    if ((classes & kPunctuation) != 0) use(std::string_view(here, static_cast<std::size_t>(at - here)));
  }
  flush(end);
}

}  // namespace nadi::inline files
