#include "nadi/plan/plan_explanation.h"

#include <algorithm>
#include <array>
#include <limits>

#include "nadi/base/format.h"

namespace nadi::inline predict {
namespace {

Nanoseconds in_phase(const SimulatedClass& ranks, Phase phase) {
  return ranks.breakdown.compute[static_cast<std::size_t>(phase)];
}

std::vector<ExplainedStage> explained_stages(const PlanQuestion& question, const RankedPlan& plan,
                                             const SimulationResult& result) {
  const Plan& split = plan.candidate.plan;
  const std::int64_t width = split.world_size() / split.pp;
  std::vector<ExplainedStage> stages(static_cast<std::size_t>(split.pp));
  std::vector<bool> seen(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    stages[s].first_rank = static_cast<std::int32_t>(static_cast<std::int64_t>(s) * width);
    stages[s].last_rank = static_cast<std::int32_t>(stages[s].first_rank + width - 1);
    for (std::size_t chunk = s; chunk < split.partition.size(); chunk += stages.size())
      stages[s].layers += split.partition[chunk];
    if (s < plan.estimate.stages.size()) {
      stages[s].memory = plan.estimate.stages[s].memory;
      stages[s].capacity = plan.estimate.stages[s].capacity;
    }
  }
  for (const SimulatedClass& ranks : result.classes) {
    const auto s = static_cast<std::size_t>(ranks.source);
    ExplainedStage& stage = stages[s];
    const Nanoseconds optimizer = in_phase(ranks, Phase::kOptimizer);
    const Nanoseconds computed = ranks.breakdown.computed() - optimizer;
    if (seen[s] && computed <= stage.computed) continue;
    seen[s] = true;
    stage.device = question.cluster.device(ranks.device).name;
    stage.computed = computed;
    stage.optimizer = optimizer;
    stage.exposed = ranks.breakdown.exposed();
    stage.bubble = ranks.breakdown.bubble + ranks.breakdown.host;
    stage.longest_wait.clear();
    stage.longest_wait_time = {};
    for (const CommunicationShare& share : ranks.breakdown.communication)
      if (share.exposed > stage.longest_wait_time) {
        stage.longest_wait_time = share.exposed;
        stage.longest_wait = share.group + " " + share.op;
      }
  }
  return stages;
}

// Only plans that have every knob as this one; partition and placement are free.
PlanSpace space_around(const PlanSpace& asked, const PlanCandidate& candidate) {
  const Plan& plan = candidate.plan;
  return {.tp = {plan.tp},
          .dp = {plan.dp},
          .pp = {plan.pp},
          .micro_batch_sizes = {candidate.micro_batch_size},
          .virtual_stages = {plan.virtual_stages},
          .zero_stages = {plan.zero_stage},
          .sequence_parallel = {plan.sequence_parallel},
          .recompute = {candidate.recompute},
          .schedules = {plan.schedule},
          .uneven_partitions = asked.uneven_partitions,
          .unused_devices = asked.unused_devices};
}

struct KnobChange {
  std::string knob, choice;
  PlanSpace space;
};

// What lies next to a plan: degrees twice and half as large, the neighbouring micro-batches, each other way
// of the rest.
class KnobChanges {
 public:
  KnobChanges(const PlanSpace& asked, const PlanCandidate& candidate)
      : candidate_(candidate), around_(space_around(asked, candidate)) {
    degrees();
    micro_batches();
    recompute();
    optimizer_and_sequence();
    schedule();
    if (plan().pp > 1 && around_.uneven_partitions)
      add("partition", "as even as possible", [](PlanSpace& space) { space.uneven_partitions = false; });
  }

  std::vector<KnobChange> list;

 private:
  const Plan& plan() const { return candidate_.plan; }

  template <typename Change>
  void add(std::string knob, std::string choice, const Change& change) {
    list.push_back({.knob = std::move(knob), .choice = std::move(choice), .space = around_});
    change(list.back().space);
  }

  void set_degrees(std::int64_t tp, std::int64_t dp, std::int64_t pp) {
    add("degrees", format("tp {}, dp {}, pp {}", tp, dp, pp), [&](PlanSpace& space) {
      space.tp = {tp};
      space.dp = {dp};
      space.pp = {pp};
      // Sequences of a rank follow from its degree.
      space.sequence_parallel = {};
      space.zero_stages = {};
      space.micro_batch_sizes = {};
      if (pp == 1 || plan().pp == 1) {
        space.schedules = {ScheduleKind::k1F1B};
        space.virtual_stages = {1};
      }
    });
  }

  void degrees() {
    const auto [tp, dp, pp] = std::array{plan().tp, plan().dp, plan().pp};
    if (dp % 2 == 0) {
      set_degrees(tp * 2, dp / 2, pp);
      set_degrees(tp, dp / 2, pp * 2);
    }
    if (tp % 2 == 0) {
      set_degrees(tp / 2, dp * 2, pp);
      set_degrees(tp / 2, dp, pp * 2);
    }
    if (pp % 2 == 0) {
      set_degrees(tp, dp * 2, pp / 2);
      set_degrees(tp * 2, dp, pp / 2);
    }
  }

