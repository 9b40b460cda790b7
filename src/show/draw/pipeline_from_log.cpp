#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/draw/log_timers.h"
#include "nadi/draw/timeline_from_log.h"
#include "nadi/megatron_log/log_reader.h"
#include "nadi/parallel/pipeline_schedule.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kMostTasks = 2'000'000;  // of a log: more cannot be looked at

struct LogPipelineShape {
  std::int64_t stages = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t micro_batches = 1;
  std::int64_t ranks = 1;

  PipelineRequest request() const {
    return {.kind = virtual_stages > 1 ? ScheduleKind::kInterleaved : ScheduleKind::k1F1B,
            .stages = stages,
            .virtual_stages = virtual_stages,
            .micro_batches = micro_batches};
  }
  // Ranks with tensor, context and data parallelism fastest, then stages.
  std::int64_t ranks_of_stage() const { return ranks / stages; }
};

std::int64_t ranks_in(const TrainingLog& log) {
  std::int64_t ranks = log.settings.world_size.value_or(1);
  for (const LoggedIteration& iteration : log.iterations)
    for (const LoggedTimer& timer : iteration.timers)
      if (!timer.ranks.empty()) ranks = std::max(ranks, timer.ranks.back().rank + 1);
  return ranks;
}

LogPipelineShape shape_of(const TrainingLog& log, const PipelineFromLogOptions& options) {
  const LoggedSettings& settings = log.settings;
  LogPipelineShape shape{.virtual_stages = settings.virtual_stages.value_or(1), .ranks = ranks_in(log)};
  const auto stages = options.stages ? options.stages : settings.pipeline_parallel;
  if (!stages)
    throw input_error({}, "the log does not say how many stages the pipeline has",
                      "it is in the settings that a job prints at its start");
  shape.stages = *stages;
  if (shape.stages > shape.ranks || shape.ranks % shape.stages != 0)
    throw usage_error(format("{} ranks cannot form pipelines of {} stages", shape.ranks, shape.stages));
  if (options.micro_batches) {
    shape.micro_batches = *options.micro_batches;
  } else {
    const std::int64_t split =
        settings.tensor_parallel.value_or(1) * settings.context_parallel.value_or(1) * shape.stages;
    const std::int64_t replicas =
        settings.data_parallel.value_or(std::max<std::int64_t>(shape.ranks / split, 1));
    auto batch = settings.global_batch;
    for (const LoggedIteration& iteration : log.iterations)
      if (!batch && iteration.global_batch) batch = iteration.global_batch;
    if (!batch || !settings.micro_batch || *batch % replicas != 0 ||
        *batch / replicas % *settings.micro_batch != 0)
      throw input_error({}, "the log does not say how many micro-batches a step has",
                        "they follow from the global batch, the micro-batch and the data-parallel size");
    shape.micro_batches = *batch / replicas / *settings.micro_batch;
  }
  check_schedule(shape.request());
  if (shape.micro_batches > kMostTasks / 2 / shape.virtual_stages / shape.ranks)
    throw usage_error(
        format("{} micro-batches on {} ranks are too many boxes to draw", shape.micro_batches, shape.ranks));
  return shape;
}

// What one rank's log says about one iteration.
struct RankPasses {
  const LoggedRank* forward = nullptr;
  const LoggedRank* backward = nullptr;
  const LoggedRank* whole = nullptr;
};

const LoggedRank* rank_in(const LoggedIteration& iteration, std::string_view timer, std::int64_t rank) {
  const LoggedTimer* const found = iteration.find(timer);
  if (found == nullptr) return nullptr;
  const auto at = std::ranges::lower_bound(found->ranks, rank, {}, &LoggedRank::rank);
  return at != found->ranks.end() && at->rank == rank ? &*at : nullptr;
}

class LogPipeline {
 public:
  LogPipeline(TimelineView& view, const TrainingLog& log, const PipelineFromLogOptions& options)
      : view_(view), log_(log), options_(options) {}

