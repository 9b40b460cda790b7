#include "nadi/draw/timeline_from_simulation.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/sim/cluster_for_tests.h"
#include "nadi/sim/simulated_files.h"
#include "nadi/sim/simulated_traces.h"

namespace nadi::inline show {
namespace {

const Plan kSimulatedPlan{.dp = 2, .pp = 2, .micro_batches = 2};

StagePrograms simulated_programs() {
  return {tiny_model(architecture_named("gpt2"), 2),
          {.kind = StepKind::kTrain, .batch_size = 2, .seq_length = 8},
          kSimulatedPlan};
}

TEST(TimelineFromSimulation, HasEveryNodeOfOneRankOfEachClass) {
  const StagePrograms programs = simulated_programs();
  const SimulationResult result = simulate_step(programs, cluster_for_tests(1, 4));
  TimelineView view;
  EXPECT_EQ(timeline_from_simulated_step(view, programs, result, {}), result.classes.size());
  EXPECT_EQ(view.group_count(), result.classes.size());
  std::uint64_t nodes = 0;
  for (const SimulatedClass& one : result.classes) nodes += one.nodes.size();
  EXPECT_EQ(view.event_count(), nodes);
  EXPECT_THROW(timeline_from_simulated_step(view, programs, result, {.ranks = {Rank{4}}}), Error);
}

// Predicted traces hold the times of the simulation: replayed as recorded they take as long, and recorded and
// predicted events lie beside each other.
TEST(TimelineFromSimulation, PredictedTracesAreTracesWithTimes) {
  const StagePrograms programs = simulated_programs();
  const Cluster cluster = cluster_for_tests(1, 4);
  const SimulationResult result = simulate_step(programs, cluster);
  const TemporaryFolder folder;
  const SimulatedFileReport report = write_simulated_step(programs, result, folder.path() / "predicted", {});
  EXPECT_EQ(report.files, 4);
  EXPECT_EQ(report.nodes, result.nodes);
  EXPECT_THROW(write_simulated_step(programs, result, folder.path() / "predicted", {}), Error);
  std::vector<std::filesystem::path> files;
  for (int r = 0; r < 4; ++r) files.push_back(folder.path() / ("predicted." + std::to_string(r) + ".et"));
  const TraceSet set = read_trace_set(files);
  EXPECT_TRUE(set.has_times());
  const SimulationResult again = simulate_traces(set, cluster, {});
  EXPECT_EQ(again.iteration_time, result.iteration_time);
  for (std::int32_t r = 0; r < 4; ++r)
    EXPECT_TRUE(again.class_of(Rank{r}).nodes == result.class_of(Rank{r}).nodes) << r;
  TimelineView view;
  timeline_from_simulated_traces(view, files, {}, again, {.ranks = {Rank{0}}, .recorded = true});
  EXPECT_EQ(view.links().size(), again.class_of(Rank{0}).nodes.size());
  EXPECT_EQ(write_simulated_traces(files, {}, again, folder.path() / "again", {}).nodes, result.nodes);
}

}  // namespace
}  // namespace nadi::inline show
