#include "nadi/report/verdict_text.h"

#include <algorithm>
#include <cmath>

#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/verdict.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/terminal/printable.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownKinds = 4;
constexpr double kLeastShare = 0.0005;  // what would be printed as 0.0% is left out
// A node that a conversion makes of time in which nothing was recorded.
constexpr std::string_view kHostGap = "host gap";

std::string verdict_percent(double share) {
  return format("{:.1f}%", 100 * share);
}

double share(Nanoseconds part, Nanoseconds whole) {
  return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return format("{} {}", with_thousands(count), count == 1 ? one : many);
}

// What the ranks computed on.
std::string_view device_of(const RunAnalysis& run) {
  const auto any = [&](bool RankAnalysis::*is) {
    return std::ranges::any_of(run.ranks, [&](const RankAnalysis& rank) { return rank.*is; });
  };
  for (const RankAnalysis& rank : run.ranks)
    if (!rank.device_kind.empty()) return rank.device_kind;
  if (any(&RankAnalysis::has_streams)) return "GPU";
  return any(&RankAnalysis::is_own_run) ? "CPU" : "device";
}

class Words {
 public:
  explicit Words(const RunAnalysis& run) : run_(run), verdict_(judge(run)), device_(device_of(run)) {
    for (const KindRow& kind : run.kinds) kinds_time_ += kind.time;
  }

  std::vector<std::string> lines() const {
    return {format("{}: {}", to_string(verdict_.limit), limit()), parts(), detail()};
  }

 private:
  bool joined() const { return run_.stragglers.matched + run_.matched_messages > 0; }
  std::string_view works() const { return device_ == "GPU" ? "kernels" : "ops"; }

  std::string limit() const {
    const std::string whole = verdict_percent(verdict_.limit_share()),
                      part = verdict_percent(verdict_.cause_share());
    const std::string idle = format("the {} is idle {} of the time, {} of it", device_, whole, part);
    const std::string communication = format("{} of the time nothing but communication goes on", whole);
    switch (verdict_.limit) {
      case Limit::kNothing:
        return "the trace has no nodes";
      case Limit::kNotTimed:
        return "the trace says what is to be done, and not how long it takes";
      case Limit::kHostOnly:
        return "nothing ran on a GPU" + main_kind("; the host's ops are mainly ", "of their time");
      case Limit::kCompute:
        return format("the {} computes {} of the time{}", device_, whole,
                      main_kind(", mainly ", format("of the time of all {}", works())));
      case Limit::kTransfer:
        return joined() ? format("{}, {} of it transfer of data", communication, part)
                        : format("{}; with one rank, waiting for others cannot be told from transfer",
                                 communication);
      case Limit::kLateRank:
        return format("{}, {} of it waiting for a rank that comes late", communication, part);
      case Limit::kLateMessage:
        return format("{}, {} of it waiting for messages of other stages", communication, part);
      case Limit::kCopies:
        return format("{} of the time the {} only moves memory", whole, device_);
      case Limit::kHost:
        return format("{} because launches came too late", idle);
      case Limit::kSynchronisation:
        return format("{} because the host waited for the {} before it launched more", idle, device_);
      case Limit::kKernelGaps:
        return format("{} between {} that were launched in time", idle, works());
      case Limit::kUnknown:
        return format("{} for reasons that the trace does not tell", idle);
    }
    unreachable();
  }

  // The kind of computation with the longest time; nothing where there is none.
  std::string main_kind(std::string_view before, std::string_view of_what) const {
    const auto computes = [](const KindRow& kind) {
      return kind.kind != WorkKind::kCommunication && kind.time.count() > 0;
    };
    const auto main = std::ranges::find_if(run_.kinds, computes);
    if (main == run_.kinds.end()) return "";
    return format("{}{} ({} {})", before, plural_of(main->kind),
                  verdict_percent(share(main->time, kinds_time_)), of_what);
  }

  // How the time splits.
  std::string parts() const {
    const RunTime& time = verdict_.time;
    switch (verdict_.limit) {
      case Limit::kNothing:
        return "nothing can be said about it";
      case Limit::kNotTimed:
        return amounts();
      case Limit::kHostOnly:
        return kinds();
      default:
        break;
    }
    std::string line = time.ranks == 1 ? format("of {}: ", to_string(time.span))
                                       : format("of {} on {} ranks: ", to_string(time.span), time.ranks);
    line += format("compute {}", verdict_percent(share(time.compute, time.span)));
    const auto add = [&](std::string_view name, Nanoseconds part, bool always = false) {
      if (always || share(part, time.span) >= kLeastShare)
        line += format(", {} {}", name, verdict_percent(share(part, time.span)));
    };
    if (joined()) {
      add("transfer", time.transfer);
      add("waiting for a late rank", time.late_rank);
      add("waiting for messages", time.late_message);
    } else {
      add("communication", time.communication());
    }
    add("copies", time.copies);
    add("idle", time.idle(), true);
    return line;
  }

  // For traces without times.
  std::string amounts() const {
    std::int64_t compute = 0, communication = 0, memory = 0, host = 0;
    for (const RankAnalysis& rank : run_.ranks) {
      compute += rank.breakdown.compute_sum.nodes;
      communication += rank.breakdown.communication_sum.nodes;
      memory += rank.breakdown.memory_sum.nodes;
      host += rank.breakdown.host_sum.nodes;
    }
    std::string line = counted(static_cast<std::int64_t>(run_.ranks.size()), "rank", "ranks");
    line += format(": {} that compute", counted(compute, "node", "nodes"));
    if (communication > 0) line += format(", {} that communicate", with_thousands(communication));
    if (memory > 0) line += format(", {} that move memory", with_thousands(memory));
    if (host > 0) line += format(", {} of the host", with_thousands(host));
    return line;
  }

