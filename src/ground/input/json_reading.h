// What the parts of read_json_records() share: the window on the text, the taker, and how damage is handled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/input/json_records.h"
#include "nadi/input/json_text.h"
#include "nadi/input/json_window.h"

namespace nadi::inline ground {

struct JsonReading {
  JsonReading(ChunkedInput& input, const JsonRecordOptions& asked, JsonRecordTaker& to)
      : options(asked),
        taker(to),
        window(input, {.size = asked.chunk, .limit = asked.longest_record, .damage = asked.damage}) {}

  const JsonRecordOptions options;
  JsonRecordTaker& taker;
  JsonWindow window;
  JsonRecordCounts counts;

  bool lenient() const { return options.damage == JsonDamage::kSkip; }
  // The byte at the start of the window, which must not be empty.
  char front() const { return window.text().front(); }
  // The value at the start of the window, which is read as far as needed. Open only where the input ends
  // within it.
  JsonScan scan_front();

  // Something is wrong at `byte`: throws, or counts a record as dropped.
  void damage(std::uint64_t byte, const std::string& reason);
  // The taker does not take what begins at `byte`, although it is JSON: the same.
  void refused(const Error& error, std::uint64_t byte);
  // The input has ended within the document: throws, or notes it and leaves the window empty.
  void cut_short();
};

}  // namespace nadi::inline ground
