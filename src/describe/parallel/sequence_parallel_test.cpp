// Memory and traffic of sequence parallelism, term by term, against Megatron's: Korthikanti et al. 2022,
// "Reducing Activation Recomputation in Large Transformer Models".
//
// Letters: b sequences of s tokens, width h, a heads, t tensor-parallel ranks; values have 2 bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "nadi/graph/kept_values.h"
#include "nadi/graph/op_definition.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/chunk_graph.h"
#include "nadi/parallel/program_memory.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using enum Recompute::Granularity;

constexpr std::int64_t b = 2, s = 64, h = 512, a = 8, t = 4, kLayers = 4;
constexpr std::int64_t sbh = s * b * h;

ModelConfig model(Architecture architecture = architecture_named("gpt2")) {
  const bool llama = architecture == architecture_named("llama");
  return {.name = "small",
          .architecture = architecture,
          .vocabulary = 64,
          .positions = s,
          .layers = kLayers,
          .width = h,
          .heads = a,
          .kv_heads = a,
          .head_width = h / a,
          .ffn_width = 4 * h,
          .token_types = 2,
          .activation = Activation::kGeluTanh,
          .embedding_dropout = llama ? 0 : 0.1,
          .attention_dropout = llama ? 0 : 0.1,
          .residual_dropout = llama ? 0 : 0.1,
          .tied_embeddings = !llama,
          .attention_bias = !llama,
          .attention_output_bias = !llama,
          .ffn_bias = !llama};
}

StepRequest request(Recompute recompute = {}, bool fused = true) {
  StepRequest request{.batch_size = b, .seq_length = s, .dtype = DType::kBF16, .fused_attention = fused};
  request.recompute = recompute;
  return request;
}

const Plan kTensor{.tp = t};
const Plan kSequence{.tp = t, .sequence_parallel = true};

// Bytes that block 1 keeps, by the name of the value within the block.
std::map<std::string, std::int64_t> kept_by(const StepRequest& request, const Plan& plan,
                                            const ModelConfig& config = model()) {
  const Program program = build_step(config, request, plan, 0);
  std::map<std::string, std::int64_t> kept;
  for (const KeptValue& value : kept_for_backward(program.graphs[0])) {
    if (value.block != 1) continue;
    const std::string& name = program.graphs[0].tensor(value.tensor).name;
    kept[name.substr(name.find(".1.") + 3)] = value.size.count();
  }
  return kept;
}

std::int64_t sum(const std::map<std::string, std::int64_t>& kept) {
  std::int64_t total = 0;
  for (const auto& [name, size] : kept) total += size;
  return total;
}

TEST(KeptByABlock, WithSequenceParallelismIsTheRanksShareOfEverything) {
  // The paper's terms of 34 s b h / t: inputs of the norms 4, of the column-split products 4, queries, keys
  // and values 6, attention's result 2, before and behind the activation 16; and two dropout masks of 1,
  // which are not kept here, since their numbers are counted.
  using Term = std::pair<const std::string, std::int64_t>;
  EXPECT_THAT(
      kept_by(request(), kSequence),
      UnorderedElementsAre(Term{"ln_1.layer_norm", 2 * sbh / t},
                           Term{"ln_1.layer_norm:1", 4 * s * b / t},  // mean of each row, fp32
                           Term{"ln_1.layer_norm:2", 4 * s * b / t},  // and its deviation
                           Term{"attn.c_attn.matmul", 6 * sbh / t}, Term{"attn.attention", 2 * sbh / t},
                           Term{"attn.attention:1", 4 * s * b * a / t},  // of each query's softmax
                           Term{"attn.add", 2 * sbh / t},                // input of ln_2
                           Term{"ln_2.layer_norm", 2 * sbh / t}, Term{"ln_2.layer_norm:1", 4 * s * b / t},
                           Term{"ln_2.layer_norm:2", 4 * s * b / t}, Term{"mlp.c_fc.matmul", 8 * sbh / t},
                           Term{"mlp.c_fc.matmul:1", 8 * sbh / t},  // before the activation
                           Term{"mlp.add", 2 * sbh / t}));          // input of the next ln_1
  const std::int64_t kept = sum(kept_by(request(), kSequence));
  EXPECT_EQ(kept, 32 * sbh / t + (16 + 4 * a) * s * b / t);
  EXPECT_LT(kept, 34 * sbh / t);
}

