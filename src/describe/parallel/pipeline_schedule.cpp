// Orders of tasks. All schedules run the same list of forwards and the same list of backwards (the chunks in
// reverse); they differ in how many forwards a stage runs before it alternates. The interleaved order is
// Megatron-LM's (Narayanan et al., "Efficient large-scale language model training on GPU clusters using
// Megatron-LM", SC 2021).
//
// Rounds. All stages are simulated together in rounds: in each, every stage runs its next task if the task's
// input arrived in an earlier round. A message is sent in the exchange of the round that produced it, and its
// receiver posts the receive in the exchange of the same round, even if it uses the message later.
// Cost: O(tasks * stages), as a round in which no stage has work does not occur.
//
// Why nothing deadlocks, even where a send ends only when its receive is posted. By induction over rounds:
// let all exchanges of rounds before r have ended. Every stage that takes part in round r has then reached
// it, since its list holds its rounds in order. Its task, if any, waits for nothing: the input came in an
// exchange of an earlier round. So each of these stages posts all its transfers of round r at once, without
// waiting for any other stage. Both ends of each transfer of round r are in round r, so all of them are
// posted, all match, and all exchanges of round r end. Transfers of round r wait only for things of rounds up
// to r. Rounds that a stage skips hold no transfer of it, so leaving them out changes nothing.
#include "nadi/parallel/pipeline_schedule.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {
namespace {

// Forwards that a stage runs before it alternates between forward and backward; at most all of them.
std::int64_t warm_up(const PipelineRequest& request, std::int64_t stage) {
  const std::int64_t forwards = request.virtual_stages * request.micro_batches;
  const std::int64_t stages_after = request.stages - stage - 1;
  switch (request.kind) {
    case ScheduleKind::k1F1B:
      return std::min(stages_after, forwards);
    case ScheduleKind::kGPipe:
      return forwards;
    case ScheduleKind::kInterleaved:
      return std::min(stages_after * 2 + (request.virtual_stages - 1) * request.stages, forwards);
  }
  unreachable();
}

// A stage's forward (or backward) number `index`: `stages` micro-batches go through all chunks, then the next
// ones. With one chunk that is simply micro-batch `index`.
PipelineTask numbered_task(const PipelineRequest& request, bool backward, std::int64_t index) {
  const std::int64_t group_size = request.stages * request.virtual_stages;
  const std::int64_t place = index % group_size;
  const std::int64_t chunk = place / request.stages;
  return {
      .backward = backward,
      .chunk = static_cast<std::int32_t>(backward ? request.virtual_stages - 1 - chunk : chunk),
      .micro_batch = static_cast<std::int32_t>(index / group_size * request.stages + place % request.stages)};
}

std::vector<PipelineTask> ordered_tasks(const PipelineRequest& request, std::int64_t stage) {
  const std::int64_t forwards = request.virtual_stages * request.micro_batches;
  const std::int64_t lead = warm_up(request, stage);
  std::vector<PipelineTask> tasks;
  tasks.reserve(static_cast<std::size_t>(2 * forwards));
  for (std::int64_t step = 0; step < forwards + lead; ++step) {
    if (step < forwards) tasks.push_back(numbered_task(request, false, step));
    if (step >= lead) tasks.push_back(numbered_task(request, true, step - lead));
  }
  return tasks;
}

// A stage during the simulation. The flags are indexed by chunk * micro_batches + micro-batch.
struct StageState {
  std::vector<PipelineTask> tasks;
  std::size_t next = 0;            // the first task that has not run
  std::vector<bool> has_input;     // the forward can run
  std::vector<bool> has_gradient;  // the backward can run
};

class Simulation {
 public:
  explicit Simulation(const PipelineRequest& request)
      : request_(request), states_(static_cast<std::size_t>(request.stages)), current_(states_.size()) {
    for (std::size_t stage = 0; stage < states_.size(); ++stage) {
      StageState& state = states_[stage];
      state.tasks = ordered_tasks(request_, static_cast<std::int64_t>(stage));
      state.has_input.resize(static_cast<std::size_t>(request_.virtual_stages * request_.micro_batches));
      state.has_gradient.resize(state.has_input.size());
    }
    // The model's first chunk reads the batch.
    std::fill_n(states_[0].has_input.begin(), request_.micro_batches, true);
  }

