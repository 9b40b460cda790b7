#include "nadi/cli/trace_files_flags.h"

#include "nadi/base/error.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {

void add_trace_files_flags(Flags& flags) {
  FlagHeading output(flags, "output");
  output.value(
      "--output", "PREFIX",
      "start of the file names: PREFIX.0.et and so on, one file per rank; missing folders are created",
      "required");
  output.value("--max-bytes", "SIZE",
               "most that the files may take together: more is refused before anything is written",
               "what is free on the disk");
  output.toggle("--force", "overwrite files that exist");
  output.toggle("--json", "print JSON: see docs/json.md");
}

TraceFiles trace_files_of(const Flags& flags) {
  const auto prefix = flags.text("--output");
  if (!prefix) throw usage_error("-o, --output is missing", "-o out/step writes out/step.0.et");
  return {.prefix = *prefix,
          .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse,
          .most = flags.bytes("--max-bytes")};
}

}  // namespace nadi::inline show
