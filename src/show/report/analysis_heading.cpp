#include "nadi/report/analysis_heading.h"

#include <algorithm>
#include <utility>

#include "nadi/analysis/run_analysis.h"
#include "nadi/base/format.h"

namespace nadi::inline show {

AnalysisHeading analysis_heading(const RunAnalysis& run) {
  std::int64_t nodes = 0, untimed = 0, without_launch = 0;
  Nanoseconds span;
  bool replayed = false;
  for (const RankAnalysis& rank : run.ranks) {
    nodes += rank.nodes;
    span = std::max(span, rank.end - rank.start);
    untimed += rank.clock == TimelineClock::kNone ? 0 : rank.without_times;
    replayed = replayed || rank.clock == TimelineClock::kReplayed;
    if (!rank.launches.rows.empty()) without_launch += rank.launches.without_launch;
  }
  AnalysisHeading heading;
  const RankAnalysis& first = run.ranks.front();
  std::string line = run.ranks.size() == 1 ? format("{} (rank {})", first.file, first.rank)
                     : first.file == run.ranks.back().file
                         ? format("{} ({} ranks)", first.file, run.ranks.size())
                         : format("{} ranks, {} to {}", run.ranks.size(), first.file, run.ranks.back().file);
  heading.title = std::move(line);
  line = format("{} nodes", with_thousands(nodes));
  if (!first.steps.empty())
    line += first.steps.size() == 1 ? format(", step {}", first.steps[0])
                                    : format(", {} steps ({} to {})", first.steps.size(), first.steps.front(),
                                             first.steps.back());
  line += span.count() > 0 ? format(", {}", nadi::to_string(span)) : ", without times";
  heading.lines.push_back(std::move(line));
  if (first.left_out > 0)
    heading.lines.push_back(format("{} nodes of other steps are left out", with_thousands(first.left_out)));
  if (replayed) heading.lines.emplace_back("the files have no start times: those of a replay are used");
  if (untimed > 0) heading.lines.push_back(format("{} nodes have no times", with_thousands(untimed)));
  if (without_launch > 0)
    heading.lines.push_back(
        format("{} nodes of the device have no launch call", with_thousands(without_launch)));
  if (run.ranks.size() > 1 && span.count() > 0)
    heading.lines.emplace_back(run.stragglers.measure == WaitMeasure::kArrival
                                   ? "clocks of ranks are taken as recorded"
                                   : "clocks of ranks look unrelated: waiting is computed from durations");
  if (run.stragglers.unmatched > 0)
    heading.lines.push_back(
        format("{} collectives have no partner on another rank", with_thousands(run.stragglers.unmatched)));
  return heading;
}

}  // namespace nadi::inline show
