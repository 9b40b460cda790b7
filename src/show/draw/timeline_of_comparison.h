// A measured run with its prediction below it, on one page: for each rank and stream a measured lane and a
// predicted one, with a link from each predicted event to the measured one.
//
//   TimelineView view;
//   timeline_of_comparison(view, ranks);
//   write_timeline_page(view, "cmp.html", Overwrite::kRefuse);
//
// Both begin at 0: measured times count from the first event of all ranks, predicted ones from the start of
// the simulation.
#pragma once

#include <span>

#include "nadi/draw/timeline_view.h"
#include "nadi/sim/measured_comparison.h"

namespace nadi::inline show {

void timeline_of_comparison(TimelineView& view, std::span<const ComparedRank> ranks);

}  // namespace nadi::inline show
