// Fuzz target of the reader of Chakra traces in JSON (scripts/fuzz.sh).
//
// Any text must give either a trace or an Error (input) that names a byte. A trace that was read must be the
// same after it is written as JSON and read again, and after it is written as .et. Passing over damage must
// give the same trace where there is none.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/chakra/chakra_json_reader.h"
#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/chakra_writer.h"

namespace nadi::inline traces {
namespace {

void check_same(const Trace& one, const Trace& other) {
  check(other.size() == one.size(), "a node was lost or won on the way through a file");
  TraceNode a;
  TraceNode b;
  for (std::size_t row = 0; row < one.size(); ++row) {
    one.get(row, a);
    other.get(row, b);
    check(a == b, "a node changed on the way through a file");
  }
}

std::optional<Trace> read_text(std::string_view json, const char* name, const ChakraReadOptions& options) {
  try {
    return read_chakra_json(json, name, options);
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().byte.has_value(), "an error does not name its byte");
    return std::nullopt;
  }
}

void read_anything(std::string_view json) {
  const ChakraReadOptions strict{.missing_parents = MissingParents::kDrop};
  const std::optional<Trace> trace = read_text(json, "fuzz", strict);
  const std::optional<Trace> lenient = read_text(
      json, "fuzz",
      {.damaged_records = DamagedRecords::kSkip, .missing_parents = MissingParents::kDrop, .checked = false});
  if (!trace) return;
  check(lenient.has_value(), "a whole file was refused where damage is passed over");
  check_same(*trace, *lenient);
  std::string text;
  write_chakra_json(*trace, [&](std::string_view part) { text += part; });
  const std::optional<Trace> again = read_text(text, "again", strict);
  check(again.has_value(), "a file written by us was refused");
  check_same(*trace, *again);
  std::string bytes;
  write_chakra(*trace, [&](std::string_view part) { bytes += part; });
  check_same(*trace, read_chakra(std::as_bytes(std::span(bytes)), "again", strict));
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
