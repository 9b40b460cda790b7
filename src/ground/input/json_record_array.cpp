// Method. simdjson works in two stages: the first finds all brackets, quotes, commas and starts of values of
// a text with vector instructions, the second reads values at these tokens when asked to. We let the first
// stage run over a chunk that ends at a likely border of records, and walk over the tokens ourselves:
// brackets counted up and down give each record's first and last token. So a record is known to be whole
// before the taker sees it, what the taker leaves of a record costs no more than that count, and a record
// that the chunk cuts off begins the next chunk.
//
// The first stage needs a chunk that does not end in a string. A wrong guess, like damage, makes it refuse
// the chunk: then records are found one by one, plainly (json_text.h), up to the end of that chunk.
#include "nadi/input/json_record_array.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/input/json_reading.h"

namespace nadi::inline ground {

namespace {

using simdjson::ondemand::json_iterator;
using Token = simdjson::ondemand::token_position;
using simdjson::ondemand::value_iterator;

// Near damage, chunks are small: the rest of one is parsed again, or even plainly.
constexpr std::size_t kStepAfterDamage = std::size_t{16} << 10;

// How far to look for the end of a record with a fault in it, which may have none.
constexpr std::size_t kLongestDamaged = std::size_t{1} << 20;

constexpr std::array<std::int8_t, 256> kDepthStep = [] {
  std::array<std::int8_t, 256> step{};
  step['{'] = step['['] = 1;
  step['}'] = step[']'] = -1;
  return step;
}();

// The token that closes the bracket at `open`, or `end`.
Token closing(const char* text, Token open, Token end) {
  std::int64_t depth = 0;
  for (Token token = open; token != end; ++token) {
    depth += kDepthStep[static_cast<unsigned char>(text[*token])];
    if (depth == 0) return token;
  }
  return end;
}

}  // namespace

// The tokens that the first stage has found in a chunk. Uses the protected parts of simdjson that its own
// arrays are made with (version 3).
class JsonRecordArray::Tokens : public json_iterator {
 public:
  Tokens(const char* text, simdjson::ondemand::parser& indexed)
      : json_iterator(reinterpret_cast<const std::uint8_t*>(text), &indexed) {}

  Token begin() const { return root_position(); }
  Token end() const { return end_position(); }

  // The object at `first`, as if it were a document of its own.
  JsonObject object_at(Token first) {
    token.set_position(first);
    _root = first;
    return Value(*this).get_object();
  }

