// Scans JSON text byte by byte: where a value ends, or which byte is wrong.
//
//   const JsonScan scan = scan_json_value(text, {.final = true});
//   if (scan.state == JsonScan::kFault) complain(scan.at, scan.reason);
//
// The exact and slow companion of what simdjson does fast (json_records.h): it finds the place of a fault,
// which simdjson does not report, and is its oracle in tests. Not recursive: depth costs one bit per level.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline ground {

struct JsonScan {
  enum State {
    kWhole,  // a value; `at` is the byte behind it
    kFault,  // `at` is the first byte that no JSON text could have there
    kOpen,   // the text ends within the value
  };
  State state = kWhole;
  std::size_t at = 0;
  std::string reason = {};                 // of a fault: "a string contains a raw control character (0x0a)"
  std::size_t raw_control_characters = 0;  // in strings, where they are let pass
};

struct JsonScanOptions {
  bool final = false;                        // nothing follows the text: a number may end with it
  bool let_control_characters_pass = false;  // in strings
  // Strings hold any bytes and halves of surrogate pairs, too; only their escapes are looked at.
  bool any_characters = false;
};

// Scans the one value at the start of the text; white space before it is skipped, what follows it is not
// looked at.
JsonScan scan_json_value(std::string_view text, const JsonScanOptions& options = {});

// Whether the text is one value, with nothing but white space around it.
bool is_json(std::string_view text, const JsonScanOptions& options = {.final = true});

// The byte behind the object or array at the start of the text, by its brackets and strings alone; nothing
// where the text ends before it does.
std::optional<std::size_t> skip_json_container(std::string_view text);

// Puts spaces in place of the raw control characters that lie in strings of `text`, a whole value.
void blank_control_characters(char* text, std::size_t size);

constexpr bool is_json_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
// The first byte from `at` on that is not white space; text.size() where there is none.
std::size_t skip_json_space(std::string_view text, std::size_t at);

}  // namespace nadi::inline ground
