#include "nadi/parallel/step_program.h"

#include <array>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/copy.h"
#include "nadi/model/model.h"
#include "nadi/parallel/chunk_graph.h"
#include "nadi/parallel/gradient_reduction.h"
#include "nadi/parallel/pipeline_schedule.h"
#include "nadi/parallel/rank_binding.h"
#include "nadi/parallel/step_check.h"

namespace nadi::inline describe {
namespace {

constexpr std::array kStepKinds{
    StepKindEntry{StepKind::kTrain, "train", "forward, backward and optimizer"},
    StepKindEntry{StepKind::kEvaluate, "evaluate", "forward with loss"},
    StepKindEntry{StepKind::kPrefill, "prefill", "a prompt into the KV cache"},
    StepKindEntry{StepKind::kDecode, "decode", "one token after a prompt"},
    StepKindEntry{StepKind::kGenerate, "generate",
                  "prefill, then one decode step per output token after the first"},
};

StreamId stream_of_section(const Program& program, const Section& section) {
  StreamId stream = kComputeStream;
  for (std::uint32_t i = section.end_op; i-- > section.first_op;) {
    const Op& op = program.graph_of(section).ops()[i];
    const OpClass op_class = definition(op.kind).op_class;
    if (op_class == OpClass::kCompute) return kComputeStream;
    if (is_communication(op_class)) stream = stream_of(binding_of(op));
  }
  return stream;
}

// Builds the program of one stage.
class ProgramBuilder {
 public:
  ProgramBuilder(const ModelConfig& config, const StepRequest& request, const Plan& plan, std::int64_t stage)
      : config_(config), request_(request), plan_(plan), stage_(stage) {}

  Program training() {
    const std::vector<std::int64_t> partition = resolved_partition(config_, plan_);
    std::vector<ChunkGraph> chunks;
    for (std::int64_t v = 0; v < plan_.virtual_stages; ++v)
      chunks.push_back(chunk(v * plan_.pp + stage_, partition, ForwardMode::kTrain));

    const Model& model = model_of(config_.architecture);
    const bool at_an_end = stage_ == 0 || stage_ == plan_.pp - 1;
    ReductionRequest reduction{
        .stage = stage_, .fp16 = request_.dtype == DType::kF16, .optimizer = request_.optimizer};
    if (plan_.pp > 1 && at_an_end && config_.tied_embeddings)
      reduction.tied_parameter = model.word_embeddings();
    ReductionGraph after = build_reduction(chunks, plan_, reduction, request_.layout);

    const std::size_t after_graph = chunks.size();
    for (std::size_t c = 0; c < chunks.size(); ++c) add_chunk_sections(c, chunks[c], after);
    for (std::size_t b = 0; b < after.buckets.size(); ++b)
      reductions_.push_back(add_section(format("reduce_{}", b), after_graph, after.buckets[b].ops));
    const SectionId optimizer = add_section("optimizer", after_graph, after.optimizer);
    for (std::size_t g = 0; g < after.gathers.size(); ++g)
      add(add_section(format("gather_{}", g), after_graph, after.gathers[g]), 0);

    std::vector<Graph>& graphs = program_.graphs;
    for (ChunkGraph& chunk : chunks) graphs.push_back(std::move(chunk.graph));
    graphs.push_back(std::move(after.graph));
    program_.buckets = std::move(after.variables);
    if (accumulates()) {
      graphs.push_back(clearing_graph(graphs));
      const auto ops = static_cast<std::uint32_t>(graphs.back().ops().size());
      if (ops > 0) add(add_section("zero_gradients", graphs.size() - 1, {0, ops}), 0);
    }
    schedule(after);
    add(optimizer, 0);
    return finished();
  }

  // Forward through all chunks in the model's order: a stage with several meets the others in between.
  Program evaluation() {
    const std::vector<std::int64_t> partition = resolved_partition(config_, plan_);
    for (std::int64_t v = 0; v < plan_.virtual_stages; ++v) {
      ChunkGraph chunk = this->chunk(v * plan_.pp + stage_, partition, ForwardMode::kEvaluate);
      const std::size_t graph = program_.graphs.size();
      program_.graphs.push_back(std::move(chunk.graph));
      const std::string suffix = plan_.virtual_stages > 1 ? format("_{}", v) : "";
      add(add_section("receive_input" + suffix, graph, chunk.receive_input), 0);
      add(add_section("forward" + suffix, graph, chunk.forward), 0);
      add(add_section("send_output" + suffix, graph, chunk.send_output), 0);
    }
    return finished();
  }

