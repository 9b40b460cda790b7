#include "nadi/text/splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "nadi/text/tokenizers_for_tests.h"
#include "nadi/text/unicode.h"
#include "nadi/text/utf8.h"

#if NADI_TEST_WITH_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

const std::array kSplitters{&gpt2_splitter(), &llama3_splitter(), &qwen2_splitter()};

std::vector<std::string> split(const Splitter& splitter, std::string_view text) {
  std::vector<std::string> pieces;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const stop = splitter.piece_end(character_table(), at, end);
    if (stop <= at || stop > end) throw std::logic_error("a piece that does not move on");
    pieces.emplace_back(at, stop);
    at = stop;
  }
  return pieces;
}

TEST(Gpt2Splitter, SplitsWordsNumbersAndTheRest) {
  const auto gpt2 = [](std::string_view text) { return split(gpt2_splitter(), text); };
  EXPECT_THAT(gpt2(""), ElementsAre());
  EXPECT_THAT(gpt2("Hello, world 123!!"), ElementsAre("Hello", ",", " world", " 123", "!!"));
  EXPECT_THAT(gpt2("I'm they've 'S o'clock"),
              ElementsAre("I", "'m", " they", "'ve", " '", "S", " o", "'", "clock"));
  EXPECT_THAT(gpt2("a   b  "), ElementsAre("a", "  ", " b", "  "));
  EXPECT_THAT(gpt2("a\n\n b\tc"), ElementsAre("a", "\n\n", " b", "\t", "c"));
  EXPECT_THAT(gpt2("東京2020年"), ElementsAre("東京", "2020", "年"));
  EXPECT_THAT(gpt2("e\u0301t"), ElementsAre("e", "\u0301", "t"));  // a mark is no letter
  EXPECT_THAT(gpt2("x\u00A0y"), ElementsAre("x", "\u00A0", "y"));  // only a plain space joins a word
}

TEST(Llama3Splitter, JoinsOneSignToAWordAndCutsNumbers) {
  const auto llama = [](std::string_view text) { return split(llama3_splitter(), text); };
  EXPECT_THAT(llama(""), ElementsAre());
  EXPECT_THAT(llama("Hello, world 1234567"), ElementsAre("Hello", ",", " world", " ", "123", "456", "7"));
  EXPECT_THAT(llama("I'M we'LL 'ſ"), ElementsAre("I", "'M", " we", "'LL", " '", "ſ"));
  EXPECT_THAT(llama("it'ſ"), ElementsAre("it", "'ſ"));
  EXPECT_THAT(llama("(word\tword"), ElementsAre("(word", "\tword"));
  EXPECT_THAT(llama("end.\r\n\r\nnext"), ElementsAre("end", ".\r\n\r\n", "next"));
  EXPECT_THAT(llama("a  \n  \n   b"), ElementsAre("a", "  \n  \n", "  ", " b"));
  EXPECT_THAT(llama("a \n"), ElementsAre("a", " \n"));
}

TEST(Qwen2Splitter, IsLlama3sWithSingleDigits) {
  EXPECT_THAT(split(qwen2_splitter(), "Hello, world 1234"),
              ElementsAre("Hello", ",", " world", " ", "1", "2", "3", "4"));
  EXPECT_THAT(split(qwen2_splitter(), "we'LL end.\r\n\r\n(word"),
              ElementsAre("we", "'LL", " end", ".\r\n\r\n", "(word"));
}

TEST(Splitters, AreFoundByTheirPatterns) {
  for (const Splitter* splitter : kSplitters) {
    for (const std::string_view pattern : splitter->patterns) EXPECT_EQ(find_splitter(pattern), splitter);
  }
  EXPECT_EQ(find_splitter(R"(\w+|[^\w\s]+)"), nullptr);
}

#if NADI_TEST_WITH_PCRE2

