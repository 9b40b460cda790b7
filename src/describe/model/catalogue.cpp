#include "nadi/model/catalogue.h"

namespace nadi::inline describe {
namespace {

struct GptSize {
  const char* name;
  std::int64_t layers, width, heads;
};

// GPT-2: the four published sizes.
constexpr GptSize kGpt2[]{{"gpt2", 12, 768, 12},
                          {"gpt2-medium", 24, 1024, 16},
                          {"gpt2-large", 36, 1280, 20},
                          {"gpt2-xl", 48, 1600, 25}};

// GPT-3: table 2.1 of Brown et al. 2020, with two entries mended that contradict themselves there: 1.3B with
// 24 heads of 128 on a width of 2048 (16 heads fit), and 13B with a width of 5140 for 40 heads of 128 (5120
// fits).
constexpr GptSize kGpt3[]{{"gpt3-125m", 12, 768, 12},  {"gpt3-350m", 24, 1024, 16},
                          {"gpt3-760m", 24, 1536, 16}, {"gpt3-1.3b", 24, 2048, 16},
                          {"gpt3-2.7b", 32, 2560, 32}, {"gpt3-6.7b", 32, 4096, 32},
                          {"gpt3-13b", 40, 5120, 40},  {"gpt3-175b", 96, 12288, 96}};

// Dropout 0.1 throughout, as GPT-2 was trained; GPT-3's paper does not say otherwise.
ModelConfig gpt(const GptSize& size, std::int64_t positions) {
  return {.name = size.name,
          .architecture = architecture_named("gpt2"),
          .vocabulary = 50257,
          .positions = positions,
          .layers = size.layers,
          .width = size.width,
          .heads = size.heads,
          .kv_heads = size.heads,
          .head_width = size.width / size.heads,
          .ffn_width = 4 * size.width,
          .activation = Activation::kGeluTanh,
          .norm_epsilon = 1e-5,
          .embedding_dropout = 0.1,
          .attention_dropout = 0.1,
          .residual_dropout = 0.1};
}

ModelConfig bert(const char* name, std::int64_t layers, std::int64_t width, std::int64_t heads) {
  return {.name = name,
          .architecture = architecture_named("bert"),
          .vocabulary = 30522,
          .positions = 512,
          .layers = layers,
          .width = width,
          .heads = heads,
          .kv_heads = heads,
          .head_width = width / heads,
          .ffn_width = 4 * width,
          .token_types = 2,
          .activation = Activation::kGeluErf,
          .norm_epsilon = 1e-12,
          .embedding_dropout = 0.1,
          .attention_dropout = 0.1,
          .residual_dropout = 0.1};
}

struct LlamaSize {
  const char* name;
  std::int64_t layers, width, heads, ffn_width;
};

ModelConfig llama31(const LlamaSize& size) {
  return {.name = size.name,
          .architecture = architecture_named("llama"),
          .vocabulary = 128256,
          .positions = 131072,
          .layers = size.layers,
          .width = size.width,
          .heads = size.heads,
          .kv_heads = 8,
          .head_width = size.width / size.heads,
          .ffn_width = size.ffn_width,
          .norm_epsilon = 1e-5,
          .tied_embeddings = false,
          .attention_bias = false,
          .attention_output_bias = false,
          .ffn_bias = false,
          .rotary = {.theta = 500000,
                     .factor = 8,
                     .low_frequency_factor = 1,
                     .high_frequency_factor = 4,
                     .original_positions = 8192}};
}

// The config.json of mistralai/Mistral-7B-v0.1 and -v0.3.
ModelConfig mistral_7b(const char* name, std::int64_t vocabulary, double theta, std::int64_t window) {
  return {.name = name,
          .architecture = architecture_named("mistral"),
          .vocabulary = vocabulary,
          .positions = 32768,
          .layers = 32,
          .width = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_width = 128,
          .ffn_width = 14336,
          .norm_epsilon = 1e-5,
          .tied_embeddings = false,
          .attention_bias = false,
          .attention_output_bias = false,
          .ffn_bias = false,
          .rotary = {.theta = theta},
          .attention_window = window};
}

struct QwenSize {
  const char* name;
  std::int64_t layers, width, heads, kv_heads, ffn_width, vocabulary, positions;
  double norm_epsilon;
  bool tied;
};

// The config.json of Qwen/Qwen2.5-0.5B and so on: base models, not those that follow instructions, whose
// epsilon differs.
constexpr QwenSize kQwen25[]{{"qwen2.5-0.5b", 24, 896, 14, 2, 4864, 151936, 32768, 1e-6, true},
                             {"qwen2.5-1.5b", 28, 1536, 12, 2, 8960, 151936, 131072, 1e-6, true},
                             {"qwen2.5-7b", 28, 3584, 28, 4, 18944, 152064, 131072, 1e-6, false},
                             {"qwen2.5-14b", 48, 5120, 40, 8, 13824, 152064, 131072, 1e-5, false},
                             {"qwen2.5-32b", 64, 5120, 40, 8, 27648, 152064, 131072, 1e-5, false},
                             {"qwen2.5-72b", 80, 8192, 64, 8, 29568, 152064, 131072, 1e-5, false}};

ModelConfig qwen25(const QwenSize& size) {
  return {.name = size.name,
          .architecture = architecture_named("qwen2"),
          .vocabulary = size.vocabulary,
          .positions = size.positions,
          .layers = size.layers,
          .width = size.width,
          .heads = size.heads,
          .kv_heads = size.kv_heads,
          .head_width = size.width / size.heads,
          .ffn_width = size.ffn_width,
          .norm_epsilon = size.norm_epsilon,
          .tied_embeddings = size.tied,
          .attention_output_bias = false,
          .ffn_bias = false,
          .rotary = {.theta = 1e6}};
}

// The config.json of Qwen/Qwen3-0.6B and so on. Heads are 128 wide, whatever the hidden size.
constexpr QwenSize kQwen3[]{{"qwen3-0.6b", 28, 1024, 16, 8, 3072, 151936, 40960, 1e-6, true},
                            {"qwen3-1.7b", 28, 2048, 16, 8, 6144, 151936, 40960, 1e-6, true},
                            {"qwen3-4b", 36, 2560, 32, 8, 9728, 151936, 40960, 1e-6, true},
                            {"qwen3-8b", 36, 4096, 32, 8, 12288, 151936, 40960, 1e-6, false},
                            {"qwen3-14b", 40, 5120, 40, 8, 17408, 151936, 40960, 1e-6, false},
                            {"qwen3-32b", 64, 5120, 64, 8, 25600, 151936, 40960, 1e-6, false}};

ModelConfig qwen3(const QwenSize& size) {
  ModelConfig config = qwen25(size);
  config.architecture = architecture_named("qwen3");
  config.head_width = 128;
  config.attention_bias = false;
  return config;
}

struct MixtralSize {
  const char* name;
  std::int64_t layers, width, heads, ffn_width, vocabulary, positions;
};

// The config.json of mistralai/Mixtral-8x7B-v0.1 and -8x22B-v0.1, which training adds the balance loss to.
constexpr MixtralSize kMixtral[]{{"mixtral-8x7b", 32, 4096, 32, 14336, 32000, 32768},
                                 {"mixtral-8x22b", 56, 6144, 48, 16384, 32000, 65536}};

ModelConfig mixtral(const MixtralSize& size) {
  ModelConfig config = mistral_7b(size.name, size.vocabulary, 1e6, 0);
  config.architecture = architecture_named("mixtral");
  config.positions = size.positions;
  config.layers = size.layers;
  config.width = size.width;
  config.heads = size.heads;
  config.ffn_width = config.expert_width = size.ffn_width;
  config.experts = 8;
  config.experts_per_token = 2;
  config.normalized_experts = true;
  config.balance_loss = true;
  config.balance_coefficient = size.layers == 32 ? 0.02 : 0.001;
  return config;
}

struct QwenMoeSize {
  QwenSize dense;
  std::int64_t expert_width;
};

// The config.json of Qwen/Qwen3-30B-A3B and -235B-A22B, likewise.
constexpr QwenMoeSize kQwen3Moe[]{
    {{"qwen3-30b-a3b", 48, 2048, 32, 4, 6144, 151936, 40960, 1e-6, false}, 768},
    {{"qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 151936, 40960, 1e-6, false}, 1536}};

ModelConfig qwen3_moe(const QwenMoeSize& size) {
  ModelConfig config = qwen3(size.dense);
  config.architecture = architecture_named("qwen3_moe");
  config.experts = 128;
  config.experts_per_token = 8;
  config.expert_width = size.expert_width;
  config.normalized_experts = true;
  config.balance_loss = true;
  config.balance_coefficient = 0.001;
  return config;
}

// For experiments that take seconds. The sizes are our own, except those of BERT, which are those of
// google/bert_uncased_L-2_H-128_A-2.
std::vector<ModelConfig> tiny_models() {
  ModelConfig gpt2 = gpt({"gpt2-tiny", 4, 128, 4}, 256);
  gpt2.vocabulary = 4096;
  ModelConfig llama = llama31({"llama-tiny", 4, 128, 4, 352});
  llama.vocabulary = 4096;
  llama.positions = 512;
  llama.kv_heads = 2;
  llama.rotary = {.theta = 10000};
  ModelConfig mistral = llama;
  mistral.name = "mistral-tiny";
  mistral.architecture = architecture_named("mistral");
  mistral.attention_window = 256;
  ModelConfig qwen2 = llama;
  qwen2.name = "qwen2-tiny";
  qwen2.architecture = architecture_named("qwen2");
  qwen2.attention_bias = qwen2.tied_embeddings = true;
  ModelConfig qwen3 = llama;
  qwen3.name = "qwen3-tiny";
  qwen3.architecture = architecture_named("qwen3");
  qwen3.head_width = 48;
  const auto with_experts = [](ModelConfig model, const char* name, const char* architecture) {
    model.name = name;
    model.architecture = architecture_named(architecture);
    model.experts = 8;
    model.experts_per_token = 2;
    model.expert_width = 128;
    model.normalized_experts = true;
    model.balance_loss = true;
    model.balance_coefficient = 0.01;
    return model;
  };
  ModelConfig mixtral = with_experts(llama, "mixtral-tiny", "mixtral");
  mixtral.ffn_width = mixtral.expert_width;
  ModelConfig qwen2_moe = with_experts(qwen2, "qwen2-moe-tiny", "qwen2_moe");
  qwen2_moe.tied_embeddings = qwen2_moe.normalized_experts = false;
  qwen2_moe.shared_expert_width = 192;
  qwen2_moe.sparse_step = 2;
  const ModelConfig qwen3_moe = with_experts(qwen3, "qwen3-moe-tiny", "qwen3_moe");
  return {gpt2, bert("bert-tiny", 2, 128, 2), llama, mistral, qwen2, qwen3, mixtral, qwen2_moe, qwen3_moe};
}

std::vector<ModelConfig> make_catalogue() {
  std::vector<ModelConfig> models;
  for (const GptSize& size : kGpt2) models.push_back(gpt(size, 1024));
  for (const GptSize& size : kGpt3) models.push_back(gpt(size, 2048));
  models.push_back(bert("bert-base-uncased", 12, 768, 12));
  models.push_back(bert("bert-large-uncased", 24, 1024, 16));
  models.push_back(llama31({"llama3.1-8b", 32, 4096, 32, 14336}));
  models.push_back(llama31({"llama3.1-70b", 80, 8192, 64, 28672}));
  models.push_back(llama31({"llama3.1-405b", 126, 16384, 128, 53248}));
  models.push_back(mistral_7b("mistral-7b-v0.1", 32000, 10000, 4096));
  models.push_back(mistral_7b("mistral-7b-v0.3", 32768, 1e6, 0));
  for (const QwenSize& size : kQwen25) models.push_back(qwen25(size));
  for (const QwenSize& size : kQwen3) models.push_back(qwen3(size));
  for (const MixtralSize& size : kMixtral) models.push_back(mixtral(size));
  for (const QwenMoeSize& size : kQwen3Moe) models.push_back(qwen3_moe(size));
  for (ModelConfig& model : tiny_models()) models.push_back(std::move(model));
  return models;
}

}  // namespace

std::span<const ModelConfig> built_in_models() {
  static const std::vector<ModelConfig> kModels = make_catalogue();
  return kModels;
}

const ModelConfig* find_built_in_model(std::string_view name) {
  for (const ModelConfig& model : built_in_models())
    if (model.name == name) return &model;
  return nullptr;
}

}  // namespace nadi::inline describe