  Program inference() {
    const bool generates = request_.kind == StepKind::kGenerate;
    // The prefill makes the first token, so there is one decode less than output tokens.
    const std::int64_t decodes = generates                            ? request_.output_tokens - 1
                                 : request_.kind == StepKind::kDecode ? 1
                                                                      : 0;
    ForwardOptions step = options(ForwardMode::kPrefill);
    step.seq_length = request_.input_tokens;
    step.cache_length = request_.input_tokens + decodes;
    if (request_.kind != StepKind::kDecode) add(add_forward(step, step.seq_length, "prefill"), 0);
    if (decodes > 0) {
      step.mode = ForwardMode::kDecode;
      step.seq_length = 1;
      const SectionId decode = add_forward(step, 1, "decode");
      for (std::int64_t i = 0; i < decodes; ++i)
        program_.instructions.push_back({.section = decode,
                                         .micro_batch = static_cast<std::int32_t>(i),
                                         .context = {.position = request_.input_tokens + i}});
    }
    return finished();
  }

 private:
  static constexpr SectionId kNoSection{0xffffffff};

  struct ChunkSections {
    SectionId receive_input, forward, send_output, receive_gradient, send_gradient;
    // The backward pass, cut where buckets become ready; then[i] are the buckets to reduce after part i.
    std::vector<SectionId> backward;
    std::vector<std::vector<std::size_t>> then;
  };

  bool accumulates() const { return plan_.micro_batches > 1 || request_.keeps_gradients; }

  ForwardOptions options(ForwardMode mode) const {
    return {.mode = mode,
            .batch_size = request_.batch_size / plan_.micro_batches,
            .seq_length = request_.seq_length / plan_.cp,
            .dtype = request_.dtype,
            .fp8 = request_.fp8,
            .fused_attention = request_.fused_attention,
            .sampling = request_.sampling,
            .keeps_logits = request_.keeps_logits && mode != ForwardMode::kPrefill,
            .experts = request_.experts,
            .token_groups = plan_.micro_batches * plan_.dp,
            .token_limit = request_.token_limit};
  }

  ChunkGraph chunk(std::int64_t number, const std::vector<std::int64_t>& partition, ForwardMode mode) const {
    std::int64_t first_layer = 0;
    for (std::int64_t i = 0; i < number; ++i) first_layer += partition[i];
    return build_chunk(config_, plan_,
                       {.options = options(mode),
                        .whole_tokens = request_.seq_length,
                        .number = number,
                        .chunks = plan_.pp * plan_.virtual_stages,
                        .first_layer = first_layer,
                        .end_layer = first_layer + partition[number],
                        .recompute = request_.recompute,
                        .accumulate = mode == ForwardMode::kTrain && accumulates()});
  }

  // A span without ops makes no section.
  SectionId add_section(std::string name, std::size_t graph, OpSpan ops) {
    if (ops.empty()) return kNoSection;
    program_.sections.push_back(
        {.name = std::move(name), .graph = graph, .first_op = ops.first, .end_op = ops.end});
    return SectionId{static_cast<std::uint32_t>(program_.sections.size() - 1)};
  }

  // Each section has one stream: that of computation if it computes anything, or that of its communication.
  Program finished() {
    std::vector<StreamId> streams;
    for (const Section& section : program_.sections) streams.push_back(stream_of_section(program_, section));
    for (Instruction& instruction : program_.instructions)
      instruction.stream = streams[static_cast<std::size_t>(instruction.section)];
    program_.slots.resize(program_.graphs.size(), 1);
    return std::move(program_);
  }

  void add(SectionId section, std::int64_t micro_batch, bool with_next = false) {
    if (section == kNoSection) return;
    program_.instructions.push_back(
        {.section = section, .micro_batch = static_cast<std::int32_t>(micro_batch), .with_next = with_next});
  }

  void add_chunk_sections(std::size_t c, const ChunkGraph& chunk, const ReductionGraph& after) {
    const std::string suffix = plan_.virtual_stages > 1 ? format("_{}", c) : "";
    ChunkSections sections;
    sections.receive_input = add_section("receive_input" + suffix, c, chunk.receive_input);
    sections.forward = add_section("forward" + suffix, c, chunk.forward);
    sections.send_output = add_section("send_output" + suffix, c, chunk.send_output);
    sections.receive_gradient = add_section("receive_gradient" + suffix, c, chunk.receive_gradient);
    std::uint32_t from = chunk.backward.first;
    sections.then.emplace_back();
    for (std::size_t b = 0; b < after.buckets.size(); ++b) {
      const ReductionGraph::Bucket& bucket = after.buckets[b];
      if (bucket.chunk != c || bucket.at_end || bucket.ops.empty()) continue;
      const std::uint32_t to = bucket.ready_after + 1;
      if (to > from) {
        sections.backward.push_back(add_section("backward" + suffix, c, {from, to}));
        sections.then.emplace_back();
        from = to;
      }
      sections.then[sections.backward.size()].push_back(b);
    }
    if (from < chunk.backward.end) {
      sections.backward.push_back(add_section("backward" + suffix, c, {from, chunk.backward.end}));
      sections.then.emplace_back();
    }
    sections.send_gradient = add_section("send_gradient" + suffix, c, chunk.send_gradient);
    chunks_.push_back(std::move(sections));
  }

