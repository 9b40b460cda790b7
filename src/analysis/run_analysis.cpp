#include "nadi/analysis/run_analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi {
namespace {

constexpr std::size_t kShownSteps = 8;

void require_step(const Timeline& timeline, const RankInput& input, std::int64_t step) {
  const std::vector<std::int64_t>& steps = timeline.steps();
  if (std::ranges::binary_search(steps, step)) return;
  std::vector<std::int64_t> shown(
      steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), kShownSteps)));
  throw usage_error(format("no node of {} is of step {}", input.file, step),
                    steps.empty() ? "its nodes name no step"
                                  : format("it has {}{}", fmt::join(shown, ", "),
                                           steps.size() > kShownSteps ? ", ..." : ""));
}

void count_nodes(const Timeline& timeline, RankAnalysis& rank) {
  for (std::uint32_t row = 0; row < timeline.size(); ++row) {
    if (timeline.activity(row) == Activity::kNone) {
      rank.left_out += timeline.trace().type(row) == NodeType::kMetadata ? 0 : 1;
      continue;
    }
    const Nanoseconds start = timeline.start(row), end = timeline.end(row);
    if (!timeline.has_time(row)) {
      ++rank.without_times;
    } else {
      const bool first = rank.nodes == rank.without_times;
      rank.start = first ? start : std::min(rank.start, start);
      rank.end = first ? end : std::max(rank.end, end);
    }
    ++rank.nodes;
  }
}

void add_checked_rank(RunAnalysis& run, const RankInput& input, const AnalysisOptions& options) {
  const TraceDependencies dependencies(input.trace, {.file = input.file, .record_bytes = {}});
  const Timeline timeline(input.trace, dependencies, {.step = options.step});
  if (options.step) require_step(timeline, input, *options.step);
  RankAnalysis& rank = run.ranks.emplace_back();
  rank.file = input.file;
  rank.rank = input.rank;
  rank.clock = timeline.clock();
  rank.steps = timeline.steps();
  count_nodes(timeline, rank);
  rank.breakdown = break_down(timeline);
  rank.communications = communication_rows(timeline, options.groups);
  rank.step_rows = group_rows(timeline, Grouping::kStep);
  add_op_rows(run.ops, op_rows(timeline));
  add_group_rows(run.layers, group_rows(timeline, Grouping::kLayer));
  add_group_rows(run.phases, group_rows(timeline, Grouping::kPhase));
  if (rank.clock == TimelineClock::kNone) {
    rank.chain = longest_chain(timeline);
    return;
  }
  rank.idle = idle_causes(timeline, options.idle);
  rank.launches = launch_statistics(timeline, options.launches);
  rank.queues = queue_lengths(timeline, options.launches);
  rank.critical_path = critical_path(timeline);
  run.collectives.push_back(collectives_of(timeline, input.rank));
  if (options.profile) run.profile.add(timeline);
}

}  // namespace

void add_rank(RunAnalysis& run, const RankInput& input, const AnalysisOptions& options) {
  try {
    add_checked_rank(run, input, options);
  } catch (const Error& error) {
    // A sum that does not fit: the file is at fault, not the question.
    if (error.kind() != ErrorKind::kInfeasible) throw;
    throw input_error({.file = input.file}, format("{}, added up", error.message()));
  }
}

void finish(RunAnalysis& run) {
  run.stragglers = find_stragglers(run.collectives);
  std::map<std::string, std::set<std::int64_t>> users;
  for (const RankAnalysis& rank : run.ranks)
    for (const CommunicationRow& row : rank.communications) users[row.group].insert(rank.rank);
  for (RankAnalysis& rank : run.ranks)
    for (CommunicationRow& row : rank.communications)
      if (!row.members && users[row.group].size() > 1)
        row.members = static_cast<std::int64_t>(users[row.group].size());
}

}  // namespace nadi
