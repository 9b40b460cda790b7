#include "nadi/report/assumptions_report.h"

#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

Json dtype_json(const std::optional<DType>& dtype) {
  return dtype ? Json(name_of(*dtype)) : Json();
}

std::string attention_words(AttentionSource source) {
  switch (source) {
    case AttentionSource::kAsked:
      return "attention as it was asked for";
    case AttentionSource::kFramework:
      return "attention of the framework";
    case AttentionSource::kCluster:
      return "attention of the cluster's programs";
    case AttentionSource::kDefault:
      return "attention by default";
  }
  unreachable();
}

std::string load_words(const PredictionAssumptions& assumed) {
  std::string text;
  const auto add = [&](std::string words) { text += (text.empty() ? "" : ", ") + words; };
  if (!assumed.slow.empty())
    add(format("{} slow rank{}", assumed.slow.size(), assumed.slow.size() == 1 ? "" : "s"));
  if (!assumed.faults.empty())
    add(format("{} faulty link{}", assumed.faults.size(), assumed.faults.size() == 1 ? "" : "s"));
  if (assumed.jitter.deviation > 0)
    add(format("times of ops vary by {:.3g}%", assumed.jitter.deviation * 100));
  return text.empty() ? "ranks and links under even load" : text;
}

std::string price_words(const PredictionAssumptions& assumed) {
  std::string text;
  for (const AssumedPrice& price : assumed.prices)
    text += (text.empty() ? "" : ", ") +
            (price.dollars_per_hour ? format("{} at {:.4g} $/h", price.node, *price.dollars_per_hour)
                                    : format("{} without a price", price.node));
  return text;
}

Json load_json(const PredictionAssumptions& assumed) {
  Json slow = Json::array(), faults = Json::array();
  for (const SlowRank& rank : assumed.slow)
    slow.push_back({{"rank", to_number(rank.rank)}, {"factor", rank.factor}});
  for (const LinkFault& fault : assumed.faults)
    faults.push_back({{"link", fault.link}, {"factor", fault.factor}});
  return {{"even", assumed.slow.empty() && assumed.faults.empty() && assumed.jitter.deviation == 0},
          {"slow_ranks", std::move(slow)},
          {"link_faults", std::move(faults)},
          {"jitter", assumed.jitter.deviation}};
}

}  // namespace

Json assumptions_json(const PredictionAssumptions& assumed) {
  Json prices = Json::array();
  for (const AssumedPrice& price : assumed.prices)
    prices.push_back({{"node", price.node},
                      {"dollars_per_hour", price.dollars_per_hour ? Json(*price.dollars_per_hour) : Json()}});
  const OverlapOptions& overlap = assumed.overlap;
  Json root;
  root["framework"] = assumed.framework != nullptr ? Json(assumed.framework->name) : Json();
  root["dtype"] = dtype_json(assumed.dtype);
  root["dtype_from"] = assumed.dtype ? Json(assumed.dtype_asked ? "asked" : "default") : Json();
  root["gradient_reduction_dtype"] = dtype_json(overlap.gradient_dtype);
  root["attention"] = assumed.fused_attention ? Json(attention_name(*assumed.fused_attention)) : Json();
  root["attention_from"] = assumed.fused_attention ? Json(to_string(assumed.attention_from)) : Json();
  root["overlap"] = {{"blocking_messages", overlap.blocking_messages},
                     {"reduce_after_backward", overlap.reduce_after_backward},
                     {"blocking_collectives", overlap.blocking_collectives},
                     {"messages_stop_host", overlap.messages_stop_host},
                     {"scattered_messages", overlap.scattered_messages}};
  root["network"] = to_string(assumed.network);
  root["collective"] = to_string(assumed.collective);
  root["layer_times"] = assumed.layer_times.empty() ? Json() : Json(assumed.layer_times);
  root["load"] = load_json(assumed);
  root["prices"] = std::move(prices);
  return root;
}

std::vector<ReportFact> assumption_facts(const PredictionAssumptions& assumed) {
  std::vector<ReportFact> facts;
  const auto add = [&](std::string title, std::vector<std::string> words) {
    facts.push_back({.name = {"", std::move(title), CellKind::kText}, .words = std::move(words)});
  };
  if (assumed.framework != nullptr && assumed.fused_attention)
    add("trained by", words_of(format("{}: {}, {} attention", assumed.framework->name,
                                      assumed.framework->summary, attention_name(*assumed.fused_attention))));
  std::string text;
  const auto say = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
  if (assumed.dtype && !assumed.dtype_asked) say(format("{} by default", name_of(*assumed.dtype)));
  if (assumed.fused_attention) say(attention_words(assumed.attention_from));
  say(load_words(assumed));
  say(format("{} network, {}", to_string(assumed.network),
             assumed.collective == CollectiveAlgorithm::kAuto
                 ? "collectives as NCCL chooses"
                 : format("{} collectives", to_string(assumed.collective))));
  if (!assumed.layer_times.empty()) say(format("layer times of {}", assumed.layer_times));
  if (!assumed.prices.empty()) say(price_words(assumed));
  add("assumed", words_of(text));
  return facts;
}

}  // namespace nadi::inline show
