// The sums over a program's ops against closed forms that are written down here independently, to the last
// digit, for random configurations of each architecture.
//
// Letters: B sequences of T tokens, N = B*T; L layers, width C, H heads and K key-value heads of width D,
// feed-forward width F, vocabulary V. A product of [m, k] by [k, n] takes 2mkn.

#include "nadi/parallel/program_summary.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {
namespace {

struct Case {
  ModelConfig config;
  StepRequest request;
};

Case random_case(std::mt19937& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Case c;
  ModelConfig& config = c.config;
  config.name = "random";
  config.architecture = std::array{architecture_named("gpt2"),  architecture_named("bert"),
                                   architecture_named("llama"), architecture_named("mistral"),
                                   architecture_named("qwen2"), architecture_named("qwen3")}[pick(0, 5)];
  const bool llama = config.architecture->rotary();
  config.kv_heads = pick(1, 4);
  config.heads = config.kv_heads * (llama ? pick(1, 4) : 1);
  config.head_width = 2 * pick(1, 40);
  config.width = llama ? pick(3, 300) : config.heads * config.head_width;
  config.ffn_width = pick(5, 999);
  config.layers = pick(1, 7);
  config.vocabulary = pick(11, 4000);
  config.positions = pick(40, 90);
  config.token_types = 2;
  config.activation = pick(0, 1) != 0 ? Activation::kGeluTanh : Activation::kGeluErf;
  config.tied_embeddings = !llama || pick(0, 1) != 0;
  config.attention_output_bias = config.ffn_bias = !llama;
  config.attention_bias = !llama || config.architecture == architecture_named("qwen2");
  if (pick(0, 1) != 0) config.embedding_dropout = 0.1;
  if (pick(0, 1) != 0) config.attention_dropout = 0.1;
  if (pick(0, 1) != 0) config.residual_dropout = 0.1;
  if (llama) config.embedding_dropout = config.residual_dropout = 0;
  c.request = {.batch_size = pick(1, 5), .seq_length = pick(1, 40)};
  return c;
}

struct Work {
  std::int64_t linear_without_head, head, attention, other;
};

// Scalar operations per element, as each op's file states them.
constexpr std::int64_t kLayerNorm = 7, kLayerNormGrad = 14, kRmsNorm = 4, kRmsNormGrad = 10, kSwiglu = 6,
                       kSwigluGrad = 12, kRotary = 3, kCrossEntropy = 4, kCrossEntropyGrad = 4, kSoftmax = 6,
                       kSoftmaxGrad = 6, kDropout = 2, kAdam = 17, kNorm = 2;

class ClosedForm {
 public:
  explicit ClosedForm(const Case& c)
      : config(c.config),
        B(c.request.batch_size),
        T(c.request.seq_length),
        N(B * T),
        L(config.layers),
        C(config.width),
        H(config.heads),
        K(config.kv_heads),
        D(config.head_width),
        F(config.ffn_width),
        V(config.vocabulary) {}

  bool llama() const { return config.architecture->rotary(); }
  // Columns of queries, keys and values that have biases.
  std::int64_t biased() const { return llama() && config.attention_bias ? (H + 2 * K) * D : 0; }
  bool gpt2() const { return config.architecture == architecture_named("gpt2"); }
  bool bert() const { return config.architecture == architecture_named("bert"); }
  bool qwen3() const { return config.architecture == architecture_named("qwen3"); }
  // Columns of queries and keys, which Qwen3 norms head by head.
  std::int64_t normed() const { return qwen3() ? (H + K) * D : 0; }

  std::int64_t block_weights() const { return C * (H + 2 * K) * D + H * D * C + (llama() ? 3 : 2) * C * F; }
  std::int64_t pairs() const { return B * H * (bert() ? T * T : T * (T + 1) / 2); }

