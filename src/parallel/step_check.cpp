#include "nadi/parallel/step_check.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/model.h"
#include "nadi/parallel/pipeline_schedule.h"

namespace nadi {
namespace {

void require(bool condition, std::string message, std::string hint = "") {
  if (!condition) throw usage_error(std::move(message), std::move(hint));
}

// "gpt2 takes 1, 2, 3, 4, 6, 12": the tensor-parallel degrees that fit all that is split.
std::string fitting_degrees(const ModelConfig& config) {
  const std::int64_t common = std::gcd(std::gcd(config.heads, config.kv_heads), config.ffn_width);
  std::string degrees;
  for (std::int64_t degree = 1; degree <= common; ++degree)
    if (common % degree == 0) degrees += format("{}{}", degrees.empty() ? "" : ", ", degree);
  return format("{} takes {}", config.name, degrees);
}

}  // namespace

void check_request(const ModelConfig& config, const StepRequest& request) {
  const auto positive = [](std::int64_t value, const char* what) {
    require(value >= 1, format("{} must be at least 1, not {}", what, value));
  };
  positive(request.batch_size, "the batch size");
  positive(request.recompute.layers, "the number of layers to recompute");
  require(request.recompute.layers <= config.layers,
          format("cannot recompute {} layers at a time: {} has {}", request.recompute.layers, config.name,
                 config.layers));
  require(!request.fp8 || request.dtype == DType::kBF16, "fp8 matrix products go with bf16 everything else",
          "compute in bf16");
  const bool training = request.kind == StepKind::kTrain || request.kind == StepKind::kEvaluate;
  require(!request.sampling || !training, format("a {} step has no sampling", to_string(request.kind)),
          "prefill, decode and generate steps have it");
  std::int64_t tokens = request.seq_length;
  if (training) {
    positive(request.seq_length, "the sequence length");
  } else {
    require(model_of(config.architecture).generates(),
            format("{} is not a model that generates text, so it has no {} step", config.name,
                   to_string(request.kind)),
            "its steps are train and evaluate");
    positive(request.input_tokens, "the number of input tokens");
    positive(request.output_tokens, "the number of output tokens");
    tokens = request.input_tokens;
    if (request.kind == StepKind::kDecode) tokens += 1;
    if (request.kind == StepKind::kGenerate) tokens += request.output_tokens;
  }
  require(tokens <= config.positions,
          format("a sequence of {} tokens does not fit {}, which has {} positions", tokens, config.name,
                 config.positions));
}

// Every condition with the numbers that break it.
void check_plan(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  for (const auto& [degree, name] : {std::pair{plan.tp, "tensor"},
                                     {plan.cp, "context"},
                                     {plan.dp, "data"},
                                     {plan.pp, "pipeline"},
                                     {plan.virtual_stages, "virtual pipeline"}})
    require(degree >= 1, format("the {}-parallel degree must be at least 1, not {}", name, degree));
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 30;
  require(plan.tp <= kMostRanks / plan.cp / plan.dp / plan.pp && plan.world_size() <= kMostRanks,
          "a plan has at most 2^30 ranks");
  require(plan.micro_batches >= 1,
          format("the number of micro-batches must be at least 1, not {}", plan.micro_batches));
  constexpr std::int64_t kMostMicroBatches = 100'000;
  require(plan.micro_batches <= kMostMicroBatches,
          format("{} micro-batches are more than {}", plan.micro_batches, kMostMicroBatches));
  require(plan.micro_batches == 1 || request.kind == StepKind::kTrain,
          format("only training works in micro-batches, not a {} step", to_string(request.kind)));
  require(
      request.batch_size % plan.micro_batches == 0,
      format("a batch of {} does not divide into {} micro-batches", request.batch_size, plan.micro_batches));
  if (plan.tp > 1) {
    const std::string degrees = fitting_degrees(config);
    require(config.heads % plan.tp == 0,
            format("{} attention heads do not divide over {} tensor-parallel ranks", config.heads, plan.tp),
            degrees);
    require(
        config.kv_heads % plan.tp == 0,
        format("{} key-value heads do not divide over {} tensor-parallel ranks", config.kv_heads, plan.tp),
        degrees);
    require(config.ffn_width % plan.tp == 0,
            format("a feed-forward width of {} does not divide over {} tensor-parallel ranks",
                   config.ffn_width, plan.tp),
            degrees);
  }
  require(!plan.sequence_parallel || plan.tp > 1, "sequence parallelism needs tensor parallelism",
          "use several tensor-parallel ranks, or no sequence parallelism");
  require(plan.zero_stage == 0 || plan.zero_stage == 1,
          format("ZeRO stage {} is not known; 0 and 1 are", plan.zero_stage));

  const bool trains = request.kind == StepKind::kTrain;
  const bool generates = !trains && request.kind != StepKind::kEvaluate;
  if (trains && request.optimizer.kind == OptimizerKind::kSgdSai) {
    constexpr const char* kHint = "use another optimizer";
    require(plan.tp == 1,
            format("sgd-sai needs whole parameters: {} tensor-parallel ranks share them", plan.tp), kHint);
    require(plan.zero_stage == 0, "sgd-sai needs whole parameters: ZeRO splits them over the ranks", kHint);
  }
  if (generates) {
    require(plan.pp == 1,
            format("a {} step runs on one pipeline stage, not {}", to_string(request.kind), plan.pp));
    require(plan.cp == 1, format("a {} step has no context parallelism", to_string(request.kind)));
    require(!plan.sequence_parallel,
            format("a {} step has no sequence parallelism", to_string(request.kind)));
  } else {
    const std::int64_t pieces = plan.cp > 1 ? 2 * plan.cp : 1;
    require(request.seq_length % pieces == 0,
            format("{} tokens do not divide into {} pieces, two for each of {} context-parallel ranks",
                   request.seq_length, pieces, plan.cp));
    require(!plan.sequence_parallel || request.seq_length / plan.cp % plan.tp == 0,
            format("{} tokens do not divide over {} sequence-parallel ranks", request.seq_length / plan.cp,
                   plan.tp));
  }
  require(plan.cp == 1 || request.fused_attention, "context parallelism needs fused attention",
          "use fused attention");

  if (trains)
    slots_needed({plan.schedule, plan.pp, plan.virtual_stages, plan.micro_batches}, 0, 0);  // or says why not
  const std::int64_t chunks = plan.pp * plan.virtual_stages;
  if (!plan.partition.empty()) {
    const auto sum = std::accumulate(plan.partition.begin(), plan.partition.end(), std::int64_t{0});
    require(static_cast<std::int64_t>(plan.partition.size()) == chunks,
            format("a partition into {} parts does not fit {} stages", plan.partition.size(), chunks));
    require(std::ranges::all_of(plan.partition, [](std::int64_t layers) { return layers >= 0; }),
            "a stage cannot have less than 0 layers");
    require(sum == config.layers,
            format("the partition has {} layers, {} has {}", sum, config.name, config.layers));
  }
}

}  // namespace nadi
