// Fuzz target of the reader of spaces of parameters (scripts/fuzz.sh).
//
// Any bytes must give either a space or an Error (input) that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "nadi/base/error.h"
#include "nadi/tune/tune_space.h"

namespace nadi::inline tuning {
namespace {

void read_any(std::string bytes) {
  try {
    parse_tune_space(std::move(bytes), "fuzz.json");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz.json", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline tuning

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
