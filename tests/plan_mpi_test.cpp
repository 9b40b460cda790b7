// Every kind of plan on real processes against one rank: each rank of the job runs its program over
// MPI, on the CPU engine or the one that NADI_TEST_DEVICE names, and a single-rank job of its own beside it.
// Losses of 20 steps agree to 1e-5 in fp32, gradients to 1e-4 of their norm; what a rank holds and sends is
// what its program says; what it recorded is its dry trace. Started by mpirun with 2, 4, 8 and 16 processes;
// each runs the plans of its size. On a GPU that the ranks share, messages go through memory of the host, or over
// NCCL with NADI_TEST_NCCL=shared-gpu.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include "nadi/base/format.h"
#include "nadi/comm/mpi_session.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/devices/device_for_tests.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/element.h"
#include "nadi/engine/engine.h"
#include "nadi/engine/variable_values_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/train/step_inputs.h"
#include "nadi/unroll/process_groups.h"
#include "nadi/unroll/rank_attributes.h"
#include "plan_cases.h"
#include "random_integers.h"

namespace nadi {
namespace {

constexpr std::int64_t kBatch = 16, kTokens = 8;
// Ranks that share a GPU take turns, and NCCL's kernels wait for each other's, some 10 ms for each collective. Of the four
// steps there the first runs kernel by kernel, the second is recorded, and the others are one graph.
const bool kOverNccl = std::getenv("NADI_TEST_NCCL") != nullptr;
const std::int64_t kSteps = kOverNccl ? 4 : 20;
constexpr double kLearningRate = 1e-3;

Communicator* world = nullptr;  // of the process; set by main()

std::vector<std::int32_t> integers(const std::string& name, std::int64_t below) {
  const Doubles values = random_integers(name, kBatch * kTokens, below);
  return {values.begin(), values.end()};
}

const DeviceKind kDevice = device_for_tests();

// A rank of a plan, or a job of one rank.
class Job {
 public:
  Job(const ModelConfig& config, StepRequest request, const Plan& plan, const PlanGroups* groups)
      : config_(config),
        plan_(plan),
        place_(groups != nullptr ? coordinates_of(plan, world->rank()) : Coordinates{}),
        engine_(make_engine(kDevice, {.threads = 1, .groups = groups})) {
    request.batch_size = kBatch / plan.dp;
    request.seq_length = kTokens;
    request.layout.bucket_elements = kOverNccl ? 400 : 100;  // several buckets per chunk
    request.optimizer.learning_rate = {.decay = Decay::kConstant, .peak = kLearningRate};
    program_ = build_step(config, request, plan, place_.pp);
    loaded_ = engine_->load(program_);
    engine_->bind();
    engine_->initialize(1);
  }

  void step(std::int64_t number, ExecutedStep* record = nullptr) {
    const StepScalars scalars{.seed = 42, .step = number, .token_count = kBatch * kTokens - kIgnored};
    const StepInputs inputs{*engine_, loaded_};
    set_step_scalars(inputs, scalars);
    for (std::int64_t m = 0; m < plan_.micro_batches; ++m) {
      const std::int64_t first = first_row(m);
      set_batch(inputs, split_over_context(rows(first, rows_each()), plan_, place_.cp), m);
      set_random(inputs, scalars, m, first);
    }
    ticket_ = engine_->run(loaded_, {.record = record});
    // One engine of the process at a time.
    engine_->wait(ticket_);
  }

  // 0 where this rank has none.
  double loss() { return engine_->find_variable("loss") != nullptr ? scalar("loss") : 0; }
  double scalar(const char* name) { return engine_->scalar(ticket_, name); }
  const Engine& engine() const { return *engine_; }
  const Program& program() const { return program_; }
  const Plan& plan() const { return plan_; }

 private:
  static constexpr std::int64_t kIgnored = 4;

