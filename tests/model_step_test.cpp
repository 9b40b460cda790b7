// Whole steps of tiny models on the reference engine: gradients against finite differences, training with the
// optimizer, and the ways of computing the same step (recomputation, micro-batches, unfused attention, mixed
// precision, KV cache) against each other.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "nadi/reference/run_reference.h"
#include "random_integers.h"

namespace nadi {
namespace {

constexpr std::int64_t kBatch = 2, kTokens = 5;

// One job: a program, the variables, and a batch of data of which some targets do not count.
class Job {
 public:
  Job(const ModelConfig& config, StepRequest request, std::int64_t micro_batches = 1)
      : micro_batches_(micro_batches) {
    request.optimizer.learning_rate = {.decay = Decay::kConstant, .peak = 0.01};
    program_ = build_step(config, request, {.micro_batches = micro_batches});
    const std::int64_t tokens = kBatch * kTokens;
    ids_ = random_integers("ids", tokens, config.vocabulary);
    types_ = random_integers("types", tokens, 2);
    targets_ = random_integers("targets", tokens, config.vocabulary);
    targets_[3] = targets_[7] = -100;
    store_.set("token_count", {static_cast<double>(tokens - 2)});
    store_.set("schedule_advance", {1});
    for (const Graph& graph : program_.graphs) initialize(graph, store_, 1);
  }

  // Runs one step, or only its first instructions; the loss.
  double step(std::int64_t number = 1, std::size_t instructions = 1000) {
    std::vector<ReferenceSlot> slots(micro_batches_);
    std::vector<ReferenceStore> inputs;
    for (std::int64_t m = 0; m < micro_batches_; ++m) inputs.push_back(micro_batch(m, number));
    for (std::size_t i = 0; i < std::min(instructions, program_.instructions.size()); ++i) {
      const Instruction& instruction = program_.instructions[i];
      const Section& section = program_.section(instruction.section);
      ReferenceTask task{.graph = &program_.graph_of(section),
                         .ops = {section.first_op, section.end_op},
                         .inputs = &inputs[instruction.micro_batch]};
      if (section.graph == 0) task.slot = &slots[instruction.micro_batch];
      run_reference(task, store_);
    }
    return store_.get("loss").front();
  }

  double forward() { return step(1, 1); }
  ReferenceStore& store() { return store_; }
  const Graph& graph() const { return program_.graphs[0]; }

  // Name and value of every variable of a role.
  std::map<std::string, Doubles> variables(Role role) const {
    std::map<std::string, Doubles> all;
    for (const TensorId id : graph().tensors_with(role))
      all[graph().tensor(id).name] = store_.get(graph().tensor(id).name);
    return all;
  }

 private:
  ReferenceStore micro_batch(std::int64_t m, std::int64_t step) const {
    const std::int64_t sequences = kBatch / micro_batches_;
    const auto part = [&](const Doubles& all) {
      const auto first = all.begin() + m * sequences * kTokens;
      return Doubles(first, first + sequences * kTokens);
    };
    ReferenceStore inputs;
    inputs.set("input_ids", part(ids_));
    inputs.set("token_type_ids", part(types_));
    inputs.set("targets", part(targets_));
    inputs.set("random", {42, static_cast<double>(step), static_cast<double>(m * sequences)});
    const Doubles lengths{5, 3};
    inputs.set("lengths", Doubles(lengths.begin() + m * sequences, lengths.begin() + (m + 1) * sequences));
    return inputs;
  }