  std::vector<std::vector<PipelineRound>> run() {
    std::vector<std::vector<PipelineRound>> rounds(states_.size());
    while (start_tasks()) {
      // Only now, so that no task of this round sees a message of this round.
      for (std::size_t stage = 0; stage < states_.size(); ++stage)
        if (current_[stage].task) finish_task(static_cast<std::int32_t>(stage), *current_[stage].task);
      for (std::size_t stage = 0; stage < states_.size(); ++stage) {
        PipelineRound round = std::exchange(current_[stage], {});
        if (!round.task && round.exchange.empty()) continue;
        std::sort(round.exchange.begin(), round.exchange.end(), before);
        rounds[stage].push_back(std::move(round));
      }
    }
    return rounds;
  }

 private:
  static bool before(const PipelineTransfer& a, const PipelineTransfer& b) {
    return std::tuple(!a.send, a.chunk, a.micro_batch, a.gradient, a.peer) <
           std::tuple(!b.send, b.chunk, b.micro_batch, b.gradient, b.peer);
  }

  std::size_t index_of(std::int32_t chunk, std::int32_t micro_batch) const {
    return static_cast<std::size_t>(chunk * request_.micro_batches + micro_batch);
  }

  // Gives every stage whose input is there its task of this round. False when all stages are done.
  bool start_tasks() {
    bool waiting = false;
    bool started = false;
    for (std::size_t stage = 0; stage < states_.size(); ++stage) {
      StageState& state = states_[stage];
      if (state.next == state.tasks.size()) continue;
      const PipelineTask& task = state.tasks[state.next];
      const std::size_t index = index_of(task.chunk, task.micro_batch);
      if (task.backward ? state.has_gradient[index] : state.has_input[index]) {
        current_[stage].task = task;
        ++state.next;
        started = true;
      } else {
        waiting = true;
      }
    }
    check(started || !waiting, "a pipeline schedule cannot advance: every stage waits for another");
    return started;
  }

  // Hands a task's output to the chunk that follows (forward) or precedes it (backward).
  void finish_task(std::int32_t stage, const PipelineTask& task) {
    const auto stages = static_cast<std::int32_t>(request_.stages);
    const bool at_first = stage == 0;
    const bool at_last = stage == stages - 1;
    if (task.backward) {
      if (at_first && task.chunk == 0) return;
      transfer(stage, task,
               {.chunk = at_first ? task.chunk - 1 : task.chunk, .peer = at_first ? stages - 1 : stage - 1});
    } else if (at_last && task.chunk == request_.virtual_stages - 1) {
      // The loss: the gradient of the model's last chunk starts here.
      states_[static_cast<std::size_t>(stage)].has_gradient[index_of(task.chunk, task.micro_batch)] = true;
    } else {
      transfer(stage, task,
               {.chunk = at_last ? task.chunk + 1 : task.chunk, .peer = at_last ? 0 : stage + 1});
    }
  }

  struct Receiver {
    std::int32_t chunk;
    std::int32_t peer;
  };
  void transfer(std::int32_t stage, const PipelineTask& task, const Receiver& to) {
    current_[static_cast<std::size_t>(stage)].exchange.push_back({.send = true,
                                                                  .gradient = task.backward,
                                                                  .chunk = task.chunk,
                                                                  .micro_batch = task.micro_batch,
                                                                  .peer = to.peer});
    current_[static_cast<std::size_t>(to.peer)].exchange.push_back({.send = false,
                                                                    .gradient = task.backward,
                                                                    .chunk = to.chunk,
                                                                    .micro_batch = task.micro_batch,
                                                                    .peer = stage});
    StageState& receiver = states_[static_cast<std::size_t>(to.peer)];
    std::vector<bool>& flags = task.backward ? receiver.has_gradient : receiver.has_input;
    flags[index_of(to.chunk, task.micro_batch)] = true;
  }

  PipelineRequest request_;
  std::vector<StageState> states_;
  std::vector<PipelineRound> current_;  // the round being simulated, by stage
};

}  // namespace

