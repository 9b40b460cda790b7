// The assembler copies the schema into the read-only data of the program. The build compiles this source
// again when the schema changes.
#include <cstddef>
#include <cstdint>

#include "nadi/plan/plan_file.h"

__asm__(R"(
  .pushsection .rodata
  .global nadi_plan_schema, nadi_plan_schema_size
  .hidden nadi_plan_schema, nadi_plan_schema_size
  nadi_plan_schema: .incbin ")" NADI_PLAN_SCHEMA R"("
  nadi_plan_schema_end:
  .balign 8
  nadi_plan_schema_size: .quad nadi_plan_schema_end - nadi_plan_schema
  .popsection
)");

#define HIDDEN_DATA __attribute__((visibility("hidden")))
extern "C" {
HIDDEN_DATA extern const char nadi_plan_schema[];
HIDDEN_DATA extern const std::uint64_t nadi_plan_schema_size;
}

namespace nadi {

std::string_view plan_schema() {
  return {nadi_plan_schema, static_cast<std::size_t>(nadi_plan_schema_size)};
}

}  // namespace nadi
