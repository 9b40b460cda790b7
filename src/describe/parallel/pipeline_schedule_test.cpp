#include "nadi/parallel/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nadi/base/error.h"

namespace nadi::inline describe {

// For messages of failed tests.
void PrintTo(const PipelineRequest& request, std::ostream* out) {
  *out << to_string(request.kind) << ", " << request.stages << " stages, " << request.virtual_stages
       << " virtual stages, " << request.micro_batches << " micro-batches";
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::PrintToString;

using Rounds = std::vector<PipelineRound>;
using Pipeline = std::vector<Rounds>;  // by stage

// "F0" and "B0" by micro-batch; with virtual stages "F1.0": chunk 1, micro-batch 0.
std::string text_of(const PipelineTask& task, const PipelineRequest& request) {
  return (task.backward ? "B" : "F") +
         (request.virtual_stages > 1 ? std::to_string(task.chunk) + "." : std::string{}) +
         std::to_string(task.micro_batch);
}

std::string order_of(const PipelineRequest& request, std::int64_t stage) {
  std::string text;
  for (const PipelineTask& task : pipeline_tasks(request, stage))
    text += (text.empty() ? "" : " ") + text_of(task, request);
  return text;
}

// "F1 send activations 1 to 1, receive gradient 0 from 1"; "-" stands for no task.
std::string text_of(const PipelineRound& round, const PipelineRequest& request) {
  std::string text = round.task ? text_of(*round.task, request) : "-";
  const char* separator = " ";
  for (const PipelineTransfer& transfer : round.exchange) {
    text += separator + std::string(transfer.send ? "send " : "receive ") +
            (transfer.gradient ? "gradient " : "activations ") + std::to_string(transfer.micro_batch) +
            (transfer.send ? " to " : " from ") + std::to_string(transfer.peer);
    separator = ", ";
  }
  return text;
}

std::vector<std::string> texts_of(const Rounds& rounds, const PipelineRequest& request) {
  std::vector<std::string> texts;
  for (const PipelineRound& round : rounds) texts.push_back(text_of(round, request));
  return texts;
}

// The same requests everywhere: only the generator's raw output is used.
std::vector<PipelineRequest> random_requests(int count) {
  std::mt19937_64 random(20);
  const auto from_1_to = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
  std::vector<PipelineRequest> requests;
  while (static_cast<int>(requests.size()) < count) {
    PipelineRequest request{.kind = static_cast<ScheduleKind>(requests.size() % 3),
                            .stages = from_1_to(8),
                            .virtual_stages = from_1_to(4),
                            .micro_batches = from_1_to(24)};
    if (request.kind == ScheduleKind::kInterleaved) {
      request.stages = std::max<std::int64_t>(request.stages, 2);
      request.virtual_stages = std::max<std::int64_t>(request.virtual_stages, 2);
      request.micro_batches = request.stages * (1 + request.micro_batches % (24 / request.stages));
    } else {
      request.virtual_stages = 1;
    }
    requests.push_back(request);
  }
  return requests;
}

// A message, named the same by both of its ends: from, to, gradient, the receiver's chunk, micro-batch.
using SentMessage = std::tuple<std::int32_t, std::int32_t, bool, std::int32_t, std::int32_t>;
SentMessage message_of(const PipelineTransfer& transfer, std::int32_t stage, std::int32_t stages) {
  if (!transfer.send) return {transfer.peer, stage, transfer.gradient, transfer.chunk, transfer.micro_batch};
  std::int32_t chunk = transfer.chunk;
  if (!transfer.gradient && stage == stages - 1) ++chunk;  // on to the next round trip
  if (transfer.gradient && stage == 0) --chunk;
  return {stage, transfer.peer, transfer.gradient, chunk, transfer.micro_batch};
}

struct Durations {
  std::int64_t forward = 1;
  std::int64_t backward = 1;
};

// Runs the lists under rendezvous semantics: a stage posts all transfers of an exchange at once, a transfer
// ends when both ends are posted and takes no time, and the stage goes on when all its transfers have ended.
// Returns the time at which the last stage is done, or nothing when the stages deadlock.
std::optional<std::int64_t> blocking_replay(const Pipeline& pipeline, const Durations& durations = {}) {
  const auto stages = static_cast<std::int32_t>(pipeline.size());
  struct Progress {
    std::size_t round = 0;
    bool posted = false;     // the exchange of `round`
    std::int64_t clock = 0;  // when posted: of the post
  };
  std::vector<Progress> progress(pipeline.size());
  std::map<std::pair<SentMessage, bool>, std::int64_t>
      posted_at;  // the end of a message (true: send), the time

  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t stage = 0; stage < stages; ++stage) {
      Progress& own = progress[static_cast<std::size_t>(stage)];
      const Rounds& rounds = pipeline[static_cast<std::size_t>(stage)];
      if (own.round == rounds.size()) continue;
      const PipelineRound& round = rounds[own.round];
      if (!own.posted) {
        if (round.task) own.clock += round.task->backward ? durations.backward : durations.forward;
        for (const PipelineTransfer& transfer : round.exchange)
          posted_at[{message_of(transfer, stage, stages), transfer.send}] = own.clock;
        own.posted = moved = true;
      }
      std::int64_t end = own.clock;
      const bool ended = std::ranges::all_of(round.exchange, [&](const PipelineTransfer& transfer) {
        const auto partner = posted_at.find({message_of(transfer, stage, stages), !transfer.send});
        if (partner == posted_at.end()) return false;
        end = std::max(end, partner->second);
        return true;
      });
      if (!ended) continue;
      own = {.round = own.round + 1, .posted = false, .clock = end};
      moved = true;
    }
  }