  std::int64_t parameters() const {
    if (gpt2()) {
      // Biases: 3C, C, F, C; two norms of 2C.
      return V * C + config.positions * C + L * (block_weights() + 9 * C + F) + 2 * C;
    } else if (bert()) {
      return V * C + config.positions * C + 2 * C + 2 * C + L * (block_weights() + 9 * C + F) +
             (C * C + C + 2 * C) + V;
    } else {
      return (config.tied_embeddings ? 1 : 2) * V * C +
             L * (block_weights() + 2 * C + biased() + (qwen3() ? 2 * D : 0)) + C;
    }
  }

  Work forward() const {
    const std::int64_t gelu = config.activation == Activation::kGeluTanh ? 9 : 5;
    const std::int64_t drop_e = config.embedding_dropout > 0 ? kDropout : 0;
    const std::int64_t drop_r = config.residual_dropout > 0 ? kDropout : 0;
    const std::int64_t drop_a = config.attention_dropout > 0 ? kDropout : 0;
    std::int64_t other = L * pairs() * (kSoftmax + drop_a) + kCrossEntropy * N * V;
    if (gpt2()) {
      other += N * C * (1 + drop_e);  // positions added
      // Two norms, biases 3C + C + F + C, two residuals with dropout, the activation.
      other += L * (2 * kLayerNorm * N * C + 5 * N * C + N * F + 2 * N * C * (1 + drop_r) + gelu * N * F);
      other += kLayerNorm * N * C;
    } else if (bert()) {
      other += N * C * (2 + kLayerNorm + drop_e);
      other += L * (2 * kLayerNorm * N * C + 5 * N * C + N * F + 2 * N * C * (1 + drop_r) + gelu * N * F);
      other += N * C * (1 + gelu + kLayerNorm) + N * V;  // the head's own layer, and its bias
    } else {
      other += L * N * (biased() + kRmsNorm * normed());
      other += L * (2 * kRmsNorm * N * C + kRotary * N * (H + K) * D + kSwiglu * N * F + 2 * N * C);
      other += kRmsNorm * N * C;
    }
    return {.linear_without_head = 2 * N * L * block_weights(),
            .head = 2 * N * C * V + (bert() ? 2 * N * C * C : 0),
            .attention = L * 4 * D * pairs(),
            .other = other};
  }

  Work backward() const {
    const bool tanh_form = config.activation == Activation::kGeluTanh;
    const std::int64_t gelu_grad = tanh_form ? 9 + 9 + 1 : 5 + 4 + 1;
    const std::int64_t drop_e = config.embedding_dropout > 0 ? kDropout : 0;
    const std::int64_t drop_r = config.residual_dropout > 0 ? kDropout : 0;
    const std::int64_t drop_a = config.attention_dropout > 0 ? kDropout : 0;
    // The sum of y * dy per query takes 2 per element.
    std::int64_t other = L * (pairs() * (kSoftmaxGrad + drop_a) + 2 * N * H * D) + kCrossEntropyGrad * N * V;
    other += N * C;  // rows added up in the gradient of the word embeddings
    if (gpt2()) {
      // Norms, bias sums, dropout, the activation, and the two places where the residual stream branches.
      other += L * (2 * kLayerNormGrad * N * C + 5 * N * C + N * F + 2 * N * C * drop_r + gelu_grad * N * F +
                    2 * N * C);
      other += kLayerNormGrad * N * C;
      other +=
          N * C * drop_e + N * C + T * C;  // positions: summed over sequences, then over rows of the table
    } else if (bert()) {
      // Three products read the block's input: two more contributions than GPT-2's one, besides the
      // residual.
      other += L * (2 * kLayerNormGrad * N * C + 5 * N * C + N * F + 2 * N * C * drop_r + gelu_grad * N * F +
                    4 * N * C);
      other += N * V + N * C * (kLayerNormGrad + gelu_grad + 1);
      other += N * C * (drop_e + kLayerNormGrad) + N * C + T * C + N * C;  // positions, token types
    } else {
      other += L * N * (biased() + kRmsNormGrad * normed());  // sums of rows
      // Branches: residual (2), three products of one norm (2), gate and up (1).
      other += L * (2 * kRmsNormGrad * N * C + kRotary * N * (H + K) * D + kSwigluGrad * N * F + 5 * N * C);
      other += kRmsNormGrad * N * C;
    }
    const Work f = forward();
    return {.linear_without_head = 2 * f.linear_without_head,
            .head = 2 * f.head,
            .attention = L * 10 * D * pairs(),
            .other = other};
  }

