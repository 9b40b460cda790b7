#include "nadi/parallel/step_check.h"

#include <algorithm>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/model.h"
#include "nadi/parallel/pipeline_schedule.h"

namespace nadi::inline describe {
namespace {

using Why = std::optional<Infeasible>;

constexpr std::int64_t kMostRanksOfPlan = std::int64_t{1} << 30;
constexpr std::int64_t kMostMicroBatches = 100'000;

Why because(Misfit reason, std::int64_t a = 0, std::int64_t b = 0, std::int64_t c = 0) {
  return Infeasible{reason, {a, b, c}};
}

bool trains(const StepRequest& request) {
  return request.kind == StepKind::kTrain;
}
bool generates(const StepRequest& request) {
  return !trains(request) && request.kind != StepKind::kEvaluate;
}

PipelineRequest schedule_of(const Plan& plan) {
  return {plan.schedule, plan.pp, plan.virtual_stages, plan.micro_batches};
}

// Inner widths of feed-forward layers, which tensor-parallel ranks share.
std::vector<std::int64_t> dense_widths(const ModelConfig& config) {
  if (sparse_layers(config) == config.layers) return {};
  return {config.ffn_width};
}

std::vector<std::int64_t> expert_widths(const ModelConfig& config) {
  std::vector<std::int64_t> widths;
  if (config.experts > 0) widths.push_back(config.expert_width);
  if (config.shared_expert_width > 0) widths.push_back(config.shared_expert_width);
  return widths;
}

Why why_request(const ModelConfig& config, const StepRequest& request) {
  if (request.batch_size < 1) return because(Misfit::kBatchSize, request.batch_size);
  const std::int64_t recomputed = request.recompute.layers;
  if (recomputed < 1) return because(Misfit::kRecomputedLayers, recomputed);
  if (recomputed > config.layers) return because(Misfit::kTooManyRecomputed, recomputed, config.layers);
  if (request.fp8 && request.dtype != DType::kBF16) return because(Misfit::kFp8Type);
  if (request.sampling && !generates(request)) return because(Misfit::kSampling);
  const ExpertOptions& experts = request.experts;
  if (experts != ExpertOptions{} && config.experts == 0) return because(Misfit::kNoExperts);
  if (!(experts.capacity_factor >= 0)) return because(Misfit::kCapacityFactor);
  if (experts.padded && experts.capacity_factor == 0) return because(Misfit::kPaddedCapacity);
  if (!(experts.rank_capacity_factor >= 0)) return because(Misfit::kRankCapacity);
  std::int64_t tokens = request.seq_length;
  if (!generates(request)) {
    if (tokens < 1) return because(Misfit::kSequenceLength, tokens);
  } else {
    if (!model_of(config.architecture).generates()) return because(Misfit::kDoesNotGenerate);
    if (request.input_tokens < 1) return because(Misfit::kInputTokens, request.input_tokens);
    if (request.output_tokens < 1) return because(Misfit::kOutputTokens, request.output_tokens);
    tokens = request.input_tokens;
    if (request.kind == StepKind::kDecode) tokens += 1;
    if (request.kind == StepKind::kGenerate) tokens += request.output_tokens;
  }
  if (tokens > config.positions) return because(Misfit::kPositions, tokens, config.positions);
  if (tokens > longest_sequence(config)) return because(Misfit::kWindow, tokens, config.attention_window);
  return std::nullopt;
}

Why why_ranks(const Plan& plan) {
  if (plan.tp < 1) return because(Misfit::kTensorDegree, plan.tp);
  if (plan.cp < 1) return because(Misfit::kContextDegree, plan.cp);
  if (plan.dp < 1) return because(Misfit::kDataDegree, plan.dp);
  if (plan.pp < 1) return because(Misfit::kPipelineDegree, plan.pp);
  if (plan.virtual_stages < 1) return because(Misfit::kVirtualStages, plan.virtual_stages);
  if (plan.ep < 1) return because(Misfit::kExpertDegree, plan.ep);
  if (plan.etp < 0) return because(Misfit::kExpertTensorDegree, plan.etp);
  if (plan.tp > kMostRanksOfPlan / plan.cp / plan.dp / plan.pp || plan.world_size() > kMostRanksOfPlan)
    return because(Misfit::kTooManyRanks);
  return std::nullopt;
}

Why why_batch(const StepRequest& request, const Plan& plan) {
  const std::int64_t count = plan.micro_batches;
  if (count < 1) return because(Misfit::kMicroBatches, count);
  if (count > kMostMicroBatches) return because(Misfit::kTooManyMicroBatches, count, kMostMicroBatches);
  if (count > 1 && !trains(request)) return because(Misfit::kMicroBatchesOfStep);
  if (request.batch_size % count != 0) return because(Misfit::kBatchDivision, request.batch_size, count);
  return std::nullopt;
}

Why why_expert_ranks(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  if (!plan.numbers_experts()) return std::nullopt;
  if (config.experts == 0) return because(Misfit::kExpertsOfModel);
  if (generates(request)) return because(Misfit::kExpertsOfStep);
  if (config.experts % plan.ep != 0) return because(Misfit::kExpertDivision, config.experts, plan.ep);
  if (plan.expert_tp() > plan.stage_size() / plan.ep || plan.stage_size() % (plan.expert_tp() * plan.ep) != 0)
    return because(Misfit::kExpertRanks, plan.expert_tp(), plan.ep, plan.stage_size());
  if (plan.tp > 1 && !plan.sequence_parallel) return because(Misfit::kExpertTokens, plan.tp);
  return std::nullopt;
}

Why why_tensors(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  if (config.heads % plan.tp != 0) return because(Misfit::kHeads, config.heads, plan.tp);
  if (config.kv_heads % plan.tp != 0) return because(Misfit::kKeyValueHeads, config.kv_heads, plan.tp);
  for (const std::int64_t width : dense_widths(config))
    if (width % plan.tp != 0) return because(Misfit::kFeedForwardWidth, width, plan.tp);
  if (config.experts > 0 && config.expert_width % plan.expert_tp() != 0)
    return because(Misfit::kExpertWidth, config.expert_width, plan.expert_tp());
  if (config.shared_expert_width % plan.tp != 0)
    return because(Misfit::kExpertWidth, config.shared_expert_width, plan.tp);
  if (const Why why = why_expert_ranks(config, request, plan)) return why;
  if (request.experts.balance == BalanceLossKind::kPooled && plan.pp * plan.virtual_stages > 1)
    return because(Misfit::kPooledBalance, plan.pp * plan.virtual_stages);
  if (plan.sequence_parallel && plan.tp == 1) return because(Misfit::kSequenceParallel);
  if (plan.zero_stage != 0 && plan.zero_stage != 1) return because(Misfit::kZeroStage, plan.zero_stage);
  if (trains(request) && request.optimizer.kind == OptimizerKind::kSgdSai) {
    if (plan.tp > 1) return because(Misfit::kSgdSaiTensor, plan.tp);
    if (plan.zero_stage != 0) return because(Misfit::kSgdSaiZero);
  }
  return std::nullopt;
}

Why why_tokens(const StepRequest& request, const Plan& plan) {
  if (generates(request)) {
    if (plan.pp > 1) return because(Misfit::kStagesOfStep, plan.pp);
    if (plan.cp > 1) return because(Misfit::kContextOfStep);
    if (plan.sequence_parallel) return because(Misfit::kSequenceParallelOfStep);
  } else {
    const std::int64_t tokens = request.seq_length;
    const std::int64_t pieces = plan.cp > 1 ? 2 * plan.cp : 1;
    if (tokens % pieces != 0) return because(Misfit::kContextPieces, tokens, pieces, plan.cp);
    if (plan.sequence_parallel && tokens / plan.cp % plan.tp != 0)
      return because(Misfit::kSequenceTokens, tokens / plan.cp, plan.tp);
  }
  if (plan.cp > 1 && !request.fused_attention) return because(Misfit::kContextAttention);
  return std::nullopt;
}

Why why_stages(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  if (trains(request) && why_no_schedule(schedule_of(plan))) return because(Misfit::kSchedule);
  if (plan.partition.empty()) return std::nullopt;
  const auto parts = static_cast<std::int64_t>(plan.partition.size());
  const std::int64_t chunks = plan.pp * plan.virtual_stages;
  if (parts != chunks) return because(Misfit::kPartitionParts, parts, chunks);
  const std::int64_t least = *std::ranges::min_element(plan.partition);
  if (least < 0) return because(Misfit::kPartitionNegative, least);
  const auto sum = std::accumulate(plan.partition.begin(), plan.partition.end(), std::int64_t{0});
  if (sum != config.layers) return because(Misfit::kPartitionLayers, sum, config.layers);
  return std::nullopt;
}

Why why_plan(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  if (const Why why = why_ranks(plan)) return why;
  if (const Why why = why_batch(request, plan)) return why;
  if (const Why why = why_tensors(config, request, plan)) return why;
  if (const Why why = why_tokens(request, plan)) return why;
  return why_stages(config, request, plan);
}

// "gpt2 takes 1, 2, 3, 4, 6, 12": the tensor-parallel degrees that fit all that is split.
std::string fitting_degrees(const ModelConfig& config) {
  std::int64_t common = std::gcd(config.heads, config.kv_heads);
  for (const std::int64_t width : dense_widths(config)) common = std::gcd(common, width);
  for (const std::int64_t width : expert_widths(config)) common = std::gcd(common, width);
  std::string degrees;
  for (std::int64_t degree = 1; degree <= common; ++degree)
    if (common % degree == 0) degrees += format("{}{}", degrees.empty() ? "" : ", ", degree);
  return format("{} takes {}", config.name, degrees);
}

// The reason in words. That of kSchedule is the schedule's own.
Error error_of(const Infeasible& why, const ModelConfig& config, StepKind kind) {
  const auto [a, b, c] = why.numbers;
  const std::string_view step = to_string(kind);
  const auto at_least_1 = [value = a](const char* what) {
    return usage_error(format("{} must be at least 1, not {}", what, value));
  };
  const auto degree = [value = a](const char* axis) {
    return usage_error(format("the {}-parallel degree must be at least 1, not {}", axis, value));
  };
  switch (why.reason) {
    case Misfit::kBatchSize:
      return at_least_1("the batch size");
    case Misfit::kRecomputedLayers:
      return at_least_1("the number of layers to recompute");
    case Misfit::kTooManyRecomputed:
      return usage_error(format("cannot recompute {} layers at a time: {} has {}", a, config.name, b));
    case Misfit::kFp8Type:
      return usage_error("fp8 matrix products go with bf16 everything else", "compute in bf16");
    case Misfit::kSampling:
      return usage_error(format("a {} step has no sampling", step),
                         "prefill, decode and generate steps have it");
    case Misfit::kDoesNotGenerate:
      return usage_error(
          format("{} is not a model that generates text, so it has no {} step", config.name, step),
          "its steps are train and evaluate");
    case Misfit::kSequenceLength:
      return at_least_1("the sequence length");
    case Misfit::kInputTokens:
      return at_least_1("the number of input tokens");
    case Misfit::kOutputTokens:
      return at_least_1("the number of output tokens");
    case Misfit::kPositions:
      return usage_error(
          format("a sequence of {} tokens does not fit {}, which has {} positions", a, config.name, b));
    case Misfit::kWindow:
      return usage_error(
          format("a sequence of {} tokens is longer than the attention window of {}, which has {} tokens", a,
                 config.name, b),
          "Nadi computes attention without windows, which is the same up to this length");
    case Misfit::kTensorDegree:
      return degree("tensor");
    case Misfit::kContextDegree:
      return degree("context");
    case Misfit::kDataDegree:
      return degree("data");
    case Misfit::kPipelineDegree:
      return degree("pipeline");
    case Misfit::kVirtualStages:
      return degree("virtual pipeline");
    case Misfit::kTooManyRanks:
      return usage_error("a plan has at most 2^30 ranks");
    case Misfit::kMicroBatches:
      return at_least_1("the number of micro-batches");
    case Misfit::kTooManyMicroBatches:
      return usage_error(format("{} micro-batches are more than {}", a, b));
    case Misfit::kMicroBatchesOfStep:
      return usage_error(format("only training works in micro-batches, not a {} step", step));
    case Misfit::kBatchDivision:
      return usage_error(format("a batch of {} does not divide into {} micro-batches", a, b));
    case Misfit::kHeads:
      return usage_error(format("{} attention heads do not divide over {} tensor-parallel ranks", a, b),
                         fitting_degrees(config));
    case Misfit::kKeyValueHeads:
      return usage_error(format("{} key-value heads do not divide over {} tensor-parallel ranks", a, b),
                         fitting_degrees(config));
    case Misfit::kFeedForwardWidth:
      return usage_error(
          format("a feed-forward width of {} does not divide over {} tensor-parallel ranks", a, b),
          fitting_degrees(config));
    case Misfit::kExpertWidth:
      return usage_error(
          format("an expert's width of {} does not divide over {} tensor-parallel ranks", a, b),
          fitting_degrees(config));
    case Misfit::kNoExperts:
      return usage_error(format("{} has no experts: settings of experts do not apply to it", config.name));
    case Misfit::kPaddedCapacity:
      return usage_error("experts can be padded to a capacity only where there is one",
                         "give the capacity as a multiple of the mean");
    case Misfit::kCapacityFactor:
      return usage_error("the capacity of an expert is a positive multiple of the mean");
    case Misfit::kExpertDegree:
      return degree("expert");
    case Misfit::kExpertTensorDegree:
      return usage_error(format("the expert-tensor-parallel degree must be at least 0, not {}", a),
                         "0 means as many ranks as share all other tensors");
    case Misfit::kExpertsOfModel:
      return usage_error(format("{} has no experts that ranks could share", config.name));
    case Misfit::kExpertDivision:
      return usage_error(format("{} experts do not divide over {} expert-parallel ranks", a, b));
    case Misfit::kExpertRanks:
      return usage_error(format("{} x {} ranks that share experts do not divide the {} of a stage", a, b, c),
                         "etp x ep divides tp x cp x dp; etp is tp where it is not given");
    case Misfit::kExpertTokens:
      return usage_error(
          format("{} tensor-parallel ranks have the same tokens: each would send them to the experts", a),
          "use sequence parallelism");
    case Misfit::kExpertsOfStep:
      return usage_error(format("a {} step has no expert parallelism", step));
    case Misfit::kRankCapacity:
      return usage_error("the room of a rank for rows of experts is a positive multiple of the mean");
    case Misfit::kPooledBalance:
      return usage_error(
          format("the balance loss of all layers as one needs them on one stage, not on {}", a),
          "take the loss of each layer");
    case Misfit::kSequenceParallel:
      return usage_error("sequence parallelism needs tensor parallelism",
                         "use several tensor-parallel ranks, or no sequence parallelism");
    case Misfit::kZeroStage:
      return usage_error(format("ZeRO stage {} is not known; 0 and 1 are", a));
    case Misfit::kSgdSaiTensor:
      return usage_error(format("sgd-sai needs whole parameters: {} tensor-parallel ranks share them", a),
                         "use another optimizer");
    case Misfit::kSgdSaiZero:
      return usage_error("sgd-sai needs whole parameters: ZeRO splits them over the ranks",
                         "use another optimizer");
    case Misfit::kStagesOfStep:
      return usage_error(format("a {} step runs on one pipeline stage, not {}", step, a));
    case Misfit::kContextOfStep:
      return usage_error(format("a {} step has no context parallelism", step));
    case Misfit::kSequenceParallelOfStep:
      return usage_error(format("a {} step has no sequence parallelism", step));
    case Misfit::kContextPieces:
      return usage_error(format(
          "{} tokens do not divide into {} pieces, two for each of {} context-parallel ranks", a, b, c));
    case Misfit::kSequenceTokens:
      return usage_error(format("{} tokens do not divide over {} sequence-parallel ranks", a, b));
    case Misfit::kContextAttention:
      return usage_error("context parallelism needs fused attention", "use fused attention");
    case Misfit::kSchedule:
      break;
    case Misfit::kPartitionParts:
      return usage_error(format("a partition into {} parts does not fit {} stages", a, b));
    case Misfit::kPartitionNegative:
      return usage_error("a stage cannot have less than 0 layers");
    case Misfit::kPartitionLayers:
      return usage_error(format("the partition has {} layers, {} has {}", a, config.name, b));
  }
  unreachable();
}

}  // namespace

std::optional<Infeasible> why_infeasible(const ModelConfig& config, const StepRequest& request,
                                         const Plan& plan) {
  if (const Why why = why_request(config, request)) return why;
  return why_plan(config, request, plan);
}

void check_request(const ModelConfig& config, const StepRequest& request) {
  if (const Why why = why_request(config, request)) throw error_of(*why, config, request.kind);
}

void check_plan(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  const Why why = why_plan(config, request, plan);
  if (!why) return;
  if (why->reason == Misfit::kSchedule) check_schedule(schedule_of(plan));
  throw error_of(*why, config, request.kind);
}

}  // namespace nadi::inline describe
