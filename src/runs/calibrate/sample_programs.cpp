#include "nadi/calibrate/sample_programs.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline runs {
namespace {

constexpr std::int64_t kSampleLayers = 3;
constexpr std::int64_t kSampleLayersOnGpu = 2;
// Where the output layer is not what a sample is for.
constexpr std::int64_t kSmallVocabulary = 4096;

class SampleList {
 public:
  explicit SampleList(const MeasuringOptions& options) : options_(options) {}

  // A training step, unless the model has no room for so many tokens.
  void train(ModelConfig config, SampleSize size, const Plan& plan = {}, std::int64_t micro_batches = 1) {
    size.tokens = std::min(size.tokens, longest_sequence(config));
    const std::int64_t all = config.layers;
    config.layers = std::min(all, options_.gpu ? kSampleLayersOnGpu : kSampleLayers);
    Plan with_micro_batches = plan;
    with_micro_batches.micro_batches = micro_batches;
    SampleProgram sample{.name = format("{}, {} layers, vocabulary {}, {} x {} tokens", config.name,
                                        config.layers, config.vocabulary, size.batch, size.tokens),
                         .config = std::move(config),
                         .request = {.batch_size = size.batch * micro_batches,
                                     .seq_length = size.tokens,
                                     .dtype = options_.dtype},
                         .plan = with_micro_batches};
    if (sample.config.layers > 2)
      sample.inner_weight = static_cast<double>(all - 2) / static_cast<double>(sample.config.layers - 2);
    if (options_.dtype != DType::kF32) sample.name += format(", {}", to_string(options_.dtype));
    if (plan.tp > 1) sample.name += format(", tp {}", plan.tp);
    if (plan.dp > 1) sample.name += format(", dp {}", plan.dp);
    if (micro_batches > 1) sample.name += format(", {} micro-batches", micro_batches);
    samples_.push_back(std::move(sample));
  }

  SampleProgram& latest() { return samples_.back(); }

  void generate(ModelConfig config, std::int64_t batch, std::int64_t prompt, std::int64_t output,
                bool sampling) {
    config.layers = std::min(config.layers, kSampleLayersOnGpu);
    samples_.push_back({.name = format("{}, {} layers, {} prompts of {} tokens, {} tokens generated",
                                       config.name, config.layers, batch, prompt, output),
                        .config = std::move(config),
                        .request = {.kind = StepKind::kGenerate,
                                    .batch_size = batch,
                                    .input_tokens = prompt,
                                    .output_tokens = output,
                                    .dtype = options_.dtype,
                                    .sampling = sampling}});
  }

  std::vector<SampleProgram> take() { return std::move(samples_); }

