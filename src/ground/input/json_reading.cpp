#include "nadi/input/json_reading.h"

#include <utility>

namespace nadi::inline ground {

JsonScan JsonReading::scan_front() {
  while (true) {
    JsonScan scan = scan_json_value(window.text(), {.let_control_characters_pass = lenient()});
    if (scan.state != JsonScan::kOpen || !window.more()) return scan;
  }
}

void JsonReading::damage(std::uint64_t byte, const std::string& reason) {
  if (!lenient()) throw input_error({.file = window.name(), .byte = static_cast<std::int64_t>(byte)}, reason);
  ++counts.dropped_records;
  if (counts.first_dropped_byte) return;
  counts.first_dropped_byte = byte;
  counts.first_dropped_reason = reason;
}

void JsonReading::refused(const Error& error, std::uint64_t byte) {
  Place place = error.place();
  if (place.file.empty()) place.file = window.name();
  if (!place.byte) place.byte = static_cast<std::int64_t>(byte);
  if (!lenient() || error.kind() != ErrorKind::kInput)
    throw Error(error.kind(), std::move(place), error.message(), error.hint());
  damage(static_cast<std::uint64_t>(*place.byte), error.message());
}

void JsonReading::cut_short() {
  const std::size_t rest = window.text().size();
  if (!lenient())
    throw input_error({.file = window.name(), .byte = static_cast<std::int64_t>(window.position() + rest)},
                      "the file is cut short");
  counts.cut_short = true;
  window.consume(rest);
}

}  // namespace nadi::inline ground
