// Makes a tiny model with random weights on the CPU engine, saves it as a folder for Hugging Face's programs,
// and writes what it computes to JSON: texts, their tokens, the logits at every position, and the tokens with
// which the first text goes on when the likeliest one is always taken. compare_checkpoints.py loads the
// folder and computes the same.
//   dump_logits gpt2|bert|llama|mistral|qwen2|qwen3 FOLDER [pytorch] > logits.json
// With `pytorch`, the weights are in a file of torch.save.

#include <algorithm>
#include <cstdio>
#include <string>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/random.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/generate/generator.h"
#include "nadi/model/model.h"
#include "nadi/run/logit_program_for_tests.h"
#include "nadi/run/weights.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/wordpiece_trainer.h"

namespace nadi {
namespace {

const std::vector<std::string> kTexts{"The river runs to the sea, and the sea is never full.",
                                      "Rain fell on the hills.", "What does the river know of the hills?"};
constexpr std::int64_t kOutputTokens = 12;
constexpr int kThreads = 2;

ModelConfig config_of(const std::string& model, std::int64_t vocabulary) {
  ModelConfig config{.name = model,
                     .architecture = architecture_named("gpt2"),
                     .vocabulary = vocabulary,
                     .positions = 64,
                     .layers = 3,
                     .width = 32,
                     .heads = 4,
                     .kv_heads = 4,
                     .head_width = 8,
                     .ffn_width = 56,
                     .initializer_range = 0.2};
  if (model == "bert") {
    config.architecture = architecture_named("bert");
    config.activation = Activation::kGeluErf;
    config.norm_epsilon = 1e-12;
    config.token_types = 2;
  } else if (model == "llama") {
    config.architecture = architecture_named("llama");
    config.activation = Activation::kNone;
    config.kv_heads = 2;
    config.attention_bias = config.attention_output_bias = config.ffn_bias = config.tied_embeddings = false;
    config.rotary = {.theta = 1000,
                     .factor = 8,
                     .low_frequency_factor = 1,
                     .high_frequency_factor = 4,
                     .original_positions = 32};
  } else if (model == "mistral" || model == "qwen2" || model == "qwen3") {
    const bool qwen2 = model == "qwen2";
    config.architecture = architecture_named(model);
    config.activation = Activation::kNone;
    config.kv_heads = 2;
    config.attention_bias = config.tied_embeddings = qwen2;
    config.attention_output_bias = config.ffn_bias = false;
    config.rotary = {.theta = 1000};
    if (model == "mistral") config.attention_window = 48;
    if (model == "qwen3") config.head_width = 12;  // heads make more columns than the stream has
  } else {
    check(model == "gpt2", "gpt2, bert, llama, mistral, qwen2 or qwen3");
  }
  return config;
}

std::unique_ptr<Tokenizer> tokenizer_for(const std::string& model) {
  if (model == "bert") return train_wordpiece(text_of(kTexts), {.vocabulary_size = 90});
  return train_bpe(text_of(kTexts), {.vocabulary_size = 300});
}

// Norms and biases away from 1 and 0, to be seen.
void move_vectors(Engine& engine) {
  for (const Tensor* tensor : engine.variables()) {
    if (tensor->role != Role::kParameter || tensor->shape.rank() != 1) continue;
    const RandomKey key{.seed = 3, .site = site_of(tensor->name)};
    std::vector<float> values = engine.read_all<float>(tensor->name);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += 0.1F * static_cast<float>(random_normal(key, i));
    engine.write_all<float>(tensor->name, values);
  }
}

Json dump(const std::string& model, const std::string& path, WeightFormat saved_as) {
  const auto tokenizer = tokenizer_for(model);
  const ModelConfig config = config_of(model, tokenizer->vocabulary_size() + 3);
  std::vector<std::vector<TokenId>> ids;
  std::vector<std::int32_t> lengths;
  for (const std::string& text : kTexts) {
    ids.push_back(tokenizer->encode(text));
    lengths.push_back(static_cast<std::int32_t>(ids.back().size()));
  }
  const auto batch = static_cast<std::int64_t>(ids.size());
  const std::int64_t tokens = *std::ranges::max_element(lengths);
  std::vector<std::int32_t> padded(batch * tokens, 0), types(batch * tokens, 0);
  for (std::int64_t row = 0; row < batch; ++row) {
    std::ranges::copy(ids[row], padded.begin() + row * tokens);
    for (std::int64_t i = lengths[row] / 2; i < lengths[row]; ++i) types[row * tokens + i] = 1;
  }

  Json result{{"texts", kTexts}, {"input_ids", ids}, {"tokens", tokens}, {"token_type_ids", types}};
  {
    const Program program = logit_program(config, batch, tokens);
    CpuEngine engine({.threads = kThreads});
    const ProgramHandle loaded = engine.load(program);
    engine.bind();
    engine.initialize(1);
    move_vectors(engine);
    set_if_wanted(engine, loaded, "input_ids", padded);
    set_if_wanted(engine, loaded, "token_type_ids", types);
    set_if_wanted(engine, loaded, "lengths", lengths);
    set_if_wanted(engine, loaded, "targets", padded);
    set_if_wanted(engine, loaded, "token_count", std::vector<float>{1});
    engine.wait(engine.run(loaded, {}));
    result["vocabulary"] = config.vocabulary;
    result["logits"] = engine.read_all<float>("logits");
    AtomicFolder folder(path, {.overwrite = Overwrite::kAllow});
    write_model(folder, engine, config, *tokenizer, saved_as);
    folder.commit();
  }
  result["generated"] = nullptr;
  if (model_of(config.architecture).generates()) {
    Generator generator(config, {.input_tokens = lengths[0],
                                 .output_tokens = kOutputTokens,
                                 .temperature = 0,
                                 .threads = kThreads,
                                 .weights = path});
    const GenerationResult made =
        generator.generate(std::span(ids).first(1), [](std::size_t, TokenId) { return true; });
    result["generated"] = made.generations[0].tokens;
  }
  return result;
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: dump_logits gpt2|bert|llama|mistral|qwen2|qwen3 FOLDER [pytorch]\n");
    return 2;
  }
  const auto saved_as = argc == 4 ? nadi::WeightFormat::kPytorch : nadi::WeightFormat::kSafetensors;
  std::fputs(nadi::dump(argv[1], argv[2], saved_as).dump().c_str(), stdout);
}
