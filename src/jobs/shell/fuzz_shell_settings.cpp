// Fuzz target of the reader of settings in shell scripts (scripts/fuzz.sh).
//
// Any bytes must give either settings or an Error (input) that names the file; nothing may be run, and values
// may not grow without end.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "nadi/base/error.h"
#include "nadi/shell/shell_settings.h"

namespace nadi::inline jobs {
namespace {

void read_any(std::string bytes) {
  try {
    const auto environment = [](const std::string& name) {
      return name == "HOME" ? std::optional<std::string>("/home/x") : std::nullopt;
    };
    const ShellSettings settings = parse_shell_settings(bytes, "fuzz.sh", environment);
    for (const ShellSetting& setting : settings.settings)
      check(settings.find(setting.name) != nullptr, "a setting is not found by its name");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz.sh", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline jobs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
