#include "nadi/plan/plan_space.h"

#include <algorithm>
#include <numeric>

#include "nadi/parallel/step_check.h"

namespace nadi::inline predict {
namespace {

template <typename T>
std::vector<T> asked_or(const std::vector<T>& asked, std::vector<T> all) {
  if (asked.empty()) return all;
  std::vector<T> sorted;
  for (const T& value : asked)
    if (std::ranges::find(sorted, value) == sorted.end()) sorted.push_back(value);
  return sorted;
}

// Within a node unless the question asks for more: tensor parallelism communicates in every layer.
std::vector<std::int64_t> tensor_degrees(const PlanQuestion& question) {
  std::int32_t most = 1;
  for (const std::int32_t kind : question.cluster.nodes)
    most = std::max(most, question.cluster.kinds[static_cast<std::size_t>(kind)].devices);
  std::vector<std::int64_t> degrees;
  for (std::int64_t degree = 1; degree <= most; ++degree)
    if (question.config.heads % degree == 0) degrees.push_back(degree);
  return asked_or(question.space.tp, degrees);
}

std::vector<Recompute> recomputations(const PlanQuestion& question) {
  if (!question.space.recompute.empty()) return question.space.recompute;
  std::vector<Recompute> all{{}};
  if (!question.request.fused_attention) all.push_back({.granularity = Recompute::Granularity::kSelective});
  all.push_back({.granularity = Recompute::Granularity::kFull});
  return all;
}

struct SettingSchedule {
  ScheduleKind kind{};
  std::int64_t virtual_stages = 1;
};

std::vector<SettingSchedule> schedules_of(const PlanQuestion& question, const Plan& plan) {
  const auto asked = [&](ScheduleKind kind) {
    const auto& kinds = question.space.schedules;
    return kinds.empty() || std::ranges::find(kinds, kind) != kinds.end();
  };
  const std::vector<std::int64_t>& counts = question.space.virtual_stages;
  const bool one_chunk = counts.empty() || std::ranges::find(counts, 1) != counts.end();
  std::vector<SettingSchedule> found;
  const bool differ = plan.pp > 1 && plan.micro_batches > 1;
  if (one_chunk && asked(ScheduleKind::k1F1B)) found.push_back({ScheduleKind::k1F1B});
  if (one_chunk && asked(ScheduleKind::kGPipe) && (differ || found.empty()))
    found.push_back({ScheduleKind::kGPipe});
  if (!asked(ScheduleKind::kInterleaved) || plan.pp < 2 || plan.micro_batches % plan.pp != 0) return found;
  // As few as leave the largest chunk of an even partition so many layers: more only make chunks empty.
  std::vector<std::int64_t> chunks;
  for (std::int64_t most = question.config.layers; most >= 1; --most) {
    const std::int64_t count = (question.config.layers + plan.pp * most - 1) / (plan.pp * most);
    if (count > 1 && count * plan.pp <= question.config.layers && (chunks.empty() || count > chunks.back()))
      chunks.push_back(count);
  }
  for (const std::int64_t count : asked_or(counts, chunks))
    if (count > 1) found.push_back({ScheduleKind::kInterleaved, count});
  return found;
}

}  // namespace

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    small.push_back(i);
    if (i != number / i) large.push_back(number / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

std::vector<PlanSetting> plan_grids(const PlanQuestion& question, std::int64_t devices) {
  std::vector<PlanSetting> grids;
  const std::int64_t global_batch = question.global_batch_size;
  // More stages than layers, besides one with the embedding and one with the head alone, have nothing to do.
  const std::int64_t most_stages = question.config.layers + 2;
  for (const std::int64_t tp : tensor_degrees(question))
    for (const std::int64_t dp : asked_or(question.space.dp, divisors_of(global_batch))) {
      if (tp < 1 || dp < 1 || tp > devices / dp || global_batch % dp != 0) continue;
      std::vector<std::int64_t> stages(static_cast<std::size_t>(std::min(most_stages, devices / (tp * dp))));
      std::iota(stages.begin(), stages.end(), std::int64_t{1});
      const std::int64_t batch = global_batch / dp;
      for (const std::int64_t pp : asked_or(question.space.pp, stages)) {
        if (pp < 1 || pp > devices / (tp * dp)) continue;
        if (!question.space.unused_devices && tp * dp * pp != devices) continue;
        for (const std::int64_t size : asked_or(question.space.micro_batch_sizes, divisors_of(batch)))
          if (size >= 1 && batch % size == 0)
            grids.push_back({.plan = {.tp = tp, .dp = dp, .pp = pp, .micro_batches = batch / size},
                             .micro_batch_size = size});
      }
    }
  return grids;
}

std::vector<PlanSetting> settings_of(const PlanQuestion& question, const PlanSetting& grid) {
  std::vector<PlanSetting> settings;
  PlanSetting setting = grid;
  Plan& plan = setting.plan;
  const std::vector<Recompute> recompute = recomputations(question);
  const std::vector<std::int64_t> zero =
      plan.dp > 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0};
  const std::vector<bool> sequence = plan.tp > 1 ? std::vector<bool>{false, true} : std::vector<bool>{false};
  for (const SettingSchedule& schedule : schedules_of(question, plan)) {
    plan.schedule = schedule.kind;
    plan.virtual_stages = schedule.virtual_stages;
    for (const std::int64_t stage : asked_or(question.space.zero_stages, zero))
      for (const bool parallel : asked_or(question.space.sequence_parallel, sequence)) {
        // What was asked for and does nothing on one rank is no other plan.
        plan.zero_stage = plan.dp > 1 ? stage : 0;
        plan.sequence_parallel = plan.tp > 1 && parallel;
        for (const Recompute& choice : recompute) {
          setting.recompute = choice;
          if (!why_infeasible(question.config, request_of(question, candidate_of(setting, {})), plan))
            settings.push_back(setting);
        }
      }
  }
  return settings;
}

StageMakes stage_makes(const PlanQuestion& question, const PlanSetting& setting,
                       std::span<const std::int32_t> nodes) {
  return stage_makes(question.cluster, nodes,
                     {.ranks = setting.ranks_per_stage(),
                      .tp = setting.plan.tp,
                      .stages = setting.plan.pp,
                      .all_devices = !question.space.unused_devices});
}

std::vector<std::int64_t> spread_over_chunks(std::span<const std::int64_t> layers_of_stages,
                                             std::int64_t virtual_stages) {
  std::vector<std::int64_t> layers;
  layers.reserve(layers_of_stages.size() * static_cast<std::size_t>(virtual_stages));
  for (std::int64_t v = 0; v < virtual_stages; ++v)
    for (const std::int64_t count : layers_of_stages)
      layers.push_back(layers_of_chunk(count, v, virtual_stages));
  return layers;
}

std::int64_t partitions_up_to(std::int64_t layers, std::int64_t chunks, std::int64_t most) {
  std::int64_t ways = 1;
  for (std::int64_t i = 1; i < chunks; ++i) {
    if (__builtin_mul_overflow(ways, layers + i, &ways)) return most;
    ways /= i;
    if (ways >= most) return most;
  }
  return ways;
}

PlanCandidate candidate_of(const PlanSetting& setting, std::vector<NodeRun> nodes,
                           std::vector<std::int64_t> partition) {
  PlanCandidate candidate{.plan = setting.plan,
                          .micro_batch_size = setting.micro_batch_size,
                          .recompute = setting.recompute,
                          .nodes = std::move(nodes)};
  candidate.plan.partition = std::move(partition);
  return candidate;
}

}  // namespace nadi::inline predict
