#include <gtest/gtest.h>

#include <random>

#include "nadi/base/error.h"
#include "nadi/sim/replay_core.h"
#include "nadi/sim/replay_deadlock.h"
#include "nadi/sim/replay_events.h"

namespace nadi::inline predict {
namespace {

// Jobs in which actor a runs program a.
class JobMaker {
 public:
  explicit JobMaker(std::uint32_t actors) {
    job.programs.resize(actors);
    job.durations.resize(actors);
    job.actors.resize(actors);
    for (std::uint32_t a = 0; a < actors; ++a) {
      job.actors[a].program = job.actors[a].durations = a;
      job.actors[a].rank = static_cast<std::int32_t>(a);
      job.programs[a].shares = 1;
    }
  }

  std::uint32_t compute(std::uint32_t a, std::int64_t time, const std::vector<std::uint32_t>& parents = {}) {
    ReplayProgram& program = job.programs[a];
    job.durations[a].ops.push_back(Nanoseconds{time});
    return add(a, {.op = program.ops++}, parents);
  }

  std::uint32_t place(const std::vector<std::uint32_t>& actors) {
    job.meetings.push_back({.actors = actors});
    return static_cast<std::uint32_t>(job.meetings.size() - 1);
  }

  std::uint32_t collective(std::uint32_t a, std::uint32_t meeting, std::int64_t time, std::uint16_t stream,
                           const std::vector<std::uint32_t>& parents = {}) {
    return communicate(a, ReplayRoleKind::kCollective, meeting, time, 0, stream, 0, parents);
  }

  std::uint32_t channel(std::uint32_t from, std::uint32_t to) {
    job.channels.push_back({from, to});
    return static_cast<std::uint32_t>(job.channels.size() - 1);
  }

  std::uint32_t message(std::uint32_t a, ReplayRoleKind kind, std::uint32_t channel, std::int64_t time,
                        std::int32_t tag, std::uint16_t stream, std::uint32_t exchange = 0,
                        const std::vector<std::uint32_t>& parents = {}) {
    return communicate(a, kind, channel, time, tag, stream, exchange, parents);
  }

  ReplayJob job;

 private:
  std::uint32_t add(std::uint32_t a, ReplayNode node, const std::vector<std::uint32_t>& parents) {
    ReplayProgram& program = job.programs[a];
    program.parents.insert(program.parents.end(), parents.begin(), parents.end());
    node.parents_end = static_cast<std::uint32_t>(program.parents.size());
    program.nodes.push_back(node);
    return static_cast<std::uint32_t>(program.nodes.size() - 1);
  }

