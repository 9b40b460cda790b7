// One pass: from stop to stop, each judged by the word in front of it and the word behind it. The lists are
// sorted for binary search, in lower case where capitals do not matter.

#include "nadi/data/sentence_splitter.h"

#include <algorithm>
#include <array>
#include <string>

#include "nadi/base/ascii.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

using namespace std::string_view_literals;

// In front of a name: never the end of a sentence.
constexpr std::array kTitles{"adm"sv, "brig"sv, "capt"sv, "cmdr"sv, "col"sv, "cpl"sv,    "dr"sv,  "fr"sv,
                             "gen"sv, "gov"sv,  "hon"sv,  "lt"sv,   "maj"sv, "messrs"sv, "mr"sv,  "mrs"sv,
                             "ms"sv,  "mt"sv,   "prof"sv, "rep"sv,  "rev"sv, "sen"sv,    "sgt"sv, "st"sv};
static_assert(std::ranges::is_sorted(kTitles));

// May end a sentence, and mostly do not.
constexpr std::array kAbbreviations{
    "al"sv,   "apr"sv, "assn"sv, "assoc"sv, "aug"sv,   "ave"sv,  "b"sv,   "bros"sv, "c"sv,
    "ca"sv,   "cf"sv,  "cm"sv,   "co"sv,    "corp"sv,  "dec"sv,  "def"sv, "dept"sv, "dist"sv,
    "ed"sv,   "eds"sv, "esp"sv,  "est"sv,   "etc"sv,   "feb"sv,  "ft"sv,  "ibid"sv, "inc"sv,
    "jan"sv,  "jr"sv,  "jul"sv,  "jun"sv,   "kg"sv,    "km"sv,   "lb"sv,  "ltd"sv,  "mar"sv,
    "mfg"sv,  "mm"sv,  "nov"sv,  "oct"sv,   "oz"sv,    "ph"sv,   "pl"sv,  "prop"sv, "rd"sv,
    "repr"sv, "sep"sv, "sept"sv, "sr"sv,    "trans"sv, "univ"sv, "v"sv,   "viz"sv,  "vs"sv};
static_assert(std::ranges::is_sorted(kAbbreviations));

// A number behind them belongs to them; otherwise they are words, or end a sentence.
constexpr std::array kBeforeNumbers{"app"sv, "apr"sv, "art"sv,  "aug"sv,  "ca"sv,  "ch"sv,  "chap"sv, "dec"sv,
                                    "eq"sv,  "feb"sv, "fig"sv,  "figs"sv, "jan"sv, "jul"sv, "jun"sv,  "mar"sv,
                                    "no"sv,  "nos"sv, "nov"sv,  "oct"sv,  "op"sv,  "p"sv,   "par"sv,  "pp"sv,
                                    "sec"sv, "sep"sv, "sept"sv, "vol"sv,  "vols"sv};
static_assert(std::ranges::is_sorted(kBeforeNumbers));

// Words that seldom have a capital unless they begin a sentence.
constexpr std::array kStarters{
    "A"sv,      "After"sv,   "All"sv,    "Also"sv,   "Although"sv, "An"sv,      "And"sv,    "As"sv,
    "At"sv,     "Because"sv, "Before"sv, "Both"sv,   "But"sv,      "By"sv,      "During"sv, "Each"sv,
    "For"sv,    "From"sv,    "He"sv,     "Her"sv,    "Here"sv,     "His"sv,     "How"sv,    "However"sv,
    "I"sv,      "If"sv,      "In"sv,     "It"sv,     "Its"sv,      "Later"sv,   "Many"sv,   "Most"sv,
    "Nobody"sv, "On"sv,      "One"sv,    "Other"sv,  "Our"sv,      "She"sv,     "Since"sv,  "So"sv,
    "Some"sv,   "Such"sv,    "That"sv,   "The"sv,    "Their"sv,    "Then"sv,    "There"sv,  "These"sv,
    "They"sv,   "This"sv,    "Those"sv,  "Though"sv, "Thus"sv,     "To"sv,      "Today"sv,  "Two"sv,
    "Under"sv,  "We"sv,      "What"sv,   "When"sv,   "Where"sv,    "Whether"sv, "While"sv,  "Who"sv,
    "Why"sv,    "With"sv,    "You"sv};
static_assert(std::ranges::is_sorted(kStarters));

bool is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool is_stop(char byte) {
  return byte == '.' || byte == '?' || byte == '!';
}

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

bool is_closing_bracket(char byte) {
  return byte == ')' || byte == ']' || byte == '}';
}

