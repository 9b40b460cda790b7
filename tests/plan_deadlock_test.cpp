// The deadlock check (parallel/deadlock_check.h) on random plans and on broken programs, against two others
// that find deadlocks: lockstep, which runs the programs with values and buffers, and a replay without
// buffers.
//
// The replay: programs of all ranks of a plan, with blocking communication: a collective ends when all
// members of its group have come to it, an exchange when each of its sends and receives has met its
// counterpart in an exchange that the other rank has posted. Nothing is buffered. A plan passes when all
// ranks reach the end.

#include "nadi/parallel/deadlock_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <span>

#include "nadi/base/error.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "nadi/parallel/step_walk.h"
#include "nadi/reference/lockstep.h"

namespace nadi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

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

std::vector<int> stuck_ranks(const Plan& plan, std::span<const Program* const> programs, bool joined = true) {
  std::vector<std::vector<Meeting>> ranks;
  for (std::int32_t r = 0; r < plan.world_size(); ++r)
    ranks.push_back(meetings_of(plan, *programs[coordinates_of(plan, Rank{r}).pp], Rank{r}, joined));
  return stuck_ranks(std::move(ranks));
}

// The programs of all stages.
struct Stages {
  std::vector<Program> programs;
  std::vector<const Program*> pointers = {};

  explicit Stages(std::vector<Program> all) : programs(std::move(all)) {
    for (const Program& program : programs) pointers.push_back(&program);
  }
};

Stages stages_of(const ModelConfig& config, const Plan& plan) {
  const StepRequest request{
      .batch_size = plan.micro_batches, .seq_length = 16, .layout = {.bucket_elements = 50}};
  std::vector<Program> programs;
  for (std::int64_t stage = 0; stage < plan.pp; ++stage)
    programs.push_back(build_step(config, request, plan, stage));
  return Stages(std::move(programs));
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
        std::vector{architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama"),
                    architecture_named("qwen2")}[trial % 4];
    const Plan plan = random_plan(random);
    ranks += plan.world_size();
    const Stages stages = stages_of(tiny_model(architecture, 12), plan);
    const auto fault = find_communication_fault(plan, stages.pointers);
    EXPECT_FALSE(fault) << "trial " << trial << ": " << fault->message;
    const std::vector<int> stuck = stuck_ranks(plan, stages.pointers);
    EXPECT_TRUE(stuck.empty()) << "trial " << trial << ": " << stuck.size() << " of " << plan.world_size()
                               << " ranks, the first of them " << stuck.front() << ": tp " << plan.tp
                               << " cp " << plan.cp << " dp " << plan.dp << " pp " << plan.pp << " "
                               << to_string(plan.schedule) << " x " << plan.virtual_stages << ", "
                               << plan.micro_batches << " micro-batches";
  }
  EXPECT_GT(ranks, 1000);
}

// Two stages that both send before they post their receives wait for each other for ever, unless messages
// have buffers.
TEST(PlanDeadlock, IsFoundWhenExchangesAreTornApart) {
  const Plan plan{.pp = 2, .micro_batches = 4};
  Stages stages = stages_of(tiny_model(architecture_named("gpt2"), 12), plan);
  EXPECT_TRUE(stuck_ranks(plan, stages.pointers).empty());
  EXPECT_FALSE(stuck_ranks(plan, stages.pointers, false).empty());
  EXPECT_FALSE(find_communication_fault(plan, stages.pointers));
  for (Program& program : stages.programs)
    for (Instruction& instruction : program.instructions) instruction.with_next = false;
  const auto fault = find_communication_fault(plan, stages.pointers);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, CommunicationFault::Kind::kDeadlock);
  EXPECT_THAT(fault->message,
              StartsWith("deadlock: rank 0 waits at 'pipeline.send' (send), rank 1 waits at"));
  EXPECT_FALSE(find_communication_fault(plan, stages.pointers, {.sends = SendKind::kBuffered}));
}

