// nadi trace
#include <array>
#include <ostream>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cli/step_metadata.h"
#include "nadi/cli/trace_output.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/parallel/model_parameters.h"
#include "nadi/parallel/rank_list.h"
#include "nadi/report/step_json.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/unroll/rank_traces.h"

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

std::vector<Rank> all_ranks(const Plan& plan) {
  std::vector<Rank> ranks;
  for (std::int64_t rank = 0; rank < plan.world_size(); ++rank)
    ranks.push_back(Rank{static_cast<std::int32_t>(rank)});
  return ranks;
}

void print_report(const RankTraceReport& report, const std::vector<Rank>& ranks, const TraceOutput& output,
                  Console& console) {
  const bool alone = ranks.size() == 1;
  const std::string files = alone ? output.file_of(to_number(ranks[0])).string() + ":"
                                  : format("{}.*.et: {} files,", output.prefix, with_thousands(report.files));
  console.out << format("{} {} nodes, {} edges, {}, {}\n", files, with_thousands(report.nodes),
                        with_thousands(report.data_edges + report.control_edges),
                        report.flops ? to_string(*report.flops) : "more than 9.22 EFLOP",
                        to_string(report.bytes));
  if (!report.groups_file.empty())
    console.out << format("{}: the groups of ranks that they name\n", report.groups_file.string());
}

Json report_json(Json resolved, const RankTraceReport& report, const std::vector<Rank>& ranks,
                 const TraceOutput& output) {
  resolved["prefix"] = output.prefix;
  resolved["ranks"] = as_ranges(ranks);
  resolved["files"] = report.files;
  resolved["nodes"] = report.nodes;
  resolved["data_edges"] = report.data_edges;
  resolved["control_edges"] = report.control_edges;
  resolved["num_ops"] = report.flops ? Json(report.flops->count()) : Json(nullptr);
  resolved["bytes"] = report.bytes.count();
  resolved["groups_file"] = report.groups_file.empty() ? Json(nullptr) : Json(report.groups_file.string());
  return resolved;
}

}  // namespace

void add_trace_flags(Flags& flags) {
  flags.set_positional({.name = "MODEL",
                        .help = "a built-in model (see 'nadi models'), a config.json, or a checkpoint folder",
                        .fallback = "that of --plan"});
  add_trace_output_flags(flags);
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
  const TraceOutput output = resolve_trace_output(flags);
  const ResolvedStep step = resolve_step(step_question(with_plan_file(flags).flags));
  note_step(step, console);
  const std::optional<std::string> list = flags.text("--ranks");
  if (!list) check_file_count(step.plan.world_size(), "--ranks 0,8-15 writes the traces of these ranks");
  const Json resolved = resolved_json(step, model_parameters(step.config));
  ProgressLine progress(console, "nodes", steady_clock());
  const WritableBytes writable = writable_bytes(flags, output.prefix);
  const RankTraceOptions options{
      .flavor = kTargets[flags.choice("--for").value_or(0)].flavor,
      .tensors = kTensors[flags.choice("--tensors").value_or(0)].tensors,
      .overwrite = output.overwrite,
      .ranks = list ? parse_ranks("--ranks", *list, step.plan.world_size()) : all_ranks(step.plan),
      .metadata = step_metadata(resolved),
      .progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); },
      .limit = RankTraceOptions::Limit{writable.most, writable.reason}};
  check_file_count(static_cast<std::int64_t>(options.ranks.size()), "");
  const RankTraceReport report =
      write_step_traces(step.config, step.request, step.plan, output.prefix, options);
  if (flags.given("--json"))
    console.out << dump_json(report_json(resolved, report, options.ranks, output));
  else
    print_report(report, options.ranks, output, console);
}

}  // namespace nadi::inline show