// Closing and opening quotes and brackets; straight quotes are both.
constexpr std::array kClosing{"\""sv, "'"sv, ")"sv, "]"sv, "}"sv, "\u2019"sv, "\u201D"sv, "\u00BB"sv};
constexpr std::array kOpening{"\""sv, "'"sv, "("sv, "["sv, "{"sv, "\u2018"sv, "\u201C"sv, "\u00AB"sv};

// How many bytes at the front of `text` are of these.
template <std::size_t n>
std::size_t leading(std::string_view text, const std::array<std::string_view, n>& of) {
  std::size_t length = 0;
  for (;;) {
    const auto found =
        std::ranges::find_if(of, [&](std::string_view one) { return text.substr(length).starts_with(one); });
    if (found == of.end()) return length;
    length += found->size();
  }
}

// Small letters of Latin, Greek and Cyrillic.
bool starts_small(std::string_view text) {
  if (text.empty()) return false;
  const char* at = text.data();
  const char32_t first = next_character(at);
  return (first >= 'a' && first <= 'z') || (first >= 0xDF && first <= 0xFF) ||
         (first >= 0x3AC && first <= 0x3CE) || (first >= 0x430 && first <= 0x45F);
}

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& sorted, std::string_view word) {
  return std::ranges::binary_search(sorted, word);
}

// "U.S", "e.g", "a.m", "J.R.R": letters with a stop between any two.
bool is_dotted(std::string_view word) {
  if (word.size() < 3 || word.size() % 2 == 0) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (i % 2 == 0 ? !is_letter(word[i]) : word[i] != '.') return false;
  return true;
}

class Splitter {
 public:
  Splitter(std::string_view text, SentenceGap gap, std::vector<std::string_view>& sentences)
      : text_(text), gap_(gap), sentences_(sentences) {}

  void run() {
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t stop = text_.find_first_of(".?!", at);
      if (stop == std::string_view::npos) break;
      at = stop;
      while (at < text_.size() && is_stop(text_[at])) ++at;
      const std::string_view stops = text_.substr(stop, at - stop);
      at += leading(text_.substr(at), kClosing);
      if (at == text_.size() || !is_space(text_[at])) continue;
      const std::size_t end = at;
      while (at < text_.size() && is_space(text_[at])) ++at;
      if (at < text_.size() && ends_sentence(stop, stops, text_.substr(at))) cut(end, at);
    }
    std::size_t end = text_.size();
    while (end > begin_ && is_space(text_[end - 1])) --end;
    if (end > begin_) cut(end, text_.size());
  }

 private:
  bool ends_sentence(std::size_t stop, std::string_view stops, std::string_view after) const {
    if (is_closing_bracket(after[0])) return false;
    const std::string_view next = after.substr(leading(after, kOpening));
    if (starts_small(next)) return false;
    if (stops != ".") return true;

    std::size_t word_begin = stop;
    while (word_begin > begin_ && !is_space(text_[word_begin - 1])) --word_begin;
    const std::string_view whole = text_.substr(word_begin, stop - word_begin);
    const std::string_view word = whole.substr(leading(whole, kOpening));
    if (is_all_so_far(word_begin) && is_label(word)) return false;

    std::string small;
    for (const char byte : word) small += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
    if (contains(kTitles, small)) return false;
    if (!next.empty() && is_digit(next[0]) && contains(kBeforeNumbers, small)) return false;
    const bool is_initial = word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z';
    if (is_initial || is_dotted(word) || contains(kAbbreviations, small)) return starts_often(next);
    return true;
  }

  bool is_all_so_far(std::size_t word_begin) const {
    return std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(begin_),
                       text_.begin() + static_cast<std::ptrdiff_t>(word_begin), is_space);
  }

  // "12", "a", "*"
  static bool is_label(std::string_view word) {
    return word.size() <= 1 || (word.size() <= 3 && std::ranges::all_of(word, is_digit));
  }

  static bool starts_often(std::string_view next) {
    const auto end = std::ranges::find_if(next, [](char byte) { return !is_letter(byte); });
    return contains(kStarters, next.substr(0, static_cast<std::size_t>(end - next.begin())));
  }

  // The sentence ends at `end`; the next one begins at `next`.
  void cut(std::size_t end, std::size_t next) {
    sentences_.push_back(text_.substr(begin_, (gap_ == SentenceGap::kKept ? next : end) - begin_));
    begin_ = next;
  }

  std::string_view text_;
  SentenceGap gap_;
  std::vector<std::string_view>& sentences_;
  std::size_t begin_ = 0;  // of the current sentence
};

}  // namespace

void split_sentences(std::string_view text, SentenceGap gap, std::vector<std::string_view>& sentences) {
  Splitter(text, gap, sentences).run();
}

}  // namespace nadi::inline files