  void micro_batches() {
    const std::int64_t size = candidate_.micro_batch_size;
    const std::int64_t batch = size * plan().micro_batches;
    const auto set = [&](std::int64_t other) {
      add("micro-batch", format("{}", other), [&](PlanSpace& space) { space.micro_batch_sizes = {other}; });
    };
    for (std::int64_t other = size + 1; other <= batch; ++other)
      if (batch % other == 0) {
        set(other);
        break;
      }
    for (std::int64_t other = size - 1; other >= 1; --other)
      if (batch % other == 0) {
        set(other);
        break;
      }
  }

  void recompute() {
    for (const Recompute::Granularity other :
         {Recompute::Granularity::kNone, Recompute::Granularity::kSelective, Recompute::Granularity::kFull})
      if (other != candidate_.recompute.granularity)
        add("recompute", std::string(to_string(other)),
            [&](PlanSpace& space) { space.recompute = {Recompute{.granularity = other}}; });
  }

  void optimizer_and_sequence() {
    if (plan().dp > 1) {
      const std::int64_t other = 1 - plan().zero_stage;
      add("ZeRO", format("{}", other), [&](PlanSpace& space) { space.zero_stages = {other}; });
    }
    if (plan().tp > 1) {
      const bool other = !plan().sequence_parallel;
      add("sequence parallel", other ? "on" : "off",
          [&](PlanSpace& space) { space.sequence_parallel = {other}; });
    }
  }

  void schedule() {
    if (plan().pp < 2) return;
    constexpr std::int64_t kChunks = 2;
    for (const ScheduleEntry& entry : schedules()) {
      if (entry.kind == plan().schedule) continue;
      const std::int64_t chunks = entry.kind == ScheduleKind::kInterleaved ? kChunks : 1;
      add("schedule", chunks > 1 ? format("{} x{}", entry.name, chunks) : std::string(entry.name),
          [&](PlanSpace& space) {
            space.schedules = {entry.kind};
            space.virtual_stages = {chunks};
            // Partitions into many chunks are many: the even one says what the order is worth.
            space.uneven_partitions = space.uneven_partitions && chunks == 1;
          });
    }
  }

  const PlanCandidate& candidate_;
  PlanSpace around_;
};

bool same_plan(const PlanCandidate& a, const PlanCandidate& b) {
  return a.plan.tp == b.plan.tp && a.plan.dp == b.plan.dp && a.plan.pp == b.plan.pp &&
         a.plan.sequence_parallel == b.plan.sequence_parallel && a.plan.zero_stage == b.plan.zero_stage &&
         a.plan.schedule == b.plan.schedule && a.plan.virtual_stages == b.plan.virtual_stages &&
         a.plan.micro_batches == b.plan.micro_batches && a.plan.partition == b.plan.partition &&
         a.micro_batch_size == b.micro_batch_size && a.recompute.granularity == b.recompute.granularity &&
         a.nodes == b.nodes;
}

}  // namespace

PlanExplanation explain_plan(const PlanQuestion& question, const RankedPlan& plan,
                             const std::function<bool()>& stop) {
  const SimulationResult result = simulate_plan(question, plan.candidate);
  PlanExplanation why{
      .plan = plan, .simulated = result.iteration_time, .stages = explained_stages(question, plan, result)};
  const auto share = [](const ExplainedStage& stage) {
    return stage.capacity.count() > 0
               ? static_cast<double>(stage.memory.count()) / static_cast<double>(stage.capacity.count())
               : 0.0;
  };
  for (std::size_t s = 1; s < why.stages.size(); ++s) {
    if (why.stages[s].computed > why.stages[why.slowest].computed) why.slowest = s;
    if (share(why.stages[s]) > share(why.stages[why.fullest])) why.fullest = s;
  }
  PlanQuestion other = question;
  other.limits.dollars_per_million_tokens.reset();
  other.limits.step_time.reset();
  for (KnobChange& change : KnobChanges(question.space, plan.candidate).list) {
    if (stop && stop()) break;
    other.space = std::move(change.space);
    PlanAnswer answer = search_plans(other, {.top = 1, .confirmed = 1, .proves_little = true, .stop = stop});
    PlanAlternative alternative{.knob = std::move(change.knob), .choice = std::move(change.choice)};
    if (!answer.plans.empty()) {
      if (same_plan(answer.plans[0].candidate, plan.candidate)) continue;
      // A choice without effect, as selective recomputation of fused attention.
      if (answer.plans[0].estimate.iteration == plan.estimate.iteration &&
          objective_of(PlanObjective::kMemory, answer.plans[0].estimate) ==
              objective_of(PlanObjective::kMemory, plan.estimate))
        continue;
      alternative.plan = std::move(answer.plans[0]);
    } else if (answer.nearest) {
      alternative.missing_memory = answer.nearest->missing_memory;
    } else {
      continue;  // there is no such plan
    }
    why.alternatives.push_back(std::move(alternative));
  }
  // Those that do not fit last.
  std::ranges::stable_sort(why.alternatives, {}, [](const PlanAlternative& alternative) {
    return alternative.plan ? alternative.plan->simulated.value_or(alternative.plan->estimate.iteration)
                            : Nanoseconds{std::numeric_limits<std::int64_t>::max()};
  });
  return why;
}

}  // namespace nadi::inline predict
