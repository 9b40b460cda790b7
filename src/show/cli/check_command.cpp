// nadi check
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_error.h"
#include "nadi/check/check_traces.h"
#include "nadi/cli/file_kind_hints.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/check_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownPerRule = 10;

std::vector<std::string_view> names_of_simulators() {
  std::vector<std::string_view> names;
  for (const Simulator& simulator : simulators()) names.push_back(simulator.name);
  return names;
}

CheckReport check_with_progress(const std::vector<std::filesystem::path>& files, CheckOptions options,
                                Console& console) {
  std::vector<std::int64_t> ends;  // of each file, in bytes of all
  for (const std::filesystem::path& file : files) {
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(file, unknown);
    ends.push_back((ends.empty() ? 0 : ends.back()) + (unknown ? 0 : static_cast<std::int64_t>(size)));
  }
  ProgressLine progress(console, "MB", steady_clock());
  options.progress = [&](std::size_t file, std::uint64_t bytes) {
    const std::int64_t before = file == 0 ? 0 : ends[file - 1];
    const std::int64_t done = std::min(before + static_cast<std::int64_t>(bytes), ends[file]);
    progress.update(Bytes{done}, Bytes{ends.back()});
  };
  return check_traces(files, options);
}

}  // namespace

void add_check_flags(Flags& flags) {
  flags.set_positional(
      {.name = "FILE...",
       .help = "Chakra traces (.et or JSON, plain, gzip or zstd), patterns in quotes, or the start of the "
               "names of all ranks' traces; those whose names differ in the rank only are checked against "
               "each other",
       .many = true});
  flags.value("--simulator", "NAME", "report an error if this simulator would refuse a trace",
              "the verdict of each is printed", {.choices = names_of_simulators(), .repeatable = true});
  flags.toggle("--lenient", "skip damaged records and continue");
  add_strict_flag(flags);
  add_max_memory_flag(flags);
  FlagHeading output(flags, "output");
  output.value("--limit", "N", "findings printed for each rule; all of them are counted",
               format("{}", kShownPerRule));
  output.toggle("--json", "print JSON: see docs/json.md");
}

void run_check(const Flags& flags, Console& console) {
  const std::vector<std::filesystem::path> files = expand_traces(flags.positionals());
  for (const std::filesystem::path& file : files)
    if (!std::filesystem::exists(file)) throw no_such_file(file.string());
  CheckOptions options{.memory = memory_limit_of(flags)};
  options.kept_per_rule = static_cast<std::size_t>(flags.integer("--limit").value_or(kShownPerRule));
  if (flags.given("--lenient")) options.damaged_records = DamagedRecords::kSkip;
  options.strict = flags.given("--strict");
  options.simulators = flags.texts("--simulator");
  const CheckReport report = check_with_progress(files, std::move(options), console);
  if (flags.given("--json"))
    console.out << dump_json(check_json(report));
  else
    print_check(report, console.out,
                {.style = style_for(console), .more = "; --limit shows more", .hint_for = [](FileKind kind) {
                   return hint_for(kind, "check");
                 }});
  if (report.findings.total(Severity::kError) > 0)
    throw SaidFailure{.exit_code = exit_code(ErrorKind::kInput)};
}

}  // namespace nadi::inline show
