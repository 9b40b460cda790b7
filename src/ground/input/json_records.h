// A large JSON file as a stream of records: the elements of its one large array, one after the other.
//
//   class Events : public JsonRecordTaker { ... };
//   ChunkedInput input(path);
//   Events events;
//   JsonRecordCounts counts = read_json_records(input, {.arrays = kArrays}, events);
//
// The array is cut into chunks of a fraction of a megabyte, and simdjson parses each: memory does not grow
// with the file, and a file may be larger than 4 GiB. For our own sources: this header needs simdjson's, so
// no header that is installed includes it.
//
// Damage. With kRefuse, whatever is wrong is Error (input) with the byte. With kSkip
//   - raw control characters are taken as spaces,
//   - a record that is not JSON, or that the taker refuses, is left out,
//   - a file that is cut short ends with its last whole record,
//   - of several documents run together ("}{"), the last one counts: restart() tells the taker,
// and all of these are counted. Parts of a record that the taker does not read are checked only for
// brackets, quotes, control characters and UTF-8.
//
// A document that is an array may lack its ']' behind a whole record, as in Chrome.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "nadi/input/json_damage.h"

namespace nadi::inline ground {

class ChunkedInput;

using JsonObject = simdjson::ondemand::object;
using JsonItem = simdjson::ondemand::value;

class JsonRecordTaker {
 public:
  virtual ~JsonRecordTaker() = default;

  // A member of the document that is not one of the arrays asked for. `json` is the text of its value and
  // valid during the call; `byte` is where it starts.
  virtual void member(std::string_view name, std::string_view json, std::uint64_t byte) = 0;

  // A record of the array with that number in JsonRecordOptions::arrays: all of it, never a part. Its texts
  // are valid during the call. simdjson's exceptions mean damage; an Error (input) means that the record is
  // JSON, but not acceptable. In both cases the record must have no effect. Any other Error ends the reading.
  virtual void record(std::size_t array, JsonObject& record, std::uint64_t byte) = 0;

  // Another document follows in the same file: forget everything.
  virtual void restart() = 0;
};

// Bytes that simdjson parses at a time: text and index fit a cache of 1 MiB; larger chunks are no faster.
constexpr std::size_t kJsonChunk = std::size_t{256} << 10;
// A record, or the value of a member, of more bytes than this is refused, in both modes.
constexpr std::size_t kJsonLongestRecord = std::size_t{64} << 20;

struct JsonRecordOptions {
  // Names of the arrays in the document ("traceEvents"); "" if the document itself may be an array.
  std::span<const std::string_view> arrays;
  JsonDamage damage = JsonDamage::kRefuse;
  // The writer closes the document only when it is told to: it may end behind a whole record.
  bool may_be_open = false;
  // For tests: small chunks meet every border.
  std::size_t chunk = kJsonChunk;
  std::size_t longest_record = kJsonLongestRecord;
};

// Reads the input to its end.
JsonRecordCounts read_json_records(ChunkedInput& input, const JsonRecordOptions& options,
                                   JsonRecordTaker& taker);

// A file of many small documents, one after the other, with or without white space between them: each is a
// record of array 0. restart() and member() are not called.
JsonRecordCounts read_json_documents(ChunkedInput& input, JsonDamage damage, JsonRecordTaker& taker,
                                     std::size_t chunk = kJsonChunk);

}  // namespace nadi::inline ground