  const ModelConfig& config;
  std::int64_t B, T, N, L, C, H, K, D, F, V;
};

void expect_equal(const WorkSummary& work, const Work& expected) {
  EXPECT_EQ(work.linear_without_head().count(), expected.linear_without_head);
  EXPECT_EQ(work.head.count(), expected.head);
  EXPECT_EQ(work.attention.count(), expected.attention);
  EXPECT_EQ(work.cost.vector.count(), expected.other);
}

TEST(ProgramSummary, EqualsTheClosedFormsOf50RandomConfigurations) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    const Case c = random_case(random);
    SCOPED_TRACE(testing::Message() << "trial " << trial << " " << to_string(c.config.architecture));
    const ClosedForm form(c);
    const ProgramSummary summary = summarize(build_step(c.config, c.request));
    EXPECT_EQ(summary.parameters, form.parameters());
    expect_equal(summary.phases[static_cast<int>(Phase::kForward)], form.forward());
    expect_equal(summary.phases[static_cast<int>(Phase::kBackward)], form.backward());
    const WorkSummary& optimizer = summary.phases[static_cast<int>(Phase::kOptimizer)];
    EXPECT_EQ(optimizer.cost.flops().count(), (kAdam + kNorm) * form.parameters());
    // Parameters by layer, work by layer and work by kind of op add up to the same.
    std::int64_t parameters = 0;
    Flops by_layer, by_kind;
    for (const LayerSummary& layer : summary.layers) {
      parameters += layer.parameters;
      by_layer += layer.total().cost.flops();
    }
    for (const auto& [kind, work] : summary.op_kinds) by_kind += work.cost.flops();
    EXPECT_EQ(parameters, summary.parameters);
    EXPECT_EQ(by_layer, summary.total().cost.flops());
    EXPECT_EQ(by_kind, summary.total().cost.flops());
  }
}

