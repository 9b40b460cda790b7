#include "nadi/cli/trace_output.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {

std::filesystem::path TraceOutput::file_of(std::int64_t rank) const {
  return format("{}.{}.et", prefix, rank);
}

void add_trace_output_flags(Flags& flags) {
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

void check_file_count(std::int64_t files, const std::string& hint) {
  constexpr std::int64_t kMostFiles = std::int64_t{1} << 20;
  if (files > kMostFiles)
    throw usage_error(format("{} files, one for each rank; the limit is {}", with_thousands(files),
                             with_thousands(kMostFiles)),
                      hint);
}

TraceOutput resolve_trace_output(const Flags& flags) {
  const std::optional<std::string> prefix = flags.text("--output");
  if (!prefix) throw usage_error("-o, --output is missing", "-o out/step writes out/step.0.et");
  if (prefix->ends_with('/'))
    throw usage_error(format("-o takes the start of file names, and '{}' is a folder", *prefix),
                      format("-o {0}step writes {0}step.0.et", *prefix));
  if (prefix->ends_with(".et")) {
    std::string start = prefix->substr(0, prefix->size() - std::string_view(".et").size());
    const std::size_t before_rank = start.find_last_not_of("0123456789");
    if (before_rank != std::string::npos && before_rank + 1 < start.size() && start[before_rank] == '.')
      start.resize(before_rank);
    throw usage_error(format("-o takes the start of file names, not '{}'", *prefix),
                      format("-o {0} writes {0}.0.et", start));
  }
  return {.prefix = *prefix, .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse};
}

}  // namespace nadi::inline show
