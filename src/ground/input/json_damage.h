// How damage in a large JSON file is handled, and counts of it (json_records.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nadi::inline ground {

enum class JsonDamage : std::uint8_t {
  kRefuse,  // an Error (input) that names the byte
  kSkip,    // go on with what can be read, and count what cannot
};

struct JsonRecordCounts {
  std::uint64_t records = 0;  // read, of the document that counts
  std::uint64_t bytes = 0;    // of the input, decompressed
  bool left_open = false;     // the file ends behind a whole record, where that is allowed

  // With kSkip:
  std::uint64_t dropped_records = 0;      // not JSON, or refused by the taker
  std::uint64_t dropped_documents = 0;    // before the last of several run together
  std::uint64_t replaced_characters = 0;  // raw control characters taken as spaces
  bool cut_short = false;                 // the file ends within the document
  // The first record that was dropped.
  std::optional<std::uint64_t> first_dropped_byte = {};
  std::string first_dropped_reason = {};

  bool damaged() const {
    return dropped_records > 0 || dropped_documents > 0 || replaced_characters > 0 || cut_short;
  }
};

}  // namespace nadi::inline ground