TEST(KeptByABlock, EqualsThePublishedFormulasButForMasks) {
  const std::int64_t rows = 16 * s * b;            // means and deviations of two norms
  const std::int64_t scores = s * s * b * a / t;   // of the rank's heads
  const std::int64_t queries = 4 * s * b * a / t;  // statistics of fused attention
  const StepRequest unfused = request({}, false);
  const StepRequest selective = request({.granularity = kSelective}, false);
  // s b h (10 + 24 / t), of which 2 are masks.
  EXPECT_EQ(sum(kept_by(request(), kTensor)), 8 * sbh + 24 * sbh / t + rows + queries);
  // 5 a s^2 b / t more, of which 1 is a mask.
  EXPECT_EQ(sum(kept_by(unfused, kTensor)), 8 * sbh + 24 * sbh / t + rows + 4 * scores);
  EXPECT_EQ(sum(kept_by(unfused, kSequence)), 32 * sbh / t + rows / t + 4 * scores);
  EXPECT_EQ(sum(kept_by(selective, kTensor)), 8 * sbh + 24 * sbh / t + rows);
  EXPECT_EQ(sum(kept_by(selective, kSequence)), 32 * sbh / t + rows / t);
  // 2 s b h, and with sequence parallelism the rank's share.
  EXPECT_EQ(sum(kept_by(request({.granularity = kFull}), kTensor)), 2 * sbh);
  EXPECT_EQ(sum(kept_by(request({.granularity = kFull}), kSequence)), 2 * sbh / t);
}

TEST(KeptByABlock, OfEveryArchitectureAndOfFp8IsSplit) {
  // One tensor-parallel rank more halves what is kept, to the byte.
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama")}) {
    SCOPED_TRACE(to_string(architecture));
    for (const bool fp8 : {false, true}) {
      StepRequest with = request();
      with.fp8 = fp8;
      std::map<std::int64_t, std::int64_t> kept;
      for (const std::int64_t ranks : {2, 4}) {
        const Program program =
            build_step(model(architecture), with, {.tp = ranks, .sequence_parallel = true}, 0);
        for (const KeptValue& value : kept_for_backward(program.graphs[0])) {
          const Tensor& tensor = program.graphs[0].tensor(value.tensor);
          // The quantised weights are not activations, and the scale of a tensor is one number.
          const bool of_weight = fp8 && tensor.shape.rank() <= 2 && !tensor.name.ends_with("norm:1") &&
                                 !tensor.name.ends_with("norm:2");
          if (value.block == 1 && !of_weight) kept[ranks] += value.size.count();
        }
      }
      EXPECT_GT(kept[4], 0);
      EXPECT_EQ(kept[2], 2 * kept[4]) << "fp8 " << fp8;
    }
  }
}

TEST(ActivationMemory, GrowsByWhatALayerKeeps) {
  ModelConfig more = model();
  more.layers = kLayers + 1;
  for (const Plan& plan : {kTensor, kSequence}) {
    const MemorySummary before = summarize(build_step(model(), request(), plan, 0)).memory;
    const MemorySummary after = summarize(build_step(more, request(), plan, 0)).memory;
    EXPECT_EQ((after.activations_live - before.activations_live).count(), sum(kept_by(request(), plan)));
    EXPECT_EQ(after.kept - before.kept, after.kept_per_block);
    EXPECT_EQ(after.kept_per_block.count(), sum(kept_by(request(), plan)));
  }
}

struct Traffic {
  int gathers = 0, scatters = 0;
  std::int64_t sent = 0;
  bool operator==(const Traffic&) const = default;
};
void PrintTo(const Traffic& traffic, std::ostream* out) {
  *out << traffic.gathers << " all-gathers, " << traffic.scatters << " reduce-scatters, " << traffic.sent;
}

// What block 1 sends in a phase.
Traffic traffic_of(const ModelConfig& config, const StepRequest& request, Phase phase) {
  const Program program = build_step(config, request, kSequence, 0);
  const Graph& graph = program.graphs[0];
  Traffic traffic;
  for (const Op& op : graph.ops()) {
    if (op.block != 1 || op.phase != phase || !is_communication(definition(op.kind).op_class)) continue;
    EXPECT_EQ(op.attributes.text("group"), "tp");
    traffic.gathers += op.kind == OpKind::kAllGather;
    traffic.scatters += op.kind == OpKind::kReduceScatter;
    traffic.sent += cost_of(graph, op).sent.count();
  }
  return traffic;
}

TEST(TrafficOfABlock, IsMegatrons) {
  const std::int64_t whole = 2 * sbh, part = whole / t;  // a gather is given the part, a scatter the whole
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama")}) {
    SCOPED_TRACE(to_string(architecture));
    const ModelConfig config = model(architecture);
    const Traffic forward{.gathers = 2, .scatters = 2, .sent = 2 * part + 2 * whole};
    EXPECT_EQ(traffic_of(config, request(), Phase::kForward), forward);
    // The gradients of the two scatters, and the inputs of two column-split layers again.
    const Traffic backward{.gathers = 4, .scatters = 2, .sent = 4 * part + 2 * whole};
    EXPECT_EQ(traffic_of(config, request(), Phase::kBackward), backward);
    EXPECT_EQ(traffic_of(config, request(), Phase::kRecompute), Traffic{});
    const StepRequest full = request({.granularity = kFull});
    EXPECT_EQ(traffic_of(config, full, Phase::kForward), forward);
    EXPECT_EQ(traffic_of(config, full, Phase::kBackward), backward);
    // The last scatter of a block makes what goes to the next one, which nobody needs again. BERT's block
    // ends with a norm, which does.
    const int scatters = architecture == architecture_named("bert") ? 2 : 1;
    EXPECT_EQ(traffic_of(config, full, Phase::kRecompute),
              (Traffic{.gathers = 2, .scatters = scatters, .sent = 2 * part + scatters * whole}));
  }
}

