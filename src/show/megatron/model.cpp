#include "nadi/megatron/model.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/defaults.h"
#include "nadi/megatron/expert_model.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

// The word that is meant where none is given: Megatron's own training program is pretrain_gpt.py.
constexpr std::string_view kUsualFamily = "gpt";

// Megatron's constants, besides the factor.
constexpr RotaryFrequencies kRopeScaling{.factor = kRopeScalingFactor,
                                         .low_frequency_factor = 1,
                                         .high_frequency_factor = 4,
                                         .original_positions = 8192};
constexpr double kEncoderNormEpsilon = 1e-12;
constexpr std::int64_t kTokenTypes = 2;  // of an encoder: the first sentence, the second

constexpr std::array<std::string_view, 19> kModelFlags{"--num-layers",
                                                       "--hidden-size",
                                                       "--ffn-hidden-size",
                                                       "--num-attention-heads",
                                                       "--kv-channels",
                                                       "--group-query-attention",
                                                       "--num-query-groups",
                                                       "--position-embedding-type",
                                                       "--use-rotary-position-embeddings",
                                                       "--no-position-embedding",
                                                       "--rotary-base",
                                                       "--rotary-percent",
                                                       "--use-rope-scaling",
                                                       "--normalization",
                                                       "--swiglu",
                                                       "--disable-bias-linear",
                                                       "--add-qkv-bias",
                                                       "--qk-layernorm",
                                                       "--untie-embeddings-and-output-weights"};

// One of the three things that tell modern architectures from older ones.
struct Trait {
  std::string_view flag;           // that asks for it
  std::string_view modern, older;  // what it is called in messages
  std::optional<bool> given;       // true: asked for; false means the other was; nothing means neither
};

std::array<Trait, 3> traits_of(const Flags& flags) {
  std::optional<bool> rope, rms_norm, swiglu;
  if (const auto choice = flags.choice("--position-embedding-type")) rope = *choice == 1;
  if (flags.given("--use-rotary-position-embeddings")) {
    if (rope == false)
      throw usage_error(
          "--use-rotary-position-embeddings and --position-embedding-type contradict each other");
    rope = true;
  }
  if (const auto choice = flags.choice("--normalization")) rms_norm = *choice == 1;
  if (flags.given("--swiglu")) swiglu = true;
  return {Trait{"--position-embedding-type rope", "rotary positions", "learned positions", rope},
          Trait{"--normalization RMSNorm", "RMSNorm", "LayerNorm", rms_norm},
          Trait{"--swiglu", "SwiGLU", "GELU", swiglu}};
}

// The first architecture of a word.
const Architecture* first_of_family(std::string_view family) {
  for (const Architecture& architecture : architectures())
    if (architecture->megatron && architecture->megatron->family == family) return &architecture;
  return nullptr;
}

// The first decoder that has all three traits, or none of them.
const Architecture& decoder_with(bool traits) {
  for (const Architecture& architecture : architectures())
    if (!architecture->masked() && architecture->rotary() == traits) return architecture;
  unreachable();
}

Architecture architecture_of(const Flags& flags, std::string_view family) {
  const std::array<Trait, 3> traits = traits_of(flags);
  const Architecture &modern = decoder_with(true), &older = decoder_with(false);
  const Architecture* const named = family.empty() ? nullptr : first_of_family(family);
  if (named != nullptr && (*named)->rotary()) {
    for (const Trait& trait : traits)
      if (trait.given == false)
        throw usage_error(format("{} has {}, not {}", family, trait.modern, trait.older),
                          format("{} says so", trait.flag));
    return *named;
  }
  std::vector<std::string_view> has, lacks, missing_flags;
  for (const Trait& trait : traits) {
    const bool asked = trait.given == true;
    (asked ? has : lacks).push_back(asked ? trait.modern : trait.older);
    if (!asked) missing_flags.push_back(trait.flag);
  }
  if (named != nullptr && (*named)->masked()) {
    if (!has.empty()) throw usage_error(format("{} has no {}", family, join(has, ", ")));
    return *named;
  }
  if (!has.empty() && !lacks.empty())
    throw usage_error(
        format("no architecture of Nadi has {} with {}", join(has, " and "), join(lacks, " and ")),
        format("{}'s has --position-embedding-type rope, --normalization RMSNorm and --swiglu: {} "
               "missing; {}'s has none of them",
               modern->title, join(missing_flags, " and ") + (missing_flags.size() == 1 ? " is" : " are"),
               older->title));
  return has.empty() ? older : modern;
}

