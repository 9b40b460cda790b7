// What the fuzz targets of PyTorch's two readers have in common: any bytes must give either a trace or an
// Error (input) that names a byte. Read leniently they give a trace, unless there is none at all; and where
// nothing was damaged, that is the same trace.
#pragma once

#include <cstddef>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/input/json_damage.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

inline void check_input_error(const Error& error) {
  check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
  check(error.place().byte.has_value(), "an error does not name its byte");
}

// Runs `action`, which may throw an input error; says whether it came to its end.
template <typename Action>
bool ends_or_refuses(const Action& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    check_input_error(error);
    return false;
  }
}

// `Reader` has read(bytes, damage), check_columns(trace), check_same(one, other) and is_damaged(trace).
template <typename Reader>
void read_strictly_and_leniently(std::string_view bytes) {
  decltype(Reader::read(bytes, JsonDamage::kRefuse)) strict;
  const bool is_read = ends_or_refuses([&] {
    strict = Reader::read(bytes, JsonDamage::kRefuse);
    Reader::check_columns(strict);
  });
  const bool is_read_leniently = ends_or_refuses([&] {
    const auto lenient = Reader::read(bytes, JsonDamage::kSkip);
    Reader::check_columns(lenient);
    if (!is_read) return;
    check(!Reader::is_damaged(lenient), "damage only a lenient eye sees");
    Reader::check_same(strict, lenient);
  });
  check(is_read_leniently || !is_read, "a lenient reader refused what a strict one took");
}

inline void check_same_nodes(const Trace& a, const Trace& b) {
  check(a.size() == b.size(), "the number of rows differs");
  TraceNode x;
  TraceNode y;
  for (std::size_t row = 0; row < a.size(); ++row) {
    a.get(row, x);
    b.get(row, y);
    check(x == y, "a row differs");
  }
}

inline void check_attributes_of_row(const Trace& trace, std::size_t row) {
  TraceNode node;
  trace.get(row, node);
  for (const TraceAttribute& attribute : node.attributes)
    check(trace.find_attribute(row, attribute.name) == attribute, "an attribute is there twice");
}

}  // namespace nadi::inline traces
