// Writes a timeline in the trace format of Chrome, which ui.perfetto.dev and chrome://tracing open.
//
//   write_timeline_perfetto(view, "timeline.perfetto.json", Overwrite::kRefuse);
//
// Groups (ranks) are processes, lanes are threads. Events of a lane that overlap without one lying in the
// other are put on further threads of the same name, since a thread's slices nest. Launches, messages and
// collectives are flows; dependencies are not written: viewers become slow with them. Names, kinds, details
// and figures of an event are its arguments. Times are microseconds with three decimals since the first
// event. The same view gives the same bytes.
#pragma once

#include <filesystem>

#include "nadi/base/atomic_file.h"

namespace nadi::inline show {

class TimelineView;

// Returns the size of the file.
Bytes write_timeline_perfetto(const TimelineView& view, const std::filesystem::path& path,
                              Overwrite overwrite);

}  // namespace nadi::inline show