// First come first served, micro-batches that change places arrive, but as others.
TEST(PlanDeadlock, AMessageOfAnotherMicroBatchIsAFault) {
  const Plan plan{.pp = 2, .schedule = ScheduleKind::kGPipe, .micro_batches = 2};
  Stages stages = stages_of(tiny_model(architecture_named("gpt2"), 12), plan);
  Program& last = stages.programs[1];
  std::vector<Instruction*> receives;
  for (Instruction& instruction : last.instructions)
    if (instruction.stream == kReceiveStream) receives.push_back(&instruction);
  ASSERT_EQ(receives.size(), 2u);
  std::swap(receives[0]->micro_batch, receives[1]->micro_batch);
  const auto fault = find_communication_fault(plan, stages.pointers, {.sends = SendKind::kBuffered});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, CommunicationFault::Kind::kWrongMessage);
  EXPECT_THAT(fault->message, HasSubstr("of rank 1 expects micro-batch 1, rank 0 sent micro-batch 0"));
}

// Communication of a stage without anything else: what can be put into any order and still runs.
struct Contact {
  RankBinding binding;
  std::int64_t tag = 0;
  bool with_next = false;
  bool broadcast = false;
};

std::vector<Contact> contacts_of(const Plan& plan, const Program& program) {
  std::vector<Contact> contacts;
  StepWalk walk(program,
                {.plan = &plan, .ops = StepWalkOps::kCommunication, .dependencies = false, .costs = false});
  for (StepOp at; walk.next(at);)
    contacts.push_back(
        {.binding = at.binding,
         .tag = at.binding.kind == RankBinding::Kind::kCollective ? 0 : at.op->attributes.integer("tag"),
         .with_next = program.instructions[at.instruction].with_next,
         .broadcast = at.op->kind != OpKind::kAllReduce});
  return contacts;
}

// Tags are doubled: the builder takes even ones.
Program program_of(const Plan& plan, const std::vector<Contact>& contacts) {
  Program program;
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2}, DType::kF32);
  for (const Contact& contact : contacts) {
    const std::string name(to_string(contact.binding.group));
    const GroupArgs group{.group = name, .size = group_size(plan, contact.binding.group)};
    const PeerArgs peer{.group = name, .peer = contact.binding.peer, .tag = 2 * contact.tag};
    switch (contact.binding.kind) {
      case RankBinding::Kind::kNone:
        break;
      case RankBinding::Kind::kCollective:
        if (contact.broadcast)
          broadcast(b, x, group, 0);
        else
          all_reduce(b, {.x = x, .group = group});
        break;
      case RankBinding::Kind::kSend:
        send(b, x, peer);
        break;
      case RankBinding::Kind::kReceive:
        receive(b, Shape{2}, DType::kF32, peer);
        break;
    }
    const auto op = static_cast<std::uint32_t>(b.graph().ops().size());
    program.instructions.push_back({.section = SectionId{static_cast<std::uint32_t>(program.sections.size())},
                                    .with_next = contact.with_next});
    program.sections.push_back({.name = "contact", .first_op = op - 1, .end_op = op});
  }
  program.graphs.push_back(b.take());
  return program;
}

