// What an architecture is, as data: its blocks and their parts, the names of its weights, the keys of its
// configuration, its tokenizer, its place in Megatron-LM. The built-in ones are the files in architectures/,
// which the program carries in itself; others come with a configuration (config_file.h). All are written in
// the words of docs/architectures.md and read by architecture_reader.h. Code exists for parts alone: model.h
// builds them, described_config.h reads and writes configurations, megatron_checkpoint/whole_names.h gives
// Megatron's names.
//
//   const Architecture qwen3 = architecture_named("qwen3");
//   qwen3->block.parts[0].query_norm                            // "q_norm"
//
// How a weight may be split over tensor-parallel ranks follows from what it is: layers of queries, keys,
// values, gate and up by their outputs; output layers of a part by their inputs; tables of words by rows;
// everything else is on every rank.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nadi/graph/ops/route.h"

namespace nadi::inline describe {

// Which tokens the loss is of, and so what attention sees.
enum class Prediction : std::uint8_t {
  kNextToken,     // each token sees itself and those before it
  kMaskedTokens,  // all tokens see each other; the model does not generate
};

enum class NormKind : std::uint8_t { kLayer, kRms };

// The experts of a feed-forward part. Names are relative to the part's scope; those of an expert's layers have "*" for
// its number (expert_names.h).
struct ExpertNames {
  // An expert that every token has; with `router`, times the sigmoid of what that layer gives. Nothing where `up` is
  // empty.
  struct Shared {
    std::string scope, gate, up, output, router;
  };
  std::string scope;        // "experts.*"
  std::string router;       // the layer that gives a number for each expert
  std::string choice_bias;  // full name after the router's; no gradient reaches it
  RouterScore score = RouterScore::kSoftmax;
  std::int64_t group_best = 1;  // route.h
  std::string gate, up, output;
  Shared shared = {};
};

// One half of a block, as a rule: y = output(inner(norm_before(x))), and x + y, normed by norm_after, is what
// the next part reads. Names are relative to the block; empty ones are parts that the architecture lacks.
struct BlockPart {
  enum class Kind : std::uint8_t { kAttention, kFeedForward };
  Kind kind = Kind::kAttention;
  bool beside = false;  // reads what the part before it reads, not its sum
  std::string norm_before;
  std::string scope;  // of what stands before the output layer
  // Attention: one packed layer, or three; norms per head, of queries and keys; rotary positions.
  std::string packed;
  std::string query, key, value;
  std::string query_norm, key_norm;
  bool rotary = false;
  // Feed-forward: with a gate SwiGLU, without one the configuration's activation.
  std::string gate, up;
  std::string output_scope;  // of the output layer and what follows
  std::string output, dropout, norm_after;
  // Feed-forward: in the layers that have experts, these instead of gate, up and output, which are empty where all
  // have them.
  std::optional<ExpertNames> experts = {};

  bool attention() const { return kind == Kind::kAttention; }
};

// The field of ModelConfig that a key sets, or the frequencies of rotary positions ("rotary": an object of
// transformers' rope_scaling).
struct ConfigRatio {
  std::string of;  // a field that an earlier key sets
  std::int64_t times = 1;
};
using ConfigDefault = std::variant<std::monostate, std::int64_t, double, bool, std::string, ConfigRatio>;

struct ConfigEntry {
  // Which layers have an attention window: all of them, or those from a number on that other keys say.
  enum class Window : std::uint8_t { kNone, kAllLayers, kUpperLayers };

