// Fuzz target of the Chakra reader, for libFuzzer:
//
//   cmake -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DNADI_BUILD_FUZZERS=ON -DNADI_SANITIZE=ON
//   cmake --build build/fuzz --target fuzz_chakra_reader
//   build/fuzz/src/trace/fuzz_chakra_reader -max_total_time=60
//
// Any bytes must give either a trace or an Error (input) that names a byte. A trace that was read must be
// the same after it is written and read again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/trace/chakra_reader.h"
#include "nadi/trace/chakra_writer.h"

namespace nadi {
namespace {

void check_round_trip(const Trace& trace, const ChakraReadOptions& options) {
  std::string bytes;
  write_chakra(trace, [&](std::string_view part) { bytes += part; });
  const Trace again = read_chakra(std::as_bytes(std::span(bytes)), "again", options);
  check(again.size() == trace.size(), "a node was lost or won on the way through a file");
  TraceNode a;
  TraceNode b;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    trace.get(row, a);
    again.get(row, b);
    check(a == b, "a node changed on the way through a file");
  }
}

void read_anything(std::span<const std::byte> bytes) {
  const ChakraReadOptions options{.max_record = 1_MiB,
                                  .control_dependencies = ControlDependencies::kKeep,
                                  .missing_parents = MissingParents::kDrop};
  try {
    check_round_trip(read_chakra(bytes, "fuzz", options), options);
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().byte.has_value(), "an error does not name its byte");
    check(error.place().file == "fuzz", "a file written by us was refused");
  }
}

}  // namespace
}  // namespace nadi

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
