#include "nadi/plan/pipeline_latency.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "nadi/base/format.h"
#include "nadi/parallel/pipeline_schedule.h"
#include "nadi/sim/replay_core.h"

namespace nadi::inline predict {
namespace {

// Times of a random pipeline, and the same as a job for the simulator's replay, the oracle: a pass is an op.
struct PipelineCase {
  PipelineRequest request;
  std::vector<PassTimes> forward, backward;
  std::vector<Nanoseconds> activations, gradients;
  std::vector<PipelineStart> starts;
  bool launches = false, blocking = false, stops = false;

  PipelineTimes times() const {
    return {.schedule = request.kind,
            .stages = request.stages,
            .virtual_stages = request.virtual_stages,
            .micro_batches = request.micro_batches,
            .forward = forward,
            .backward = backward,
            .activations = activations,
            .gradients = gradients,
            .starts = starts,
            .launches = launches,
            .blocking_messages = blocking,
            .messages_stop_host = stops};
  }

  std::string to_string() const {
    return format("{} stages {} virtual {} micro-batches {} launches {} blocking {} stops {}",
                  nadi::to_string(request.kind), request.stages, request.virtual_stages,
                  request.micro_batches, launches, blocking, stops);
  }
};

class ReplayedPipeline {
 public:
  explicit ReplayedPipeline(const PipelineCase& one) : case_(one) {
    const auto rounds = pipeline_rounds(one.request);
    for (std::int64_t s = 0; s < one.request.stages; ++s) add_stage(s, rounds[static_cast<std::size_t>(s)]);
  }

  // By chunk: the end of its last backward pass.
  std::vector<std::int64_t> ends() const {
    const ReplayOutcome outcome = replay_in_order(job_, {.keep_times = true});
    EXPECT_TRUE(outcome.stuck.empty());
    std::vector<std::int64_t> ends(case_.forward.size());
    for (const auto& [chunk, place] : last_)
      ends[static_cast<std::size_t>(chunk)] = outcome.actors[place.first].nodes[place.second].end.count();
    return ends;
  }