  PipelineSummary run() {
    require_iterations(log_);
    if (std::ranges::none_of(log_.iterations, [](const LoggedIteration& iteration) {
          const LoggedTimer* timer = iteration.find(kForwardTimer);
          return timer != nullptr && !timer->ranks.empty();
        }))
      throw input_error({}, "the log has no times of forward-compute of each rank",
                        "run with --timing-log-level 2 --timing-log-option all");
    shape_ = shape_of(log_, options_);
    for (std::int64_t stage = 0; stage < shape_.stages; ++stage)
      tasks_.push_back(pipeline_tasks(shape_.request(), stage));
    for (std::int64_t rank = 0; rank < shape_.ranks; ++rank)
      stages_.push_back({.pipeline = rank % shape_.ranks_of_stage(),
                         .stage = rank / shape_.ranks_of_stage(),
                         .rank = rank});
    waits_.resize(stages_.size());
    std::int64_t drawn = 0;
    for (const LoggedIteration& iteration : log_.iterations)
      if (options_.selection.steps.contains(iteration.iteration) && add(iteration)) ++drawn;
    if (drawn == 0) throw usage_error("no iteration of the log that is chosen has the times of all ranks");
    return finish();
  }

 private:
  // False where the iteration lacks the times of a rank.
  bool add(const LoggedIteration& iteration) {
    std::vector<RankPasses> passes(stages_.size());
    bool listed = true;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const std::int64_t rank = stages_[i].rank;
      passes[i] = {.forward = rank_in(iteration, kForwardTimer, rank),
                   .backward = rank_in(iteration, kBackwardTimer, rank),
                   .whole = rank_in(iteration, kWholePassTimer, rank)};
      if (passes[i].forward == nullptr || passes[i].backward == nullptr) return false;
      listed = listed && has_calls(*passes[i].forward) && has_calls(*passes[i].backward);
    }
    if (boxes_ >= kMostTasks) {
      cut_ = true;
      return true;
    }
    if (listed)
      add_listed(iteration, passes);
    else
      reconstruct(iteration, passes);
    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (passes[i].whole == nullptr) continue;
      waits_[i].first += passes[i].whole->time;
      const Nanoseconds work = passes[i].forward->time + passes[i].backward->time;
      waits_[i].second += passes[i].whole->time > work ? passes[i].whole->time - work : Nanoseconds{};
    }
    return true;
  }

  bool has_calls(const LoggedRank& rank) const {
    const auto per_step = static_cast<std::size_t>(shape_.micro_batches * shape_.virtual_stages);
    return !rank.starts.empty() && rank.starts.size() % per_step == 0;
  }

  // The k-th call of forward-compute is the k-th forward pass of the schedule, step after step.
  void add_listed(const LoggedIteration& iteration, const std::vector<RankPasses>& passes) {
    for (std::size_t i = 0; i < stages_.size(); ++i)
      for (const bool backward : {false, true}) {
        const LoggedRank& calls = backward ? *passes[i].backward : *passes[i].forward;
        std::vector<PipelineTask> order;
        for (const PipelineTask& task : tasks_[static_cast<std::size_t>(stages_[i].stage)])
          if (task.backward == backward) order.push_back(task);
        const auto steps = static_cast<std::int64_t>(calls.starts.size() / order.size());
        for (std::size_t k = 0; k < calls.starts.size(); ++k) {
          const PipelineTask& task = order[k % order.size()];
          add_box(i, task, iteration.iteration - steps + 1 + static_cast<std::int64_t>(k / order.size()),
                  calls.starts[k], std::max(calls.starts[k], calls.ends[k]));
        }
      }
  }

  void add_box(std::size_t stage, const PipelineTask& task, std::int64_t step, Nanoseconds start,
               Nanoseconds end) {
    stages_[stage].boxes.push_back({.backward = task.backward,
                                    .micro_batch = task.micro_batch,
                                    .chunk = static_cast<std::uint16_t>(task.chunk),
                                    .step = step,
                                    .start = start,
                                    .end = end});
    ++boxes_;
  }

  // Plays the schedule of each pipeline with the mean times of its stages.
  void reconstruct(const LoggedIteration& iteration, const std::vector<RankPasses>& passes) {
    reconstructed_ = true;
    const std::int64_t passes_per_step = shape_.micro_batches * shape_.virtual_stages;
    Nanoseconds end = next_start_;
    for (std::int64_t pipeline = 0; pipeline < shape_.ranks_of_stage(); ++pipeline) {
      std::vector<std::size_t> members;  // by stage
      for (std::int64_t stage = 0; stage < shape_.stages; ++stage)
        members.push_back(static_cast<std::size_t>(stage * shape_.ranks_of_stage() + pipeline));
      std::map<std::pair<bool, std::pair<std::int64_t, std::int32_t>>, Nanoseconds> done;
      std::vector<std::size_t> next(members.size());
      std::vector<Nanoseconds> free(members.size(), next_start_);
      const std::int64_t last = shape_.stages * shape_.virtual_stages - 1;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t s = 0; s < members.size(); ++s) {
          const std::vector<PipelineTask>& tasks = tasks_[s];
          for (; next[s] < tasks.size(); ++next[s], moved = true) {
            const PipelineTask& task = tasks[next[s]];
            const std::int64_t place = task.chunk * shape_.stages + static_cast<std::int64_t>(s);
            Nanoseconds start = free[s];
            const bool first = task.backward ? false : place == 0;
            if (!first) {
              // A backward pass of the last chunk follows its own forward pass.
              const bool turns = task.backward && place == last;
              const std::int64_t from = turns ? place : task.backward ? place + 1 : place - 1;
              const auto before = done.find({task.backward && !turns, {from, task.micro_batch}});
              if (before == done.end()) break;
              start = std::max(start, before->second);
            }
            const RankPasses& times = passes[members[s]];
            const Nanoseconds whole = task.backward ? times.backward->time : times.forward->time;
            const Nanoseconds ends = start + Nanoseconds{whole.count() / passes_per_step};
            add_box(members[s], task, iteration.iteration, start, ends);
            done[{task.backward, {place, task.micro_batch}}] = ends;
            free[s] = ends;
          }
        }
      }
      for (std::size_t s = 0; s < members.size(); ++s) end = std::max(end, free[s]);
    }
    next_start_ = std::max(add_extras(iteration, end), next_start_ + iteration.time);
  }

  // What follows the passes of an iteration, one after the other. Returns where the last ends.
  Nanoseconds add_extras(const LoggedIteration& iteration, Nanoseconds start) {
    Nanoseconds latest = start;
    for (PipelineStage& stage : stages_) {
      Nanoseconds at = start;
      for (const LoggedTimer& timer : iteration.timers) {
        const TimelineKind kind = kind_of_timer(timer.name);
        const bool optimizer = kind == TimelineKind::kOptimizer;
        if (place_of_timer(timer.name) != TimerPlace::kIteration ||
            (!optimizer && kind != TimelineKind::kCommunication))
          continue;
        const LoggedRank* const rank = rank_in(iteration, timer.name, stage.rank);
        if (rank == nullptr) continue;
        (optimizer ? stage.optimizer : stage.reductions)
            .push_back({.name = timer.name, .start = at, .end = at + rank->time});
        at += rank->time;
      }
      latest = std::max(latest, at);
    }
    return latest;
  }

  PipelineSummary finish() {
    std::vector<PipelineStage> chosen;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (waits_[i].first > Nanoseconds{})
        stages_[i].timed_bubble_share =
            static_cast<double>(waits_[i].second.count()) / static_cast<double>(waits_[i].first.count());
      if (options_.selection.ranks.contains(stages_[i].rank)) chosen.push_back(std::move(stages_[i]));
    }
    if (chosen.empty())
      throw usage_error(format("no rank of the log is {}", options_.selection.ranks.to_string()),
                        format("it has ranks 0 to {}", shape_.ranks - 1));
    PipelineSummary summary = draw_pipeline(view_, std::move(chosen));
    if (cut_) view_.notes.push_back(format("only the first {} boxes are drawn", with_thousands(boxes_)));
    summary.reconstructed = reconstructed_;
    if (reconstructed_)
      for (std::uint32_t group = 0; group < view_.group_count(); ++group)
        view_.group(group).name += ", reconstructed";
    if (reconstructed_)
      view_.notes.push_back(
          format("reconstructed from a training log: passes of mean length in the order of the {} schedule, "
                 "messages "
                 "take no time; the log does not say when work ran",
                 to_string(shape_.request().kind)));
    else
      view_.notes.emplace_back("calls as the training log lists them, on the wall clocks of the nodes");
    return summary;
  }

  TimelineView& view_;
  const TrainingLog& log_;
  const PipelineFromLogOptions& options_;
  LogPipelineShape shape_;
  std::vector<std::vector<PipelineTask>> tasks_;  // by stage
  std::vector<PipelineStage> stages_;             // by rank
  std::vector<std::pair<Nanoseconds, Nanoseconds>>
      waits_;  // by rank: forward-backward, and what is no work of it
  Nanoseconds next_start_;
  std::int64_t boxes_ = 0;
  bool reconstructed_ = false, cut_ = false;
};

}  // namespace

PipelineSummary pipeline_from_log(TimelineView& view, const TrainingLog& log,
                                  const PipelineFromLogOptions& options) {
  return LogPipeline(view, log, options).run();
}

}  // namespace nadi::inline show