  std::string key;
  std::vector<std::string> sets = {};  // all of them the same value
  ConfigDefault otherwise = {};        // where the key is missing; nothing: it must be there
  ConfigDefault when_null = {};        // where it is null; nothing: as `otherwise`
  std::optional<std::variant<bool, std::string>> only = {};  // the one value that Nadi builds
  bool without_effect = false;                               // it says how to compute, not what
  bool written = true;                                       // into a checkpoint's configuration
  Window window = Window::kNone;
  std::int64_t first_window_layer = 0;  // of kUpperLayers, where the key is missing
};

struct MegatronDescription {
  struct Size {
    std::string name, tokenizer;
  };
  std::string blocks;     // "decoder", "encoder"
  std::string family;     // the word that stands for such a model where flags describe it
  std::string tokenizer;  // --tokenizer-type, where nothing else says
  std::string script;     // that trains it
  std::vector<Size> sizes = {};
  std::string pooler = {}, binary_head = {};  // parts that its files may have and Nadi does not train
};

struct ArchitectureDescription {
  // What tells architectures of Megatron-LM and of flags apart.
  struct Traits {
    bool encoder = false;
    bool rotary = false;
    NormKind norm = NormKind::kLayer;
    bool gated = false;
    bool head_norms = false;
    bool experts = false;
    bool operator==(const Traits&) const = default;
  };

  std::string model_type;  // as in config.json
  std::string title;       // as its authors write it
  std::string class_name;  // of transformers
  Prediction predicts = Prediction::kNextToken;
  NormKind norm = NormKind::kLayer;
  bool weights_in_out = false;  // stored [in, out], not [out, in] as torch's Linear has them
  bool outputs_shrink = false;  // fresh output layers of parts are smaller, the more layers there are
  std::optional<std::string> tokenizer;  // the folder of `nadi data get` with its vocabulary

  struct Embedding {
    std::string scope, words, token_types, positions, norm, dropout;
  } embedding;
  struct Block {
    std::string scope;  // "model.layers.{}"
    std::vector<BlockPart> parts;
  } block;
  struct Final {
    std::string scope, norm;
  } final;
  struct Output {
    std::string transform_scope, transform, transform_norm;  // before the output layer
    std::string scope;
    std::string weight;           // full name, where it is not tied
    std::string bias, bias_also;  // full name; another that files have for it
  } output;

  std::vector<ConfigEntry> configuration;
  std::vector<std::pair<std::string, bool>> fixed;  // fields that no key sets
  std::optional<MegatronDescription> megatron;

  // Where the architecture is not built in: its description, as JSON.
  std::string text;

  bool built_in() const { return text.empty(); }
  bool generates() const { return predicts == Prediction::kNextToken; }
  bool masked() const { return predicts == Prediction::kMaskedTokens; }
  bool rotary() const;
  bool gated() const;
  bool head_norms() const;
  bool experts() const;
  bool hidden_dropout() const;  // of embeddings and of the residual stream
  bool learned_positions() const { return !embedding.positions.empty(); }
  bool token_types() const { return !embedding.token_types.empty(); }
  bool norms_after() const;      // each part's, behind the sum
  bool uses_activation() const;  // that of the configuration
  Traits traits() const;
  // Whether a configuration can have these biases: of queries, keys and values; of attention's output layer;
  // of the feed-forward layers.
  bool can_have_biases(bool attention, bool attention_output, bool ffn) const;

  // Full names.
  std::string word_embeddings() const;
  std::string in_block(std::int64_t number, std::string_view name) const;
};

// A description that configurations share: it never changes.
class Architecture {
 public:
  Architecture();  // the first built-in one
  explicit Architecture(std::shared_ptr<const ArchitectureDescription> description)
      : description_(std::move(description)) {}

  const ArchitectureDescription& operator*() const { return *description_; }
  const ArchitectureDescription* operator->() const { return description_.get(); }
  bool operator==(const Architecture& other) const;

 private:
  std::shared_ptr<const ArchitectureDescription> description_;
};

std::string_view to_string(const Architecture& architecture);  // its model_type
std::ostream& operator<<(std::ostream& out, const Architecture& architecture);

// The built-in ones.
std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view model_type);  // nullptr when there is none
Architecture architecture_named(std::string_view model_type);        // there must be one
// The first with these traits that can have these biases; failing that, the first with these traits; nullptr
// when there is none.
struct BiasKinds {
  bool attention = true, attention_output = true, ffn = true;
};
const Architecture* find_architecture(const ArchitectureDescription::Traits& traits, const BiasKinds& biases);

// Two parts of a name with a point between, either of which may be empty.
std::string joined_name(std::string_view scope, std::string_view name);

}  // namespace nadi::inline describe
