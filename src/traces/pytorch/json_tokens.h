// A record as the tokens that simdjson's first stage has found in it: brackets, colons, commas and the starts
// of strings and scalars. Going from token to token costs a third of what simdjson's own objects and values
// do: their second stage does bookkeeping that a reader which passes each record once, forward, does not
// need.
//
//   JsonTokens tokens(record, place);
//   for (bool more = tokens.enter('{'); more; more = tokens.next('}')) {
//     const std::string_view key = tokens.key();     // as it stands in the file, without its quotes
//     if (key == "ts") use(tokens.take_scalar());    // or take_container(), or skip()
//   }
//
// Each value is taken or skipped exactly once. Invalid JSON is a simdjson_error (JsonRecordTaker), in the
// parts that are read: of skipped values and of the inside of containers only the brackets are checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "nadi/input/json_records.h"
#include "nadi/pytorch/json_number.h"
#include "nadi/pytorch/record_place.h"

namespace nadi::inline traces {

class JsonTokens {
 public:
  // The record must be whole; then no step leads out of it. `place` is told where it lies and must outlive
  // this.
  JsonTokens(JsonObject& record, RecordPlace& place) : place_(&place) {
    auto& iterator = ObjectParts::iterator(record);
    token_ = IteratorParts::start(iterator);
    text_ = reinterpret_cast<const char*>(IteratorParts::json(iterator).peek(token_)) - *token_;
    place.see(here());
  }

  // The first character of the token here, and where it is.
  char front() const { return text_[*token_]; }
  const char* here() const { return text_ + *token_; }

  // Goes into an object or array. False if it is empty; then it has been passed.
  bool enter(char open) {
    expect(open);
    const bool empty = front() == (open == '{' ? '}' : ']');
    if (empty) ++token_;
    return !empty;
  }
  // To the next member or element. False at the end, which is then passed.
  bool next(char close) {
    const char c = front();
    if (c != ',' && c != close) refuse("',' or the end of a list or an object was expected here");
    ++token_;
    return c == ',';
  }

  // The name of a member, as it stands in the file; then its value is here.
  std::string_view key() {
    const char* const begin = here() + 1;
    expect('"');
    const char* end = here();
    expect(':');
    while (is_json_space(end[-1])) --end;
    return {begin, static_cast<std::size_t>(end - 1 - begin)};
  }

  // A number, a word or a string, with the white space behind it.
  std::string_view take_scalar() {
    const std::uint32_t begin = *token_;
    if (!kScalar[static_cast<unsigned char>(text_[begin])])
      refuse("a number, a text or a word was expected here");
    ++token_;
    return {text_ + begin, *token_ - begin};
  }
  // An array or object from bracket to bracket.
  std::string_view take_container() {
    const std::uint32_t begin = *token_;
    std::int64_t depth = 0;
    do {
      depth += kStep[static_cast<unsigned char>(front())];
      ++token_;
    } while (depth > 0);
    return {text_ + begin, token_[-1] + 1 - begin};
  }
  void skip() {
    const char c = front();
    if (c == '{' || c == '[') {
      take_container();
    } else {
      take_scalar();
    }
  }

 private:
  using Iterator = simdjson::ondemand::value_iterator;
  // simdjson does not show where its tokens are.
  struct ObjectParts : JsonObject {
    static Iterator& iterator(JsonObject& object) { return object.*(&ObjectParts::iter); }
  };
  struct IteratorParts : Iterator {
    static const std::uint32_t* start(const Iterator& iterator) {
      return iterator.*(&IteratorParts::_start_position);
    }
    static const simdjson::ondemand::json_iterator& json(const Iterator& iterator) {
      return *(iterator.*(&IteratorParts::_json_iter));
    }
  };

  // How deep a token leads.
  static constexpr std::array<std::int8_t, 256> kStep = [] {
    std::array<std::int8_t, 256> step{};
    step['{'] = step['['] = 1;
    step['}'] = step[']'] = -1;
    return step;
  }();

  // Whether a token is a value that is no bracket.
  static constexpr std::array<bool, 256> kScalar = [] {
    std::array<bool, 256> scalar{};
    scalar.fill(true);
    for (const char c : {'{', '[', '}', ']', ',', ':'}) scalar[static_cast<unsigned char>(c)] = false;
    return scalar;
  }();

  void expect(char wanted) {
    if (front() != wanted) [[unlikely]]
      refuse_other_than(wanted);
    ++token_;
  }
  // Out of line, so that what calls them can be inlined.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_other_than(char wanted) const {
    place_->fail(here(), std::string("'") + wanted + "' was expected here");
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const char* message) const {
    place_->fail(here(), message);
  }

  const RecordPlace* place_;
  const char* text_ = nullptr;
  const std::uint32_t* token_ = nullptr;
};

}  // namespace nadi::inline traces
