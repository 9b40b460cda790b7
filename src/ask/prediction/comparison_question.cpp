#include "nadi/prediction/comparison_question.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/sim/disturbed_steps.h"
#include "nadi/sim/shared_node.h"
#include "nadi/sim/simulated_traces.h"
#include "nadi/trace/step_processors.h"

namespace nadi::inline ask {
namespace {

// The prediction of traces, and which of their nodes compute.
struct PredictedTraces {
  std::map<std::int64_t, std::vector<bool>> computes;  // by rank and row
  JudgedSteps steps;
  SimulationResult result;
};

PredictedTraces predict_traces(const std::vector<std::filesystem::path>& files,
                               const RunReadingOptions& reading, const Cluster& cluster,
                               const TraceSet& set) {
  PredictedTraces predicted;
  std::vector<std::map<std::int64_t, ProcessorUse>> uses;  // by rank
  read_run(files, reading, [&](const ReadRank& rank) {
    std::vector<bool>& computes = predicted.computes[rank.rank];
    for (std::size_t row = 0; row < rank.trace.size(); ++row)
      computes.push_back(rank.trace.type(row) == NodeType::kComp);
    uses.push_back(processor_use_by_step(rank.trace));
  });
  predicted.steps = judge_steps(uses);
  const Simulate simulate_with = [&](const SimulationOptions& options) {
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
  predicted.result = with_shared_nodes(simulate_with({}), cluster, {}, computation, simulate_with);
  return predicted;
}

Cluster cluster_of_run(const ComparisonQuestion& question, std::int32_t ranks) {
  Cluster cluster = cluster_of(question.on).for_ranks(ranks);
  if (cluster.device_count() < ranks)
    throw Error(ErrorKind::kInfeasible, {},
                format("the traces are of {} ranks; cluster '{}' has {} {}", ranks, cluster.name,
                       cluster.device_count(), cluster.device_count() == 1 ? "device" : "devices"),
                "calibrate this machine with as many ranks");
  return cluster;
}

}  // namespace

double ComparisonAnswer::iteration_error() const {
  return static_cast<double>(predicted_iteration.count()) /
             static_cast<double>(result.measured_iteration.count()) -
         1;
}

ComparisonAnswer compare(const ComparisonQuestion& question) {
  const TraceSet set = read_trace_set(question.files, question.reading);
  const std::string first = question.files.front().string();
  if (!set.has_times())
    throw input_error({.file = first}, "the trace has no times: nothing to compare",
                      "a trace of a run has them: run the step and record it");
  const auto ranks = static_cast<std::int32_t>(set.traces().size());
  ComparisonAnswer answer{
      .result = {}, .cluster = cluster_of_run(question, ranks), .ranks = ranks, .compared = {}};
  RunReadingOptions quiet = question.reading;
  quiet.note = {};
  const PredictedTraces predicted = predict_traces(question.files, quiet, answer.cluster, set);

  const JudgedSteps& judged = predicted.steps;
  answer.never_quiet = !judged.judged.empty() && judged.disturbed == judged.judged;
  const std::set<std::int64_t> left_out =
      question.all_steps || answer.never_quiet ? std::set<std::int64_t>{} : judged.disturbed;
  read_run(question.files, quiet, [&](const ReadRank& rank) {
    const SimulatedClass& simulated = predicted.result.class_of(Rank{static_cast<std::int32_t>(rank.rank)});
    answer.compared.push_back(compare_rank(rank.trace, rank.rank, simulated.nodes, left_out));
  });
  answer.result = summarize_comparison(answer.compared, question.top);
  if (answer.result.nodes == 0)
    throw input_error({.file = first}, "no computation with a time: nothing to compare");
  for (const ComparedRank& rank : answer.compared) answer.steps = std::max(answer.steps, rank.steps);
  answer.disturbed = static_cast<std::int64_t>(judged.disturbed.size());
  answer.left_out = static_cast<std::int64_t>(left_out.size());
  answer.predicted_iteration =
      Nanoseconds{predicted.result.iteration_time.count() / (answer.steps + answer.left_out)};
  answer.sources = predicted.result.sources;
  return answer;
}

}  // namespace nadi::inline ask