 private:
  void add_stage(std::int64_t s, const std::vector<PipelineRound>& rounds) {
    ReplayProgram program;
    ReplayActor actor{.program = static_cast<std::uint32_t>(s), .durations = static_cast<std::uint32_t>(s)};
    ReplayDurations durations;
    const PipelineStart& start = case_.starts[static_cast<std::size_t>(s)];
    durations.communication_issue = start.issue;
    const auto op = [&](Nanoseconds time, Nanoseconds issue) {
      durations.ops.push_back(time);
      durations.issues.push_back(issue);
    };
    op(start.busy, {});  // op 0: the stage is busy; then forward and backward of each of its chunks
    for (std::int64_t v = 0; v < case_.request.virtual_stages; ++v)
      for (const std::vector<PassTimes>* passes : {&case_.forward, &case_.backward}) {
        const PassTimes& pass = (*passes)[static_cast<std::size_t>(v * case_.request.stages + s)];
        op(pass.run, pass.launch);
      }
    if (!case_.launches) durations.issues.clear();
    const auto add = [&](ReplayNode node, const std::vector<std::uint32_t>& parents) {
      program.parents.insert(program.parents.end(), parents.begin(), parents.end());
      node.parents_end = static_cast<std::uint32_t>(program.parents.size());
      program.nodes.push_back(node);
      return static_cast<std::uint32_t>(program.nodes.size() - 1);
    };
    add({.op = 0}, {});
    std::map<std::tuple<std::int64_t, std::int64_t, bool>, std::uint32_t>
        received;                                   // chunk, micro-batch, kind
    std::map<std::uint32_t, std::uint32_t> latest;  // by role
    std::uint32_t exchange = 0;
    for (const PipelineRound& round : rounds) {
      std::uint32_t computed = 0;
      if (round.task) {
        const auto [backward, chunk, micro_batch] = *round.task;
        std::vector<std::uint32_t> parents;
        if (const auto input = received.find({chunk, micro_batch, backward}); input != received.end())
          parents.push_back(input->second);
        computed = add({.op = static_cast<std::uint32_t>(1 + 2 * chunk + (backward ? 1 : 0))}, parents);
        if (backward) last_[chunk * case_.request.stages + s] = {static_cast<std::size_t>(s), computed};
      }
      ++exchange;
      for (const PipelineTransfer& transfer : round.exchange) {
        const std::uint32_t role = role_of(program, actor, s, transfer);
        std::vector<std::uint32_t> parents;
        if (const auto before = latest.find(role); before != latest.end()) parents.push_back(before->second);
        if (transfer.send) parents.push_back(computed);
        const std::int64_t chunk = transfer.chunk * case_.request.stages + s;
        const Nanoseconds time =
            transfer.gradient
                ? case_.gradients[static_cast<std::size_t>(transfer.send ? chunk - 1 : chunk)]
                : case_.activations[static_cast<std::size_t>(transfer.send ? chunk : chunk - 1)];
        actor.request_times.push_back(time);
        program.requests.push_back({.role = role});
        program.communications.push_back({.node = static_cast<std::uint32_t>(program.nodes.size()),
                                          .role = role,
                                          .request = static_cast<std::uint32_t>(program.requests.size() - 1),
                                          .exchange = exchange});
        const std::uint32_t node =
            add({.communication = static_cast<std::uint32_t>(program.communications.size() - 1),
                 .stream = case_.blocking ? std::uint16_t{0} : kNoStream},
                parents);
        latest[role] = node;
        if (!transfer.send) received[{transfer.chunk, transfer.micro_batch, transfer.gradient}] = node;
      }
    }
    program.ops = static_cast<std::uint32_t>(durations.ops.size());
    program.shares = 1;
    program.messages_stop_host = case_.stops;
    job_.programs.push_back(std::move(program));
    job_.durations.push_back(std::move(durations));
    job_.actors.push_back(std::move(actor));
  }

  // A channel for each direction between two stages.
  std::uint32_t role_of(ReplayProgram& program, ReplayActor& actor, std::int64_t s,
                        const PipelineTransfer& transfer) {
    const auto from = static_cast<std::uint32_t>(transfer.send ? s : transfer.peer);
    const auto to = static_cast<std::uint32_t>(transfer.send ? transfer.peer : s);
    const auto [entry, fresh] =
        channels_.try_emplace({from, to}, static_cast<std::uint32_t>(job_.channels.size()));
    if (fresh) job_.channels.push_back({.from = from, .to = to});
    const ReplayRoleKind kind = transfer.send ? ReplayRoleKind::kSend : ReplayRoleKind::kReceive;
    for (std::uint32_t role = 0; role < program.roles.size(); ++role)
      if (program.roles[role] == kind && actor.bindings[role] == entry->second) return role;
    program.roles.push_back(kind);
    actor.bindings.push_back(entry->second);
    return static_cast<std::uint32_t>(program.roles.size() - 1);
  }

  const PipelineCase& case_;
  ReplayJob job_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> channels_;
  std::map<std::int64_t, std::pair<std::size_t, std::uint32_t>> last_;  // by chunk: actor and node
};

class PipelineCases {
 public:
  explicit PipelineCases(std::uint64_t seed) : random_(seed) {}