// A regular expression as PCRE2 has it. Its own \s is not White_Space (it has U+180E), so that is spelt out.
class Regex {
 public:
  explicit Regex(std::string pattern) {
    const std::string spaces =
        R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
    replace(pattern, R"([^\s)", "[^" + spaces);
    replace(pattern, R"(\s)", "[" + spaces + "]");
    replace(pattern, R"(\S)", "[^" + spaces + "]");
    int error = 0;
    std::size_t offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                          &error, &offset, nullptr);
    if (code_ == nullptr) throw std::logic_error("a pattern that PCRE2 does not take");
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);
    match_ = pcre2_match_data_create(1, nullptr);
  }
  ~Regex() {
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // End of the match that begins at `from`; npos when there is none.
  std::size_t match_at(std::string_view text, std::size_t from) {
    const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                  PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match_, nullptr);
    return found > 0 ? pcre2_get_ovector_pointer(match_)[1] : std::string_view::npos;
  }

  std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = match_at(text, at);
      if (end == std::string_view::npos || end <= at)
        throw std::logic_error("the pattern left something over");
      pieces.emplace_back(text.substr(at, end - at));
      at = end;
    }
    return pieces;
  }

 private:
  static void replace(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }

  pcre2_code* code_;
  pcre2_match_data* match_;
};

TEST(SplittersAgainstPcre2, SplitRandomTextAlike) {
  for (const Splitter* splitter : kSplitters) {
    for (const std::string_view pattern : splitter->patterns) {
      Regex regex{std::string(pattern)};
      for (std::uint32_t seed = 0; seed < 20000; ++seed) {
        const std::string text = random_text(seed, 1 + seed % 40);
        ASSERT_EQ(split(*splitter, text), regex.split(text))
            << splitter->name << ": seed " << seed << ": " << text;
      }
    }
  }
}

TEST(SplittersAgainstPcre2, ContractionsInEveryPlace) {
  const std::string letters[] = {"'", "s", "S", "t", "T", "r", "e",  "E", "v",
                                 "m", "l", "L", "d", "ſ", " ", "\n", "1", "."};
  for (const Splitter* splitter : kSplitters) {
    Regex regex{std::string(splitter->patterns[0])};
    for (const std::string& a : letters) {
      for (const std::string& b : letters) {
        for (const std::string& c : letters) {
          for (const std::string& d : letters) {
            const std::string text = a + b + c + d;
            ASSERT_EQ(split(*splitter, text), regex.split(text)) << splitter->name << ": " << text;
          }
        }
      }
    }
  }
}

TEST(CharacterTableAgainstPcre2, EveryCharacterThatPcre2Knows) {
  Regex letter(R"(\p{L})");
  Regex number(R"(\p{N})");
  Regex mark(R"(\p{Mn})");
  Regex unassigned(R"(\p{Cn})");
  int known = 0;
  for (char32_t character = 1; character <= 0x10FFFF; ++character) {
    if (character >= 0xD800 && character <= 0xDFFF) continue;
    std::string text;
    append_utf8(character, text);
    const auto is = [&](Regex& regex) { return regex.match_at(text, 0) != std::string_view::npos; };
    if (is(unassigned)) continue;
    ++known;
    const std::uint8_t classes = character_table()[character];
    ASSERT_EQ((classes & kLetter) != 0, is(letter)) << static_cast<std::uint32_t>(character);
    ASSERT_EQ((classes & kNumber) != 0, is(number)) << static_cast<std::uint32_t>(character);
    ASSERT_EQ((classes & kNonspacingMark) != 0, is(mark)) << static_cast<std::uint32_t>(character);
  }
  EXPECT_GT(known, 280000);  // private use included
}

#else

TEST(SplittersAgainstPcre2, SplitRandomTextAlike) {
  GTEST_SKIP() << "built without PCRE2 (Debian: libpcre2-dev)";
}

#endif

}  // namespace
}  // namespace nadi::inline files