  void schedule(const ReductionGraph& after) {
    const PipelineRequest pipeline{.kind = plan_.schedule,
                                   .stages = plan_.pp,
                                   .virtual_stages = plan_.virtual_stages,
                                   .micro_batches = plan_.micro_batches};
    const auto rounds = pipeline_rounds(pipeline);
    for (const PipelineRound& round : rounds[stage_]) {
      if (round.task) run(*round.task);
      for (std::size_t i = 0; i < round.exchange.size(); ++i) {
        const PipelineTransfer& transfer = round.exchange[i];
        const ChunkSections& sections = chunks_[transfer.chunk];
        const SectionId section =
            transfer.send ? (transfer.gradient ? sections.send_gradient : sections.send_output)
                          : (transfer.gradient ? sections.receive_gradient : sections.receive_input);
        add(section, transfer.micro_batch, i + 1 < round.exchange.size());
      }
    }
    for (std::size_t b = 0; b < after.buckets.size(); ++b)
      if (after.buckets[b].at_end) add(reductions_[b], plan_.micro_batches - 1);
    for (std::int64_t v = 0; v < plan_.virtual_stages; ++v)
      program_.slots.push_back(slots_needed(pipeline, stage_, v));
  }

  void run(const PipelineTask& task) {
    const ChunkSections& sections = chunks_[task.chunk];
    if (!task.backward) return add(sections.forward, task.micro_batch);
    const bool last = task.micro_batch == plan_.micro_batches - 1;
    for (std::size_t part = 0; part <= sections.backward.size(); ++part) {
      if (part > 0) add(sections.backward[part - 1], task.micro_batch);
      if (last && part < sections.then.size())
        for (const std::size_t bucket : sections.then[part]) add(reductions_[bucket], task.micro_batch);
    }
  }

  // With several micro-batches the gradients, the losses and what is counted are sums: they start from zero.
  static Graph clearing_graph(const std::vector<Graph>& graphs) {
    GraphBuilder builder;
    const auto phase = builder.in_phase(Phase::kOptimizer);
    const auto scope = builder.in_layer("optimizer");
    for (std::size_t g = 0; g + 1 < graphs.size(); ++g)  // all but the one that follows the chunks
      for (const TensorId summed : summed_variables(graphs[g]))
        if (!builder.graph().find_tensor(graphs[g].tensor(summed).name))
          fill(builder, builder.variable(graphs[g].tensor(summed)), 0);
    return builder.take();
  }

  // In the order of the graph's tensors.
  static std::vector<TensorId> summed_variables(const Graph& graph) {
    std::vector<char> is_added_to(graph.tensors().size(), 0);
    for (const Op& op : graph.ops())
      for (const OpOutput& output : op.outputs)
        if (output.accumulate) is_added_to[index(output.tensor)] = 1;
    std::vector<TensorId> variables;
    for (std::uint32_t t = 0; t < graph.tensors().size(); ++t) {
      const Role role = graph.tensors()[t].role;
      if (role == Role::kGradient || (role == Role::kMetric && is_added_to[t] != 0))
        variables.push_back(TensorId{t});
    }
    return variables;
  }

  SectionId add_forward(const ForwardOptions& step, std::int64_t whole_tokens, std::string name) {
    ChunkGraph chunk = build_chunk(
        config_, plan_, {.options = step, .whole_tokens = whole_tokens, .end_layer = config_.layers});
    program_.graphs.push_back(std::move(chunk.graph));
    return add_section(std::move(name), program_.graphs.size() - 1, chunk.forward);
  }

  const ModelConfig& config_;
  const StepRequest& request_;
  const Plan& plan_;
  const std::int64_t stage_;
  Program program_;
  std::vector<ChunkSections> chunks_;
  std::vector<SectionId> reductions_;
};

}  // namespace

std::span<const StepKindEntry> step_kinds() {
  return kStepKinds;
}

std::string_view to_string(StepKind kind) {
  for (const StepKindEntry& entry : kStepKinds)
    if (entry.kind == kind) return entry.name;
  unreachable();
}

std::vector<std::int64_t> resolved_partition(const ModelConfig& config, const Plan& plan) {
  if (!plan.partition.empty()) return plan.partition;
  const std::int64_t chunks = plan.pp * plan.virtual_stages;
  std::vector<std::int64_t> layers(chunks, config.layers / chunks);
  for (std::int64_t i = 0; i < config.layers % chunks; ++i) ++layers[i];
  return layers;
}

Program build_step(const ModelConfig& config, const StepRequest& request, const Plan& plan,
                   std::int64_t stage) {
  check_request(config, request);
  check_plan(config, request, plan);
  check(stage >= 0 && stage < plan.pp, "a stage is outside of the plan");
  ProgramBuilder builder(config, request, plan, stage);
  switch (request.kind) {
    case StepKind::kTrain:
      return builder.training();
    case StepKind::kEvaluate:
      return builder.evaluation();
    case StepKind::kPrefill:
    case StepKind::kDecode:
    case StepKind::kGenerate:
      return builder.inference();
  }
  unreachable();
}

}  // namespace nadi::inline describe