 private:
  struct Start : value_iterator {
    explicit Start(Tokens& tokens) : value_iterator(&tokens, 1, tokens.position()) {}
  };
  struct Value : simdjson::ondemand::value {
    explicit Value(Tokens& tokens) : value(Start(tokens)) {}
  };
};

JsonRecordArray::JsonRecordArray(JsonReading& reading) : reading_(reading), step_(reading.options.chunk) {}

void JsonRecordArray::read(std::size_t array, JsonSurroundings surroundings) {
  array_ = array;
  surroundings_ = surroundings;
  next_ = surroundings == JsonSurroundings::kDocuments ? Next::kDocument : Next::kFirst;
  JsonWindow& window = reading_.window;
  while (true) {
    if (window.text().size() < step_) window.more();
    if (window.position() >= plain_until_) {
      const std::size_t length = chunk_length();
      const Outcome outcome = length > 0 ? read_chunk(length) : Outcome::kStuck;
      if (outcome == Outcome::kEnd) return;
      if (outcome == Outcome::kUnclear && step_ > kStepAfterDamage) {
        step_ = kStepAfterDamage;
        continue;
      }
      if (outcome == Outcome::kUnclear)
        plain_until_ = window.position() + length;
      else
        step_ = std::min(2 * step_, reading_.options.chunk);
      if (outcome == Outcome::kMoved) continue;
    }
    if (read_one() == Outcome::kEnd) return;
  }
}

// Bytes of the window up to a likely border between two records; all of them at the end of the input.
std::size_t JsonRecordArray::chunk_length() const {
  std::string_view text = reading_.window.text();
  if (reading_.window.ended() && text.size() <= step_) return text.size();
  text = text.substr(0, step_);
  for (std::size_t end = text.size();;) {
    const std::size_t brace = text.substr(0, end).rfind('}');
    if (brace == std::string_view::npos) return 0;
    std::size_t at = skip_json_space(text, brace + 1);
    if (next_ != Next::kDocument && at < text.size() && text[at] == ',') at = skip_json_space(text, at + 1);
    if (at < text.size() && text[at] == '{') return brace + 1;
    end = brace;
  }
}

JsonRecordArray::Outcome JsonRecordArray::read_chunk(std::size_t length) {
  const char* const text = reading_.window.text().data();
  const simdjson::padded_string_view chunk(text, length, length + simdjson::SIMDJSON_PADDING);
  if (parser_.iterate_raw(chunk).error() != simdjson::SUCCESS) return Outcome::kUnclear;
  const Tokens all(text, parser_);
  const Token end = all.end();
  std::size_t done = 0;
  bool closed = false;
  for (Token token = all.begin(); token != end && !closed; ++token) {
    const char c = text[*token];
    const bool separator = next_ == Next::kSeparator;
    if (c == ']' && (separator || next_ == Next::kFirst)) {
      closed = true;
      done = *token + 1;
    } else if (c == ',' && separator) {
      next_ = Next::kRecord;
      done = *token + 1;
    } else if (c == '{' && !separator) {
      const Token close = closing(text, token, end);
      if (close == end) break;
      if (!take(token, close)) break;
      done = *close + 1;
      if (next_ != Next::kDocument) next_ = Next::kSeparator;
      token = close;
    } else {
      break;
    }
  }
  reading_.window.consume(done);
  if (closed) return Outcome::kEnd;
  return done > 0 ? Outcome::kMoved : Outcome::kStuck;
}

// Gives the record between two tokens to the taker. False where it is damaged, so that its end is not sure.
bool JsonRecordArray::take(Token open, Token close) {
  const char* const text = reading_.window.text().data();
  const std::uint64_t start = reading_.window.position();
  // New for each record: strings are unpacked to the start of their buffer again, and faults are forgotten.
  Tokens tokens(text, parser_);
  std::optional<Error> refusal;
  try {
    JsonObject record = tokens.object_at(open);
    reading_.taker.record(array_, record, start + *open);
    ++reading_.counts.records;
    return true;
  } catch (const simdjson::simdjson_error& error) {
    Place place;
    const char* location = nullptr;
    if (tokens.current_location().get(location) == simdjson::SUCCESS && location >= text + *open &&
        location <= text + *close)
      place.byte = static_cast<std::int64_t>(start) + (location - text);
    refusal = input_error(std::move(place), simdjson::error_message(error.error()));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    refusal = error;
  }
  const JsonScan scan = scan_json_value({text + *open, *close + 1 - *open}, {.final = true});
  if (scan.state == JsonScan::kWhole) {
    reading_.refused(*refusal, start + *open);
    return true;
  }
  if (!reading_.lenient()) reading_.damage(start + *open + scan.at, scan.reason);
  // Where it really ends, one by one will tell.
  plain_until_ = std::max(plain_until_, start + *open + 1);
  return false;
}

// What comes next, plainly: a separator or a record.
JsonRecordArray::Outcome JsonRecordArray::read_one() {
  JsonWindow& window = reading_.window;
  if (!window.skip_space()) {
    const bool is_open =
        reading_.options.may_be_open && next_ == Next::kSeparator && window.failure().empty();
    reading_.counts.left_open = is_open;
    const bool may_end_here =
        is_open || (surroundings_ == JsonSurroundings::kTopLevelArray && next_ != Next::kFirst);
    if (next_ != Next::kDocument && !(may_end_here && window.failure().empty())) reading_.cut_short();
    return Outcome::kEnd;
  }
  const char c = reading_.front();
  if (next_ == Next::kSeparator || (next_ == Next::kFirst && c == ']')) {
    if (c != ',' && c != ']') return recover(window.position(), "expected ',' or ']' after a record");
    window.consume(1);
    next_ = Next::kRecord;
    return c == ']' ? Outcome::kEnd : Outcome::kMoved;
  }
  if (c == '{') return read_one_record();
  return read_other_value();
}

JsonRecordArray::Outcome JsonRecordArray::read_one_record() {
  JsonWindow& window = reading_.window;
  const JsonScan scan = reading_.scan_front();
  if (scan.state == JsonScan::kOpen) {
    reading_.cut_short();
    return Outcome::kEnd;
  }
  const bool whole = scan.state == JsonScan::kWhole;
  // A fault may lie where the taker does not look.
  std::optional<std::size_t> length = whole ? scan.at : skip_json_container(window.text());
  while (!length && window.text().size() < kLongestDamaged && window.more())
    length = skip_json_container(window.text());
  if (whole && scan.raw_control_characters > 0) {
    blank_control_characters(window.data(), scan.at);
    reading_.counts.replaced_characters += scan.raw_control_characters;
  }
  if (length && read_chunk(*length) == Outcome::kMoved) return Outcome::kMoved;
  check(!whole, "simdjson does not read what is JSON");
  return recover(window.position() + scan.at, scan.reason);
}

// An element that is no record: passed over where it is at least JSON.
JsonRecordArray::Outcome JsonRecordArray::read_other_value() {
  const std::string reason = "expected a record, which is an object";
  const std::uint64_t byte = reading_.window.position();
  if (!reading_.lenient() || next_ == Next::kDocument) return recover(byte, reason);
  const JsonScan scan = reading_.scan_front();
  if (scan.state == JsonScan::kFault) return recover(byte, reason);
  if (scan.state == JsonScan::kOpen) {
    reading_.cut_short();
    return Outcome::kEnd;
  }
  reading_.damage(byte, reason);
  reading_.window.consume(scan.at);
  next_ = Next::kSeparator;
  return Outcome::kMoved;
}

// Something is wrong at `byte`, in what begins the window: on to the next record.
JsonRecordArray::Outcome JsonRecordArray::recover(std::uint64_t byte, const std::string& reason) {
  reading_.damage(byte, reason);
  step_ = std::min(reading_.options.chunk, kStepAfterDamage);
  switch (recover_record(reading_.window, surroundings_)) {
    case JsonRecovery::kRecord:
      if (next_ != Next::kDocument) next_ = Next::kRecord;
      return Outcome::kMoved;
    case JsonRecovery::kArrayEnd:
      reading_.window.consume(1);
      return Outcome::kEnd;
    case JsonRecovery::kNothing:
      if (next_ != Next::kDocument) reading_.cut_short();
      return Outcome::kEnd;
  }
  unreachable();
}

}  // namespace nadi::inline ground