// Sizes beyond this are no model's, and their products no number's.
std::optional<std::int64_t> size_of(const Flags& flags, std::string_view name) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto value = flags.integer(name);
  if (value && *value > kMost) throw usage_error(format("{} is {}, limit {}", name, *value, kMost));
  return value;
}

std::int64_t required(const Flags& flags, std::string_view name) {
  const auto value = size_of(flags, name);
  if (!value)
    throw usage_error(format("{} is missing", name),
                      "a model given by flags has --num-layers, --hidden-size and --num-attention-heads");
  return *value;
}

// Megatron's default: with SwiGLU's third matrix about as many parameters as without.
std::int64_t default_ffn_width(std::int64_t width, bool swiglu) {
  return swiglu ? 8 * width / 3 / 64 * 64 : 4 * width;
}

void require_plain_attention(const ModelConfig& config) {
  const std::string_view name = to_string(config.architecture);
  if (config.kv_heads != config.heads)
    throw usage_error(format("{} has no --group-query-attention", name),
                      format("{}'s architecture has it", decoder_with(true)->title));
  if (config.head_width * config.heads != config.width)
    throw usage_error(
        format("{} has heads of --hidden-size / --num-attention-heads = {} / {}, not --kv-channels {}", name,
               config.width, config.heads, config.head_width),
        format("{}'s architecture may have others", decoder_with(true)->title));
}

void read_attention(const Flags& flags, ModelConfig& config, std::vector<std::string>& notes) {
  config.heads = config.kv_heads = required(flags, "--num-attention-heads");
  if (flags.given("--group-query-attention"))
    config.kv_heads = flags.integer("--num-query-groups").value_or(1);
  else if (flags.given("--num-query-groups"))
    notes.push_back("--num-query-groups has no effect without --group-query-attention");
  const auto channels = size_of(flags, "--kv-channels");
  if (!channels && config.width % config.heads != 0)
    throw usage_error(
        format("--hidden-size {} does not divide over {} attention heads", config.width, config.heads));
  config.head_width = channels.value_or(config.width / config.heads);
}

void read_rope(const Flags& flags, RotaryFrequencies& rotary, std::vector<std::string>& notes) {
  if (flags.given("--use-rope-scaling")) {
    rotary = kRopeScaling;
    rotary.factor = flags.number("--rope-scaling-factor").value_or(rotary.factor);
  } else if (flags.given("--rope-scaling-factor")) {
    notes.push_back("--rope-scaling-factor has no effect without --use-rope-scaling");
  }
  rotary.theta = flags.number("--rotary-base").value_or(rotary.theta);
}

void check_rope_flags(const Flags& flags, bool rope) {
  if (const auto part = flags.number("--rotary-percent"); part && *part != 1)
    throw usage_error(format("--rotary-percent {}: rope turns whole heads here", *part), "it has to be 1");
  if (const auto factor = flags.integer("--rotary-seq-len-interpolation-factor"); factor && *factor != 1)
    throw usage_error(
        format("--rotary-seq-len-interpolation-factor {}: positions are not stretched here", *factor),
        "it has to be 1; --use-rope-scaling stretches them");
  if (rope) return;
  for (const std::string_view flag : {"--rotary-base", "--use-rope-scaling", "--no-position-embedding"})
    if (flags.given(flag))
      throw usage_error(format("{} needs --position-embedding-type rope", flag),
                        "learned positions are not rotated");
}