  std::uint32_t communicate(std::uint32_t a, ReplayRoleKind kind, std::uint32_t binding, std::int64_t time,
                            std::int32_t tag, std::uint16_t stream, std::uint32_t exchange,
                            const std::vector<std::uint32_t>& parents) {
    ReplayProgram& program = job.programs[a];
    ReplayActor& actor = job.actors[a];
    std::uint32_t role = 0;
    while (role < program.roles.size() && (program.roles[role] != kind || actor.bindings[role] != binding))
      ++role;
    if (role == program.roles.size()) {
      program.roles.push_back(kind);
      actor.bindings.push_back(binding);
    }
    std::uint32_t sequence = 0;
    for (const ReplayCommunication& one : program.communications) sequence += one.role == role ? 1 : 0;
    program.requests.push_back({.role = role});
    actor.request_times.push_back(Nanoseconds{time});
    program.communications.push_back({.node = static_cast<std::uint32_t>(program.nodes.size()),
                                      .role = role,
                                      .request = static_cast<std::uint32_t>(program.requests.size() - 1),
                                      .sequence = sequence,
                                      .tag = tag,
                                      .exchange = exchange});
    return add(
        a, {.communication = static_cast<std::uint32_t>(program.communications.size() - 1), .stream = stream},
        parents);
  }
};

void expect_equal(const ReplayOutcome& fast, const ReplayOutcome& plain) {
  EXPECT_EQ(fast.end, plain.end);
  ASSERT_EQ(fast.actors.size(), plain.actors.size());
  for (std::size_t a = 0; a < fast.actors.size(); ++a) {
    const ActorOutcome &one = fast.actors[a], &other = plain.actors[a];
    EXPECT_TRUE(one.nodes == other.nodes) << "actor " << a;
    EXPECT_EQ(one.compute, other.compute) << "actor " << a;
    EXPECT_EQ(one.host, other.host) << "actor " << a;
    EXPECT_EQ(one.bubble, other.bubble) << "actor " << a;
    for (std::size_t s = 0; s < one.shares.size(); ++s) {
      EXPECT_EQ(one.shares[s].busy, other.shares[s].busy) << "actor " << a;
      EXPECT_EQ(one.shares[s].exposed, other.shares[s].exposed) << "actor " << a;
    }
  }
}

// Operations in one order for all actors, so that nobody waits for ever.
ReplayJob random_job(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint32_t actors = 1 + below(5);
  JobMaker maker(actors);
  std::vector<std::uint32_t> places, channels;
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t a = 0; a < actors; ++a)
      if (below(2) == 0) members.push_back(a);
    if (members.empty()) members.push_back(0);
    places.push_back(maker.place(members));
  }
  const std::uint16_t stream = below(2) == 0 ? kNoStream : std::uint16_t{0};
  const auto parents_of = [&](std::uint32_t a) {
    std::vector<std::uint32_t> parents;
    const auto nodes = static_cast<std::uint32_t>(maker.job.programs[a].nodes.size());
    for (std::uint32_t i = 0; nodes > 0 && i < below(3); ++i) parents.push_back(below(nodes));
    return parents;
  };
  for (int step = 0; step < 120; ++step) {
    const std::uint32_t kind = below(8);
    if (kind < 5) {
      const std::uint32_t a = below(actors);
      maker.compute(a, below(50), parents_of(a));
    } else if (kind < 7 || actors == 1) {
      const std::uint32_t place = places[below(3)];
      const std::int64_t time = below(40);
      for (const std::uint32_t a : maker.job.meetings[place].actors)
        maker.collective(a, place, time, stream, parents_of(a));
    } else {
      const std::uint32_t from = below(actors), to = (from + 1) % actors;
      const std::uint32_t channel = maker.channel(from, to);
      const auto exchange = static_cast<std::uint32_t>(1 + step);
      const std::int64_t time = below(40);
      maker.message(from, ReplayRoleKind::kSend, channel, time, step, stream, exchange, parents_of(from));
      maker.message(to, ReplayRoleKind::kReceive, channel, time, step, stream, exchange, parents_of(to));
    }
  }
  if (below(3) == 0)
    for (std::uint32_t a = 0; a < actors; ++a) {
      for (std::uint32_t i = 0; i < maker.job.programs[a].ops; ++i)
        maker.job.durations[a].issues.push_back(Nanoseconds{below(30)});
      maker.job.durations[a].communication_issue = Nanoseconds{below(20)};
      maker.job.programs[a].messages_stop_host = seed % 2 == 0;
    }
  if (below(4) == 0) maker.job.jitter = 0.3;
  return std::move(maker.job);
}

TEST(Replay, TheFastWayAgreesWithTheEventQueue) {
  for (std::uint32_t seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const ReplayJob job = random_job(seed);
    ASSERT_TRUE(runs_in_order(job));
    const ReplayOutcome fast = replay_in_order(job, {});
    EXPECT_TRUE(fast.stuck.empty());
    expect_equal(fast, replay_events(job, {}, nullptr));
    for (const ActorOutcome& one : fast.actors) {
      Nanoseconds sum = one.bubble + one.host;
      for (const Nanoseconds time : one.compute) sum += time;
      for (const ReplayShare& share : one.shares) sum += share.exposed;
      EXPECT_EQ(sum, fast.end);
    }
  }
}

