// Writes what a timeline shows as plain JSON, for scripts.
//
//   write_timeline_json(view, "timeline.json", Overwrite::kRefuse);
//
//   {"format": "nadi-timeline", "version": 1, "title": ..., "subtitle": ..., "notes": [...], "pipeline":
//   false,
//    "marks": [{"time_ns": 0, "name": "step 3"}, ...],
//    "groups": [{"name": "rank 0", "note": ""}, ...],
//    "lanes": [{"name": "stream 7", "group": 0, "note": "", "events": [
//      {"name": "gemm", "kind": "compute", "start_ns": 0, "duration_ns": 900, "micro_batch": 3, "bytes": 512,
//       "shapes": "[4, 512]"}, ...]}, ...],
//    "links": [{"kind": "launch", "from": [1, 0], "to": [0, 0]}, ...]}     // lane and event
//
// Times count from the first event; `origin_ns` is its time on the recorded clock. One event a line. The same
// view gives the same bytes.
#pragma once

#include <filesystem>
#include <string_view>

#include "nadi/base/atomic_file.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {

std::string_view to_string(TimelineLinkKind kind);  // "dependency", "launch", ...

// Returns the size of the file.
Bytes write_timeline_json(const TimelineView& view, const std::filesystem::path& path, Overwrite overwrite);

}  // namespace nadi::inline show
