// Fuzz target of the plan file reader (scripts/fuzz.sh).
//
// Any bytes must give either a plan, which is written and read back to the same bytes, or an Error (input)
// that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "nadi/base/error.h"
#include "nadi/plan/plan_file.h"

namespace nadi::inline predict {
namespace {

void read_any_plan(std::string bytes) {
  try {
    const PlanFile file = parse_plan_file(std::move(bytes), "fuzz.json");
    check(file.devices.empty() || static_cast<std::int64_t>(file.devices.size()) == file.plan.world_size(),
          "ranks without a device were let pass");
    const std::string text = plan_file_text(file, "fuzz.json");
    check(plan_file_text(parse_plan_file(text, "fuzz.json"), "fuzz.json") == text,
          "a plan that was written is read as another one");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz.json", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline predict

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any_plan({reinterpret_cast<const char*>(data), size});
  return 0;
}