 private:
  const MeasuringOptions& options_;
  std::vector<SampleProgram> samples_;
};

ModelConfig with_vocabulary(ModelConfig config, std::int64_t vocabulary) {
  config.vocabulary = std::min(config.vocabulary, vocabulary);
  return config;
}

// The first architecture that is an encoder, has rotary positions, or neither.
Architecture first_with(bool masked, bool rotary) {
  for (const Architecture& architecture : architectures())
    if (architecture->masked() == masked && architecture->rotary() == rotary) return architecture;
  unreachable();
}

// Layers of these widths stand for models that were not named.
ModelConfig layers_of(const Architecture& architecture, std::int64_t width) {
  ModelConfig config{.name = format("{} of width {}", to_string(architecture), width),
                     .architecture = architecture,
                     .vocabulary = kSmallVocabulary,
                     .positions = 2048,
                     .layers = 1,
                     .width = width,
                     .heads = width / 64,
                     .kv_heads = width / 64,
                     .head_width = 64,
                     .ffn_width = 4 * width,
                     .token_types = architecture->masked() ? 2 : 0,
                     .embedding_dropout = 0.1,
                     .attention_dropout = 0.1,
                     .residual_dropout = 0.1};
  if (architecture->masked()) config.activation = Activation::kGeluErf;
  if (architecture->rotary()) {
    config.kv_heads = width / 256;
    config.ffn_width = width / 2 * 7;
    config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0;
    config.attention_bias = config.attention_output_bias = config.ffn_bias = config.tied_embeddings = false;
    config.rotary = {.theta = 500000};
  }
  return config;
}

bool divides_evenly(const ModelConfig& model, std::int64_t ranks) {
  return model.heads % ranks == 0 && model.kv_heads % ranks == 0 && model.ffn_width % ranks == 0;
}

// What one rank of several computes, by the plans that divide a model evenly.
void add_shared(SampleList& list, const ModelConfig& model, std::int64_t ranks, bool quick) {
  const bool even = divides_evenly(model, ranks);
  const Plan data{.dp = ranks}, tensor{.tp = ranks};
  list.train(model, {1, 256}, data);
  if (even) list.train(model, {quick ? 1 : 2, 256}, tensor);
  if (quick) return;
  list.train(model, {2, 256}, data, 2);
  list.train(with_vocabulary(model, kSmallVocabulary), {4, 256}, data);
  list.train(with_vocabulary(model, kSmallVocabulary), {1, 64}, data);
  if (even) list.train(with_vocabulary(model, kSmallVocabulary), {4, 256}, tensor);
}

void add_alone(SampleList& list, const ModelConfig& model, bool quick) {
  const ModelConfig small = with_vocabulary(model, kSmallVocabulary);
  list.train(model, {1, 256});
  list.train(model, {1, 64});
  if (quick) return;
  list.train(model, {4, 256});
  list.train(small, {8, 256});
  list.train(small, {2, 512});
  list.train(small, {1, 1024});
  list.train(small, {2, 128}, {}, 2);
  if (model.architecture->generates()) list.generate(model, 1, 128, 8, true);
}

// A micro-batch of a GPU, from one that leaves most of it idle to one that fills it several times over; of
// long sequences, and at one size of shorter ones.
void add_tokens(SampleList& list, const ModelConfig& model, bool quick) {
  constexpr std::int64_t kTokens = 4096;
  constexpr std::int64_t kLongestSequence = 4096;
  const std::int64_t longest = std::min(longest_sequence(model), kLongestSequence);
  const auto train = [&](std::int64_t tokens, std::int64_t length) {
    length = std::min(tokens, length);
    list.train(model, {tokens / length, length});
  };
  train(kTokens, longest);
  if (quick) return;
  train(kTokens / 4, longest);
  train(kTokens / 2, longest);
  train(kTokens * 4, longest);
  train(kTokens, longest / 2);
}

void add_alone_on_gpu(SampleList& list, const ModelConfig& model, bool quick) {
  add_tokens(list, model, quick);
  if (quick) return;
  ModelConfig without = model;
  without.embedding_dropout = without.attention_dropout = without.residual_dropout = 0;
  if (model.embedding_dropout > 0 || model.attention_dropout > 0 || model.residual_dropout > 0) {
    without.name += " without dropout";
    add_tokens(list, without, quick);
  }
  list.train(without, {2, 512}, {}, 2);
  if (model.architecture->generates()) list.generate(model, 1, 128, 8, true);
}

// What training with micro-batches of one size runs: several whose gradients are added up (to which the
// output layer, by far the longest of a sample, adds little of its own), and one.
void add_size(SampleList& list, const ModelConfig& model, SampleSize size, std::int64_t ranks) {
  const Plan data{.dp = ranks};
  list.train(with_vocabulary(model, kSmallVocabulary), size, data, 2);
  list.train(model, size, data);
  if (ranks > 1 && divides_evenly(model, ranks)) list.train(model, size, {.tp = ranks});
}

// Kinds of ops and widths that the models do not have.
void add_others(SampleList& list) {
  const Architecture learned = first_with(false, false), encoder = first_with(true, false),
                     rotary = first_with(false, true);
  list.train(layers_of(learned, 256), {4, 256});
  list.train(layers_of(learned, 256), {2, 64});
  list.latest().request.fused_attention = false;
  list.latest().request.optimizer.kind = OptimizerKind::kSgd;
  list.train(layers_of(learned, 1536), {1, 256});
  list.train(layers_of(encoder, 512), {4, 128});
  list.latest().request.optimizer.kind = OptimizerKind::kSgdSai;
  list.train(layers_of(rotary, 512), {4, 256});
  list.train(layers_of(rotary, 512), {1, 128});
  list.latest().request.fused_attention = false;
  list.train(layers_of(rotary, 1024), {1, 256});
  list.generate(layers_of(rotary, 512), 4, 64, 4, false);
}

}  // namespace

std::vector<SampleProgram> sample_programs(const MeasuringOptions& options) {
  SampleList list(options);
  for (const ModelConfig& model : options.models)
    for (const SampleSize& size : options.sizes) add_size(list, model, size, options.ranks);
  if (!options.sizes.empty()) return list.take();
  for (const ModelConfig& model : options.models) {
    if (options.ranks > 1)
      add_shared(list, model, options.ranks, options.quick);
    else if (options.gpu)
      add_alone_on_gpu(list, model, options.quick);
    else
      add_alone(list, model, options.quick);
  }
  if (options.ranks == 1 && !options.quick) add_others(list);
  return list.take();
}

}  // namespace nadi::inline runs