  // What to look at.
  std::string detail() const {
    switch (verdict_.limit) {
      case Limit::kNothing:
        return "was it written to the end?";
      case Limit::kNotTimed:
        return chain();
      case Limit::kHostOnly:
        return host_ops();
      case Limit::kCompute:
      case Limit::kCopies:
      case Limit::kKernelGaps:
      case Limit::kUnknown:
        return kinds();
      case Limit::kTransfer:
        return main_communication();
      case Limit::kLateRank:
        return latest_rank();
      case Limit::kLateMessage:
        return waiting_stages();
      case Limit::kHost:
        return launches();
      case Limit::kSynchronisation:
        return synchronisations();
    }
    unreachable();
  }

  std::string chain() const {
    LongestChain longest;
    for (const RankAnalysis& rank : run_.ranks) {
      longest.nodes = std::max(longest.nodes, rank.chain.nodes);
      longest.work = std::max(longest.work, rank.chain.work);
    }
    std::string line =
        format("the longest chain of dependencies has {}", counted(longest.nodes, "node", "nodes"));
    if (longest.work.count() > 0) line += format(", the heaviest {}", to_string(longest.work));
    return line + "; for times, trace a run";
  }

  std::string kinds() const {
    std::string line = format("{}: ", works());
    std::size_t shown = 0;
    for (const KindRow& kind : run_.kinds) {
      if (kind.time.count() == 0 || shown == kShownKinds) break;
      line += format("{}{} {}", shown++ == 0 ? "" : ", ", to_string(kind.kind),
                     verdict_percent(share(kind.time, kinds_time_)));
      if (kind.work.amount > 0 && kind.work.time.count() > 0)
        line += format(" at {}/s", to_string(Flops{std::llround(kind.work.per_second())}));
    }
    return line;
  }

  // The host's op with the longest time of its own.
  std::string host_ops() const {
    Nanoseconds all;
    const OpRow* longest = nullptr;
    for (const OpRow& row : run_.ops) {
      if (row.activity != Activity::kHost) continue;
      all += row.time.total();
      if (row.name == kHostGap) continue;
      if (longest == nullptr || row.time.total() > longest->time.total()) longest = &row;
    }
    if (longest == nullptr || all.count() == 0) return "the host's ops are not in the trace";
    return format("the host's costliest op is {}, {} of its time", printable(longest->name),
                  verdict_percent(share(longest->time.total(), all)));
  }

  std::string launches() const {
    std::int64_t launched = 0, shorter = 0;
    for (const RankAnalysis& rank : run_.ranks)
      for (const LaunchRow& row : rank.launches.rows) {
        if (row.activity != Activity::kCompute) continue;
        launched += row.call.count;
        shorter += row.shorter_than_call;
      }
    return format("{} of {} ran shorter than the call that launched them; {}", with_thousands(shorter),
                  counted(launched, "kernel", "kernels"), host_ops());
  }

  std::string synchronisations() const {
    std::int64_t gaps = 0;
    for (const RankAnalysis& rank : run_.ranks) gaps += rank.idle.device.synchronisation.gaps;
    return format("{} the {} had nothing left to do when such a wait ended; {}",
                  counted(gaps, "time", "times"), device_, host_ops());
  }

  std::string main_communication() const {
    const CommunicationRow* longest = nullptr;
    std::int64_t of_rank = 0;
    for (const RankAnalysis& rank : run_.ranks)
      for (const CommunicationRow& row : rank.communications)
        if (longest == nullptr || row.exposed > longest->exposed) {
          longest = &row;
          of_rank = rank.rank;
        }
    if (longest == nullptr) return kinds();
    std::string line = format("most: {}", longest->kind);
    if (!longest->group.empty()) line += format(" of group {}", printable(longest->group));
    line += format(" on rank {}, {} in {}, {} hidden behind computation", of_rank, to_string(longest->time),
                   counted(longest->calls, "call", "calls"),
                   verdict_percent(share(longest->hidden(), longest->under_way)));
    return line;
  }

  std::string latest_rank() const {
    const auto& ranks = run_.stragglers.ranks;
    const auto worst = std::ranges::max_element(ranks, {}, &StragglerRank::caused);
    return format("rank {} came last in {} of {} and let the others wait {} in all", worst->rank,
                  with_thousands(worst->last), counted(worst->collectives, "collective", "collectives"),
                  to_string(worst->caused));
  }

  std::string waiting_stages() const {
    const auto waits = [](const RankAnalysis& rank) {
      return share(rank.breakdown.late_message, rank.breakdown.span);
    };
    const auto most = std::ranges::max_element(run_.ranks, {}, waits);
    const auto least = std::ranges::min_element(run_.ranks, {}, waits);
    return format("rank {} waits most for messages, {} of its time; rank {} least, {}", most->rank,
                  verdict_percent(waits(*most)), least->rank, verdict_percent(waits(*least)));
  }

  const RunAnalysis& run_;
  const Verdict verdict_;
  const std::string_view device_;
  Nanoseconds kinds_time_;
};

}  // namespace

std::vector<std::string> verdict_lines(const RunAnalysis& run) {
  return Words(run).lines();
}

Json verdict_json(const RunAnalysis& run) {
  const Verdict verdict = judge(run);
  const bool timed = verdict.time.span.count() > 0;
  return {{"limit", to_string(verdict.limit)},
          {"device", device_of(run)},
          {"limit_share", timed ? Json(verdict.limit_share()) : Json(nullptr)},
          {"cause_share", timed ? Json(verdict.cause_share()) : Json(nullptr)},
          {"lines", verdict_lines(run)}};
}

}  // namespace nadi::inline show