  std::int64_t rows_each() const { return kBatch / plan_.dp / plan_.micro_batches; }
  std::int64_t first_row(std::int64_t micro_batch) const {
    return place_.dp * (kBatch / plan_.dp) + micro_batch * rows_each();
  }

  Batch rows(std::int64_t first, std::int64_t count) const {
    std::vector<std::int32_t> targets = integers("targets", config_.vocabulary);
    for (const std::size_t ignored : {3, 7, 21, 50}) targets[ignored] = -100;
    const auto part = [&](const std::vector<std::int32_t>& all) {
      return std::vector<std::int32_t>(all.begin() + first * kTokens,
                                       all.begin() + (first + count) * kTokens);
    };
    Batch batch{.input_ids = part(integers("ids", config_.vocabulary)),
                .token_type_ids = part(integers("types", 2)),
                .targets = part(targets)};
    for (std::int64_t row = first; row < first + count; ++row)
      batch.lengths.push_back(static_cast<std::int32_t>(kTokens - row % 4));
    return batch;
  }

  ModelConfig config_;
  Plan plan_;
  Coordinates place_;
  Program program_;
  std::unique_ptr<Engine> engine_;
  ProgramHandle loaded_{};
  Ticket ticket_{};
};

// The dry trace of this rank.
Trace dry_trace(const Program& program, const Plan& plan) {
  Trace trace;
  StepTracer tracer(program, {.plan = &plan});
  const ProcessGroups groups(plan, collective_groups(program));
  TraceNode node;
  while (tracer.next(node)) {
    add_rank_attributes(node, tracer.binding(), plan, groups, world->rank());
    trace.add(node);
  }
  return trace;
}

std::vector<PlanCase> cases_of_this_size(const Architecture& architecture) {
  // Of models with experts what is new over MPI: the others go through the same calls as those of all models.
  std::vector<PlanCase> cases = architecture->experts() ? expert_plan_cases() : plan_cases();
  if (architecture->experts()) {
    std::erase_if(cases, [](const PlanCase& entry) { return entry.plan.world_size() != world->size(); });
    return cases;
  }
  cases.push_back(
      {"tp2_cp2_pp2_zero1_sequence_parallel",
       {.tp = 2, .cp = 2, .pp = 2, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 4}});
  cases.push_back({"tp2_pp4_uneven", {.tp = 2, .pp = 4, .micro_batches = 8, .partition = {1, 2, 0, 1}}});
  cases.push_back({"interleaved_dp2_tp2",
                   {.tp = 2,
                    .dp = 2,
                    .pp = 2,
                    .schedule = ScheduleKind::kInterleaved,
                    .virtual_stages = 2,
                    .micro_batches = 4}});
  cases.push_back({"dp8_zero1", {.dp = 8, .zero_stage = 1}});
  std::erase_if(cases, [](const PlanCase& entry) { return entry.plan.world_size() != world->size(); });
  return cases;
}

class PlanOverMpi {
 public:
  PlanOverMpi(Architecture architecture, const PlanCase& entry)
      : config_(tiny_model(architecture, 4)), entry_(entry), groups_(*world, entry.plan) {}

  void run() {
    StepRequest unsplit = entry_.request;
    unsplit.recompute = {};
    Job one(config_, unsplit, {}, nullptr);
    Job all(config_, entry_.request, entry_.plan, &groups_);
    const ProgramSummary summary = summarize(all.program());
    if (world->rank() == Rank{0} && !all.engine().remark().empty())
      std::cout << all.engine().remark() << "\n";
    check_held(all, summary);
    const bool low_precision = entry_.request.dtype != DType::kF32;
    // Sums over ranks are rounded to the type in another order than on one rank.
    const double tolerance = low_precision ? 2e-2 : 1e-5;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      ExecutedStep record{.step = step};
      const Bytes sent = all.engine().sent();
      one.step(step);
      all.step(step, step == 2 ? &record : nullptr);
      if (all.engine().find_variable("loss") != nullptr) {
        EXPECT_NEAR(all.loss(), one.loss(), tolerance * one.loss()) << "step " << step;
      }
      EXPECT_EQ(all.engine().sent() - sent, summary.total().cost.sent);
      if (step == 1) compare_gradients(one, all, low_precision ? 3e-2 : 1e-4);
      if (step == 2) compare_with_dry(all, record);
    }
  }

