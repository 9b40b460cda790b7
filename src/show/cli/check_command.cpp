// nadi check
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/file_kind_hints.h"
#include "nadi/command_line/flags.h"
#include "nadi/examination/check_question.h"
#include "nadi/report/check_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownPerRule = 10;

std::vector<std::string_view> names_of_simulators() {
  std::vector<std::string_view> names;
  for (const Simulator& simulator : simulators()) names.push_back(simulator.name);
  return names;
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
  CheckQuestion question{
      .files = flags.positionals(),
      .options = {.kept_per_rule = static_cast<std::size_t>(flags.integer("--limit").value_or(kShownPerRule)),
                  .memory = memory_limit_of(flags),
                  .strict = flags.given("--strict"),
                  .simulators = flags.texts("--simulator")}};
  if (flags.given("--lenient")) question.options.damaged_records = DamagedRecords::kSkip;
  const CheckReport report = [&] {
    ProgressLine progress(console, "MB", steady_clock());
    question.progress = [&](Bytes done, Bytes total) { progress.update(done, total); };
    return check_files(question);
  }();
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
