#include "nadi/parallel/plan_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/program_memory.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_check.h"

namespace nadi::inline describe {
namespace {

// The oracle: every op of the program as often as it runs.
StepWork work_of(const Program& program) {
  std::vector<std::int64_t> runs(program.sections.size(), 0);
  for (const Instruction& instruction : program.instructions)
    ++runs[static_cast<std::size_t>(instruction.section)];
  StepWork work;
  for (std::size_t s = 0; s < runs.size(); ++s) {
    const Section& section = program.sections[s];
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i)
      add_op(work, program.graph_of(section), program.graph_of(section).ops()[i], runs[s]);
  }
  return merged(std::move(work));
}

struct CostCase {
  ModelConfig config;
  StepRequest request;
  Plan plan;

  std::string to_string() const {
    std::string partition;
    for (const std::int64_t layers : plan.partition) partition += format("{},", layers);
    return format(
        "{} batch {} seq {} {} recompute {}/{}/{} optimizer {} clip {} buckets {} {} {} tp {} cp {} dp {} pp "
        "{} sp "
        "{} zero "
        "{} "
        "{} v {} m {} partition {}",
        config.name, request.batch_size, request.seq_length, nadi::to_string(request.dtype),
        nadi::to_string(request.recompute.granularity), nadi::to_string(request.recompute.method),
        request.recompute.layers, nadi::to_string(request.optimizer.kind), request.optimizer.max_grad_norm,
        static_cast<int>(request.layout.rule), static_cast<int>(request.layout.gathers),
        request.layout.bucket_elements, plan.tp, plan.cp, plan.dp, plan.pp, plan.sequence_parallel,
        plan.zero_stage, nadi::to_string(plan.schedule), plan.virtual_stages, plan.micro_batches, partition);
  }
};

// Figures of the summary, added up from the work.
void expect_sums(const StepWork& work, const ProgramSummary& summary) {
  std::array<WorkSummary, kPhaseCount> phases{};
  for (const WorkEntry& entry : work.work) {
    WorkSummary& phase = phases[static_cast<std::size_t>(entry.phase)];
    phase.ops += entry.ops;
    phase.cost.matrix += entry.matrix;
    phase.cost.vector += entry.vector;
    phase.cost.read += entry.read;
    phase.cost.written += entry.written;
    if (entry.kind == OpWorkKind::kLinear || entry.kind == OpWorkKind::kHead) phase.linear += entry.matrix;
    if (entry.kind == OpWorkKind::kHead) phase.head += entry.matrix;
    if (entry.kind == OpWorkKind::kAttention) phase.attention += entry.matrix;
  }
  for (std::size_t p = 0; p < phases.size(); ++p) {
    EXPECT_EQ(phases[p].ops, summary.phases[p].ops);
    EXPECT_EQ(phases[p].linear, summary.phases[p].linear);
    EXPECT_EQ(phases[p].head, summary.phases[p].head);
    EXPECT_EQ(phases[p].attention, summary.phases[p].attention);
    EXPECT_EQ(phases[p].cost.matrix, summary.phases[p].cost.matrix);
    EXPECT_EQ(phases[p].cost.vector, summary.phases[p].cost.vector);
    EXPECT_EQ(phases[p].cost.read, summary.phases[p].cost.read);
    EXPECT_EQ(phases[p].cost.written, summary.phases[p].cost.written);
  }
  std::map<std::string, ProgramSummary::Communication> groups;
  for (const StepMessage& message : work.messages) {
    ProgramSummary::Communication& group = groups[std::string(to_string(message.group))];
    group.ops += message.count;
    if (message.kind != OpKind::kReceive) group.sent += message.size * message.count;
  }
  ASSERT_EQ(groups.size(), summary.communication.size());
  for (const auto& [name, group] : summary.communication) {
    EXPECT_EQ(groups[name].ops, group.ops) << name;
    EXPECT_EQ(groups[name].sent, group.sent) << name;
  }
}

void expect_work(const StepWork& cost, const StepWork& built) {
  ASSERT_EQ(cost.work.size(), built.work.size());
  for (std::size_t i = 0; i < cost.work.size(); ++i)
    EXPECT_EQ(cost.work[i], built.work[i])
        << "phase " << to_string(built.work[i].phase) << " kind " << static_cast<int>(built.work[i].kind)
        << " ops " << cost.work[i].ops << " and " << built.work[i].ops;
  EXPECT_EQ(cost.products, built.products);
  ASSERT_EQ(cost.messages.size(), built.messages.size());
  for (std::size_t i = 0; i < cost.messages.size(); ++i)
    EXPECT_EQ(cost.messages[i], built.messages[i])
        << to_string(built.messages[i].kind) << " over " << to_string(built.messages[i].group) << " of "
        << cost.messages[i].size.count() << " x " << cost.messages[i].count << " and "
        << built.messages[i].size.count() << " x " << built.messages[i].count;
}

void expect_memory(const StageMemory& cost, const Program& program, const MemorySummary& built) {
  const ProgramMemory planned = plan_program_memory(program);
  for (int role = 0; role < kRoleCount; ++role)
    EXPECT_EQ(cost.resident[role], built.resident[role]) << to_string(static_cast<Role>(role));
  Bytes in_slots, in_rings;
  for (const ProgramMemory::OfGraph& of : planned.graphs) {
    in_slots += of.slot * of.slots;
    for (const ProgramMemory::Ring& ring : of.rings) in_rings += ring.stride * ring.places;
  }
  EXPECT_EQ(cost.arena, planned.arena);
  EXPECT_EQ(cost.in_slots, in_slots);
  EXPECT_EQ(cost.in_rings, in_rings);
  EXPECT_EQ(cost.activations, built.activations);
  EXPECT_EQ(cost.activations_live, built.activations_live);
  EXPECT_EQ(cost.slots, built.slots);
  EXPECT_EQ(cost.kept, built.kept);
  EXPECT_EQ(cost.kept_per_block, built.kept_per_block);
  EXPECT_EQ(cost.total(), built.total());
}

// True when all figures agree.
bool costs_equal(PlanCosts& costs, const CostCase& of) {
  const PlanCost cost = costs.of(of.request, of.plan);
  EXPECT_EQ(static_cast<std::int64_t>(cost.stages.size()), of.plan.pp);
  for (std::int64_t stage = 0; stage < of.plan.pp && !testing::Test::HasFailure(); ++stage) {
    SCOPED_TRACE(format("stage {} of {}", stage, of.to_string()));
    const StageCost& got = cost.stages[static_cast<std::size_t>(stage)];
    const Program program = build_step(of.config, of.request, of.plan, stage);
    const ProgramSummary summary = summarize(program);
    EXPECT_EQ(got.parameters, summary.parameters);
    const StepWork work = merged(got.work);
    expect_work(work, work_of(program));
    expect_sums(work, summary);
    expect_memory(got.memory, program, summary.memory);
  }
  return !testing::Test::HasFailure();
}

class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : random_(seed) {}

