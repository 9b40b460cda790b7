// Fuzz target of configurations of models, config.json of Hugging Face (scripts/fuzz.sh).
//
// Any bytes must give either a configuration or an Error (input) that names the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/model/config_file.h"

namespace nadi::inline describe {
namespace {

void read_any(std::string text) {
  try {
    check(!parse_model_config(std::move(text), "fuzz").name.empty(), "a model without a name");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline describe

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
