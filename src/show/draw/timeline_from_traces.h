// Fills a timeline with the traces of a run: a group for each rank, a lane for each stream and thread.
//
//   TimelineView view;
//   const TimelineSummary summary = timeline_from_traces(view, files, {.selection = {.ranks = ranks}});
//   write_timeline_page(view, "timeline.html", Overwrite::kRefuse);
//
// Files are those that read_run() takes (analysis/run_reading.h): Chakra traces, profiles of PyTorch (Kineto)
// with or without traces of its host. What an event is and its lane are those of analysis/timeline.h, so that
// the sums here are those of `nadi analyze`. Lanes of the device come first, then gaps in which the device
// did nothing, then threads of the host, whose events last as long as all that is nested in them.
//
// Links: from a launch to what it launched; from what an event waited for, up to four each; from a send to
// its receive and along the members of a collective, as analysis/meetings.h matches them. Ranks stand on one
// clock as there: times as recorded, shifted where profiles say what they count from.
//
// One trace is in memory at a time, beside the view.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/analysis/run_reading.h"
#include "nadi/draw/timeline_selection.h"
#include "nadi/draw/timeline_summary.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {

struct TimelineFromTracesOptions {
  TimelineSelection selection = {};
  RunReadingOptions reading = {};
};

// Sets no title. Throws Error: input for a trace without times, usage for a selection that nothing fits, and
// as read_run() does.
TimelineSummary timeline_from_traces(TimelineView& view, const std::vector<std::filesystem::path>& files,
                                     const TimelineFromTracesOptions& options);

}  // namespace nadi::inline show