  PipelineCase next() {
    PipelineCase made;
    made.request.stages = below(7) + 1;
    made.request.micro_batches = below(4) == 0 ? 40 + below(40) : below(12) + 1;
    switch (below(3)) {
      case 0:
        made.request.kind = ScheduleKind::kGPipe;
        break;
      case 1:
        made.request.stages = std::max<std::int64_t>(2, made.request.stages);
        made.request.kind = ScheduleKind::kInterleaved;
        made.request.virtual_stages = 2 + below(2);
        made.request.micro_batches = made.request.stages * (below(4) + 1);
        break;
      default:
        break;
    }
    made.launches = below(2) == 1;
    made.blocking = below(3) == 0;
    made.stops = made.launches && below(3) == 0;
    const std::int64_t chunks = made.request.stages * made.request.virtual_stages;
    for (std::int64_t c = 0; c < chunks; ++c) {
      made.forward.push_back(pass(made.launches));
      made.backward.push_back(pass(made.launches));
      made.activations.push_back(Nanoseconds{below(300)});
      made.gradients.push_back(Nanoseconds{below(300)});
    }
    for (std::int64_t s = 0; s < made.request.stages; ++s)
      made.starts.push_back(
          {.busy = Nanoseconds{below(500)}, .issue = Nanoseconds{made.launches ? below(50) : 0}});
    return made;
  }

 private:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }

  PassTimes pass(bool launches) {
    const Nanoseconds run{100 + below(900)};
    const Nanoseconds launch{launches ? 1 + below(700) : 0};
    return {.run = run,
            .after_input = run,
            .launched = launches ? run + launch : Nanoseconds{},
            .launch = launch};
  }

