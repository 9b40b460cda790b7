#include "nadi/step/step_question.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/config_file.h"
#include "nadi/model/dropout.h"

namespace nadi::inline ask {
namespace {

// The work of every micro-batch is added up one by one. A larger number is a typing mistake, and so are
// larger degrees.
constexpr std::int64_t kMostMicroBatches = 100'000;
constexpr std::int64_t kMostRanks = std::int64_t{1} << 30;
constexpr std::int64_t kMostStages = 100'000;

void refuse_other_steps(const StepQuestion& question) {
  const StepKind kind = question.kind;
  const bool trains = kind == StepKind::kTrain;
  const bool whole = trains || kind == StepKind::kEvaluate;
  const auto refuse = [&](bool given, bool applies, std::string_view what) {
    if (given && !applies)
      throw usage_error(format("{} does not apply to a step of kind {}", what, to_string(kind)));
  };
  refuse(question.global_batch_size.has_value(), trains, "the global batch");
  refuse(question.micro_batch_size.has_value(), trains, "the size of micro-batches");
  refuse(question.dropout.has_value(), trains, "a rate of dropout");
  refuse(question.seq_length.has_value(), whole, "the length of sequences");
  refuse(question.input_tokens.has_value(), !whole, "the number of input tokens");
  refuse(question.output_tokens.has_value(), kind == StepKind::kGenerate, "the number of output tokens");
}

void resolve_batch(const StepQuestion& question, StepRequest& request, Plan& plan) {
  if (question.batch_size && question.global_batch_size)
    throw usage_error("the batch of a rank and the batch of all ranks contradict each other",
                      "give the size per rank or the size of all ranks together");
  request.batch_size = question.batch_size.value_or(request.batch_size);
  if (const auto global = question.global_batch_size) {
    if (*global % plan.dp != 0)
      throw usage_error(
          format("a global batch of {} does not divide over {} data-parallel ranks", *global, plan.dp),
          "it is data-parallel ranks x micro-batches x micro-batch size");
    request.batch_size = *global / plan.dp;
  }
  const auto micro = question.micro_batch_size;
  if (!micro) return;
  if (request.batch_size % *micro != 0 && plan.dp > 1)
    throw usage_error(
        format("a batch of {} per data-parallel rank does not divide into micro-batches of {}",
               request.batch_size, *micro),
        format("the global batch is data-parallel ranks x micro-batches x micro-batch size: a multiple of "
               "{} x {}",
               plan.dp, *micro));
  if (request.batch_size % *micro != 0)
    throw usage_error(
        format("a batch of {} does not divide into micro-batches of {}", request.batch_size, *micro),
        question.global_batch_size ? "" : "give the size of the global batch");
  plan.micro_batches = request.batch_size / *micro;
  if (plan.micro_batches > kMostMicroBatches)
    throw usage_error(
        format("a step of {} micro-batches; the limit is {}", plan.micro_batches, kMostMicroBatches));
}

std::int64_t resolve_seq_length(const StepQuestion& question, const ModelConfig& config) {
  return question.seq_length.value_or(std::min(longest_sequence(config), kMostDefaultSeqLength));
}

void resolve_tokens(const StepQuestion& question, const ModelConfig& config, StepRequest& request) {
  request.seq_length = resolve_seq_length(question, config);
  // Defaults always fit the model. Values that the user gives are checked later.
  const std::int64_t after_input =
      std::max<std::int64_t>(longest_sequence(config) - question.input_tokens.value_or(1), 1);
  request.output_tokens =
      request.kind == StepKind::kGenerate
          ? question.output_tokens.value_or(std::min(after_input, kMostDefaultOutputTokens))
          : 1;
  const std::int64_t made = request.kind == StepKind::kPrefill ? 0 : request.output_tokens;
  const std::int64_t before_output = std::max<std::int64_t>(longest_sequence(config) - made, 1);
  request.input_tokens = question.input_tokens.value_or(std::min(before_output, kMostDefaultInputTokens));
}

void resolve_computation(const StepQuestion& question, ModelConfig& config, StepRequest& request) {
  request.dtype = question.dtype.value_or(kDefaultDtype);
  request.fp8 = question.fp8;
  request.fused_attention = question.fused_attention.value_or(request.fused_attention);
  request.experts = question.experts;
  request.optimizer = question.optimizer;
  if (question.dropout) set_dropout(config, *question.dropout);
}

}  // namespace

std::string_view attention_name(bool fused) {
  return fused ? "fused" : "unfused";
}

DType default_dtype(const Cluster& cluster, std::int64_t devices) {
  for (std::int64_t number = 0; number < devices; ++number) {
    const DeviceSpec& device = cluster.device(DeviceId{static_cast<std::int32_t>(number)});
    if (device.type != DeviceType::kGpu || device.peak(DType::kF16) <= device.peak(DType::kF32))
      return kDefaultDtypeOfCpus;
  }
  return kDefaultDtype;
}

void check_degrees(const Plan& plan) {
  std::int64_t ranks = 1;
  for (const std::int64_t degree : {plan.tp, plan.cp, plan.dp, plan.pp}) {
    if (degree > kMostRanks / ranks)
      throw usage_error(format("a plan of {} x {} x {} x {} ranks; the limit is {}", plan.tp, plan.cp,
                               plan.dp, plan.pp, kMostRanks));
    ranks *= degree;
  }
  for (const std::int64_t degree : {plan.ep, plan.etp})
    if (degree > kMostRanks)
      throw usage_error(format("{} ranks that share experts; the limit is {}", degree, kMostRanks));
  if (plan.virtual_stages > kMostStages / plan.pp || plan.pp > kMostStages)
    throw usage_error(
        format("a pipeline of {} x {} stages; the limit is {}", plan.pp, plan.virtual_stages, kMostStages));
}

std::string empty_stages_note(const ModelConfig& config, const Plan& plan) {
  const std::int64_t stages = plan.pp * plan.virtual_stages;
  if (!plan.partition.empty() || stages <= config.layers) return "";
  const std::int64_t empty = stages - config.layers;
  return format("{} has {} layers: {} of the {} {}stages {} none", config.name, config.layers, empty, stages,
                plan.virtual_stages > 1 ? "virtual " : "", empty == 1 ? "has" : "have");
}

ResolvedStep resolve_step(const StepQuestion& question) {
  refuse_other_steps(question);
  ResolvedStep step{.question = question, .config = {}, .request = {}, .plan = {}};
  step.config = load_model_config(question.model, question.model_type);
  step.plan = question.plan;
  step.plan.micro_batches = 1;
  check_degrees(step.plan);
  if (std::string note = empty_stages_note(step.config, step.plan); !note.empty())
    step.notes.push_back(std::move(note));
  step.request.kind = question.kind;
  step.request.recompute = question.recompute;
  resolve_batch(question, step.request, step.plan);
  resolve_tokens(question, step.config, step.request);
  resolve_computation(question, step.config, step.request);
  return step;
}

ResolvedStep resolve_unsplit_step(const StepQuestion& question) {
  ResolvedStep step{.question = question, .config = {}, .request = {}, .plan = {}};
  step.config = load_model_config(question.model, question.model_type);
  if (!question.global_batch_size)
    throw usage_error("the size of the batch is missing", "say how many sequences all ranks take per step");
  step.request.batch_size = *question.global_batch_size;
  step.request.seq_length = resolve_seq_length(question, step.config);
  resolve_computation(question, step.config, step.request);
  return step;
}

}  // namespace nadi::inline ask
