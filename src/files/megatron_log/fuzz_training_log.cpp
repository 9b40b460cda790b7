// Fuzz target of the reader of Megatron-LM's logs (scripts/fuzz.sh).
//
// Any bytes must give a log, however little it says.
#include <cstddef>
#include <cstdint>
#include <string>

#include "nadi/base/error.h"
#include "nadi/megatron_log/log_reader.h"

namespace nadi::inline files {
namespace {

void read_any(std::string bytes) {
  try {
    const TrainingLog log = parse_training_log(bytes, "fuzz.out");
    check(log.damaged_lines >= 0, "a log counts damaged lines");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
  }
}

}  // namespace
}  // namespace nadi::inline files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