// What running all ranks on the reference engine says, or nothing when they come to their end.
std::string lockstep_fault(const Plan& plan, const std::vector<Program>& programs) {
  RankGroups groups;
  for (std::uint8_t kind = 0; kind < kGroupKindCount; ++kind)
    for (std::int32_t r = 0; r < plan.world_size(); ++r) {
      const std::vector<Rank> ranks = group_members(plan, GroupKind{kind}, Rank{r});
      if (ranks.front() != Rank{r}) continue;
      std::vector<int>& members = groups[std::string(to_string(GroupKind{kind}))].emplace_back();
      for (const Rank rank : ranks) members.push_back(to_number(rank));
    }
  std::deque<ReferenceStore> stores;
  std::vector<LockstepRank> ranks;
  for (std::int32_t r = 0; r < plan.world_size(); ++r) {
    stores.emplace_back().set("x", {1, 2});
    ranks.push_back({&stores.back(), {{.graph = &programs[coordinates_of(plan, Rank{r}).pp].graphs[0]}}});
  }
  try {
    run_lockstep(ranks, groups);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// Takes contacts out, exchanges two of them, or changes the group or tag of one.
void break_something(std::vector<Contact>& contacts, std::mt19937& random) {
  const auto pick = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  Contact& contact = contacts[pick(contacts.size())];
  switch (pick(4)) {
    case 0:
      std::swap(contact, contacts[pick(contacts.size())]);
      return;
    case 1:
      contacts.erase(contacts.begin() + static_cast<std::ptrdiff_t>(pick(contacts.size())));
      return;
    case 2:
      if (contact.binding.kind == RankBinding::Kind::kCollective)
        contact.binding.group = GroupKind{static_cast<std::uint8_t>(pick(kGroupKindCount))};
      else
        contact.tag = contact.tag == 0 ? 1 : 0;
      return;
    case 3:
      contact.broadcast = !contact.broadcast;
      contact.with_next = false;
      return;
  }
}

TEST(PlanDeadlock, FindsWhatLockstepFindsInBrokenPrograms) {
  using Kind = CommunicationFault::Kind;
  std::mt19937 random(5);
  std::map<std::optional<Kind>, int> seen;
  for (int trial = 0; trial < 300; ++trial) {
    Plan plan{.tp = 1 + trial % 2, .dp = 1 + trial / 2 % 2, .pp = 2 + trial / 4 % 2, .micro_batches = 3};
    plan.zero_stage = trial / 8 % 2;
    const Stages whole = stages_of(tiny_model(architecture_named("gpt2"), 4), plan);
    std::vector<std::vector<Contact>> contacts;
    for (const Program& program : whole.programs) contacts.push_back(contacts_of(plan, program));
    // The programs below have one micro-batch, and twice the tags.
    plan.micro_batches = 1;
    plan.virtual_stages = 2;
    for (int breaks = trial % 3; breaks > 0; --breaks)
      break_something(contacts[random() % contacts.size()], random);
    std::vector<Program> programs;
    for (const std::vector<Contact>& of_stage : contacts) programs.push_back(program_of(plan, of_stage));
    const Stages stages(std::move(programs));

    const auto all = find_communication_fault(plan, stages.pointers,
                                              {.sends = SendKind::kBuffered, .ranks = CheckedRanks::kAll});
    EXPECT_EQ(all ? all->message : "", lockstep_fault(plan, stages.programs)) << "trial " << trial;
    const auto kind = [](const auto& fault) { return fault ? std::optional(fault->kind) : std::nullopt; };
    EXPECT_EQ(kind(find_communication_fault(plan, stages.pointers, {.sends = SendKind::kBuffered})),
              kind(all))
        << "trial " << trial;
    ++seen[kind(all)];

    const auto unbuffered = find_communication_fault(plan, stages.pointers);
    EXPECT_EQ(kind(find_communication_fault(plan, stages.pointers, {.ranks = CheckedRanks::kAll})),
              kind(unbuffered))
        << "trial " << trial;
    // The replay above stops at what the check calls by its name.
    EXPECT_EQ(unbuffered.has_value(), !stuck_ranks(plan, stages.pointers).empty()) << "trial " << trial;
    if (all) {
      EXPECT_TRUE(unbuffered) << "what passes without buffers passes with them: trial " << trial;
    }
  }
  EXPECT_GE(seen[std::nullopt], 100);  // a third is whole
  for (const Kind kind : {Kind::kDeadlock, Kind::kDifferentCollectives, Kind::kNeverReceived})
    EXPECT_GE(seen[kind], 5) << static_cast<int>(kind);
}

// A message within a stage is not the same on all of its ranks: place 0 sends to place 1.
TEST(PlanDeadlock, MessagesWithinAStageAreCheckedRankByRank) {
  const Plan plan{.tp = 2};
  const auto programs_with = [&](RankBinding::Kind kind) {
    return Stages({program_of(plan, {{.binding = {kind, GroupKind::kTensor, 1}}})});
  };
  const auto fault = find_communication_fault(plan, programs_with(RankBinding::Kind::kReceive).pointers);
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, AllOf(HasSubstr("rank 0 waits at"), HasSubstr("rank 1 waits at")));
}

}  // namespace
}  // namespace nadi