// Actor 0 computes 10, then both meet for 5; actor 1 computes 30 before. So the meeting is from 30 to 35:
// actor 0 waits 20 for its partner (bubble) and 5 for the collective itself.
TEST(Replay, ACollectiveStartsWhenTheLastMemberHasCome) {
  JobMaker maker(2);
  const std::uint32_t place = maker.place({0, 1});
  const std::uint32_t a = maker.compute(0, 10);
  maker.compute(0, 1, {maker.collective(0, place, 5, kNoStream, {a})});
  const std::uint32_t b = maker.compute(1, 30);
  maker.compute(1, 1, {maker.collective(1, place, 5, kNoStream, {b})});
  const ReplayOutcome outcome = replay_in_order(maker.job, {});
  EXPECT_EQ(outcome.end, Nanoseconds{36});
  EXPECT_EQ(outcome.actors[0].nodes[1], (NodeTime{Nanoseconds{30}, Nanoseconds{35}}));
  EXPECT_EQ(outcome.actors[0].bubble, Nanoseconds{20});
  EXPECT_EQ(outcome.actors[0].shares[0].exposed, Nanoseconds{5});
  EXPECT_EQ(outcome.actors[1].bubble, Nanoseconds{});
}

TEST(Replay, SaysWhoWaitsForWhom) {
  // Each sends before it receives, and sends block: nobody gets to its receive.
  JobMaker maker(2);
  const std::uint32_t there = maker.channel(0, 1), back = maker.channel(1, 0);
  maker.message(0, ReplayRoleKind::kSend, there, 5, 0, 0);
  maker.message(0, ReplayRoleKind::kReceive, back, 5, 0, 0);
  maker.message(1, ReplayRoleKind::kSend, back, 5, 0, 0);
  maker.message(1, ReplayRoleKind::kReceive, there, 5, 0, 0);
  const auto name = [](std::uint32_t, std::uint32_t node) { return "node " + std::to_string(node); };
  for (const ReplayOutcome& outcome :
       {replay_in_order(maker.job, {}), replay_events(maker.job, {}, nullptr)}) {
    ASSERT_EQ(outcome.stuck.size(), 2u);
    EXPECT_STREQ(deadlock_error(maker.job, outcome.stuck, name).what(),
                 "deadlock: rank 0 waits at node 0 for rank 1; rank 1 waits at node 0 for rank 0");
  }
}

TEST(Replay, APartnerThatNeverComesIsNamed) {
  JobMaker maker(2);
  const std::uint32_t place = maker.place({0, 1});
  maker.collective(0, place, 5, kNoStream);
  maker.compute(1, 5);
  const ReplayOutcome outcome = replay_in_order(maker.job, {});
  ASSERT_EQ(outcome.stuck.size(), 1u);
  EXPECT_STREQ(deadlock_error(maker.job, outcome.stuck, [](auto, auto) { return std::string("x"); }).what(),
               "deadlock: rank 0 waits at x for rank 1; rank 1 has run to its end without it");
}

// Node 1 is ready first and takes the stream, though node 0 comes before it.
TEST(Replay, StreamsThatAreNotInOrderTakeWhatIsReady) {
  JobMaker maker(2);
  const std::uint32_t channel = maker.channel(1, 0);
  const std::uint32_t received = maker.message(0, ReplayRoleKind::kReceive, channel, 10, 0, kNoStream);
  maker.compute(0, 7, {received});
  maker.compute(0, 20);
  maker.message(1, ReplayRoleKind::kSend, channel, 10, 0, kNoStream);
  EXPECT_EQ(replay_events(maker.job, {}, nullptr).end, Nanoseconds{37});
  maker.job.programs[0].in_order = false;
  EXPECT_FALSE(runs_in_order(maker.job));
  EXPECT_EQ(replay_events(maker.job, {}, nullptr).end, Nanoseconds{27});
}

