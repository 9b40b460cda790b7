// The kind of event, and with it the colour, that stands for what a node of a trace is busy with. Lanes of
// streams that have no name of their own are called to_string(Activity), in traces and predictions alike.
#pragma once

#include "nadi/analysis/timeline.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {

TimelineKind kind_of(Activity activity);

}  // namespace nadi::inline show
