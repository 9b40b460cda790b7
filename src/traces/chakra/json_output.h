// Pieces of JSON text, appended to a string: for writers of large files, which do not build a tree first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nadi/trace/trace_attribute.h"

namespace nadi::inline traces {

// Bytes of text that a writer collects before it hands them on.
inline constexpr std::size_t kJsonPart = std::size_t{1} << 20;

// In quotes, with what JSON does not allow escaped. Text beyond ASCII stays as it is; bytes that are not
// UTF-8 become U+FFFD.
void append_json_text(std::string& out, std::string_view text);

// How a value of an attribute is written. Attributes of kind `none` are null, as are numbers that JSON does
// not have; bytes are Base64.
void append_json_value(std::string& out, const TraceAttribute& attribute);

// Base64 of RFC 4648 with padding, in quotes.
void append_json_bytes(std::string& out, std::string_view bytes);

}  // namespace nadi::inline traces