// Computation of 100 beside communication of 40, which takes a quarter of its speed: 10 longer.
TEST(Replay, CommunicationMaySlowComputationDown) {
  JobMaker maker(2);
  const std::uint32_t place = maker.place({0, 1});
  for (std::uint32_t a = 0; a < 2; ++a) {
    maker.collective(a, place, 40, kNoStream);
    maker.compute(a, 100);
    maker.job.actors[a].compute_share = 0.25;
  }
  EXPECT_EQ(replay_events(maker.job, {}, nullptr).end, Nanoseconds{110});
}

// Ranks that meet after 100 wait 10 for the last of them, after 200 and more 15.
TEST(Replay, CollectivesWaitForRanksThatCameApart) {
  MeasuredCollectives measured;
  measured.skew = {{.after = Nanoseconds{100}, .wait = Nanoseconds{10}},
                   {.after = Nanoseconds{200}, .wait = Nanoseconds{15}}};
  JobMaker maker(2);
  const std::uint32_t place = maker.place({0, 1});
  for (std::uint32_t a = 0; a < 2; ++a) {
    const std::uint32_t before = maker.compute(a, 100);
    const std::uint32_t first = maker.collective(a, place, 40, kNoStream, {before});
    const std::uint32_t between = maker.compute(a, 50, {first});
    maker.collective(a, place, 40, kNoStream, {between});
    maker.job.actors[a].skew = &measured;
  }
  EXPECT_FALSE(runs_in_order(maker.job));
  const ReplayOutcome outcome = replay_events(maker.job, {.keep_times = true}, nullptr);
  // 100 + 10 + 40, then 50 of computation, after which they wait half of 10.
  EXPECT_EQ(outcome.actors[0].nodes[1].end, Nanoseconds{150});
  EXPECT_EQ(outcome.actors[0].nodes[2].end, Nanoseconds{200});
  EXPECT_EQ(outcome.actors[0].nodes[3].end, Nanoseconds{245});
}

// ASTRA-sim's way: actor 0 sends at 0 for 10 and computes meanwhile; actor 1 computes for 25, then receives
// what has come. Its sending waits for its collective, which is first in its program.
TEST(Replay, MessagesAreOnTheirWayAtOnce) {
  JobMaker maker(2);
  const std::uint32_t there = maker.channel(0, 1), back = maker.channel(1, 0), all = maker.place({0, 1});
  maker.message(0, ReplayRoleKind::kSend, there, 10, 1, 1);
  maker.compute(0, 40);
  maker.message(0, ReplayRoleKind::kReceive, back, 7, 2, kNoStream, 0, {1});
  maker.collective(0, all, 5, 1, {1});
  maker.compute(1, 25);
  maker.message(1, ReplayRoleKind::kReceive, there, 10, 1, kNoStream, 0, {0});
  maker.collective(1, all, 5, 1);
  maker.message(1, ReplayRoleKind::kSend, back, 7, 2, 1);
  for (ReplayProgram& program : maker.job.programs) {
    program.streams = 2;
    program.in_order = false;
    program.first_of_program = true;
  }
  maker.job.sends_at_once = true;
  const ReplayOutcome outcome = replay_events(maker.job, {.keep_times = true}, nullptr);
  ASSERT_TRUE(outcome.stuck.empty());
  EXPECT_EQ(outcome.actors[0].nodes[0].end, Nanoseconds{10});
  EXPECT_EQ(outcome.actors[1].nodes[1].end, Nanoseconds{25});
  // The collective begins when actor 0 has computed; the message follows.
  EXPECT_EQ(outcome.actors[1].nodes[2].end, Nanoseconds{45});
  EXPECT_EQ(outcome.actors[1].nodes[3].end, Nanoseconds{52});
  EXPECT_EQ(outcome.actors[0].nodes[2].end, Nanoseconds{52});
}

}  // namespace
}  // namespace nadi::inline predict
