// JSON as Python's json module reads and writes it, in pieces. For sources of this room: base/json.h refuses
// NaN and infinities, which Optuna writes, and attributes of Optuna hold whatever Python could write
// (integers of any length, halves of surrogate pairs), which must come out as they went in.
//
//   for (const auto& [key, value] : json_members(line))        // value: the text of the value, checked
//     if (key == "step") step = json_integer(value);
//
// No tree is built: a value is a slice of the text, so memory stays near the length of the text, whatever it
// holds. Arguments are whole values, as parsed or as a part of a parsed one; spaces around them do not
// matter. What is wrong is thrown as PythonJsonError, which the caller turns into an Error that knows the
// file.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/study/distribution.h"

namespace nadi::inline tuning {

class PythonJsonError : public std::runtime_error {
 public:
  // `at` points into the text at the mistake.
  PythonJsonError(const std::string& message, const char* at) : std::runtime_error(message), at_(at) {}
  const char* at() const { return at_; }

 private:
  const char* at_;
};

enum class JsonType { kNull, kBool, kInteger, kFloat, kString, kList, kObject };

struct JsonMember {
  std::string key;
  std::string_view value;
};

// Type of a value that was checked, by its first characters.
JsonType json_type(std::string_view value);

// Checks all of the text, which is one value of at most 200 levels, and returns it without spaces around it.
std::string_view check_json(std::string_view text);

// The parts, each checked. Of members with the same key, the last one counts in Python: it is the only one
// here.
std::vector<JsonMember> json_members(std::string_view object);
std::vector<std::string_view> json_elements(std::string_view list);

// nullptr when absent.
const JsonMember* find_member(const std::vector<JsonMember>& members, std::string_view key);

bool json_bool(std::string_view value);
std::int64_t json_integer(std::string_view value);  // also 3.0, which Python's int() takes
double json_number(std::string_view value);         // NaN and infinities, too
// Halves of surrogate pairs become U+FFFD.
std::string json_string(std::string_view value);
ParameterValue json_value(std::string_view value);

// {"a": ..., "b": ...}: appends. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string_view text, std::string& out);
// A point or an exponent is always there, so that Python reads a float.
void append_json_number(double number, std::string& out);

}  // namespace nadi::inline tuning
