#include "nadi/analysis/headline.h"

#include <algorithm>
#include <map>

#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/verdict.h"
#include "nadi/base/error.h"

namespace nadi::inline traces {
namespace {

std::optional<double> per_second(std::optional<std::int64_t> amount, Nanoseconds time) {
  if (!amount || time.count() <= 0) return std::nullopt;
  return static_cast<double>(*amount) / static_cast<double>(time.count()) * 1e9;
}

// By step: that of the slowest rank, in ascending order.
std::vector<Nanoseconds> step_times(const RunAnalysis& run) {
  std::map<std::string, Nanoseconds> longest;
  for (const RankAnalysis& rank : run.ranks) {
    if (rank.clock == TimelineClock::kNone) continue;
    for (const GroupRow& step : rank.step_rows) {
      if (step.name.empty() || step.timed == 0) continue;
      Nanoseconds& time = longest[step.name];
      time = std::max(time, step.end - step.start);
    }
  }
  std::vector<Nanoseconds> times;
  for (const auto& [step, time] : longest) times.push_back(time);
  std::ranges::sort(times);
  return times;
}

std::vector<Loss> losses_of(const RunTime& time, bool joined) {
  std::vector<Loss> losses{{joined ? LossCause::kTransfer : LossCause::kCommunication, time.transfer},
                           {LossCause::kLateRank, time.late_rank},
                           {LossCause::kLateMessage, time.late_message},
                           {LossCause::kCopies, time.copies},
                           {LossCause::kLateLaunch, time.late_launch},
                           {LossCause::kSynchronisation, time.synchronisation},
                           {LossCause::kKernelGaps, time.kernel_gaps},
                           {LossCause::kUnknownIdle, time.unknown}};
  std::erase_if(losses, [](const Loss& loss) { return loss.time.count() <= 0; });
  std::ranges::stable_sort(losses, std::greater<>{}, &Loss::time);
  return losses;
}

}  // namespace

std::string_view to_string(LossCause cause) {
  switch (cause) {
    case LossCause::kCommunication:
      return "communication";
    case LossCause::kTransfer:
      return "transfer";
    case LossCause::kLateRank:
      return "waiting for a late rank";
    case LossCause::kLateMessage:
      return "waiting for messages";
    case LossCause::kCopies:
      return "copies";
    case LossCause::kLateLaunch:
      return "idle for late launches";
    case LossCause::kSynchronisation:
      return "idle for synchronisation";
    case LossCause::kKernelGaps:
      return "idle between kernels";
    case LossCause::kUnknownIdle:
      return "idle for unknown reasons";
  }
  unreachable();
}

std::optional<double> Headline::steps_per_second() const {
  return steps == 0 ? std::nullopt : per_second(1, step_time);
}

std::optional<double> Headline::samples_per_second() const {
  return steps == 0 ? std::nullopt : per_second(samples, step_time);
}

std::optional<double> Headline::tokens_per_second() const {
  return steps == 0 ? std::nullopt : per_second(tokens, step_time);
}

Headline headline_of(const RunAnalysis& run) {
  Headline headline;
  const RunTime time = judge(run).time;
  headline.device_time = time.span;
  headline.losses = losses_of(time, run.stragglers.matched + run.matched_messages > 0);
  if (const std::vector<Nanoseconds> times = step_times(run); !times.empty()) {
    headline.steps = static_cast<std::int64_t>(times.size());
    headline.step_time = times[(times.size() - 1) / 2];
    headline.shortest_step = times.front();
    headline.longest_step = times.back();
  } else {
    for (const RankAnalysis& rank : run.ranks)
      if (rank.clock != TimelineClock::kNone)
        headline.step_time = std::max(headline.step_time, rank.end - rank.start);
  }
  if (!run.ranks.empty()) {
    headline.samples = run.ranks.front().samples_per_step;
    headline.tokens = run.ranks.front().tokens_per_step;
  }
  KnownAmount work;
  for (const KindRow& kind : run.kinds) work.add(kind.work);
  if (work.amount > 0) headline.flops_per_second = per_second(work.amount, time.span);
  return headline;
}

}  // namespace nadi::inline traces