void read_dropout(const Flags& flags, ModelConfig& config, std::optional<double> fallback) {
  const auto either = [&](std::string_view name, double current) {
    return flags.number(name, 1).value_or(fallback.value_or(current));
  };
  config.attention_dropout = either("--attention-dropout", config.attention_dropout);
  if (!config.architecture->hidden_dropout()) {
    if (flags.number("--hidden-dropout", 1).value_or(0) > 0)
      throw usage_error(
          format("--hidden-dropout: {}'s architecture has none but attention's", config.architecture->title),
          "it has to be 0");
    return;
  }
  config.embedding_dropout = either("--hidden-dropout", config.embedding_dropout);
  config.residual_dropout = either("--hidden-dropout", config.residual_dropout);
}

// Of the architectures with rotary positions, the one that can have these biases and norms.
void choose_by_biases(const Flags& flags, ModelConfig& config) {
  ArchitectureDescription::Traits traits = config.architecture->traits();
  traits.head_norms = flags.given("--qk-layernorm");
  const Architecture* const found =
      find_architecture(traits, {config.attention_bias, config.attention_output_bias, config.ffn_bias});
  if (found == nullptr ||
      !(*found)->can_have_biases(config.attention_bias, config.attention_output_bias, config.ffn_bias))
    throw usage_error("no architecture of Nadi has these norms of queries and keys with these biases",
                      "--qk-layernorm goes with --disable-bias-linear");
  config.architecture = *found;
}

}  // namespace

bool is_model_family(std::string_view word) {
  return first_of_family(word) != nullptr;
}

bool has_model_flags(const Flags& flags) {
  const auto given = [&](std::string_view flag) { return flags.given(flag); };
  return std::ranges::any_of(kModelFlags, given) || std::ranges::any_of(expert_model_flags(), given);
}

ModelConfig megatron_model(const Flags& flags, std::string_view family, std::vector<std::string>& notes) {
  ModelConfig config;
  config.name = family.empty() ? kUsualFamily : family;
  config.architecture = architecture_of(flags, family);
  const bool modern = config.architecture->rotary(), encoder = config.architecture->masked();
  config.layers = required(flags, "--num-layers");
  config.width = required(flags, "--hidden-size");
  read_attention(flags, config, notes);
  if (!modern) require_plain_attention(config);
  config.ffn_width = flags.integer("--ffn-hidden-size").value_or(default_ffn_width(config.width, modern));
  const auto positions = flags.integer("--max-position-embeddings");
  const auto tokens = flags.integer("--max-seq-length");
  if (!positions && !tokens)
    throw usage_error("--seq-length is missing",
                      "it says how long the sequences of a model given by flags are");
  config.positions = positions.value_or(tokens.value_or(0));
  check_rope_flags(flags, modern);
  if (modern) read_rope(flags, config.rotary, notes);
  config.tied_embeddings = !flags.given("--untie-embeddings-and-output-weights");
  config.attention_output_bias = config.ffn_bias =
      !flags.given("--disable-bias-linear") && !(modern && !family.empty() && family != kUsualFamily);
  config.attention_bias = config.ffn_bias || flags.given("--add-qkv-bias");
  read_expert_model(flags, config);
  if (!modern && config.experts > 0)
    throw usage_error(
        "--num-experts needs --position-embedding-type rope, --normalization RMSNorm and --swiglu");
  if (modern && config.experts == 0) choose_by_biases(flags, config);
  if (!modern && flags.given("--qk-layernorm"))
    throw usage_error(
        format("--qk-layernorm: {} has no norms of queries and keys", to_string(config.architecture)));
  if (!modern && !config.ffn_bias)
    throw usage_error(format("--disable-bias-linear: {} has biases", to_string(config.architecture)),
                      format("{}'s architecture may have none", decoder_with(true)->title));
  if (encoder && !config.tied_embeddings)
    throw usage_error(format("--untie-embeddings-and-output-weights: {}'s output uses the word embeddings",
                             config.architecture->model_type));
  config.token_types = encoder ? kTokenTypes : 0;
  config.activation = encoder ? Activation::kGeluErf : Activation::kGeluTanh;
  config.norm_epsilon =
      flags.number("--norm-epsilon").value_or(encoder ? kEncoderNormEpsilon : kMegatronNormEpsilon);
  config.initializer_range = flags.number("--init-method-std").value_or(config.initializer_range);
  read_dropout(flags, config, kMegatronDropout);
  if (modern && !flags.given("--hidden-dropout"))
    notes.push_back(format("{}'s architecture has no hidden dropout: Megatron's default of 0.1 is left out",
                           decoder_with(true)->title));
  config.vocabulary = padded_vocabulary(flags, flags.integer("--vocab-size").value_or(0));
  ModelConfig complete = config;
  complete.vocabulary = std::max<std::int64_t>(config.vocabulary, 1);
  try {
    check_config(complete, "");
  } catch (const Error& error) {  // it is no file's fault
    throw usage_error(error.message());
  }
  return config;
}

