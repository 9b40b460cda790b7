#include "nadi/report/step_settings.h"

#include <utility>

#include "nadi/base/units.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/model/dropout.h"

namespace nadi::inline show {
namespace {

class Settings {
 public:
  explicit Settings(const GivenFlag& given) : given_(given) {}

  void add(std::string_view key, std::string_view flag, const Json& value, bool applies = true) {
    list.push_back({.key = key,
                    .flag = flag,
                    .value = applies ? value : Json(nullptr),
                    .given = !flag.empty() && given_(flag)});
  }
  // `matters`: whether the default is worth a flag. Defaults that say nothing (a schedule of one stage) have none.
  void add_split(std::string_view key, std::string_view flag, Json value, bool matters) {
    const bool given = given_(flag);
    list.push_back({.key = key,
                    .flag = given || matters ? flag : std::string_view(),
                    .value = std::move(value),
                    .given = given});
  }

  std::vector<Setting> list;

 private:
  const GivenFlag& given_;
};

std::vector<Setting> settings_of_step(const ResolvedStep& step, const GivenFlag& given) {
  const StepRequest& request = step.request;
  const ModelConfig& config = step.config;
  const bool training = request.kind == StepKind::kTrain;
  const bool whole = training || request.kind == StepKind::kEvaluate;
  const bool full = request.recompute.granularity == Recompute::Granularity::kFull;
  Settings settings(given);
  settings.add("step", "--step", to_string(request.kind));
  // Both sizes are settings. Only one of them has a flag, since the command line takes one.
  const bool global = step.question.global_batch_size.has_value();
  settings.add("batch_size", global ? "" : "--batch-size", request.batch_size);
  settings.add("global_batch_size", global ? "--global-batch-size" : "",
               checked_multiply(request.batch_size, step.plan.dp, "sequences"));
  settings.add("micro_batch_size", "--micro-batch-size", request.batch_size / step.plan.micro_batches,
               training);
  settings.add("micro_batches", "", step.plan.micro_batches, training);
  settings.add("seq_length", "--seq-length", request.seq_length, whole);
  settings.add("num_input_tokens", "--num-input-tokens", request.input_tokens, !whole);
  settings.add("num_output_tokens", "--num-output-tokens", request.output_tokens,
               request.kind == StepKind::kGenerate);
  settings.add("dtype", "--dtype", name_of(request.dtype));
  settings.add("fp8", "--fp8", request.fp8);
  settings.add("attention", "--attention", attention_name(request.fused_attention));
  settings.add("recompute", "--recompute", to_string(request.recompute.granularity), training);
  settings.add("recompute_method", "--recompute-method", to_string(request.recompute.method),
               training && full);
  settings.add("recompute_num_layers", "--recompute-num-layers", request.recompute.layers, training && full);
  settings.add("optimizer", "--optimizer", to_string(request.optimizer.kind), training);
  settings.add("weight_decay", "--weight-decay", request.optimizer.weight_decay, training);
  settings.add("max_grad_norm", "--max-grad-norm", request.optimizer.max_grad_norm, training);
  const bool hidden = has_hidden_dropout(config);
  settings.add("dropout", "--dropout", config.attention_dropout,
               training && step.question.dropout.has_value());
  settings.add("embedding_dropout", "", config.embedding_dropout, training && hidden);
  settings.add("attention_dropout", "", config.attention_dropout, training);
  settings.add("residual_dropout", "", config.residual_dropout, training && hidden);
  return std::move(settings.list);
}

// The plan as it was decided, the partition written out.
std::vector<Setting> settings_of_plan(const ResolvedStep& step, const GivenFlag& given) {
  const Plan& plan = step.plan;
  const bool training = step.request.kind == StepKind::kTrain;
  const bool pipeline = plan.pp > 1;
  const Json none;
  Settings settings(given);
  settings.add("world_size", "", plan.world_size());
  settings.add_split("tp", "--tp", plan.tp, true);
  settings.add_split("cp", "--cp", plan.cp, training);
  settings.add_split("dp", "--dp", plan.dp, true);
  settings.add_split("pp", "--pp", plan.pp, training);
  settings.add_split("sequence_parallel", "--sequence-parallel", plan.sequence_parallel, training);
  settings.add_split("partition", "--partition", resolved_partition(step.config, plan), pipeline);
  settings.add_split("schedule", "--schedule", training ? Json(to_string(plan.schedule)) : none, pipeline);
  settings.add_split("virtual_stages", "--virtual-stages", training ? Json(plan.virtual_stages) : none,
                     plan.virtual_stages > 1);
  settings.add_split("zero", "--zero", training ? Json(plan.zero_stage) : none, plan.dp * plan.cp > 1);
  return std::move(settings.list);
}

}  // namespace

StepSettings step_settings(const ResolvedStep& step, const GivenFlag& given) {
  return {.step = settings_of_step(step, given), .plan = settings_of_plan(step, given)};
}

}  // namespace nadi::inline show