// What an engine whose communication does not block can hide: the ops of a layer's backward pass in order.
std::vector<std::string> backward_ops(const Graph& graph, const std::string& layer) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops())
    if (op.phase == Phase::kBackward && graph.layer(op.layer).ends_with(layer))
      names.push_back(op.name.substr(op.name.find(layer) + layer.size() + 1));
  return names;
}

TEST(BackwardOfAColumnSplitLayer, GathersBesideTheInputsGradientAndScattersBesideTheWeights) {
  const Program program = build_step(model(), request(), kSequence, 0);
  EXPECT_THAT(backward_ops(program.graphs[0], "h.1.mlp.c_fc"),
              ElementsAre("all_gather.again", "gelu_grad", "matmul.grad_bias", "matmul.grad_a",
                          "reduce_scatter.grad", "matmul.grad_b"));
  EXPECT_THAT(backward_ops(program.graphs[0], "h.1.attn.c_attn"),
              ElementsAre("all_gather.again", "matmul.grad_bias", "matmul.grad_a", "reduce_scatter.grad",
                          "matmul.grad_b"));
  EXPECT_THAT(backward_ops(program.graphs[0], "lm_head"),
              testing::IsSupersetOf({"all_gather.again", "matmul.grad_a", "reduce_scatter.grad"}));
}

TEST(BackwardOfAColumnSplitLayer, OneGatherServesAllLayersOfAnInput) {
  for (const Architecture& architecture : {architecture_named("bert"), architecture_named("llama")}) {
    const Program program = build_step(model(architecture), request(), kSequence, 0);
    const Graph& graph = program.graphs[0];
    int checked = 0;
    for (std::uint32_t i = 0; i < graph.ops().size(); ++i) {
      const Op& gather = graph.ops()[i];
      if (gather.kind != OpKind::kAllGather || gather.phase != Phase::kBackward ||
          !gather.attributes.boolean("again") || gather.block < 0)
        continue;
      // The scatter of the same input's gradient, the first one behind.
      std::uint32_t scatter = i;
      while (graph.ops()[scatter].kind != OpKind::kReduceScatter) ++scatter;
      int readers = 0;
      for (std::uint32_t r = i + 1; r < graph.ops().size(); ++r)
        if (std::ranges::find(graph.ops()[r].inputs, gather.outputs[0].tensor) !=
            graph.ops()[r].inputs.end()) {
          // Directly behind it: whoever needs what is scattered comes later.
          EXPECT_EQ(r, scatter + 1 + static_cast<std::uint32_t>(readers)) << graph.ops()[r].name;
          ++readers;
        }
      const bool feed_forward = graph.layer(gather.layer).find("attention") == std::string::npos &&
                                graph.layer(gather.layer).find("attn") == std::string::npos;
      const int inner = architecture == architecture_named("bert") ? 1 : 2;  // Llama: gate and up
      EXPECT_EQ(readers, feed_forward ? inner : 3) << gather.name;
      ++checked;
    }
    EXPECT_EQ(checked, 2 * kLayers);
  }
}

// Where the backward pass is cut for the reduction of gradients, what the parts share stays in the arena:
// only what the forward pass keeps has a place for every micro-batch under way.
TEST(SlotsOfMicroBatches, HoldWhatIsKeptAndNothingElse) {
  const Plan plan{.tp = t, .dp = 2, .pp = 2, .sequence_parallel = true, .micro_batches = 4};
  StepRequest several = request();
  several.batch_size = 4 * b;
  several.layout.bucket_elements = 1000;  // a cut behind almost every gradient
  const Program program = build_step(model(), several, plan, 0);
  EXPECT_GT(std::ranges::count(program.sections, "backward", &Section::name), 5);
  // Which is only right while the reductions between the parts write variables and nothing in the arena.
  for (const Section& section : program.sections) {
    if (!section.name.starts_with("reduce_")) continue;
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i)
      for (const OpOutput& output : program.graph_of(section).ops()[i].outputs)
        EXPECT_TRUE(program.graph_of(section).tensor(output.tensor).variable);
  }
  const ProgramMemory memory = plan_program_memory(program);
  const Graph& graph = program.graphs[0];
  std::set<TensorId> kept;
  for (const KeptValue& value : kept_for_backward(graph)) kept.insert(value.tensor);
  for (std::size_t i = 0; i < graph.tensors().size(); ++i)
    if (memory.graphs[0].in_slot[i] != 0) {
      const Op& producer = graph.op(graph.tensors()[i].producer);
      const bool sent = std::ranges::any_of(graph.ops(), [&](const Op& op) {
        return op.kind == OpKind::kSend && op.inputs[0] == TensorId{static_cast<std::uint32_t>(i)};
      });
      EXPECT_TRUE(sent || kept.contains(TensorId{static_cast<std::uint32_t>(i)})) << producer.name;
    }
}

}  // namespace
}  // namespace nadi::inline describe
