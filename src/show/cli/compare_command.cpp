// nadi compare
#include <map>
#include <ostream>
#include <set>

#include "nadi/analysis/run_reading.h"
#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/timeline_of_comparison.h"
#include "nadi/draw/timeline_page.h"
#include "nadi/report/prediction_report.h"
#include "nadi/sim/disturbed_steps.h"
#include "nadi/sim/shared_node.h"
#include "nadi/sim/simulated_traces.h"
#include "nadi/terminal/console.h"
#include "nadi/trace/file_patterns.h"
#include "nadi/trace/step_processors.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// The prediction of traces, and which of their nodes compute.
struct PredictedTraces {
  std::map<std::int64_t, std::vector<bool>> computes;  // by rank and row
  JudgedSteps steps;
  SimulationResult result;
};

PredictedTraces predict(const std::vector<fs::path>& files, const RunReadingOptions& reading,
                        const Cluster& cluster, const TraceSet& set) {
  PredictedTraces predicted;
  std::vector<std::map<std::int64_t, ProcessorUse>> uses;  // by rank
  read_run(files, reading, [&](const ReadRank& rank) {
    std::vector<bool>& computes = predicted.computes[rank.rank];
    for (std::size_t row = 0; row < rank.trace.size(); ++row)
      computes.push_back(rank.trace.type(row) == NodeType::kComp);
    uses.push_back(processor_use_by_step(rank.trace));
  });
  predicted.steps = judge_steps(uses);
  const Simulate simulate = [&](const SimulationOptions& options) {
    return simulate_traces(set, cluster, options, {.durations = TraceDurations::kModel});
  };
  const ComputationOf computation = [&](const SimulationResult& result, Rank rank) {
    std::vector<NodeTime> spans;
    const std::vector<NodeTime>& nodes = result.class_of(rank).nodes;
    const std::vector<bool>& computes = predicted.computes[to_number(rank)];
    for (std::size_t row = 0; row < nodes.size() && row < computes.size(); ++row)
      if (computes[row]) spans.push_back(nodes[row]);
    return spans;
  };
  predicted.result = with_shared_nodes(simulate({}), cluster, {}, computation, simulate);
  return predicted;
}

class CompareCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({.name = "FILE...",
                          .help =
                              "traces of the ranks of a run, with times: Chakra (.et, JSON) or profiles of "
                              "PyTorch (Kineto); patterns in quotes",
                          .many = true});
    flags.add({.names = {"--cluster"},
               .value = "CLUSTER",
               .help = "what the run is predicted on: a file of 'nadi calibrate', another cluster file, or a "
                       "name of the catalogue",
               .fallback = "required"});
    flags.add({.names = {"--timeline", "--output", "-o"},
               .value = "FILE.html",
               .help = "write a page with measured and predicted lanes below each other",
               .fallback = "none"});
    flags.add(
        {.names = {"--top"}, .value = "N", .help = "largest differences that are listed", .fallback = "10"});
    flags.add({.names = {"--all-steps"},
               .help =
                   "count steps that were disturbed, too: more than 2% of the processor time was stolen by "
                   "a hypervisor or taken by other processes"});
    flags.add({.names = {"--lenient"}, .help = "skip damaged records"});
    add_strict_flag(flags);
    add_max_memory_flag(flags);
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
    flags.add({.names = {"--force"}, .help = "overwrite a file that exists"});
    flags.show_first({"--cluster", "--timeline", "--json"});
  }

  void run(const Flags& flags, Console& console) const override {
    const auto name = flags.text("--cluster");
    if (!name) throw usage_error("--cluster is missing", "nadi calibrate -o me.json measures this machine");
    const auto page = flags.text("--timeline");
    const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
    if (page && overwrite == Overwrite::kRefuse) refuse_existing(*page);
    const std::vector<fs::path> files = expand_traces(flags.positionals());
    const RunReadingOptions reading{
        .memory = memory_limit_of(flags),
        .lenient = flags.given("--lenient"),
        .strict = flags.given("--strict"),
        .note = [&](const std::string& text) { console.info() << "note: " << text << "\n"; }};

    const TraceSet set = read_trace_set(files, reading);
    if (!set.has_times())
      throw input_error({.file = files.front().string()}, "the trace has no times: nothing to compare",
                        "a trace of a run has them: nadi train ... --enable-tracing");
    const auto ranks = static_cast<std::int32_t>(set.traces().size());
    const Cluster cluster = load_cluster(*name).for_ranks(ranks);
    if (cluster.device_count() < ranks)
      throw Error(ErrorKind::kInfeasible, {},
                  format("the traces are of {} ranks; cluster '{}' has {} {}", ranks, cluster.name,
                         cluster.device_count(), cluster.device_count() == 1 ? "device" : "devices"),
                  format("nadi calibrate --ranks {} measures this machine with as many", ranks));
    RunReadingOptions quiet = reading;
    quiet.note = {};
    const PredictedTraces predicted = predict(files, quiet, cluster, set);

    const JudgedSteps& judged = predicted.steps;
    const bool never_quiet = !judged.judged.empty() && judged.disturbed == judged.judged;
    const std::set<std::int64_t> left_out =
        flags.given("--all-steps") || never_quiet ? std::set<std::int64_t>{} : judged.disturbed;
    std::vector<ComparedRank> compared;
    read_run(files, quiet, [&](const ReadRank& rank) {
      const SimulatedClass& simulated = predicted.result.class_of(Rank{static_cast<std::int32_t>(rank.rank)});
      compared.push_back(compare_rank(rank.trace, rank.rank, simulated.nodes, left_out));
    });
    const ComparisonResult result =
        summarize_comparison(compared, static_cast<std::size_t>(flags.integer("--top", 0).value_or(10)));
    if (result.nodes == 0)
      throw input_error({.file = files.front().string()}, "no computation with a time: nothing to compare");
    if (never_quiet)
      console.warnings()
          << "warning: every step was disturbed by what else the machine did: the measured times "
             "are too long\n";
    std::int64_t steps = 1;
    for (const ComparedRank& rank : compared) steps = std::max(steps, rank.steps);
    const auto without = static_cast<std::int64_t>(left_out.size());
    const PredictionView view{
        .result = result,
        .cluster = cluster.name,
        .ranks = ranks,
        .predicted_iteration = Nanoseconds{predicted.result.iteration_time.count() / (steps + without)},
        .sources = predicted.result.sources,
        .steps = steps,
        .disturbed = static_cast<std::int64_t>(judged.disturbed.size()),
        .left_out = without};
    if (page) {
      TimelineView timeline;
      timeline.title = format("{}: measured and predicted", files.front().filename().string());
      timeline.subtitle = format("predicted on {}", cluster.name);
      timeline_of_comparison(timeline, compared);
      write_timeline_page(timeline, *page, overwrite);
      console.info() << format("wrote {}\n", *page);
    }
    if (flags.given("--json"))
      console.out << dump_json(prediction_json(view));
    else
      print_prediction(view, console.out, style_for(console));
  }
};

}  // namespace

std::unique_ptr<Command> make_compare_command() {
  return std::make_unique<CompareCommand>();
}

}  // namespace nadi::inline show