  CostCase next(const ModelConfig& config) {
    for (;;)
      if (CostCase made = any(config); !why_infeasible(made.config, made.request, made.plan)) return made;
  }

  CostCase any(const ModelConfig& config);  // which may not fit

 private:
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[random_() % list.size()];
  }
  std::int64_t up_to(std::int64_t most) { return static_cast<std::int64_t>(random_() % (most + 1)); }

  void uneven(Plan& plan, std::int64_t layers) {
    const std::int64_t chunks = plan.pp * plan.virtual_stages;
    plan.partition.assign(static_cast<std::size_t>(chunks), 0);
    for (std::int64_t i = 0; i < layers; ++i) ++plan.partition[static_cast<std::size_t>(up_to(chunks - 1))];
  }

  std::mt19937 random_;
};

CostCase RandomPlans::any(const ModelConfig& config) {
  CostCase made{.config = config, .request = {}, .plan = {}};
  Plan& plan = made.plan;
  plan.tp = one_of({1, 2, 4});
  plan.cp = one_of({1, 1, 2});
  plan.dp = one_of({1, 2, 3, 8});
  plan.pp = one_of({1, 2, 3, 4});
  plan.sequence_parallel = plan.tp > 1 && up_to(1) == 1;
  plan.zero_stage = up_to(1);
  plan.schedule = one_of({ScheduleKind::k1F1B, ScheduleKind::kGPipe, ScheduleKind::kInterleaved});
  if (plan.schedule == ScheduleKind::kInterleaved) plan.virtual_stages = one_of({2, 3});
  plan.micro_batches = one_of({1, 2, 4, 6, 12, 16});
  if (up_to(2) == 0) uneven(plan, config.layers);
  StepRequest& request = made.request;
  request.batch_size = plan.micro_batches * one_of({1, 2});
  request.seq_length = one_of({48, 64});
  request.dtype = one_of({DType::kF32, DType::kBF16, DType::kF16});
  request.fp8 = request.dtype == DType::kBF16 && up_to(3) == 0;
  request.fused_attention = up_to(3) > 0;
  request.recompute.granularity = one_of(
      {Recompute::Granularity::kNone, Recompute::Granularity::kSelective, Recompute::Granularity::kFull});
  request.recompute.method = one_of({Recompute::Method::kUniform, Recompute::Method::kBlock});
  request.recompute.layers = one_of({1, 1, 2, 3});
  request.optimizer.kind = one_of({OptimizerKind::kAdamW, OptimizerKind::kSgd, OptimizerKind::kSgdSai});
  if (up_to(1) == 1) request.optimizer.weight_decay_schedule = WeightDecaySchedule{};
  if (up_to(2) == 0) request.optimizer.max_grad_norm = 0;
  request.keeps_gradients = up_to(3) == 0;
  request.layout = {.rule = one_of({BucketRule::kFitting, BucketRule::kMegatron, BucketRule::kOne}),
                    .bucket_elements = one_of<std::int64_t>({kBucketsAsTheyFit, 100'000, 5'000'000}),
                    .gathers = one_of({GatherTime::kAfterUpdate, GatherTime::kBeforeUse})};
  return made;
}

TEST(PlanCost, EqualsTheBuiltProgramToTheLastDigit) {
  unsigned seed = 1;
  for (const char* name : {"gpt2", "bert-base-uncased", "llama3.1-8b"}) {
    const ModelConfig& config = *find_built_in_model(name);
    PlanCosts costs(config);
    RandomPlans plans(seed++);
    for (int i = 0; i < 100; ++i)
      if (!costs_equal(costs, plans.next(config))) return;
  }
}

// Deep chunks, where the arena is played and not built.
TEST(PlanCost, HoldsForManyLayersOfAStage) {
  const ModelConfig& config = *find_built_in_model("llama3.1-70b");
  PlanCosts costs(config);
  StepRequest request{.batch_size = 8, .seq_length = 256, .dtype = DType::kBF16};
  for (const auto granularity : {Recompute::Granularity::kNone, Recompute::Granularity::kFull}) {
    request.recompute.granularity = granularity;
    for (const Plan& plan :
         {Plan{.micro_batches = 8}, Plan{.tp = 4, .dp = 2, .zero_stage = 1, .micro_batches = 8},
          Plan{.tp = 8, .pp = 2, .sequence_parallel = true, .micro_batches = 8, .partition = {39, 41}}})
      if (!costs_equal(costs, {config, request, plan})) return;
  }
}

// A reason where the checks throw, and none where they do not.
TEST(WhyInfeasible, AgreesWithTheErrors) {
  const ModelConfig& config = *find_built_in_model("gpt2");
  RandomPlans plans(7);
  int infeasible = 0;
  for (int i = 0; i < 2000; ++i) {
    const CostCase made = plans.any(config);
    bool threw = false;
    try {
      check_request(made.config, made.request);
      check_plan(made.config, made.request, made.plan);
    } catch (const Error& error) {
      threw = true;
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
    EXPECT_EQ(why_infeasible(made.config, made.request, made.plan).has_value(), threw) << made.to_string();
    infeasible += threw ? 1 : 0;
  }
  EXPECT_GT(infeasible, 200);
  EXPECT_LT(infeasible, 1800);
}

TEST(WhyInfeasible, SaysTheNumbersThatDoNotFit) {
  const ModelConfig& config = *find_built_in_model("gpt2");
  const auto heads = why_infeasible(config, {.seq_length = 64}, {.tp = 5});
  ASSERT_TRUE(heads.has_value());
  EXPECT_EQ(heads->reason, Misfit::kHeads);
  EXPECT_THAT(heads->numbers, testing::ElementsAre(12, 5, 0));
  const auto pieces = why_infeasible(config, {.seq_length = 64}, {.cp = 3});
  ASSERT_TRUE(pieces.has_value());
  EXPECT_EQ(pieces->reason, Misfit::kContextPieces);
  EXPECT_THAT(pieces->numbers, testing::ElementsAre(64, 6, 3));
}

// The memory of a schedule does not grow with the number of micro-batches for ever.
TEST(PipelineMemory, IsThatOfFewerMicroBatches) {
  for (std::int64_t stages = 1; stages <= 6; ++stages)
    for (std::int64_t chunks = 1; chunks <= 4; ++chunks)
      for (std::int64_t m = stages; m <= 12 * stages; m += stages) {
        if (chunks > 1 && stages == 1) continue;
        const PipelineRequest request{.kind = chunks > 1 ? ScheduleKind::kInterleaved : ScheduleKind::k1F1B,
                                      .stages = stages,
                                      .virtual_stages = chunks,
                                      .micro_batches = m};
        PipelineMemory all(request), fewer(with_enough_micro_batches(request));
        for (std::int64_t stage = 0; stage < stages; ++stage)
          for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            ASSERT_EQ(all.slots(stage, chunk), fewer.slots(stage, chunk));
            ASSERT_EQ(all.slots(stage, chunk), slots_needed(request, stage, chunk));
            for (unsigned touched = 0; touched < 64; ++touched)
              for (const bool gradient : {false, true}) {
                // Only what the first chunk's first stage and the last one's last receive is missing.
                const PipelineMemory::Received received{chunk, gradient, static_cast<std::uint8_t>(touched)};
                if (!gradient && stage == 0 && chunk == 0) continue;
                if (gradient && stage == stages - 1 && chunk == chunks - 1) continue;
                ASSERT_EQ(all.places(stage, received), fewer.places(stage, received))
                    << stages << " stages, " << chunks << " chunks, " << m << " micro-batches";
              }
          }
      }
}

// The formula of schedules with one chunk, against the schedules themselves.
TEST(PipelineMemory, FormulasAreThoseOfTheRounds) {
  for (const ScheduleKind kind : {ScheduleKind::k1F1B, ScheduleKind::kGPipe})
    for (std::int64_t stages = 1; stages <= 9; ++stages)
      for (std::int64_t m = 1; m <= 4 * stages + 1; ++m) {
        const PipelineRequest request{.kind = kind, .stages = stages, .micro_batches = m};
        PipelineMemory fast(request), general(request, PipelineMemory::Form::kGeneral);
        for (std::int64_t stage = 0; stage < stages; ++stage) {
          ASSERT_EQ(fast.slots(stage, 0), general.slots(stage, 0));
          for (unsigned touched = 0; touched < 64; ++touched)
            for (const bool gradient : {false, true}) {
              const PipelineMemory::Received received{0, gradient, static_cast<std::uint8_t>(touched)};
              ASSERT_EQ(fast.places(stage, received), general.places(stage, received))
                  << to_string(kind) << ", stage " << stage << " of " << stages << ", " << m
                  << " micro-batches, touched " << touched << ", gradient " << gradient;
            }
        }
      }
}

}  // namespace
}  // namespace nadi::inline describe
