// All ranks of a plan make the lines of their messages, each waiting for the other end, in the order of
// message_lines(): none is left waiting, and the two ends always mean the same line.

#include "nadi/comm/message_lines.h"

#include <gtest/gtest.h>

#include <optional>

#include "nadi/comm/plan_groups.h"
#include "nadi/comm/thread_world_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "plan_cases.h"

namespace nadi {
namespace {

using Lines = std::vector<MessageLine>;

std::vector<Lines> lines_of_all_ranks(const PlanCase& entry) {
  const Plan& plan = entry.plan;
  std::vector<Program> stages;
  for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
    StepRequest request = entry.request;
    request.batch_size = 16 / plan.dp;
    request.seq_length = 8;
    stages.push_back(build_step(tiny_model(architecture_named("gpt2"), 4), request, plan, stage));
  }
  std::vector<Lines> lines(static_cast<std::size_t>(plan.world_size()));
  ThreadWorld world(plan.world_size());
  for (const auto& error : world.run([&](Communicator& rank) {
         const PlanGroups groups(rank, plan);
         const auto number = static_cast<std::size_t>(to_number(rank.rank()));
         lines[number] =
             message_lines(stages[static_cast<std::size_t>(coordinates_of(plan, rank.rank()).pp)], groups);
       }))
    EXPECT_FALSE(error) << error->what();
  return lines;
}

// How many lines are made before nobody can go on; nothing where two ends meet in different lines.
std::optional<std::size_t> made(const std::vector<Lines>& lines) {
  std::vector<std::size_t> at(lines.size(), 0);
  const auto next = [&](std::size_t rank) {
    return at[rank] < lines[rank].size() ? &lines[rank][at[rank]] : nullptr;
  };
  std::size_t count = 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      const MessageLine* own = next(rank);
      if (own == nullptr) continue;
      const auto peer = static_cast<std::size_t>(to_number(own->other));
      const MessageLine* other = next(peer);
      if (other == nullptr || static_cast<std::size_t>(to_number(other->other)) != rank) continue;
      if (own->sends == other->sends || own->tag != other->tag) return std::nullopt;
      ++at[rank];
      ++at[peer];
      ++count;
      progress = true;
    }
  }
  return count;
}

TEST(MessageLines, of_all_plans_are_made) {
  std::size_t with_messages = 0;
  for (const PlanCase& entry : plan_cases()) {
    const std::vector<Lines> lines = lines_of_all_ranks(entry);
    std::size_t ends = 0;
    for (const Lines& of_rank : lines) ends += of_rank.size();
    EXPECT_EQ(made(lines), ends / 2) << entry.name;
    EXPECT_EQ(ends % 2, 0U) << entry.name;
    with_messages += ends > 0;
  }
  EXPECT_GT(with_messages, 5U);
}

// Two stages: activations one way, their gradients the other.
TEST(MessageLines, of_two_stages) {
  const std::vector<Lines> lines = lines_of_all_ranks({"pp2", {.pp = 2, .micro_batches = 2}});
  ASSERT_EQ(lines[0].size(), 2U);
  ASSERT_EQ(lines[1].size(), 2U);
  EXPECT_TRUE(lines[0][0].sends);
  EXPECT_FALSE(lines[1][0].sends);
  EXPECT_EQ(lines[0][0].tag, lines[1][0].tag);
  EXPECT_FALSE(lines[0][1].sends);
  EXPECT_EQ(lines[0][0].other, Rank{1});
}

}  // namespace
}  // namespace nadi