TEST(ProgramSummary, Gpt2) {
  const ProgramSummary summary =
      summarize(build_step(*find_built_in_model("gpt2"), {.batch_size = 4, .seq_length = 512}));
  // 2 * 2048 tokens * 12 layers * 768 * (2304 + 768 + 3072 + 3072)
  EXPECT_EQ(summary.phases[0].linear_without_head().count(), 347'892'350'976);
  // Forward, and twice that for the gradients of inputs and weights; head: 2 * 2048 * 768 * 50257.
  EXPECT_EQ(summary.total().linear.count(), 3 * (347'892'350'976 + std::int64_t{2} * 2048 * 768 * 50257));
  // fp32: weights, gradients and two moments.
  const std::int64_t weights = 4 * 124'439'808;
  EXPECT_EQ(summary.memory.of(Role::kParameter).count(), weights);
  EXPECT_EQ(summary.memory.of(Role::kGradient).count(), weights);
  EXPECT_EQ(summary.memory.of(Role::kOptimizerState).count(), 2 * weights);
}

TEST(ProgramSummary, MicroBatchesDoTheSameWorkInLessMemory) {
  const ModelConfig& gpt2 = *find_built_in_model("gpt2");
  const ProgramSummary whole = summarize(build_step(gpt2, {.batch_size = 4, .seq_length = 128}));
  const ProgramSummary parts =
      summarize(build_step(gpt2, {.batch_size = 4, .seq_length = 128}, {.micro_batches = 4}));
  EXPECT_EQ(parts.total().linear, whole.total().linear);
  EXPECT_EQ(parts.total().attention, whole.total().attention);
  EXPECT_LT(parts.memory.activations.count(), whole.memory.activations.count() / 3);
  EXPECT_EQ(parts.memory.of(Role::kGradient), whole.memory.of(Role::kGradient));
}

TEST(ProgramSummary, FullRecomputationRepeatsTheBlocks) {
  const ModelConfig& llama = *find_built_in_model("llama3.1-8b");
  const StepRequest plain{.batch_size = 1, .seq_length = 256, .dtype = DType::kBF16};
  StepRequest full = plain;
  full.recompute.granularity = Recompute::Granularity::kFull;
  const ProgramSummary before = summarize(build_step(llama, plain));
  const ProgramSummary after = summarize(build_step(llama, full));
  const WorkSummary& again = after.phases[static_cast<int>(Phase::kRecompute)];
  // Everything but the last product of each block (its result goes to the residual stream, which nobody needs
  // again): 2 * 256 * 32 layers * 14336 * 4096 less.
  EXPECT_EQ(again.linear.count(),
            before.phases[0].linear_without_head().count() - std::int64_t{2} * 256 * 32 * 14336 * 4096);
  EXPECT_EQ(again.attention, before.phases[0].attention);
  EXPECT_LT(after.memory.activations.count(), before.memory.activations.count() / 3);
}

TEST(ProgramSummary, SelectiveRecomputationOfUnfusedAttentionDropsTheScores) {
  const ModelConfig& gpt2 = *find_built_in_model("gpt2");
  StepRequest request{.batch_size = 4, .seq_length = 512, .fused_attention = false};
  const ProgramSummary before = summarize(build_step(gpt2, request));
  request.recompute.granularity = Recompute::Granularity::kSelective;
  const ProgramSummary after = summarize(build_step(gpt2, request));
  // Softmax and dropout keep [B, H, T, T] in each layer: at least one of them per layer is gone.
  const std::int64_t scores = std::int64_t{4} * 12 * 512 * 512 * 4;
  EXPECT_GT((before.memory.activations - after.memory.activations).count(), 11 * scores);
  EXPECT_EQ(after.phases[static_cast<int>(Phase::kRecompute)].linear, Flops{0});
}

TEST(ProgramSummary, GenerateCountsEachTokenAtItsPosition) {
  const ModelConfig& config = *find_built_in_model("gpt3-125m");
  const ProgramSummary summary = summarize(build_step(
      config, {.kind = StepKind::kGenerate, .batch_size = 1, .input_tokens = 10, .output_tokens = 20}));
  // Prefill: pairs on or below the diagonal. Decode at position p: p + 1 keys, p = 10 .. 28: the prefill
  // makes one of the 20 tokens.
  std::int64_t pairs = 10 * 11 / 2;
  for (std::int64_t p = 10; p < 29; ++p) pairs += p + 1;
  EXPECT_EQ(summary.total().attention.count(), 12 * 4 * 768 * pairs);
  // The head runs once per step, on one row.
  EXPECT_EQ(summary.total().head.count(), std::int64_t{20} * 2 * 768 * 50257);
  EXPECT_EQ(summary.total().linear_without_head().count(), 29 * 2 * std::int64_t{12} * 12 * 768 * 768);
  // Keys and values of 29 tokens in 12 layers.
  EXPECT_EQ(summary.memory.of(Role::kCache).count(), 12 * 2 * 29 * 768 * 4);
}

TEST(ProgramSummary, EarlyStagesHoldMoreMicroBatches) {
  const ModelConfig& gpt2 = *find_built_in_model("gpt2");
  const Plan plan{.pp = 4, .micro_batches = 8};
  const StepRequest request{.batch_size = 8, .seq_length = 128};
  std::vector<MemorySummary> stages;
  for (std::int64_t stage = 0; stage < 4; ++stage)
    stages.push_back(summarize(build_step(gpt2, request, plan, stage)).memory);
  // 1F1B: stage s has 4 - s micro-batches under way.
  for (std::int64_t stage = 0; stage < 4; ++stage) EXPECT_EQ(stages[stage].slots, 4 - stage);
  // Stages 1 and 2 have the same three layers, so they differ by one slot; what a layer keeps per token and
  // width, in fp32: two norm inputs, q k v, attention, four times the width before and after the activation,
  // two dropouts' and products' results are not kept.
  const Bytes slot = stages[1].activations - stages[2].activations;
  EXPECT_GT(slot.count(), 3 * 128 * 768 * 4 * 12);
  EXPECT_LT(slot.count(), 3 * 128 * 768 * 4 * 20);
}

TEST(ProgramSummary, ATensorParallelRankHoldsItsPart) {
  const ModelConfig& llama = *find_built_in_model("llama3.1-8b");
  const StepRequest request{.batch_size = 1, .seq_length = 128, .dtype = DType::kBF16};
  const ProgramSummary whole = summarize(build_step(llama, request));
  const ProgramSummary part = summarize(build_step(llama, request, {.tp = 8}, 0));
  // All matrices are split by 8; 65 norms of 4096 are not.
  const std::int64_t norms = 65 * 4096;
  EXPECT_EQ(part.parameters, (whole.parameters - norms) / 8 + norms);
  EXPECT_EQ(part.total().linear * 8, whole.total().linear);
  EXPECT_EQ(part.total().attention * 8, whole.total().attention);
  // Per layer two sums of the stream forward and two backward, one behind the embedding, one before the head;
  // and the loss: the largest logit, the sums (two numbers), per token in fp32; the norm.
  const std::int64_t stream = 128 * 4096 * 2;
  EXPECT_EQ(part.communication.at("tp").sent.count(), (32 * 4 + 2) * stream + 128 * 4 * 3);
}

TEST(ProgramSummary, ZeroStage1SplitsTheOptimizerStateOnly) {
  const ModelConfig& gpt2 = *find_built_in_model("gpt2");
  const StepRequest request{.batch_size = 1, .seq_length = 64, .dtype = DType::kBF16};
  const std::int64_t parameters = 124'439'808;
  const ProgramSummary summary = summarize(build_step(gpt2, request, {.dp = 8, .zero_stage = 1}, 0));
  EXPECT_EQ(summary.memory.of(Role::kParameter).count(), 2 * parameters);
  EXPECT_EQ(summary.memory.of(Role::kGradient).count(), 4 * parameters);
  // Master and two moments of an eighth; each bucket is padded by less than 8 elements.
  const std::int64_t state = summary.memory.of(Role::kOptimizerState).count();
  EXPECT_GE(state, 12 * parameters / 8);
  EXPECT_LT(state, 12 * parameters / 8 + 12 * 100);
  // Gradients are given to the reduction in fp32, an eighth of the new weights in bf16 to the gathering; and
  // the norm.
  const std::int64_t sent = summary.communication.at("dp").sent.count();
  EXPECT_GE(sent, 4 * parameters + 2 * parameters / 8);
  EXPECT_LT(sent, 4 * parameters + 2 * parameters / 8 + 1000);
}

TEST(ProgramSummary, MixedPrecisionMemory) {
  const ModelConfig& gpt2 = *find_built_in_model("gpt2");
  const std::int64_t parameters = 124'439'808;
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const ProgramSummary summary =
        summarize(build_step(gpt2, {.batch_size = 1, .seq_length = 64, .dtype = dtype}));
    EXPECT_EQ(summary.memory.of(Role::kParameter).count(), 2 * parameters);
    EXPECT_EQ(summary.memory.of(Role::kGradient).count(), 4 * parameters);
    EXPECT_EQ(summary.memory.of(Role::kOptimizerState).count(), 12 * parameters);  // master and two moments
  }
}

}  // namespace
}  // namespace nadi::inline describe
