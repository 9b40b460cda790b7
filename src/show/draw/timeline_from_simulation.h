// Fills a timeline with what a simulation predicts.
//
//   TimelineView view;
//   timeline_from_simulated_step(view, programs, result, {});
//   write_timeline_page(view, "timeline.html", Overwrite::kRefuse);
//
// A group for each class of ranks (of the first rank, which stands for the others), a lane for computation
// and one for each kind of communication. Of traces: the lanes that the trace has, and where the recorded
// times are wanted beside the predicted ones, each lane twice, with links from a predicted event to the
// recorded one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "nadi/analysis/run_reading.h"
#include "nadi/draw/timeline_view.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline show {

struct SimulatedTimelineOptions {
  // Which ranks are shown; empty means the first of each class, up to `most`.
  std::vector<Rank> ranks = {};
  std::size_t most = 16;
  bool recorded = false;  // of traces: the recorded times beside the predicted ones
};

// The result must have the times of nodes. Sets notes, no title. Returns how many ranks are shown.
std::size_t timeline_from_simulated_step(TimelineView& view, const StagePrograms& programs,
                                         const SimulationResult& result,
                                         const SimulatedTimelineOptions& options);

// `files` as given to read_trace_set().
std::size_t timeline_from_simulated_traces(TimelineView& view,
                                           const std::vector<std::filesystem::path>& files,
                                           const RunReadingOptions& reading, const SimulationResult& result,
                                           const SimulatedTimelineOptions& options);

}  // namespace nadi::inline show
