// Writes one step of tiny models, as the reference engine computes it, to JSON: configuration in Hugging
// Face's keys, inputs, loss, and every parameter with its gradient. compare_with_transformers.py loads it
// into the real models.
//   dump_reference_step gpt2|bert|llama|mistral|qwen2 > step.json

#include <cstdio>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/random.h"
#include "nadi/model/config_file.h"
#include "nadi/parallel/step_program.h"
#include "nadi/reference/run_reference.h"

namespace nadi {
namespace {

constexpr std::int64_t kBatch = 3, kTokens = 12;

Json hugging_face_config(const std::string& model) {
  if (model == "gpt2")
    return {{"model_type", "gpt2"}, {"vocab_size", 61},  {"n_positions", 16},
            {"n_embd", 24},         {"n_layer", 3},      {"n_head", 4},
            {"embd_pdrop", 0.0},    {"attn_pdrop", 0.0}, {"resid_pdrop", 0.0}};
  if (model == "bert")
    return {{"model_type", "bert"},    {"vocab_size", 61},           {"max_position_embeddings", 16},
            {"hidden_size", 24},       {"num_hidden_layers", 3},     {"num_attention_heads", 4},
            {"intermediate_size", 40}, {"hidden_dropout_prob", 0.0}, {"attention_probs_dropout_prob", 0.0}};
  Json json{{"model_type", model},      {"vocab_size", 61},        {"max_position_embeddings", 64},
            {"hidden_size", 24},        {"num_hidden_layers", 3},  {"num_attention_heads", 4},
            {"num_key_value_heads", 2}, {"intermediate_size", 40}, {"rms_norm_eps", 1e-5},
            {"rope_theta", 1000.0}};
  if (model == "mistral") {
    json["head_dim"] = 8;
    json["sliding_window"] = kTokens;  // the longest sequence without a query that misses a key
    return json;
  }
  if (model == "qwen2") {
    json["tie_word_embeddings"] = true;
    json["use_sliding_window"] = false;
    return json;
  }
  check(model == "llama", "gpt2, bert, llama, mistral or qwen2");
  // Frequencies on both sides of the stretch: wavelengths from 6.3 to 2,000 around 32 positions.
  json["head_dim"] = 8;
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 8.0},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 32}};
  return json;
}

Doubles random_integers(const std::string& name, std::int64_t count, std::int64_t below) {
  Doubles values(count);
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(random_word({.seed = 9, .site = site_of(name)}, i) % below);
  return values;
}

Json dump_step(const std::string& model) {
  const Json config_json = hugging_face_config(model);
  // Through the reader of configurations, which is part of what is compared.
  const std::string path = "/tmp/nadi_interop_" + model + ".json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  check(file != nullptr, "cannot write the configuration");
  std::fputs(config_json.dump().c_str(), file);
  std::fclose(file);
  ModelConfig config = read_model_config(path);
  std::remove(path.c_str());
  config.initializer_range = 0.2;  // so that the loss is not that of equal probabilities

  const Program program = build_step(config, {.batch_size = kBatch, .seq_length = kTokens});
  ReferenceStore store;
  for (const Graph& graph : program.graphs) initialize(graph, store, 1);
  // Norms and biases away from 1 and 0, to be seen.
  for (const TensorId id : program.graphs[0].tensors_with(Role::kParameter)) {
    const Tensor& tensor = program.graphs[0].tensor(id);
    if (tensor.shape.rank() != 1) continue;
    const RandomKey key{.seed = 3, .site = site_of(tensor.name)};
    Doubles& values = store[tensor.name];
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.1 * random_normal(key, i);
  }
  const Doubles lengths{12, 9, 7};
  Doubles targets = random_integers("targets", kBatch * kTokens, config.vocabulary);
  double counted = 0;
  for (std::int64_t i = 0; i < kBatch * kTokens; ++i) {
    const bool padding = static_cast<double>(i % kTokens) >= lengths[i / kTokens];
    if (padding || i % 5 == 0) targets[i] = -100;
    counted += targets[i] >= 0;
  }
  // Not token 0: the original BERT calls it padding and keeps its lookup from getting gradients.
  Doubles ids = random_integers("ids", kBatch * kTokens, config.vocabulary - 1);
  for (double& id : ids) id += 1;
  store.set("input_ids", ids);
  store.set("token_type_ids", random_integers("types", kBatch * kTokens, 2));
  store.set("lengths", lengths);
  store.set("targets", targets);
  store.set("token_count", {counted});
  ReferenceSlot slot;
  for (std::size_t i = 0; i < 2; ++i) {  // forward and backward
    const Section& section = program.section(program.instructions[i].section);
    run_reference({.graph = &program.graphs[0], .ops = {section.first_op, section.end_op}, .slot = &slot},
                  store);
  }
  Json step{
      {"config", config_json}, {"batch", kBatch}, {"tokens", kTokens}, {"loss", store.get("loss").front()}};
  for (const char* input : {"input_ids", "token_type_ids", "lengths", "targets"})
    step[input] = store.get(input);
  for (const TensorId id : program.graphs[0].tensors_with(Role::kParameter)) {
    const Tensor& tensor = program.graphs[0].tensor(id);
    step["parameters"][tensor.name] = {
        {"shape", std::vector<std::int64_t>(tensor.shape.extents().begin(), tensor.shape.extents().end())},
        {"value", store.get(tensor.name)},
        {"gradient", store.get(tensor.name + ".grad")}};
  }
  return step;
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dump_reference_step gpt2|bert|llama|mistral|qwen2\n");
    return 2;
  }
  std::fputs(nadi::dump_step(argv[1]).dump().c_str(), stdout);
}
