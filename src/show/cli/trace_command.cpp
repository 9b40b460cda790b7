// nadi trace
#include <array>
#include <ostream>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cli/trace_files_flags.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/parallel/rank_list.h"
#include "nadi/report/written_traces_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/tracing/trace_question.h"

namespace nadi::inline show {
namespace {

// Whom the files are for: readers of Chakra traces differ in what they understand.
struct TargetEntry {
  std::string_view name;
  std::string_view summary;
  TraceFlavor flavor;
};
constexpr std::array kTargets{
    TargetEntry{"chakra", "tools that follow the schema", TraceFlavor::kChakra},
    TargetEntry{"astra-sim", "the simulator: data dependencies only, the collectives of a rank in order",
                TraceFlavor::kAstraSim},
};
struct TensorsEntry {
  std::string_view name;
  std::string_view summary;
  TensorListing tensors;
};
constexpr std::array kTensors{
    TensorsEntry{"first", "of the first micro-batch", TensorListing::kFirstMicroBatch},
    TensorsEntry{"all", "of every node", TensorListing::kAll},
    TensorsEntry{"none", "no tensors: the smallest files", TensorListing::kNone},
};

template <typename Table>
std::vector<std::string_view> entry_names(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

template <typename Table>
std::string summaries_of(const Table& table) {
  std::string text;
  for (const auto& entry : table)
    text += format("{}{}: {}", text.empty() ? "" : "; ", entry.name, entry.summary);
  return text;
}

}  // namespace

void add_trace_flags(Flags& flags) {
  flags.set_positional({.name = "MODEL",
                        .help = "a built-in model (see 'nadi models'), a config.json, or a checkpoint folder",
                        .fallback = "that of --plan"});
  add_trace_files_flags(flags);
  FlagHeading output(flags, "output");
  output.value("--ranks", "LIST", "ranks whose traces are written, such as 0,8-15", "all");
  output.value("--for", "WHOM", summaries_of(kTargets), std::string(kTargets[0].name),
               {.choices = entry_names(kTargets)});
  output.value("--tensors", "WHICH",
               format("nodes that list their tensors' names and shapes; {}", summaries_of(kTensors)),
               std::string(kTensors[0].name), {.choices = entry_names(kTensors)});
  add_step_flags(flags);
  flags.show_first({"--output", "--force", "--step", "--batch-size", "--seq-length", "--dtype", "--tp",
                    "--pp", "--dp", "--for"});
}

void run_trace(const Flags& flags, Console& console) {
  TraceQuestion question{.step = {},
                         .files = trace_files_of(flags),
                         .flavor = kTargets[flags.choice("--for").value_or(0)].flavor,
                         .tensors = kTensors[flags.choice("--tensors").value_or(0)].tensors};
  question.step = step_question(with_plan_file(flags).flags);
  if (const auto list = flags.text("--ranks"))
    question.ranks = parse_ranks("--ranks", *list, question.step.plan.world_size());
  ResolvedTrace asked = resolve(question);
  note_step(asked.step, console);
  const TraceAnswer answer = [&] {
    ProgressLine progress(console, "nodes", steady_clock());
    asked.question.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
    return trace(std::move(asked));
  }();
  if (flags.given("--json"))
    console.out << dump_json(written_traces_json(answer));
  else
    print_written_traces(answer, console.out);
}

}  // namespace nadi::inline show
