#include "nadi/parallel/step_program.h"

#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/ops/copy.h"
#include "nadi/model/layers.h"
#include "nadi/model/model.h"

namespace nadi {
namespace {

constexpr std::array kStepKinds{
    StepKindEntry{StepKind::kTrain, "train", "forward, backward and optimizer"},
    StepKindEntry{StepKind::kEvaluate, "evaluate", "forward with loss"},
    StepKindEntry{StepKind::kPrefill, "prefill", "a prompt into the KV cache"},
    StepKindEntry{StepKind::kDecode, "decode", "one token after a prompt"},
    StepKindEntry{StepKind::kGenerate, "generate", "prefill, then one decode step per output token"},
};

void require(bool condition, std::string message, std::string hint = "") {
  if (!condition) throw usage_error(std::move(message), std::move(hint));
}

void check_request(const ModelConfig& config, const StepRequest& request) {
  const auto positive = [](std::int64_t value, const char* what) {
    require(value >= 1, format("{} must be at least 1, not {}", what, value));
  };
  positive(request.batch_size, "the batch size");
  positive(request.micro_batches, "the number of micro-batches");
  positive(request.recompute.layers, "the number of layers to recompute");
  require(request.recompute.layers <= config.layers,
          format("cannot recompute {} layers at a time: {} has {}", request.recompute.layers, config.name,
                 config.layers));
  require(request.batch_size % request.micro_batches == 0,
          format("a batch of {} does not divide into {} micro-batches", request.batch_size,
                 request.micro_batches));
  require(!request.fp8 || request.dtype == DType::kBF16, "fp8 matrix products go with bf16 everything else",
          "add --dtype bf16");
  const bool training = request.kind == StepKind::kTrain || request.kind == StepKind::kEvaluate;
  std::int64_t tokens = request.seq_length;
  if (training) {
    positive(request.seq_length, "the sequence length");
  } else {
    require(model_of(config.architecture).generates(),
            format("{} is not a model that generates text, so it has no {} step", config.name,
                   to_string(request.kind)),
            "use --step train or --step evaluate");
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

StepOptions options_for(const StepRequest& request, StepMode mode) {
  return {.mode = mode,
          .batch_size = request.batch_size / request.micro_batches,
          .seq_length = request.seq_length,
          .dtype = request.dtype,
          .fp8 = request.fp8,
          .fused_attention = request.fused_attention};
}

// Adds a section over the ops that the graph has gained since `first`.
SectionId add_section(Program& program, std::string name, std::uint32_t first, std::uint32_t end) {
  program.sections.push_back(
      {.name = std::move(name), .graph = program.graphs.size(), .first_op = first, .end_op = end});
  return SectionId{static_cast<std::uint32_t>(program.sections.size() - 1)};
}

std::uint32_t op_count(const GraphBuilder& builder) {
  return static_cast<std::uint32_t>(builder.graph().ops().size());
}

// With several micro-batches the gradients and the loss are sums: they start from zero.
Graph clearing_graph(const Graph& step) {
  GraphBuilder builder;
  const auto phase = builder.in_phase(Phase::kOptimizer);
  const auto scope = builder.in_layer("optimizer");
  for (const Tensor& tensor : step.tensors())
    if (tensor.role == Role::kGradient || tensor.name == "loss") fill(builder, builder.variable(tensor), 0);
  return builder.take();
}

Program training_program(const ModelConfig& config, const StepRequest& request) {
  const bool accumulate = request.micro_batches > 1;
  const StepOptions options = options_for(request, StepMode::kTrain);
  GraphBuilder builder;
  Layers layers(builder, config, options);
  layers.accumulate_loss(accumulate);
  build_forward(config, layers);
  Program program;
  const std::uint32_t forward_end = op_count(builder);
  const SectionId forward = add_section(program, "forward", 0, forward_end);

  LossScale loss_scale;
  TensorId seed;
  if (request.dtype == DType::kF16) {
    loss_scale = make_loss_scale(builder);
    seed = loss_scale.scale;
  } else {
    seed = builder.constant("loss.grad", Shape{}, DType::kF32, Initializer::constant(1));
  }
  const Backward gradients = add_backward(
      builder, {.seeds = {{layers.loss(), seed}}, .recompute = request.recompute, .accumulate = accumulate});
  const std::uint32_t backward_end = op_count(builder);
  const SectionId backward = add_section(program, "backward", forward_end, backward_end);

  add_optimizer(builder, gradients, request.optimizer, loss_scale);
  const SectionId optimizer = add_section(program, "optimizer", backward_end, op_count(builder));
  program.graphs.push_back(builder.take());

  if (accumulate) {
    Graph clear = clearing_graph(program.graphs[0]);
    const SectionId zero =
        add_section(program, "zero_gradients", 0, static_cast<std::uint32_t>(clear.ops().size()));
    program.graphs.push_back(std::move(clear));
    program.instructions.push_back({.section = zero});
  }
  for (std::int32_t m = 0; m < request.micro_batches; ++m) {
    program.instructions.push_back({.section = forward, .micro_batch = m});
    program.instructions.push_back({.section = backward, .micro_batch = m});
  }
  program.instructions.push_back({.section = optimizer});
  return program;
}

SectionId add_forward(Program& program, const ModelConfig& config, const StepOptions& options,
                      std::string name) {
  GraphBuilder builder;
  Layers layers(builder, config, options);
  build_forward(config, layers);
  const SectionId section = add_section(program, std::move(name), 0, op_count(builder));
  program.graphs.push_back(builder.take());
  return section;
}

Program inference_program(const ModelConfig& config, const StepRequest& request) {
  Program program;
  const bool generates = request.kind == StepKind::kGenerate;
  const std::int64_t decodes = generates ? request.output_tokens : request.kind == StepKind::kDecode ? 1 : 0;
  StepOptions options = options_for(request, StepMode::kPrefill);
  options.seq_length = request.input_tokens;
  options.cache_length = request.input_tokens + decodes;
  if (request.kind != StepKind::kDecode) {
    const SectionId prefill = add_forward(program, config, options, "prefill");
    program.instructions.push_back({.section = prefill});
  }
  if (decodes > 0) {
    options.mode = StepMode::kDecode;
    options.seq_length = 1;
    const SectionId decode = add_forward(program, config, options, "decode");
    for (std::int64_t i = 0; i < decodes; ++i)
      program.instructions.push_back({.section = decode,
                                      .micro_batch = static_cast<std::int32_t>(i),
                                      .context = {.position = request.input_tokens + i}});
  }
  return program;
}

}  // namespace

std::span<const StepKindEntry> step_kinds() {
  return kStepKinds;
}

std::string_view to_string(StepKind kind) {
  for (const StepKindEntry& entry : kStepKinds)
    if (entry.kind == kind) return entry.name;
  unreachable();
}

Program build_step(const ModelConfig& config, const StepRequest& request) {
  check_request(config, request);
  switch (request.kind) {
    case StepKind::kTrain:
      return training_program(config, request);
    case StepKind::kEvaluate: {
      Program program;
      const SectionId forward =
          add_forward(program, config, options_for(request, StepMode::kEvaluate), "forward");
      program.instructions.push_back({.section = forward});
      return program;
    }
    case StepKind::kPrefill:
    case StepKind::kDecode:
    case StepKind::kGenerate:
      return inference_program(config, request);
  }
  unreachable();
}

}  // namespace nadi
