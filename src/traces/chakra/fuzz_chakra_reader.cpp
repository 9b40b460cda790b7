// Fuzz target of the Chakra reader (scripts/fuzz.sh): all schemas.
//
// Any bytes must give either a trace or an Error (input) that names a byte. A trace that was read must be
// the same after it is written and read again. Passing over damage must give the same trace where there is
// none, and a trace for everything that is not empty.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
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

void check_round_trip(const Trace& trace, const ChakraReadOptions& options) {
  std::string bytes;
  write_chakra(trace, [&](std::string_view part) { bytes += part; });
  check_same(trace, read_chakra(std::as_bytes(std::span(bytes)), "again", options));
}

std::optional<Trace> read_strictly(std::span<const std::byte> bytes) {
  const ChakraReadOptions options{.max_record = 1_MiB, .missing_parents = MissingParents::kDrop};
  try {
    Trace trace = read_chakra(bytes, "fuzz", options);
    check_round_trip(trace, options);
    return trace;
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().byte.has_value(), "an error does not name its byte");
    check(error.place().file == "fuzz", "a file written by us was refused");
    return std::nullopt;
  }
}

void read_anything(std::span<const std::byte> bytes) {
  const std::optional<Trace> strict = read_strictly(bytes);
  const bool packed = !bytes.empty() && (bytes[0] == std::byte{0x1f} || bytes[0] == std::byte{0x28});
  if (bytes.empty() || packed) return;  // what cannot be unpacked is no record that can be passed over
  ChakraReadStats stats;
  const Trace lenient = read_chakra(bytes, "fuzz",
                                    {.max_record = 1_MiB,
                                     .damaged_records = DamagedRecords::kSkip,
                                     .missing_parents = MissingParents::kDrop,
                                     .checked = false},
                                    &stats);
  check(stats.nodes == lenient.size(), "a node was not counted");
  if (!strict) return;
  check(stats.dropped_records == 0 && !stats.cut_short, "a record of a whole file was left out");
  check_same(*strict, lenient);
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
