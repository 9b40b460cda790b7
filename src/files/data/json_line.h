// The texts under chosen keys of one line of JSON: what a corpus in JSON lines is read with.
//
//   JsonLineParser parser({"text", "title"});
//   const std::span<const JsonText> texts = parser.parse(line, {.file = "wiki.jsonl", .line = 17});
//   texts[0].pieces[0];   // the string under "text"
//
// A line is an object; each chosen key has a string, or an array of strings (sentences that are
// already split). The rest of the line is checked and never stored, which makes this reader several times
// faster than base/json.h, its reference in the tests. It differs from that reader in values of other keys:
// such a key may come twice, and NaN, Infinity and -Infinity are accepted there, since Python writes them.
//
// Error (input) with file, line and column: what is not JSON or not UTF-8, a line without an object, a chosen
// key that is missing, given twice, or has a value of another type. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"

namespace nadi::inline files {

// Views into the line or into the parser, valid until its next parse().
struct JsonText {
  bool is_list = false;
  std::vector<std::string_view> pieces = {};  // one unless is_list
};

class JsonLineParser {
 public:
  explicit JsonLineParser(std::vector<std::string> keys);

  // In the order of the keys. `place` needs no column.
  std::span<const JsonText> parse(std::string_view line, const Place& place);

 private:
  Error error_at(std::size_t at, std::string message, std::string hint = "") const;
  Error unexpected(std::string_view wanted) const;

  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  void skip_space();
  void expect(char wanted, std::string_view name);
  void parse_object();
  void read_member(std::string_view key, std::size_t key_at);
  void read_text(JsonText& text, std::string_view key);
  std::string_view read_string();
  void read_escape();
  char32_t read_hex4();
  void skip_value(int depth);
  void skip_members(int depth);
  void skip_elements(int depth);
  void skip_number();
  bool skip_digits();
  bool skip_word(std::string_view word);

  std::vector<std::string> keys_;
  std::vector<JsonText> texts_;
  std::vector<bool> found_;
  std::string unescaped_;  // the strings that have escapes, one after the other

  std::string_view line_;
  std::size_t at_ = 0;
  Place place_;
};

}  // namespace nadi::inline files
