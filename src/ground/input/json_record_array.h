// Reads the records of an array: the fast part of read_json_records(). For json_records.cpp.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "nadi/input/json_recovery.h"

namespace nadi::inline ground {

struct JsonReading;

class JsonRecordArray {
 public:
  explicit JsonRecordArray(JsonReading& reading);

  // Gives the records of array number `array` to the taker. The window is just behind the '[' of the array
  // before the call and just behind its ']' afterwards. Or all documents up to the end of the input.
  void read(std::size_t array, JsonSurroundings surroundings);

 private:
  enum class Next {
    kFirst,      // a record or ']'
    kRecord,     // a record
    kSeparator,  // ',' or ']'
    kDocument,   // a record without anything around it
  };
  enum class Outcome {
    kEnd,      // the array is over, its ']' consumed
    kMoved,    // something was consumed
    kStuck,    // nothing was consumed: the chunk has no whole record
    kUnclear,  // simdjson refused the chunk
  };
  using Token = simdjson::ondemand::token_position;
  class Tokens;

  std::size_t chunk_length() const;
  Outcome read_chunk(std::size_t length);
  bool take(Token open, Token close);
  Outcome read_one();
  Outcome read_one_record();
  Outcome read_other_value();
  Outcome recover(std::uint64_t byte, const std::string& reason);

  JsonReading& reading_;
  simdjson::ondemand::parser parser_;
  std::size_t array_ = 0;
  JsonSurroundings surroundings_ = JsonSurroundings::kMember;
  Next next_ = Next::kFirst;
  std::size_t step_;               // bytes of the next chunk; small for a while after damage
  std::uint64_t plain_until_ = 0;  // up to this byte of the input, records are found one by one
};

}  // namespace nadi::inline ground
