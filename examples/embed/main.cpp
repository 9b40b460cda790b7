// Nadi as a library: three questions, as the command line asks them, and a graph of one's own with its gradients.

#include <cstdio>

#include "nadi/graph/builder.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/ops.h"
#include "nadi/graph/printer.h"
#include "nadi/prediction/planning_question.h"
#include "nadi/prediction/simulation_question.h"
#include "nadi/step/step_answer.h"

namespace {

// nadi show gpt2 --tp 2 --dp 2 --pp 2 --global-batch-size 8 --micro-batch-size 1 --dtype bf16
void what_does_a_rank_do() {
  const nadi::StepAnswer answer = nadi::describe_step({.step = {.model = "gpt2",
                                                                .plan = {.tp = 2, .dp = 2, .pp = 2},
                                                                .global_batch_size = 8,
                                                                .micro_batch_size = 1,
                                                                .dtype = nadi::DType::kBF16}});
  std::printf("gpt2 on rank 0 of 8: %s parameters, %s, %s of memory\n",
              nadi::with_thousands(answer.summary.parameters).c_str(),
              to_string(answer.summary.total().cost.flops()).c_str(),
              to_string(answer.summary.memory.total()).c_str());
}

// nadi simulate gpt2 --dp 8 --cluster dgx-a100
void how_long_does_it_take() {
  const nadi::SimulationAnswer answer =
      nadi::simulate({.step = {.model = "gpt2", .plan = {.dp = 8}}, .on = {.cluster = "dgx-a100"}});
  const nadi::PredictionAssumptions& assumed = answer.asked.assumed;
  std::printf("gpt2 on %s: %s a step; trained by %s, %s attention\n", answer.asked.cluster.name.c_str(),
              to_string(answer.result.iteration_time).c_str(), assumed.framework->name.data(),
              nadi::attention_name(*assumed.fused_attention).data());
}

// nadi plan gpt2 --global-batch-size 64 --schedule 1f1b --cluster a10-8x4 --tp 1 --top 1
void which_plan_is_best() {
  const nadi::PlanningAnswer answer =
      nadi::plan({.step = {.model = "gpt2", .global_batch_size = 64},
                  .on = {.cluster = "a10-8x4"},
                  .space = {.tp = {1}, .schedules = {nadi::ScheduleKind::k1F1B}}},
                 {.top = 1});
  const nadi::RankedPlan& best = answer.found.plans.at(0);
  std::printf("gpt2 on a10-8x4: dp %d, pp %d, %s a step\n", static_cast<int>(best.candidate.plan.dp),
              static_cast<int>(best.candidate.plan.pp), to_string(*best.simulated).c_str());
}

}  // namespace

int main() {
  what_does_a_rank_do();
  how_long_does_it_take();
  which_plan_is_best();

  nadi::GraphBuilder builder;
  const nadi::TensorId x = builder.input("x", {8, 16}, nadi::DType::kF32);
  const nadi::TensorId w =
      builder.parameter("w", {16, 4}, nadi::DType::kF32, nadi::Initializer::normal(0.02));
  const nadi::TensorId y = nadi::matmul(builder, {.a = x, .b = w});
  const nadi::TensorId dy = builder.input("dy", {8, 4}, nadi::DType::kF32);
  add_backward(builder, {.seeds = {{y, dy}}});
  std::printf("%s", nadi::print_graph(builder.graph()).c_str());
}
