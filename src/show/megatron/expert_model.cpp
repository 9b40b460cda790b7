#include "nadi/megatron/expert_model.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kExperts = "--num-experts", kTopK = "--moe-router-topk",
                           kWidth = "--moe-ffn-hidden-size", kPattern = "--moe-layer-freq",
                           kShared = "--moe-shared-expert-intermediate-size",
                           kGate = "--moe-shared-expert-gate", kPreSoftmax = "--moe-router-pre-softmax";
constexpr std::array kAll{kExperts, kTopK, kWidth, kPattern, kShared, kGate, kPreSoftmax};
constexpr std::int64_t kUsualTopK = 2;

// A sum of lists and products of lists with numbers: "[0]*3+[1]*58".
class PatternReader {
 public:
  explicit PatternReader(const std::string& text) : text_(text) {
    std::erase_if(text_, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  }

  std::vector<bool> read() {
    std::vector<bool> pattern = sum();
    require(at_ == text_.size());
    return pattern;
  }

 private:
  static constexpr std::size_t kMostLayers = 100'000;

  void require(bool condition) const {
    if (!condition)
      throw usage_error(format("{} takes a number, or a list of 0 and 1, not '{}'", kPattern, text_),
                        "([0]*3+[1]*58) has three layers without experts before 58 that have them");
  }
  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  std::size_t number() {
    std::size_t value = 0, digits = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_, ++digits)
      value = value * 10 + static_cast<std::size_t>(text_[at_] - '0');
    require(digits > 0 && digits < 7);
    return value;
  }
  std::vector<bool> sum() {
    std::vector<bool> all = product();
    while (take('+')) {
      const std::vector<bool> more = product();
      all.insert(all.end(), more.begin(), more.end());
      require(all.size() <= kMostLayers);
    }
    return all;
  }
  std::vector<bool> product() {
    std::vector<bool> list;
    if (take('(')) {
      list = sum();
      require(take(')'));
    } else {
      require(take('['));
      do {
        const std::size_t value = number();
        require(value <= 1);
        list.push_back(value == 1);
      } while (take(','));
      require(take(']'));
    }
    while (take('*')) {
      const std::size_t times = number();
      require(times * list.size() <= kMostLayers);
      const std::vector<bool> once = list;
      list.clear();
      for (std::size_t i = 0; i < times; ++i) list.insert(list.end(), once.begin(), once.end());
    }
    return list;
  }

  std::string text_;
  std::size_t at_ = 0;
};

const BlockPart& part_with_experts(const Architecture& architecture) {
  return *std::ranges::find_if(architecture->block.parts,
                               [](const BlockPart& part) { return part.experts.has_value(); });
}

bool has_dense_layers(const Architecture& architecture) {
  return !part_with_experts(architecture).output.empty();
}

// Whether a model of this architecture may be so.
bool can_be(const Architecture& architecture, const ModelConfig& config, bool head_norms) {
  if (!architecture->experts() || architecture->head_norms() != head_norms) return false;
  if (!architecture->can_have_biases(config.attention_bias, config.attention_output_bias, config.ffn_bias))
    return false;
  if (config.shared_expert_width > 0 && part_with_experts(architecture).experts->shared.up.empty())
    return false;
  if (has_mixed_layers(config) && !has_dense_layers(architecture)) return false;
  return std::ranges::none_of(architecture->fixed, [&](const auto& entry) {
    return entry.first == "normalized_experts" && entry.second != config.normalized_experts;
  });
}

// The first of those that the model may be of.
Architecture architecture_with(const Flags& flags, const ModelConfig& config) {
  for (const Architecture& architecture : architectures())
    if (can_be(architecture, config, flags.given("--qk-layernorm"))) return architecture;
  throw usage_error(
      format("no architecture of Nadi has experts with {}{}{}{}",
             flags.given("--qk-layernorm") ? "norms of queries and keys" : "no norms of queries and keys",
             config.attention_bias ? ", biases of attention" : "",
             config.shared_expert_width > 0 ? ", a shared expert" : "",
             has_mixed_layers(config) ? ", layers without experts" : ""));
}

}  // namespace

std::vector<std::string_view> expert_model_flags() {
  return {kAll.begin(), kAll.end()};
}

std::vector<bool> parse_layer_pattern(const std::string& text, std::int64_t layers) {
  if (!text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
      text.size() < 7) {
    const std::int64_t every = std::stoll(text);
    if (every < 1) throw usage_error(format("{} must be at least 1, not {}", kPattern, text));
    std::vector<bool> pattern;
    for (std::int64_t layer = 0; layer < layers; ++layer) pattern.push_back(layer % every == 0);
    return pattern;
  }
  std::vector<bool> pattern = PatternReader(text).read();
  if (std::ssize(pattern) != layers)
    throw usage_error(
        format("{} is a list of {} layers, and the model has {}", kPattern, pattern.size(), layers));
  return pattern;
}

void read_expert_model(const Flags& flags, ModelConfig& config) {
  const auto experts = flags.integer(kExperts);
  if (!experts) {
    for (const std::string_view flag : kAll)
      if (flags.given(flag)) throw usage_error(format("{} needs {}", flag, kExperts));
    return;
  }
  if (config.ffn_bias)
    throw usage_error(format("{} needs --disable-bias-linear: experts have no biases", kExperts));
  config.experts = *experts;
  config.experts_per_token = flags.integer(kTopK).value_or(kUsualTopK);
  config.expert_width = flags.integer(kWidth).value_or(config.ffn_width);
  config.shared_expert_width = flags.integer(kShared).value_or(0);
  config.normalized_experts = !flags.given(kPreSoftmax);
  if (flags.given(kGate) != (config.shared_expert_width > 0))
    throw usage_error(format(
        "{} and {} go together: no architecture of Nadi has a shared expert without a gate", kShared, kGate));
  if (const auto text = flags.text(kPattern)) {
    const std::vector<bool> pattern = parse_layer_pattern(*text, config.layers);
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
      if (!pattern[static_cast<std::size_t>(layer)]) config.dense_layers.push_back(layer);
  }
  config.architecture = architecture_with(flags, config);
  if (!has_dense_layers(config.architecture)) config.ffn_width = config.expert_width;
}

void check_expert_model(const Flags& flags, const ModelConfig& config) {
  const auto same = [&](std::string_view flag, std::int64_t own) {
    if (const auto given = flags.integer(flag); given && *given != own)
      throw usage_error(format("{} {} contradicts {}, where that is {}", flag, *given, config.name, own));
  };
  same(kExperts, config.experts);
  same(kTopK, config.experts_per_token);
  same(kWidth, config.expert_width);
  same(kShared, config.shared_expert_width);
  const auto contradicts = [&](bool does, std::string_view flag) {
    if (does)
      throw usage_error(
          format("{} contradicts {}, of type {}", flag, config.name, to_string(config.architecture)));
  };
  contradicts(flags.given(kPreSoftmax) && (config.experts == 0 || config.normalized_experts), kPreSoftmax);
  contradicts(flags.given(kGate) && config.shared_expert_width == 0, kGate);
  if (const auto text = flags.text(kPattern)) {
    const std::vector<bool> pattern = parse_layer_pattern(*text, config.layers);
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
      contradicts(pattern[static_cast<std::size_t>(layer)] != is_sparse(config, layer), kPattern);
  }
}

}  // namespace nadi::inline show
