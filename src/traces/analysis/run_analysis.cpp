#include "nadi/analysis/run_analysis.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "nadi/analysis/meetings.h"
#include "nadi/analysis/run_reading.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline traces {
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

// Runs of ours write numbers as texts.
std::optional<std::int64_t> metadata_count(const Trace& trace, std::string_view name) {
  const TraceAttribute* attribute = trace.metadata.attributes.find(name);
  if (attribute == nullptr) return std::nullopt;
  std::optional<std::int64_t> count = attribute->integer();
  if (const auto text = attribute->string(); !count && text) {
    std::int64_t value = 0;
    if (read_number(*text, value)) count = value;
  }
  return count && *count > 0 ? count : std::nullopt;
}

void read_batch(const Trace& trace, RankAnalysis& rank) {
  rank.samples_per_step = metadata_count(trace, "global_batch_size");
  const std::optional<std::int64_t> length = metadata_count(trace, "seq_length");
  std::int64_t tokens = 0;
  if (rank.samples_per_step && length && !__builtin_mul_overflow(*rank.samples_per_step, *length, &tokens))
    rank.tokens_per_step = tokens;
}

// What the rank's times count from, minus what those of the first rank do.
Nanoseconds clock_offset(RunAnalysis& run, const Trace& trace) {
  const std::optional<Nanoseconds> base = base_time_of(trace);
  if (!base) return {};
  if (!run.base_time) run.base_time = base;
  return *base - *run.base_time;
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
  read_batch(input.trace, rank);
  rank.breakdown = break_down(timeline);
  rank.communications = communication_rows(timeline, options.groups);
  rank.step_rows = group_rows(timeline, Grouping::kStep);
  rank.has_streams = timeline.has_streams();
  if (const TraceAttribute* kind = input.trace.metadata.attributes.find("device_kind"))
    rank.device_kind = kind->string().value_or("");
  rank.is_own_run = timeline.has_own_ops() && !timeline.has_streams();
  add_op_rows(run.ops, op_rows(timeline));
  add_kind_rows(run.kinds, kind_rows(timeline, options.kinds));
  add_group_rows(run.layers, group_rows(timeline, Grouping::kLayer), Grouping::kLayer);
  add_group_rows(run.phases, group_rows(timeline, Grouping::kPhase), Grouping::kPhase);
  if (rank.clock == TimelineClock::kNone) {
    rank.chain = longest_chain(timeline);
    return;
  }
  rank.idle = idle_causes(timeline, options.idle);
  rank.launches = launch_statistics(timeline, options.launches);
  rank.queues = queue_lengths(timeline, options.launches);
  const Nanoseconds offset = clock_offset(run, input.trace);
  run.calls.push_back(calls_of(timeline, input.rank, offset));
  run.forests.emplace_back(timeline, run.calls.back(), offset);
  run.durations.add(timeline);
  if (options.picture) run.strips.ranks.push_back(strip_of(timeline, input.rank, offset));
  if (options.profile) run.profile.add(timeline);
}

// Waiting of a rank's calls, by kind and group.
void split_waits(RankAnalysis& rank, const RankCalls& calls, const Meetings& meetings, std::size_t position) {
  const ExposedWaits exposed = exposed_waits(calls, meetings, position);
  rank.breakdown.transfer = exposed.transfer;
  rank.breakdown.late_rank = exposed.late_rank;
  rank.breakdown.late_message = exposed.late_message;
  std::map<std::pair<std::string, std::uint32_t>, Nanoseconds> waited;
  for (std::size_t i = 0; i < calls.calls.size(); ++i)
    waited[{calls.kinds[calls.calls[i].kind], calls.calls[i].text}] += meetings.of_call(position, i).wait;
  for (std::size_t i = 0; i < calls.messages.size(); ++i)
    waited[{calls.messages[i].sends ? "SEND" : "RECV", calls.messages[i].text}] +=
        meetings.of_message(position, i).wait;
  for (CommunicationRow& row : rank.communications)
    if (const auto wait = waited.find({row.kind, row.group_number}); wait != waited.end())
      row.waited = wait->second;
}

void join_ranks(RunAnalysis& run) {
  const Meetings meetings(run.calls);
  run.stragglers = find_stragglers(run.calls, meetings);
  run.matched_messages = meetings.matched_messages();
  run.unmatched_messages = meetings.unmatched_messages();
  run.paths = critical_paths(run.forests, run.calls, meetings,
                             run.strips.ranks.empty() ? KeepStretches::kNo : KeepStretches::kYes);
  run.path_crosses_ranks = joins_paths(meetings);
  for (std::size_t position = 0; position < run.calls.size(); ++position)
    split_waits(*std::ranges::find(run.ranks, run.calls[position].rank, &RankAnalysis::rank),
                run.calls[position], meetings, position);
  run.calls.clear();
  run.forests.clear();
  std::ranges::sort(run.strips.ranks, {}, &RankStrip::rank);
  for (CriticalPath& path : run.paths) {
    add_path(run.strips, path);
    path.stretches = {};
  }
  fit_strips(run.strips);
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
  std::ranges::sort(run.ranks, {}, &RankAnalysis::rank);
  std::ranges::sort(run.calls, {}, &RankCalls::rank);
  std::ranges::sort(run.forests, {}, &PathForest::rank);
  join_ranks(run);
  std::map<std::string, std::set<std::int64_t>> users;
  for (const RankAnalysis& rank : run.ranks)
    for (const CommunicationRow& row : rank.communications) users[row.group].insert(rank.rank);
  for (RankAnalysis& rank : run.ranks)
    for (CommunicationRow& row : rank.communications)
      if (!row.members && users[row.group].size() > 1)
        row.members = static_cast<std::int64_t>(users[row.group].size());
}

}  // namespace nadi::inline traces
