// Programs of all ranks of a plan, replayed with blocking communication: a collective ends when all members
// of its group have come to it, an exchange when each of its sends and receives has met its counterpart in an
// exchange that the other rank has posted. Nothing is buffered. A plan passes when all ranks reach the end.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "nadi/base/error.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"

namespace nadi {
namespace {

struct Transfer {
  bool send;
  int peer;
  std::int64_t tag;
};

// What a rank waits for: a collective of a group, or transfers that were posted together.
struct Meeting {
  std::vector<int> members;  // of a collective; empty for an exchange
  std::string collective;    // what members must agree in
  std::vector<Transfer> transfers;
};

// Each stage's program, turned into what a rank of it waits for.
std::vector<Meeting> meetings_of(const Plan& plan, const Program& program, Rank rank, bool joined = true) {
  std::vector<Meeting> meetings;
  bool open = false;  // the last meeting takes more transfers
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    const Graph& graph = program.graph_of(section);
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i) {
      const Op& op = graph.ops()[i];
      const OpClass op_class = definition(op.kind).op_class;
      if (!is_communication(op_class)) continue;
      const std::vector<Rank> ranks = group_members(plan, group_named(op.attributes.text("group")), rank);
      if (op_class == OpClass::kPointToPoint) {
        if (!open) meetings.emplace_back();
        meetings.back().transfers.push_back({op.kind == OpKind::kSend,
                                             to_number(ranks[op.attributes.integer("peer")]),
                                             op.attributes.integer("tag")});
        open = joined && instruction.with_next;
        continue;
      }
      Meeting& meeting = meetings.emplace_back();
      for (const Rank member : ranks) meeting.members.push_back(to_number(member));
      // Stages name their ops differently; what they move must agree.
      meeting.collective = op.attributes.text("group") + " " + std::string(to_string(op.kind)) + " " +
                           std::to_string(cost_of(graph, op).sent.count());
      open = false;
    }
  }
  return meetings;
}

// The ranks that never reach their end; empty when the plan is free of deadlock.
std::vector<int> stuck_ranks(std::vector<std::vector<Meeting>> ranks) {
  std::vector<std::size_t> at(ranks.size(), 0);
  const auto current = [&](int rank) -> Meeting* {
    return at[rank] < ranks[rank].size() ? &ranks[rank][at[rank]] : nullptr;
  };
  const auto match = [&](int rank, const Transfer& own) {
    Meeting* other = current(own.peer);
    if (other == nullptr) return false;
    const auto counterpart = std::ranges::find_if(other->transfers, [&](const Transfer& transfer) {
      return transfer.send != own.send && transfer.peer == rank && transfer.tag == own.tag;
    });
    if (counterpart == other->transfers.end()) return false;
    other->transfers.erase(counterpart);
    if (other->transfers.empty()) ++at[own.peer];
    return true;
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
      Meeting* meeting = current(rank);
      if (meeting == nullptr) continue;
      if (!meeting->members.empty()) {
        const bool all_there = std::ranges::all_of(meeting->members, [&](int member) {
          const Meeting* other = current(member);
          return other != nullptr && other->members == meeting->members &&
                 other->collective == meeting->collective;
        });
        if (!all_there) continue;
        const std::vector<int> members = meeting->members;
        for (const int member : members) ++at[member];
        progress = true;
        continue;
      }
      for (std::size_t i = 0; i < meeting->transfers.size(); ++i) {
        if (!match(rank, meeting->transfers[i])) continue;
        meeting->transfers.erase(meeting->transfers.begin() + static_cast<std::ptrdiff_t>(i));
        if (meeting->transfers.empty()) ++at[rank];
        progress = true;
        break;
      }
    }
  }
  std::vector<int> stuck;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank)
    if (current(rank) != nullptr) stuck.push_back(rank);
  return stuck;
}

std::vector<std::vector<Meeting>> meetings_of(const ModelConfig& config, const Plan& plan,
                                              bool joined = true) {
  const StepRequest request{.batch_size = plan.micro_batches, .seq_length = 16, .bucket_elements = 50};
  std::vector<Program> programs;
  for (std::int64_t stage = 0; stage < plan.pp; ++stage)
    programs.push_back(build_step(config, request, plan, stage));
  std::vector<std::vector<Meeting>> ranks;
  for (std::int32_t r = 0; r < plan.world_size(); ++r)
    ranks.push_back(meetings_of(plan, programs[coordinates_of(plan, Rank{r}).pp], Rank{r}, joined));
  return ranks;
}

Plan random_plan(std::mt19937& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Plan plan{.tp = std::int64_t{1} << pick(0, 2), .cp = pick(1, 2), .dp = pick(1, 3), .pp = pick(1, 5)};
  plan.sequence_parallel = plan.tp > 1 && pick(0, 1) == 1;
  plan.zero_stage = pick(0, 1);
  plan.micro_batches = pick(1, 7);
  const std::int64_t kind = pick(0, 2);
  plan.schedule = kind == 0 ? ScheduleKind::kGPipe : ScheduleKind::k1F1B;
  if (kind == 2 && plan.pp > 1) {
    plan.schedule = ScheduleKind::kInterleaved;
    plan.virtual_stages = pick(2, 3);
    plan.micro_batches = plan.pp * pick(1, 3);
  }
  if (pick(0, 1) == 1) {
    plan.partition.assign(plan.pp * plan.virtual_stages, 0);
    for (int layer = 0; layer < 12; ++layer)
      ++plan.partition[pick(0, static_cast<std::int64_t>(plan.partition.size()) - 1)];
  }
  return plan;
}

TEST(PlanDeadlock, NoneIn200RandomPlans) {
  std::mt19937 random(11);
  std::int64_t ranks = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Architecture architecture =
        std::vector{Architecture::kGpt2, Architecture::kBert, Architecture::kLlama}[trial % 3];
    const Plan plan = random_plan(random);
    ranks += plan.world_size();
    const std::vector<int> stuck = stuck_ranks(meetings_of(tiny_model(architecture, 12), plan));
    EXPECT_TRUE(stuck.empty()) << "trial " << trial << ": " << stuck.size() << " of " << plan.world_size()
                               << " ranks, the first of them " << stuck.front() << ": tp " << plan.tp
                               << " cp " << plan.cp << " dp " << plan.dp << " pp " << plan.pp << " "
                               << to_string(plan.schedule) << " x " << plan.virtual_stages << ", "
                               << plan.micro_batches << " micro-batches";
  }
  EXPECT_GT(ranks, 1000);
}

// Two stages that both send before they post their receives wait for each other for ever: the replay can
// fail.
TEST(PlanDeadlock, IsFoundWhenExchangesAreTornApart) {
  const Plan plan{.pp = 2, .micro_batches = 4};
  EXPECT_TRUE(stuck_ranks(meetings_of(tiny_model(Architecture::kGpt2, 12), plan)).empty());
  EXPECT_FALSE(stuck_ranks(meetings_of(tiny_model(Architecture::kGpt2, 12), plan, false)).empty());
}

}  // namespace
}  // namespace nadi