  std::mt19937_64 random_;
};

TEST(PipelineLatency, IsThatOfTheReplayToTheNanosecond) {
  PipelineLatency latency;
  PipelineCases cases(18);
  for (int i = 0; i < 600; ++i) {
    const PipelineCase one = cases.next();
    const PipelineLatency::Ends ends = latency.of(one.times());
    const std::vector<std::int64_t> found(ends.backward.begin(), ends.backward.end());
    ASSERT_EQ(found, ReplayedPipeline(one).ends()) << one.to_string();
  }
}

// Time of the longest path that is left of it where chunks are empty.
std::int64_t time_of_path(const PipelinePath& path, const PipelineCase& one) {
  std::int64_t longest = 0, time = 0;
  for (std::size_t i = 0; i < path.pieces.size(); ++i) {
    const PipelinePath::Piece& piece = path.pieces[i];
    for (std::size_t c = 0; c < piece.chunks.size(); ++c) {
      const PipelinePath::Chunk& count = piece.chunks[c];
      if (!one.forward[c].empty)
        time += count.forward_run * one.forward[c].run.count() +
                count.forward_after * one.forward[c].after_input.count();
      if (!one.backward[c].empty)
        time += count.backward_run * one.backward[c].run.count() +
                count.backward_after * one.backward[c].after_input.count();
      time +=
          piece.activations[c] * one.activations[c].count() + piece.gradients[c] * one.gradients[c].count();
    }
    longest = std::max(longest, time);
    // Two paths.
    if (i < path.turns.size() && one.forward[static_cast<std::size_t>(path.turns[i])].empty) time = 0;
  }
  return longest;
}

// Chunks in the middle may be empty: some, or none.
void take_other_times(PipelineCase& one, std::mt19937_64& random, bool empties) {
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
  one.launches = one.blocking = one.stops = false;
  one.starts.clear();
  for (std::size_t c = 0; c < one.forward.size(); ++c) {
    const bool empty = empties && c > 0 && c + 1 < one.forward.size() && below(4) == 0;
    for (PassTimes* pass : {&one.forward[c], &one.backward[c]}) {
      const std::int64_t run = empty ? 0 : below(900);
      *pass = {.run = Nanoseconds{run},
               .after_input = Nanoseconds{run == 0 ? 0 : run - below(static_cast<std::uint64_t>(run))},
               .empty = empty};
    }
    one.activations[c] = Nanoseconds{below(500)};
    one.gradients[c] = Nanoseconds{below(500)};
  }
}

// A path takes what the pipeline takes that it was found in, or less where it may not turn, and no longer
// than any other one with its schedule.
TEST(PipelineLatency, IsThatOfItsLongestPathAndNoPathIsLonger) {
  PipelineLatency latency;
  PipelineCases cases(7);
  std::mt19937_64 random(7);
  for (int i = 0; i < 400; ++i) {
    PipelineCase one = cases.next();
    take_other_times(one, random, i % 2 == 0);
    const auto end = [&] { return std::ranges::max(latency.of(one.times()).backward); };
    const std::vector<std::int64_t> tails(static_cast<std::size_t>(one.request.stages));
    std::vector<char> turns(one.forward.size(), 1);
    const PipelinePath path = latency.longest_path(one.times(), {.turns = turns, .tails = tails});
    ASSERT_EQ(time_of_path(path, one), end()) << one.to_string();
    for (std::size_t c = 1; c + 1 < turns.size(); ++c) turns[c] = random() % 2 == 0;
    const PipelinePath straighter = latency.longest_path(one.times(), {.turns = turns, .tails = tails});
    for (const std::int32_t turn : straighter.turns)
      ASSERT_NE(turns[static_cast<std::size_t>(turn)], 0) << one.to_string();
    for (int k = 0; k < 5; ++k) {
      ASSERT_LE(time_of_path(straighter, one), end()) << one.to_string();
      take_other_times(one, random, k % 2 == 0);
      ASSERT_LE(time_of_path(path, one), end()) << one.to_string();
    }
  }
}

// Three stages, forward 10, backward 20, messages that take no time: the last stage waits for two forwards,
// works through six micro-batches, and the first one ends two backwards later.
TEST(PipelineLatency, OfAnEvenPipelineIsWhatThePencilSays) {
  const std::vector<PassTimes> forward(3, {.run = Nanoseconds{10}, .after_input = Nanoseconds{10}});
  const std::vector<PassTimes> backward(3, {.run = Nanoseconds{20}, .after_input = Nanoseconds{20}});
  const std::vector<Nanoseconds> messages(2);
  PipelineLatency latency;
  const PipelineLatency::Ends ends = latency.of({.stages = 3,
                                                 .micro_batches = 6,
                                                 .forward = forward,
                                                 .backward = backward,
                                                 .activations = messages,
                                                 .gradients = messages});
  EXPECT_EQ(ends.backward[2], 2 * 10 + 6 * 30);
  EXPECT_EQ(ends.backward[0], 2 * 10 + 6 * 30 + 2 * 20);
}

// A million micro-batches: one more takes what one takes on the slowest stage.
TEST(PipelineLatency, OfManyMicroBatchesNeedsNoTime) {
  const auto pass = [](std::int64_t time) {
    return PassTimes{.run = Nanoseconds{time}, .after_input = Nanoseconds{time}};
  };
  const std::vector<PassTimes> forward{pass(10), pass(14), pass(9)}, backward{pass(21), pass(28), pass(17)};
  const std::vector<Nanoseconds> messages(2, Nanoseconds{3});
  PipelineLatency latency;
  const auto end = [&](std::int64_t micro_batches) {
    return latency
        .of({.stages = 3,
             .micro_batches = micro_batches,
             .forward = forward,
             .backward = backward,
             .activations = messages,
             .gradients = messages})
        .backward[0];
  };
  EXPECT_EQ(end(1'000'000) - end(1000), 999'000 * (14 + 28));
}

// What is recomputed does not wait for the gradient.
TEST(PipelineLatency, RecomputationRunsBesideTheGradientOnItsWay) {
  const std::vector<PassTimes> forward(2, {.run = Nanoseconds{10}, .after_input = Nanoseconds{10}});
  std::vector<PassTimes> backward(2, {.run = Nanoseconds{30}, .after_input = Nanoseconds{20}});
  const std::vector<Nanoseconds> messages(1, Nanoseconds{50});
  PipelineLatency latency;
  const PipelineLatency::Ends ends = latency.of({.stages = 2,
                                                 .micro_batches = 1,
                                                 .forward = forward,
                                                 .backward = backward,
                                                 .activations = messages,
                                                 .gradients = messages});
  EXPECT_EQ(ends.backward[1], 10 + 50 + 10 + 30);
  EXPECT_EQ(ends.backward[0], 10 + 50 + 10 + 30 + 50 + 20);
}

}  // namespace
}  // namespace nadi::inline predict
