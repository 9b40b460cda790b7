// Whether iterations take another time than they did before, for good.
#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/job_health/health_rules.h"
#include "nadi/job_log/steady_time.h"

namespace nadi::inline jobs {
namespace {

// The newest batch of a stretch that the log says; 0 means it says none.
std::int64_t batch_of(const NodeLog& node, const TimeRegime& regime) {
  for (std::size_t i = regime.end; i-- > regime.begin;)
    if (node.points[i].global_batch > 0) return node.points[i].global_batch;
  return 0;
}

}  // namespace

void find_pace(const JobObservation& seen, const HealthLimits&, HealthFindings& findings) {
  const NodeLog* const node = iteration_node(seen.log);
  if (node == nullptr) return;
  const std::vector<TimeRegime> regimes = steady_time(node->points).regimes;
  if (regimes.size() < 2) return;
  const TimeRegime &now = regimes.back(), &before = regimes[regimes.size() - 2];
  // A batch that grows takes longer as it should.
  if (batch_of(*node, now) != batch_of(*node, before)) return;
  const double ratio = static_cast<double>(now.median.count()) / static_cast<double>(before.median.count());
  const bool slower = ratio > 1;
  const IterationPoint &last = node->points[before.end - 1], &first = node->points[now.begin];
  HealthFinding finding{.rule = HealthRule::kPace,
                        .severity = slower ? HealthSeverity::kWarning : HealthSeverity::kNote,
                        .text = format("iterations take {} since iteration {}, {} before: {:.2f} times {}",
                                       to_string(now.median), first.last, to_string(before.median),
                                       slower ? ratio : 1 / ratio, slower ? "as long" : "as fast")};
  finding.evidence.push_back({.place = place_of(node->out, first.line),
                              .text = format("iteration {}: {}; iteration {} before it: {}", first.last,
                                             to_string(*first.mean()), last.last, to_string(*last.mean()))});
  finding.evidence.push_back(
      {.place = "", .text = format("medians over {} lines before and {} since", before.lines, now.lines)});
  if (first.start != last.start)
    finding.evidence.push_back({.place = "", .text = "the job was started again between them"});
  findings.push_back(std::move(finding));
}

}  // namespace nadi::inline jobs