void apply_model_flags(const Flags& flags, ModelConfig& config) {
  const bool modern = config.architecture->rotary();
  const auto same = [&](std::string_view flag, std::int64_t own, std::int64_t given) {
    if (given != own)
      throw usage_error(format("{} {} contradicts {}, where that is {}", flag, given, config.name, own));
  };
  const auto same_if_given = [&](std::string_view flag, std::int64_t own) {
    same(flag, own, flags.integer(flag).value_or(own));
  };
  same_if_given("--num-layers", config.layers);
  same_if_given("--hidden-size", config.width);
  same_if_given("--ffn-hidden-size", config.ffn_width);
  same_if_given("--num-attention-heads", config.heads);
  same_if_given("--kv-channels", config.head_width);
  same_if_given("--max-position-embeddings", config.positions);
  if (flags.given("--group-query-attention"))
    same("--num-query-groups", config.kv_heads, flags.integer("--num-query-groups").value_or(1));
  if (const auto size = flags.integer("--vocab-size"))
    same("--vocab-size", config.vocabulary, padded_vocabulary(flags, *size));
  const auto contradicts = [&](bool does, std::string_view flag) {
    if (does)
      throw usage_error(
          format("{} contradicts {}, of type {}", flag, config.name, to_string(config.architecture)));
  };
  for (const Trait& trait : traits_of(flags))
    contradicts(trait.given.has_value() && *trait.given != modern,
                trait.flag.substr(0, trait.flag.find(' ')));
  contradicts(flags.given("--disable-bias-linear") &&
                  (config.ffn_bias || (config.attention_bias && !flags.given("--add-qkv-bias"))),
              "--disable-bias-linear");
  contradicts(flags.given("--add-qkv-bias") && !config.attention_bias, "--add-qkv-bias");
  contradicts(flags.given("--qk-layernorm") && !config.architecture->head_norms(), "--qk-layernorm");
  contradicts(flags.given("--untie-embeddings-and-output-weights") && config.tied_embeddings,
              "--untie-embeddings-and-output-weights");
  check_expert_model(flags, config);
  check_rope_flags(flags, modern);
  if (const auto base = flags.number("--rotary-base"))
    contradicts(*base != config.rotary.theta, "--rotary-base");
  contradicts(flags.given("--use-rope-scaling") && config.rotary.original_positions == 0,
              "--use-rope-scaling");
  if (const auto factor = flags.number("--rope-scaling-factor"))
    contradicts(*factor != config.rotary.factor, "--rope-scaling-factor");
  config.norm_epsilon = flags.number("--norm-epsilon").value_or(config.norm_epsilon);
  config.initializer_range = flags.number("--init-method-std").value_or(config.initializer_range);
  read_dropout(flags, config, std::nullopt);
}

std::int64_t padded_vocabulary(const Flags& flags, std::int64_t vocabulary) {
  const std::int64_t multiple = flags.integer("--make-vocab-size-divisible-by").value_or(1);
  return checked_multiply(vocabulary / multiple + (vocabulary % multiple == 0 ? 0 : 1), multiple, "tokens");
}

}  // namespace nadi::inline show