  Program program_;
  std::int64_t micro_batches_;
  ReferenceStore store_;
  Doubles ids_, types_, targets_;
};

StepRequest request(StepRequest changed = {}) {
  changed.batch_size = kBatch;
  changed.seq_length = kTokens;
  return changed;
}

// Largest difference, relative to the largest value.
double difference(const std::map<std::string, Doubles>& a, const std::map<std::string, Doubles>& b) {
  double most = 0, scale = 0;
  for (const auto& [name, values] : a) {
    const Doubles& others = b.at(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      most = std::max(most, std::abs(values[i] - others[i]));
      scale = std::max(scale, std::abs(values[i]));
    }
  }
  return most / scale;
}

class TinyModel : public testing::TestWithParam<Architecture> {};
INSTANTIATE_TEST_SUITE_P(All, TinyModel,
                         testing::Values(architecture_named("gpt2"), architecture_named("bert"),
                                         architecture_named("llama"), architecture_named("mistral"),
                                         architecture_named("qwen2"), architecture_named("qwen3"),
                                         architecture_named("mixtral"), architecture_named("qwen2_moe"),
                                         architecture_named("qwen3_moe")),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

// Central differences over every element of every parameter. Measure: |analytic - numeric| / |analytic|,
// norms over all of them.
TEST_P(TinyModel, GradientsAgreeWithFiniteDifferences) {
  Job job(tiny_model(GetParam(), 2), request());
  job.step(1, 2);  // forward and backward
  const auto gradients = job.variables(Role::kGradient);
  EXPECT_EQ(gradients.size(), job.variables(Role::kParameter).size());
  double error = 0, norm = 0;
  constexpr double kStep = 1e-5;
  for (const auto& [name, values] : job.variables(Role::kParameter)) {
    const Doubles& analytic = gradients.at(name + ".grad");
    for (std::size_t i = 0; i < values.size(); ++i) {
      double& element = job.store()[name][i];
      const double before = element;
      element = before + kStep;
      const double above = job.forward();
      element = before - kStep;
      const double below = job.forward();
      element = before;
      const double numeric = (above - below) / (2 * kStep);
      error += (analytic[i] - numeric) * (analytic[i] - numeric);
      norm += analytic[i] * analytic[i];
    }
  }
  EXPECT_GT(norm, 0);
  EXPECT_LE(std::sqrt(error / norm), 1e-6);
}

// p -= lr * (m / (1 - beta1) / (sqrt(v / (1 - beta2)) + eps) + decay * p) with m = (1 - beta1) g and
// v = (1 - beta2) g^2: the first step goes by the gradient's sign. g is clipped to a global norm of 1.
TEST_P(TinyModel, TheFirstStepOfAdamW) {
  Job job(tiny_model(GetParam(), 2), request());
  const auto before = job.variables(Role::kParameter);
  job.step();
  double squares = 0;
  const auto gradients = job.variables(Role::kGradient);
  for (const auto& [name, g] : gradients)
    squares = std::inner_product(g.begin(), g.end(), g.begin(), squares);
  EXPECT_NEAR(job.store().get("grad_norm").front(), std::sqrt(squares), 1e-12);
  const double clip = std::min(1.0, 1 / (std::sqrt(squares) + 1e-6));
  for (const auto& [name, after] : job.variables(Role::kParameter)) {
    const bool matrix = job.graph().tensor(*job.graph().find_tensor(name)).shape.rank() >= 2;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const double g = gradients.at(name + ".grad")[i] * clip;
      const double p = before.at(name)[i];
      const double expected = p - 0.01 * (g / (std::abs(g) + 1e-8) + (matrix ? 0.01 * p : 0));
      ASSERT_NEAR(after[i], expected, 1e-10) << name << " " << i;
    }
  }
}

TEST_P(TinyModel, LearnsItsBatch) {
  ModelConfig config = tiny_model(GetParam(), 2);
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0;
  Job job(config, request());
  const double first = job.step(1);
  double last = first;
  for (int i = 2; i <= 60; ++i) last = job.step(i);
  EXPECT_LT(last, first / 4);
}

TEST_P(TinyModel, RecomputationChangesNothing) {
  Job plain(tiny_model(GetParam(), 2), request({.fused_attention = false}));
  plain.step();
  for (const Recompute recompute :
       {Recompute{.granularity = Recompute::Granularity::kSelective},
        Recompute{.granularity = Recompute::Granularity::kFull},
        Recompute{.granularity = Recompute::Granularity::kFull, .layers = 2},
        Recompute{.granularity = Recompute::Granularity::kFull, .method = Recompute::Method::kBlock}}) {
    Job again(tiny_model(GetParam(), 2), request({.fused_attention = false, .recompute = recompute}));
    again.step();
    EXPECT_EQ(again.variables(Role::kParameter), plain.variables(Role::kParameter));
  }
}

TEST_P(TinyModel, MicroBatchesAddUp) {
  Job whole(tiny_model(GetParam(), 2), request());
  Job parts(tiny_model(GetParam(), 2), request(), 2);
  for (int i = 1; i <= 3; ++i) EXPECT_NEAR(parts.step(i), whole.step(i), 1e-12);
  EXPECT_LE(difference(whole.variables(Role::kParameter), parts.variables(Role::kParameter)), 1e-10);
}

TEST_P(TinyModel, UnfusedAttentionIsTheSame) {
  Job fused(tiny_model(GetParam(), 2), request());
  Job unfused(tiny_model(GetParam(), 2), request({.fused_attention = false}));
  EXPECT_NEAR(fused.step(), unfused.step(), 1e-12);
  EXPECT_LE(difference(fused.variables(Role::kGradient), unfused.variables(Role::kGradient)), 1e-12);
}

// The reference engine does not round, so what is left of mixed precision is its bookkeeping: masters, loss
// scale, quantizing. The updated weights are the same.
TEST_P(TinyModel, MixedPrecisionKeepsItsBooks) {
  Job plain(tiny_model(GetParam(), 2), request());
  for (int i = 1; i <= 3; ++i) plain.step(i);
  for (const StepRequest& mixed : {StepRequest{.dtype = DType::kBF16}, StepRequest{.dtype = DType::kF16},
                                   StepRequest{.dtype = DType::kBF16, .fp8 = true}}) {
    Job job(tiny_model(GetParam(), 2), request(mixed));
    for (int i = 1; i <= 3; ++i) job.step(i);
    EXPECT_LE(difference(plain.variables(Role::kParameter), job.variables(Role::kParameter)), 1e-9);
  }
}

TEST_P(TinyModel, AnOverflowHalvesTheLossScaleAndSkipsTheStep) {
  Job job(tiny_model(GetParam(), 2), request({.dtype = DType::kF16}));
  const auto before = job.variables(Role::kParameter);
  const double scale = job.store().get("loss_scale").front();
  job.store().set("token_count", {0});  // divides by zero
  job.step();
  EXPECT_EQ(job.store().get("loss_scale").front(), scale / 2);
  EXPECT_EQ(job.variables(Role::kParameter), before);
}

// Generation with the KV cache chooses the tokens that running the whole prefix anew chooses: the likeliest
// ones, or drawn ones.
class Generate : public testing::TestWithParam<std::tuple<Architecture, bool>> {};
INSTANTIATE_TEST_SUITE_P(
    All, Generate,
    testing::Combine(testing::Values(architecture_named("gpt2"), architecture_named("llama"),
                                     architecture_named("mistral"), architecture_named("qwen2"),
                                     architecture_named("qwen3"), architecture_named("mixtral"),
                                     architecture_named("qwen2_moe"), architecture_named("qwen3_moe")),
                     testing::Bool()),
    [](const auto& tested) {
      return std::string(to_string(std::get<0>(tested.param))) +
             (std::get<1>(tested.param) ? "_sampling" : "_greedy");
    });

TEST_P(Generate, TheCacheChangesNothing) {
  const auto& [architecture, sampling] = GetParam();
  const ModelConfig config = tiny_model(architecture, 2);
  const Program program = build_step(config, {.kind = StepKind::kGenerate,
                                              .batch_size = 1,
                                              .input_tokens = 3,
                                              .output_tokens = 6,
                                              .sampling = sampling});
  const auto set_inputs = [](ReferenceStore& store, const Doubles& tokens) {
    const auto length = static_cast<double>(tokens.size());
    store.set("input_ids", tokens);
    store.set("lengths", {length});
    store.set("sampling", {1.2, 8, 0.9});
    store.set("random", {11, length, 0});
  };
  ReferenceStore store;
  for (const Graph& graph : program.graphs) initialize(graph, store, 3);
  Doubles prefix{1, 5, 2};
  for (const Instruction& instruction : program.instructions) {
    set_inputs(store, prefix);
    run_reference(program.graph_of(program.section(instruction.section)), store);

    const auto length = static_cast<std::int64_t>(prefix.size());
    EXPECT_EQ(instruction.context.position.value_or(length - 1), length - 1);
    const Program anew = build_step(
        config, {.kind = StepKind::kPrefill, .batch_size = 1, .input_tokens = length, .sampling = sampling});
    ReferenceStore fresh;
    initialize(anew.graphs[0], fresh, 3);
    set_inputs(fresh, prefix);
    run_reference(anew.graphs[0], fresh);
    EXPECT_EQ(store.get("next_token"), fresh.get("next_token")) << "after " << length << " tokens";
    prefix.push_back(store.get("next_token").front());
  }
}

}  // namespace
}  // namespace nadi
