// Puts JSON values into a Trace: strings without quotes and escapes, arrays and objects as their text. Each
// text is parsed once, when it is new: nearly all texts in a profile repeat.
//
//   JsonTexts texts(trace, place);
//   texts.begin_record();
//   const std::uint32_t name = texts.take_string(tokens);
//   const JsonTexts::Array grid = texts.take_array(tokens);
//   // grid.numbers when all elements are whole numbers
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/pytorch/json_tokens.h"
#include "nadi/pytorch/record_place.h"
#include "nadi/trace/arena.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

class JsonTexts {
 public:
  // Both must outlive this. Mistakes are reported through `place`.
  JsonTexts(Trace& trace, const RecordPlace& place) : trace_(&trace), place_(&place) {}

  // Texts of the record before are not needed any more.
  void begin_record() { arena_.clear(); }

  // The content of a string, valid as long as the record; by its number in the trace.
  std::string_view take_content(JsonTokens& tokens) {
    const std::string_view raw = quoted(tokens.take_scalar());
    return std::memchr(raw.data(), '\\', raw.size()) == nullptr ? raw : unescaped(raw);
  }
  std::uint32_t take_string(JsonTokens& tokens) { return trace_->intern(take_content(tokens)); }

  // What stands between quotes, without escapes.
  std::string_view unescaped(std::string_view raw);

  // The number of the text of an array or an object, as it stands in the file.
  std::uint32_t take_json(JsonTokens& tokens) {
    return intern({.text = tokens.take_container(), .is_json = true});
  }

  // Any value as one text: strings by their content, all others as they stand in the file; null is "".
  std::uint32_t take_any(JsonTokens& tokens) { return intern(take_text(tokens)); }

  // The same in two steps, for a reader that decides later whether it wants the text.
  struct Text {
    std::string_view text = {};  // valid as long as the record
    bool is_json = false;        // not yet looked into
  };
  Text take_text(JsonTokens& tokens);
  std::uint32_t intern(const Text& text) {
    const std::uint32_t number = trace_->intern(text.text);
    if (text.is_json) known(number, text.text);
    return number;
  }

  struct Array {
    std::uint32_t text = 0;
    std::optional<TraceList> numbers = {};  // where all elements are whole numbers of 64 bits
  };
  Array take_array(JsonTokens& tokens);

 private:
  // What is known about a text that stood in a file as an array or object: nothing (also where it came into
  // the trace another way), that it is JSON, that it is JSON and no list of whole numbers, or the number of
  // that list counted from kFirstList.
  enum Known : std::uint64_t { kNothing, kJson, kNoNumbers, kFirstList };
  std::uint64_t& known(std::uint32_t text, std::string_view json) {
    if (text >= known_.size() || known_[text] == kNothing) [[unlikely]]
      look_into(text, json);
    return known_[text];
  }
  void look_into(std::uint32_t text, std::string_view json);

  // A string without its quotes and what follows.
  std::string_view quoted(std::string_view token) const {
    std::size_t size = token.size();
    while (size > 0 && is_json_space(token[size - 1])) --size;
    if (size < 2 || token[0] != '"' || token[size - 1] != '"')
      place_->fail(token.data(), "a text was expected here");
    return token.substr(1, size - 2);
  }

  Trace* trace_;
  const RecordPlace* place_;
  Arena arena_;
  std::vector<std::uint64_t> known_;  // by number of the text; as long as it was needed so far
  std::vector<std::uint64_t> numbers_;
};

// A scalar without the white space behind it.
constexpr std::string_view without_space(std::string_view scalar) {
  while (!scalar.empty() && is_json_space(scalar.back())) scalar.remove_suffix(1);
  return scalar;
}

}  // namespace nadi::inline traces
