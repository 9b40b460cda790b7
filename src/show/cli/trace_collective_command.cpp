// nadi trace collective
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/trace_files_flags.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/written_traces_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/terminal/wrap.h"
#include "nadi/tracing/collective_question.h"

namespace nadi::inline show {
namespace {

std::vector<std::string_view> names_of_kinds(bool only_reducing) {
  std::vector<std::string_view> names;
  for (const CollectiveKind& entry : collective_kinds())
    if (entry.reduces() || !only_reducing) names.push_back(entry.name);
  return names;
}

}  // namespace

void add_trace_collective_flags(Flags& flags) {
  flags.set_positional({.name = "KIND",
                        .help = format("{}; broadcast is from rank 0, send-receive from rank 0 to rank 1",
                                       join(names_of_kinds(false), ", ")),
                        .choices = names_of_kinds(false)});
  flags.value("--bytes", "SIZE", "contribution of each rank: bytes, or with a unit: 1MB, 1MiB, 64k",
              "required");
  flags.value("--ranks", "N", "how many ranks", "required");
  flags.value("--op", "OP", format("reduction, for {}", join(names_of_kinds(true), ", ")),
              std::string(reductions()[0]), {.choices = {reductions().begin(), reductions().end()}});
  add_trace_files_flags(flags);
}

void run_trace_collective(const Flags& flags, Console& console) {
  CollectiveQuestion question{.kind = flags.positional(), .reduction = flags.text("--op").value_or("")};
  check_collective(question);
  const auto size = flags.bytes("--bytes");
  if (!size) throw usage_error("--bytes is missing", "--bytes 1MB is a message of 1,000,000 bytes");
  const auto ranks = flags.integer("--ranks", 2);
  if (!ranks) throw usage_error("--ranks is missing", "--ranks 8 are ranks 0 to 7");
  question.size = *size;
  question.ranks = *ranks;
  question.files = trace_files_of(flags);
  const CollectiveAnswer answer = [&] {
    ProgressLine progress(console, "ranks", steady_clock());
    question.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
    return trace_collective(question);
  }();
  if (flags.given("--json"))
    console.out << dump_json(written_traces_json(answer));
  else
    print_written_traces(answer, console.out);
}

}  // namespace nadi::inline show