std::optional<NoSchedule> why_no_schedule(const PipelineRequest& request) {
  if (request.stages < 1) return NoSchedule::kStages;
  if (request.virtual_stages < 1) return NoSchedule::kVirtualStages;
  if (request.micro_batches < 1) return NoSchedule::kMicroBatches;
  if (request.kind != ScheduleKind::kInterleaved) {
    if (request.virtual_stages > 1) return NoSchedule::kNotInterleaved;
  } else {
    if (request.stages < 2) return NoSchedule::kOneStage;
    if (request.virtual_stages < 2) return NoSchedule::kOneVirtualStage;
    if (request.micro_batches % request.stages != 0) return NoSchedule::kMicroBatchRounds;
  }
  std::int64_t tasks = 2;
  for (const std::int64_t factor : {request.stages, request.virtual_stages, request.micro_batches})
    if (__builtin_mul_overflow(tasks, factor, &tasks) || tasks > std::numeric_limits<std::int32_t>::max())
      return NoSchedule::kTooLong;
  return std::nullopt;
}

void check_schedule(const PipelineRequest& request) {
  const std::optional<NoSchedule> why = why_no_schedule(request);
  if (!why) return;
  const auto at_least_1 = [](const char* what, std::int64_t value) {
    return usage_error(format("a pipeline needs at least 1 {}, not {}", what, value));
  };
  switch (*why) {
    case NoSchedule::kStages:
      throw at_least_1("stage", request.stages);
    case NoSchedule::kVirtualStages:
      throw at_least_1("virtual stage", request.virtual_stages);
    case NoSchedule::kMicroBatches:
      throw at_least_1("micro-batch", request.micro_batches);
    case NoSchedule::kNotInterleaved:
      throw usage_error(format("the {} schedule has 1 virtual stage per stage, not {}",
                               to_string(request.kind), request.virtual_stages),
                        "several virtual stages go with the interleaved schedule");
    case NoSchedule::kOneStage:
      throw usage_error(format("the interleaved schedule needs at least 2 stages, not {}", request.stages),
                        "with one stage there is nothing to interleave: use 1f1b and 1 virtual stage");
    case NoSchedule::kOneVirtualStage:
      throw usage_error(
          format("the interleaved schedule needs at least 2 virtual stages, not {}", request.virtual_stages),
          "with 1 virtual stage use 1f1b");
    case NoSchedule::kMicroBatchRounds: {
      const std::int64_t below = request.micro_batches / request.stages * request.stages;
      throw usage_error(
          format("the interleaved schedule needs a multiple of its {} stages as micro-batches, not {}",
                 request.stages, request.micro_batches),
          below > 0 ? format("the nearest are {} and {}", below, below + request.stages)
                    : format("the least is {}", request.stages));
    }
    case NoSchedule::kTooLong:
      throw usage_error(
          format("a pipeline of {} stages with {} virtual stages and {} micro-batches is too long",
                 request.stages, request.virtual_stages, request.micro_batches),
          format("a forward and a backward for each of them must be at most {} tasks",
                 std::numeric_limits<std::int32_t>::max()));
  }
  unreachable();
}

std::vector<PipelineTask> pipeline_tasks(const PipelineRequest& request, std::int64_t stage) {
  check_schedule(request);
  check(stage >= 0 && stage < request.stages, "a stage is outside of its pipeline");
  return ordered_tasks(request, stage);
}

std::vector<std::vector<PipelineRound>> pipeline_rounds(const PipelineRequest& request) {
  check_schedule(request);
  return Simulation(request).run();
}

std::int64_t slots_needed(const PipelineRequest& request, std::int64_t stage, std::int64_t chunk) {
  const std::vector<PipelineTask> tasks = pipeline_tasks(request, stage);
  check(chunk >= 0 && chunk < request.virtual_stages, "a chunk is outside of its stage");
  std::int64_t used = 0;
  std::int64_t most = 0;
  for (const PipelineTask& task : tasks) {
    if (task.chunk != chunk) continue;
    used += task.backward ? -1 : 1;
    most = std::max(most, used);
  }
  return most;
}

}  // namespace nadi::inline describe