  std::int64_t end = 0;
  for (std::size_t stage = 0; stage < pipeline.size(); ++stage) {
    if (progress[stage].round != pipeline[stage].size()) return std::nullopt;
    end = std::max(end, progress[stage].clock);
  }
  return end;
}

TEST(PipelineSchedule, OneForwardOneBackward) {
  const PipelineRequest request{.kind = ScheduleKind::k1F1B, .stages = 4, .micro_batches = 6};
  // Stage 0 warms up with 4 - 1 - 0 = 3 forwards, stage 1 with 2, stage 3 with none.
  EXPECT_EQ(order_of(request, 0), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  EXPECT_EQ(order_of(request, 1), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  EXPECT_EQ(order_of(request, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST(PipelineSchedule, OneForwardOneBackwardWithFewMicroBatches) {
  const PipelineRequest request{.kind = ScheduleKind::k1F1B, .stages = 4, .micro_batches = 2};
  EXPECT_EQ(order_of(request, 0), "F0 F1 B0 B1");  // the warm-up of 3 is cut to the 2 there are
  EXPECT_EQ(order_of(request, 2), "F0 F1 B0 B1");
  EXPECT_EQ(order_of(request, 3), "F0 B0 F1 B1");
}

TEST(PipelineSchedule, GPipe) {
  const PipelineRequest request{.kind = ScheduleKind::kGPipe, .stages = 2, .micro_batches = 3};
  EXPECT_EQ(order_of(request, 0), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(order_of(request, 1), "F0 F1 F2 B0 B1 B2");
}

TEST(PipelineSchedule, InterleavedAsInMegatron) {
  const PipelineRequest request{
      .kind = ScheduleKind::kInterleaved, .stages = 2, .virtual_stages = 2, .micro_batches = 4};
  // Forwards: micro-batches 0 and 1 through chunk 0, then chunk 1; then 2 and 3. Backwards: chunk 1 first.
  // Stage 0 warms up with (2 - 0 - 1) * 2 + (2 - 1) * 2 = 4 forwards, stage 1 with 0 * 2 + 1 * 2 = 2.
  EXPECT_EQ(order_of(request, 0),
            "F0.0 F0.1 F1.0 F1.1 "
            "F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 "
            "B1.2 B1.3 B0.2 B0.3");
  EXPECT_EQ(order_of(request, 1),
            "F0.0 F0.1 "
            "F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 "
            "B0.2 B0.3");
}

TEST(PipelineSchedule, InterleavedWarmUpIsAtMostAllForwards) {
  // 4 micro-batches, 2 chunks: 8 forwards. Stage 0 would warm up with 3 * 2 + 1 * 4 = 10, stage 3 with 4.
  const PipelineRequest request{
      .kind = ScheduleKind::kInterleaved, .stages = 4, .virtual_stages = 2, .micro_batches = 4};
  EXPECT_EQ(order_of(request, 0),
            "F0.0 F0.1 F0.2 F0.3 F1.0 F1.1 F1.2 F1.3 B1.0 B1.1 B1.2 B1.3 B0.0 B0.1 B0.2 B0.3");
  EXPECT_EQ(order_of(request, 3),
            "F0.0 F0.1 F0.2 F0.3 F1.0 B1.0 F1.1 B1.1 F1.2 B1.2 F1.3 B1.3 B0.0 B0.1 B0.2 B0.3");
}

TEST(PipelineSchedule, RoundsOfTwoStages) {
  const PipelineRequest request{.kind = ScheduleKind::k1F1B, .stages = 2, .micro_batches = 2};
  //   round    0   1   2   3   4   5
  //   stage 0  F0  F1  -   B0  -   B1
  //   stage 1  -   F0  B0  F1  B1
  // The output of F1 arrives in round 1, though stage 1 uses it in round 3.
  const Pipeline pipeline = pipeline_rounds(request);
  ASSERT_EQ(pipeline.size(), 2u);
  EXPECT_THAT(texts_of(pipeline[0], request),
              ElementsAre("F0 send activations 0 to 1", "F1 send activations 1 to 1",
                          "- receive gradient 0 from 1", "B0", "- receive gradient 1 from 1", "B1"));
  EXPECT_THAT(texts_of(pipeline[1], request),
              ElementsAre("- receive activations 0 from 0", "F0 receive activations 1 from 0",
                          "B0 send gradient 0 to 0", "F1", "B1 send gradient 1 to 0"));
}

TEST(PipelineSchedule, OneStageTalksToNobody) {
  const PipelineRequest request{.kind = ScheduleKind::k1F1B, .micro_batches = 2};
  const Pipeline pipeline = pipeline_rounds(request);
  ASSERT_EQ(pipeline.size(), 1u);
  EXPECT_THAT(texts_of(pipeline[0], request), ElementsAre("F0", "B0", "F1", "B1"));
}

TEST(PipelineSchedule, ChunksOfNeighboursAreConnectedAroundTheRing) {
  const PipelineRequest request{
      .kind = ScheduleKind::kInterleaved, .stages = 2, .virtual_stages = 2, .micro_batches = 2};
  // Activations of chunk 0 go from stage 1 to chunk 1 of stage 0, and their gradients come back from there.
  const Pipeline pipeline = pipeline_rounds(request);
  const auto has = [&](std::size_t stage, const PipelineTransfer& wanted) {
    return std::ranges::any_of(pipeline[stage], [&](const PipelineRound& round) {
      return std::ranges::find(round.exchange, wanted) != round.exchange.end();
    });
  };
  EXPECT_TRUE(has(1, {.send = true, .gradient = false, .chunk = 0, .micro_batch = 0, .peer = 0}));
  EXPECT_TRUE(has(0, {.send = false, .gradient = false, .chunk = 1, .micro_batch = 0, .peer = 1}));
  EXPECT_TRUE(has(0, {.send = true, .gradient = true, .chunk = 1, .micro_batch = 0, .peer = 1}));
  EXPECT_TRUE(has(1, {.send = false, .gradient = true, .chunk = 0, .micro_batch = 0, .peer = 0}));
}

TEST(PipelineSchedule, EveryTaskRunsOnceAndInOrder) {
  for (const PipelineRequest& request : random_requests(200)) {
    SCOPED_TRACE(PrintToString(request));
    const Pipeline pipeline = pipeline_rounds(request);
    for (std::int64_t stage = 0; stage < request.stages; ++stage) {
      std::vector<PipelineTask> run;
      for (const PipelineRound& round : pipeline[static_cast<std::size_t>(stage)])
        if (round.task) run.push_back(*round.task);
      EXPECT_EQ(run, pipeline_tasks(request, stage));

      // A forward and a backward per chunk and micro-batch, all different and in range, are all there are.
      std::set<std::tuple<bool, std::int32_t, std::int32_t>> different;
      for (const PipelineTask& task : run) {
        EXPECT_TRUE(task.chunk >= 0 && task.chunk < request.virtual_stages);
        EXPECT_TRUE(task.micro_batch >= 0 && task.micro_batch < request.micro_batches);
        different.emplace(task.backward, task.chunk, task.micro_batch);
      }
      EXPECT_EQ(run.size(), different.size());
      EXPECT_EQ(static_cast<std::int64_t>(run.size()), 2 * request.virtual_stages * request.micro_batches);
    }
  }
}

TEST(PipelineSchedule, NoTaskRunsBeforeItsInputIsThere) {
  for (const PipelineRequest& request : random_requests(200)) {
    SCOPED_TRACE(PrintToString(request));
    const Pipeline pipeline = pipeline_rounds(request);
    for (std::int64_t stage = 0; stage < request.stages; ++stage) {
      using Place = std::pair<std::int32_t, std::int32_t>;  // chunk, micro-batch
      std::set<Place> inputs, gradients, forwards;
      for (const PipelineRound& round : pipeline[static_cast<std::size_t>(stage)]) {
        EXPECT_TRUE(round.task || !round.exchange.empty()) << "an empty round";
        if (round.task) {
          const Place place{round.task->chunk, round.task->micro_batch};
          const std::int64_t chunk_of_model = place.first * request.stages + stage;
          if (round.task->backward) {
            EXPECT_TRUE(forwards.contains(place));
            EXPECT_TRUE(gradients.contains(place) ||
                        chunk_of_model == request.stages * request.virtual_stages - 1);
          } else {
            EXPECT_TRUE(inputs.contains(place) || chunk_of_model == 0);
            forwards.insert(place);
          }
        }
        for (const PipelineTransfer& transfer : round.exchange) {
          if (transfer.send) {  // what this round's task made, and nothing else
            EXPECT_EQ(round.task, (PipelineTask{.backward = transfer.gradient,
                                                .chunk = transfer.chunk,
                                                .micro_batch = transfer.micro_batch}));
          } else {
            (transfer.gradient ? gradients : inputs).emplace(transfer.chunk, transfer.micro_batch);
          }
        }
      }
    }
  }
}

TEST(PipelineSchedule, EverySendHasItsReceive) {
  for (const PipelineRequest& request : random_requests(200)) {
    SCOPED_TRACE(PrintToString(request));
    const Pipeline pipeline = pipeline_rounds(request);
    // By (from, to), in the order of each end's list: messages are told apart by their order alone.
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<SentMessage>> sends, receives;
    std::set<SentMessage> different;
    std::size_t sent = 0;
    for (std::int32_t stage = 0; stage < request.stages; ++stage)
      for (const PipelineRound& round : pipeline[static_cast<std::size_t>(stage)]) {
        std::set<std::pair<bool, std::int32_t>> directions;
        for (const PipelineTransfer& transfer : round.exchange) {
          EXPECT_TRUE(directions.emplace(transfer.send, transfer.peer).second)
              << "two messages in one direction";
          EXPECT_NE(transfer.peer, stage);
          const SentMessage message = message_of(transfer, stage, static_cast<std::int32_t>(request.stages));
          (transfer.send ? sends : receives)[{std::get<0>(message), std::get<1>(message)}].push_back(message);
          if (!transfer.send) continue;
          different.insert(message);
          ++sent;
        }
      }
    EXPECT_EQ(sends, receives);
    EXPECT_EQ(different.size(), sent);
    // Each boundary between two chunks is crossed twice by every micro-batch.
    EXPECT_EQ(static_cast<std::int64_t>(sent),
              2 * (request.stages * request.virtual_stages - 1) * request.micro_batches);
  }
}

TEST(PipelineSchedule, ExchangesAreSorted) {
  for (const PipelineRequest& request : random_requests(60)) {
    SCOPED_TRACE(PrintToString(request));
    for (const Rounds& rounds : pipeline_rounds(request))
      for (const PipelineRound& round : rounds)
        EXPECT_TRUE(std::ranges::is_sorted(round.exchange, {}, [](const PipelineTransfer& transfer) {
          return std::tuple(!transfer.send, transfer.chunk, transfer.micro_batch);
        }));
  }
}

TEST(PipelineSchedule, SlotsNeeded) {
  for (const PipelineRequest& request : random_requests(200)) {
    SCOPED_TRACE(PrintToString(request));
    for (std::int64_t stage = 0; stage < request.stages; ++stage) {
      // 1F1B: the warm-up of stages - 1 - stage, and the forward that the first backward follows.
      if (request.kind == ScheduleKind::k1F1B) {
        EXPECT_EQ(slots_needed(request, stage, 0), std::min(request.stages - stage, request.micro_batches));
      }
      if (request.kind == ScheduleKind::kGPipe) {
        EXPECT_EQ(slots_needed(request, stage, 0), request.micro_batches);
      }
    }
  }
  // The orders of InterleavedAsInMegatron. Stage 0, chunk 0: F0 F1 F2 F3 come before B0: 4. Chunk 1: F0 F1 B0
  // B1 F2 F3: 2. Stage 1, chunk 0: F0 F1 F2 B0 F3 B1: 3. Chunk 1: F0 B0 F1 B1: 1.
  const PipelineRequest interleaved{
      .kind = ScheduleKind::kInterleaved, .stages = 2, .virtual_stages = 2, .micro_batches = 4};
  EXPECT_EQ(slots_needed(interleaved, 0, 0), 4);
  EXPECT_EQ(slots_needed(interleaved, 0, 1), 2);
  EXPECT_EQ(slots_needed(interleaved, 1, 0), 3);
  EXPECT_EQ(slots_needed(interleaved, 1, 1), 1);
}

TEST(PipelineSchedule, SlotsCanBeReusedInTurn) {
  for (const PipelineRequest& request : random_requests(200)) {
    SCOPED_TRACE(PrintToString(request));
    for (std::int64_t stage = 0; stage < request.stages; ++stage)
      for (std::int64_t chunk = 0; chunk < request.virtual_stages; ++chunk) {
        const std::int64_t slots = slots_needed(request, stage, chunk);
        std::map<std::int64_t, std::int32_t> owners;  // micro-batch, by slot
        for (const PipelineTask& task : pipeline_tasks(request, stage)) {
          if (task.chunk != chunk) continue;
          const std::int64_t slot = task.micro_batch % slots;
          if (!task.backward) {
            EXPECT_TRUE(owners.emplace(slot, task.micro_batch).second) << "the slot is still in use";
          } else {
            ASSERT_TRUE(owners.contains(slot));
            EXPECT_EQ(owners[slot], task.micro_batch);
            owners.erase(slot);
          }
        }
      }
  }
}

TEST(PipelineSchedule, BlockingTransfersDoNotDeadlock) {
  for (const PipelineRequest& request : random_requests(200))
    EXPECT_TRUE(blocking_replay(pipeline_rounds(request))) << PrintToString(request);
}

TEST(PipelineSchedule, TheReplayFindsDeadlocks) {
  const PipelineTransfer send_to_1{.send = true, .gradient = false, .chunk = 0, .micro_batch = 0, .peer = 1};
  const PipelineTransfer receive_from_1{
      .send = false, .gradient = true, .chunk = 0, .micro_batch = 0, .peer = 1};
  const PipelineTransfer send_to_0{.send = true, .gradient = true, .chunk = 0, .micro_batch = 0, .peer = 0};
  const PipelineTransfer receive_from_0{
      .send = false, .gradient = false, .chunk = 0, .micro_batch = 0, .peer = 0};
  // Both send first, and neither gets to its receive.
  EXPECT_FALSE(blocking_replay({{{.exchange = {send_to_1}}, {.exchange = {receive_from_1}}},
                                {{.exchange = {send_to_0}}, {.exchange = {receive_from_0}}}}));
  // The same messages, posted together or in matching order, pass.
  EXPECT_TRUE(blocking_replay(
      {{{.exchange = {send_to_1, receive_from_1}}}, {{.exchange = {send_to_0, receive_from_0}}}}));
  EXPECT_TRUE(blocking_replay({{{.exchange = {send_to_1}}, {.exchange = {receive_from_1}}},
                               {{.exchange = {receive_from_0}}, {.exchange = {send_to_0}}}}));
  // A receive that was forgotten.
  EXPECT_FALSE(blocking_replay({{{.exchange = {send_to_1}}}, {}}));
}

TEST(PipelineSchedule, TheBubbleIsOneTripThroughTheStages) {
  for (const PipelineRequest& request : random_requests(200)) {
    // Tasks of one unit of time. Stage 0 runs F0 in round 0; the last stage F0 in round stages - 1 and B0 in
    // round stages; so stage 0 runs B0 in round 2 * stages - 1. In 1F1B its next backwards follow two rounds
    // apart, since the last stage runs a forward between two backwards; the last one is in round
    //   2 * stages - 1 + 2 * (micro_batches - 1),
    // so there are 2 * micro_batches + 2 * (stages - 1) rounds: the work of a stage and 2 * (stages - 1)
    // idle. GPipe: micro_batches + stages - 1 rounds of forwards, as many of backwards. Interleaved: a stage
    // has virtual_stages times as many tasks, each shorter, and the same number of idle rounds.
    const std::int64_t tasks = request.virtual_stages * request.micro_batches;
    EXPECT_EQ(blocking_replay(pipeline_rounds(request)), 2 * tasks + 2 * (request.stages - 1))
        << PrintToString(request);
    // Backwards of two units, as they usually are: at best 3 units per micro-batch and chunk, and as many per
    // stage after the first. In 1F1B a forward's exchange is with the next stage only, which is ending a
    // backward, and a backward's with the previous stage only, so waiting for whole exchanges costs nothing.
    // Interleaved, a stage also waits for neighbours whose messages it does not need yet.
    const auto end = blocking_replay(pipeline_rounds(request), {.forward = 1, .backward = 2});
    ASSERT_TRUE(end);
    if (request.kind == ScheduleKind::kInterleaved)
      EXPECT_GE(*end, 3 * tasks + 3 * (request.stages - 1)) << PrintToString(request);
    else
      EXPECT_EQ(*end, 3 * tasks + 3 * (request.stages - 1)) << PrintToString(request);
  }
}

TEST(PipelineSchedule, FewMessagesWaitWithoutVirtualStages) {
  for (const PipelineRequest& request : random_requests(200)) {
    if (request.kind == ScheduleKind::kInterleaved) continue;
    SCOPED_TRACE(PrintToString(request));
    for (const Rounds& rounds : pipeline_rounds(request)) {
      std::set<std::pair<bool, std::int32_t>> waiting;  // gradient, micro-batch
      for (const PipelineRound& round : rounds) {
        if (round.task) waiting.erase({round.task->backward, round.task->micro_batch});
        for (const PipelineTransfer& transfer : round.exchange)
          if (!transfer.send) waiting.emplace(transfer.gradient, transfer.micro_batch);
        const auto gradients = std::ranges::count(waiting, true, &std::pair<bool, std::int32_t>::first);
        EXPECT_LE(gradients, 1);
        EXPECT_LE(static_cast<std::int64_t>(waiting.size()) - gradients, 1);
      }
    }
  }
}

TEST(PipelineSchedule, LargePipelines) {
  const PipelineRequest request{
      .kind = ScheduleKind::kInterleaved, .stages = 16, .virtual_stages = 8, .micro_batches = 512};
  const Pipeline pipeline = pipeline_rounds(request);
  // 8 * 512 forwards and as many backwards.
  for (const Rounds& rounds : pipeline)
    EXPECT_EQ(
        std::ranges::count_if(rounds, [](const PipelineRound& round) { return round.task.has_value(); }),
        8192);
}

TEST(PipelineSchedule, RefusesWhatHasNoScheduleWithTheNumbers) {
  const auto message = [](const PipelineRequest& request) -> std::string {
    try {
      pipeline_rounds(request);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THROW(pipeline_tasks(request, 0), Error);
      EXPECT_THROW(slots_needed(request, 0, 0), Error);
      return error.message() + "; " + error.hint();
    }
    return "(no error)";
  };
  using enum ScheduleKind;
  EXPECT_THAT(message({.kind = kInterleaved, .stages = 4, .virtual_stages = 2, .micro_batches = 6}),
              HasSubstr("a multiple of its 4 stages as micro-batches, not 6; the nearest are 4 and 8"));
  EXPECT_THAT(message({.kind = kInterleaved, .stages = 4, .virtual_stages = 2, .micro_batches = 3}),
              HasSubstr("not 3; the least is 4"));
  EXPECT_THAT(message({.kind = kInterleaved, .stages = 4, .virtual_stages = 1, .micro_batches = 4}),
              HasSubstr("at least 2 virtual stages, not 1"));
  EXPECT_THAT(message({.kind = kInterleaved, .stages = 1, .virtual_stages = 2, .micro_batches = 4}),
              HasSubstr("at least 2 stages, not 1"));
  EXPECT_THAT(message({.kind = k1F1B, .stages = 4, .virtual_stages = 2, .micro_batches = 4}),
              HasSubstr("the 1f1b schedule has 1 virtual stage per stage, not 2"));
  EXPECT_THAT(message({.kind = kGPipe, .stages = 4, .virtual_stages = 3, .micro_batches = 4}),
              HasSubstr("the gpipe schedule has 1 virtual stage per stage, not 3"));
  EXPECT_THAT(message({.stages = 0}), HasSubstr("at least 1 stage, not 0"));
  EXPECT_THAT(message({.virtual_stages = 0}), HasSubstr("at least 1 virtual stage, not 0"));
  EXPECT_THAT(message({.micro_batches = -1}), HasSubstr("at least 1 micro-batch, not -1"));
  EXPECT_THAT(message({.stages = 2, .micro_batches = std::int64_t{1} << 62}),
              HasSubstr("2 stages with 1 virtual stages and 4611686018427387904 micro-batches is too long"));
}

}  // namespace
}  // namespace nadi::inline describe
