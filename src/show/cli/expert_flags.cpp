#include "nadi/cli/expert_flags.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"

namespace nadi::inline show {
namespace {

struct BalanceName {
  std::string_view name;
  BalanceLossKind kind;
};
constexpr std::array kBalances{BalanceName{"pooled", BalanceLossKind::kPooled},
                               BalanceName{"aux_loss", BalanceLossKind::kPerLayer},
                               BalanceName{"none", BalanceLossKind::kNone}};
constexpr std::array kPolicies{DropPolicy::kProbs, DropPolicy::kPosition};

ExpertLoad resolve_expert_load(const std::string& text) {
  constexpr std::string_view kZipf = "zipf:";
  if (text == "balanced") return {};
  if (text.starts_with(kZipf)) {
    double exponent = 0;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data() + kZipf.size(), end, exponent);
    if (error != std::errc{} || after != end || !(exponent > 0 && exponent <= 10))
      throw usage_error(format("--expert-load takes an exponent between 0 and 10, not '{}'", text),
                        "zipf:1.1");
    return {.zipf = exponent};
  }
  ExpertLoad load;
  const JsonDocument document = read_json(text);
  for (const JsonValue& layer : document.root().elements()) {
    std::vector<double>& loads = load.layers.emplace_back();
    for (const JsonValue& tokens : layer.elements()) {
      loads.push_back(tokens.as_double());
      if (!(loads.back() >= 0)) throw error_at(tokens, "tokens of an expert are no negative number");
    }
  }
  if (load.layers.empty()) throw error_at(document.root(), "there are no layers");
  return load;
}

}  // namespace

std::vector<FlagSpec> expert_flags() {
  std::vector<std::string_view> balances, policies;
  for (const BalanceName& entry : kBalances) balances.push_back(entry.name);
  for (const DropPolicy policy : kPolicies) policies.push_back(to_string(policy));
  return {
      value_flag(
          "--moe-router-load-balancing-type", "KIND",
          "what the loss that keeps experts evenly busy is taken over: the tokens of all layers as one "
          "(pooled), as transformers does; each layer's (aux_loss), as Megatron-LM does",
          "pooled; aux_loss where there are several pipeline stages", {.choices = balances}),
      value_flag("--moe-aux-loss-coeff", "X", "coefficient of that loss",
                 "the model's, 0 where its configuration does not add the loss"),
      value_flag("--moe-z-loss-coeff", "X", "coefficient of the loss of large logits of routers", "0"),
      value_flag("--moe-expert-capacity-factor", "X",
                 "an expert takes at most so many times the mean of tokens; others are dropped",
                 "it takes all: no token is dropped"),
      value_flag("--moe-expert-rank-capacity-factor", "X",
                 "with --ep: room on each rank for the rows that come to its experts, as a multiple of "
                 "the mean; more "
                 "stop the step",
                 format("the worst case, at most {}", kMostRankCapacity)),
      value_flag(
          "--expert-load", "LOAD",
          "how busy experts are as far as costs are concerned: balanced, zipf:EXPONENT, or a JSON file with "
          "the tokens of each expert, a list for each layer",
          "balanced"),
      switch_flag("--moe-pad-expert-input-to-capacity",
                  "with --moe-expert-capacity-factor: every expert computes exactly so many rows"),
      value_flag("--moe-token-drop-policy", "WHICH",
                 "with --moe-expert-capacity-factor: an expert keeps the tokens with the largest weights "
                 "(probs) or the first ones (position)",
                 std::string(to_string(ExpertOptions{}.drop_policy)), {.choices = policies})};
}

ExpertOptions resolve_experts(const Flags& flags) {
  ExpertOptions options;
  if (const auto choice = flags.choice("--moe-router-load-balancing-type"))
    options.balance = kBalances[*choice].kind;
  options.balance_coefficient = flags.number("--moe-aux-loss-coeff");
  options.z_coefficient = flags.number("--moe-z-loss-coeff").value_or(options.z_coefficient);
  if (const auto factor = flags.number("--moe-expert-capacity-factor")) {
    if (*factor <= 0)
      throw usage_error(format("--moe-expert-capacity-factor must be larger than 0, not {}", *factor),
                        "leave it out, and no token is dropped");
    options.capacity_factor = *factor;
  }
  if (const auto factor = flags.number("--moe-expert-rank-capacity-factor")) {
    if (*factor <= 0)
      throw usage_error(format("--moe-expert-rank-capacity-factor must be larger than 0, not {}", *factor));
    options.rank_capacity_factor = *factor;
  }
  if (const auto load = flags.text("--expert-load")) options.load = resolve_expert_load(*load);
  options.padded = flags.given("--moe-pad-expert-input-to-capacity");
  if (options.padded && options.capacity_factor == 0)
    throw usage_error("--moe-pad-expert-input-to-capacity needs --moe-expert-capacity-factor");
  if (const auto choice = flags.choice("--moe-token-drop-policy")) {
    if (options.capacity_factor == 0)
      throw usage_error("--moe-token-drop-policy needs --moe-expert-capacity-factor");
    options.drop_policy = kPolicies[*choice];
  }
  return options;
}

}  // namespace nadi::inline show
