#include "plan_cases.h"

namespace nadi {

void PrintTo(const PlanCase& plan_case, std::ostream* out) {
  *out << plan_case.name;
}

std::vector<PlanCase> plan_cases() {
  using enum Recompute::Granularity;
  std::vector<PlanCase> cases{
      {"accumulation", {.micro_batches = 4}},
      {"dp2", {.dp = 2}},
      {"dp4", {.dp = 4}},
      {"dp2_accumulation", {.dp = 2, .micro_batches = 2}},
      {"tp2", {.tp = 2}},
      {"tp4", {.tp = 4}},
      {"tp2_unfused", {.tp = 2}, {.fused_attention = false}},
      {"cp2", {.cp = 2}},
      {"cp4", {.cp = 4}},
      {"sequence_parallel", {.tp = 2, .sequence_parallel = true}},
      {"tp2_cp2_sequence_parallel", {.tp = 2, .cp = 2, .sequence_parallel = true}},
      {"pp2", {.pp = 2, .micro_batches = 4}},
      {"pp2_one_micro_batch", {.pp = 2}},
      {"pp4_uneven_with_an_empty_stage", {.pp = 4, .micro_batches = 4, .partition = {2, 0, 1, 1}}},
      {"pp4_empty_ends", {.pp = 4, .micro_batches = 2, .partition = {0, 3, 1, 0}}},
      {"gpipe", {.pp = 4, .schedule = ScheduleKind::kGPipe, .micro_batches = 4}},
      {"interleaved",
       {.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 4}},
      {"interleaved_uneven",
       {.pp = 2,
        .schedule = ScheduleKind::kInterleaved,
        .virtual_stages = 2,
        .micro_batches = 4,
        .partition = {0, 2, 1, 1}}},
      {"dp2_tp2_pp2", {.tp = 2, .dp = 2, .pp = 2, .micro_batches = 2}},
      {"all_at_once",
       {.tp = 2, .cp = 2, .dp = 2, .pp = 2, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 2}},
      {"zero1", {.dp = 2, .zero_stage = 1}},
      {"zero1_dp4_tp2", {.tp = 2, .dp = 4, .zero_stage = 1}},
      {"zero1_cp2_pp2", {.cp = 2, .dp = 2, .pp = 2, .zero_stage = 1, .micro_batches = 2}},
  };
  for (const Recompute recompute : {Recompute{.granularity = kSelective}, Recompute{.granularity = kFull},
                                    Recompute{.granularity = kFull, .layers = 2},
                                    Recompute{.granularity = kFull, .method = Recompute::Method::kBlock}}) {
    StepRequest request;
    request.recompute = recompute;
    request.fused_attention = recompute.granularity != kSelective;
    const std::string name = std::string(to_string(recompute.granularity)) + "_" +
                             std::string(to_string(recompute.method)) + std::to_string(recompute.layers);
    cases.push_back(
        {"recompute_" + name, {.tp = 2, .pp = 2, .sequence_parallel = true, .micro_batches = 2}, request});
  }
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    StepRequest request;
    request.dtype = dtype;
    cases.push_back({"mixed_" + std::string(to_string(dtype)),
                     {.tp = 2, .dp = 2, .pp = 2, .zero_stage = 1, .micro_batches = 2},
                     request});
  }
  StepRequest full;
  full.recompute.granularity = kFull;
  StepRequest bf16;
  bf16.dtype = DType::kBF16;
  const Plan interleaved{.tp = 2,
                         .pp = 2,
                         .sequence_parallel = true,
                         .schedule = ScheduleKind::kInterleaved,
                         .virtual_stages = 2,
                         .micro_batches = 4};
  Plan interleaved_zero1 = interleaved;
  interleaved_zero1.dp = 2;
  interleaved_zero1.zero_stage = 1;
  cases.push_back({"sequence_parallel_tp4", {.tp = 4, .sequence_parallel = true}});
  cases.push_back({"sequence_parallel_interleaved", interleaved});
  cases.push_back(
      {"sequence_parallel_zero1", {.tp = 2, .dp = 2, .sequence_parallel = true, .zero_stage = 1}});
  cases.push_back(
      {"sequence_parallel_bf16", {.tp = 2, .dp = 2, .sequence_parallel = true, .zero_stage = 1}, bf16});
  cases.push_back({"sequence_parallel_recompute_interleaved_zero1", interleaved_zero1, full});
  StepRequest sgd_sai;
  sgd_sai.optimizer.kind = OptimizerKind::kSgdSai;
  cases.push_back({"sgd_sai_dp2", {.dp = 2}, sgd_sai});
  cases.push_back({"sgd_sai_cp2_dp2_pp2", {.cp = 2, .dp = 2, .pp = 2, .micro_batches = 2}, sgd_sai});
  return cases;
}

std::vector<PlanCase> expert_plan_cases() {
  const Plan folded{.tp = 2, .dp = 2, .ep = 2, .sequence_parallel = true};
  Plan own_tensors = folded;
  own_tensors.etp = 1;
  Plan many = own_tensors;
  many.dp = 4;
  many.zero_stage = 1;
  many.micro_batches = 2;
  StepRequest capacity, full;
  capacity.experts = {.capacity_factor = 6, .padded = true};  // as many experts: nothing is dropped
  full.recompute.granularity = Recompute::Granularity::kFull;
  return {{"ep2", {.dp = 2, .ep = 2}},
          {"ep2_padded", {.dp = 2, .ep = 2}, capacity},
          {"ep2_of_cp2", {.cp = 2, .ep = 2}},
          {"ep2_dp4_zero1", {.dp = 4, .ep = 2, .zero_stage = 1, .micro_batches = 2}},
          {"ep2_tp2_dp2", folded},
          {"ep2_tp2_dp2_recomputed", folded, full},
          {"ep2_etp1_tp2_dp2", own_tensors},
          {"ep2_dp2_pp2", {.dp = 2, .pp = 2, .ep = 2, .micro_batches = 2}},
          {"ep2_etp1_tp2_dp4_zero1", many}};
}

}  // namespace nadi