 private:
  // The reference engine holds everything in doubles.
  static void check_held(const Job& job, const ProgramSummary& summary) {
    if (kDevice == DeviceKind::kReference) return;
    for (const Role role : {Role::kParameter, Role::kGradient, Role::kOptimizerState})
      EXPECT_EQ(job.engine().held(role), summary.memory.of(role)) << to_string(role);
  }

  // For ZeRO's buckets a rank has the sums of its own part only: parameters tell the rest.
  void compare_gradients(Job& one, Job& all, double tolerance) {
    if (entry_.plan.zero_stage > 0) return;
    double squares = 0, norm = 0;
    for (const Tensor* gradient : all.engine().variables()) {
      if (gradient->role != Role::kGradient) continue;
      const std::vector<float> own = values_of(all.engine(), *gradient);
      const std::vector<float> whole = values_of(one.engine(), *one.engine().find_variable(gradient->name));
      const Tensor* parameter =
          all.engine().find_variable(gradient->name.substr(0, gradient->name.size() - 5));
      ASSERT_NE(parameter, nullptr) << gradient->name;
      const std::vector<std::int64_t> at = whole_indices(
          gradient->shape, parameter->shards, [&](const std::string& group) { return groups_.place(group); });
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (at[i] >= static_cast<std::int64_t>(whole.size())) continue;  // a padded row of the vocabulary
        const double difference = own[i] - whole[at[i]];
        squares += difference * difference;
      }
    }
    norm = one.scalar("grad_norm");
    EXPECT_LE(std::sqrt(squares), tolerance * norm);
    EXPECT_NEAR(all.scalar("grad_norm"), norm, tolerance * norm);
  }

  static void compare_with_dry(const Job& job, const ExecutedStep& record) {
    const ExecutionTrace executed =
        trace_execution(job.program(), std::span(&record, 1), {.plan = &job.plan(), .rank = world->rank()});
    EXPECT_EQ(executed.dropped_dependencies, 0);
    const auto difference = compare_with_dry_trace(executed.trace, dry_trace(job.program(), job.plan()));
    EXPECT_FALSE(difference) << *difference;
  }

  ModelConfig config_;
  PlanCase entry_;
  PlanGroups groups_;
};

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  using namespace nadi;
  MpiSession session;
  world = &session.world();
  testing::InitGoogleTest(&argc, argv);
  if (const auto reason = cuda::why_no_cuda(); kDevice == DeviceKind::kCuda && reason) {
    std::cout << "[  SKIPPED ] all tests: " << reason->reason << "\n";
    return 0;
  }
  // All ranks run the same tests in the same order: the names depend on the size of the job only.
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama"),
        architecture_named("qwen2"), architecture_named("qwen3"), architecture_named("qwen2_moe")})
    for (const PlanCase& entry : cases_of_this_size(architecture)) {
      if (architecture->experts() && kDevice == DeviceKind::kCuda) continue;  // computed on CPUs, so far
      class Case : public testing::Test {
       public:
        Case(Architecture model, PlanCase plan_case) : model_(model), plan_case_(std::move(plan_case)) {}
        void TestBody() override { PlanOverMpi(model_, plan_case_).run(); }

       private:
        Architecture model_;
        PlanCase plan_case_;
      };
      const std::string name = std::string(to_string(architecture)) + "_" + entry.name;
      testing::RegisterTest("PlanOverMpi", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [=]() -> testing::Test* { return new Case(architecture, entry); });
    }
  return RUN_ALL_TESTS();
}
