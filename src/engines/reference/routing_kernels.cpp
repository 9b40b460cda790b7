// Which experts tokens go to, the losses of that, and where each token's rows stand. Letters: T tokens, E experts, k of
// them per token, R rows, W width, P ranks.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "nadi/base/format.h"
#include "nadi/graph/ops/expert_rows.h"
#include "nadi/graph/ops/route.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

Doubles softmax(std::span<const double> logits) {
  const double largest = std::ranges::max(logits);
  Doubles result;
  for (const double logit : logits) result.push_back(std::exp(logit - largest));
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& value : result) value /= sum;
  return result;
}

Doubles scores_of(RouterScore score, std::span<const double> logits) {
  if (score == RouterScore::kSoftmax) return softmax(logits);
  Doubles result(logits.begin(), logits.end());
  if (score == RouterScore::kSigmoid)
    for (double& value : result) value = sigmoid(value);
  return result;
}

// The `count` largest, of equal ones the first, in their order.
std::vector<std::int64_t> largest_of(std::span<const double> values, std::int64_t count) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::int64_t i) { return values[i]; });
  order.resize(count);
  return order;
}

// Scores of experts whose group is not chosen become minus infinity.
void leave_groups_out(const RouteSettings& settings, Doubles& scores) {
  if (settings.chosen_groups == settings.groups) return;
  const std::int64_t per_group = std::ssize(scores) / settings.groups;
  Doubles of_group;
  for (std::int64_t g = 0; g < settings.groups; ++g) {
    const std::span<const double> group = std::span(scores).subspan(g * per_group, per_group);
    double sum = 0;
    for (const std::int64_t best : largest_of(group, settings.group_best)) sum += group[best];
    of_group.push_back(sum);
  }
  const std::vector<std::int64_t> chosen = largest_of(of_group, settings.chosen_groups);
  for (std::int64_t g = 0; g < settings.groups; ++g)
    if (std::ranges::find(chosen, g) == chosen.end())
      std::fill_n(scores.begin() + g * per_group, per_group, -std::numeric_limits<double>::infinity());
}

}  // namespace

void route_kernel(KernelCall& call) {
  using namespace route_input;
  const RouteSettings settings = route_settings(call.attributes());
  const std::int64_t E = call.shape(kLogits)[-1], T = call.shape(kLogits).elements() / E;
  for (std::int64_t t = 0; t < T; ++t) {
    const std::span<const double> logits = call.in(kLogits).subspan(t * E, E);
    const Doubles scores = scores_of(settings.score, logits);
    Doubles choosing = scores;
    if (call.has(kBias))
      for (std::int64_t e = 0; e < E; ++e) choosing[e] += call.in(kBias)[e];
    leave_groups_out(settings, choosing);
    const std::vector<std::int64_t> chosen = largest_of(choosing, settings.top_k);
    Doubles weights;
    for (const std::int64_t e : chosen) weights.push_back(scores[e]);
    if (settings.score == RouterScore::kSoftmaxOfChosen) weights = softmax(weights);
    const double sum = std::accumulate(weights.begin(), weights.end(), kLeastSum);
    for (std::int64_t j = 0; j < settings.top_k; ++j) {
      call.out(0)[t * settings.top_k + j] = static_cast<double>(chosen[j]);
      call.out(1)[t * settings.top_k + j] = settings.scale * weights[j] / (settings.normalized ? sum : 1);
    }
  }
}

// With w_j = scale s_j / S: ds_j = scale (dw_j - sum_i dw_i s_i / S) / S. A softmax p has
// dx_e = p_e (ds_e - sum_i ds_i p_i), a sigmoid dx = ds s (1 - s).
void route_grad_kernel(KernelCall& call) {
  using namespace route_grad_input;
  const RouteSettings settings = route_settings(call.attributes());
  const std::int64_t E = call.shape(kLogits)[-1], T = call.shape(kLogits).elements() / E;
  const std::int64_t k = settings.top_k;
  for (std::int64_t t = 0; t < T; ++t) {
    const std::span<const double> logits = call.in(kLogits).subspan(t * E, E);
    const std::span<const double> dw = call.in(kGradient).subspan(t * k, k);
    const std::span<double> dlogits = call.out(0).subspan(t * E, E);
    std::vector<std::int64_t> chosen;
    Doubles s;
    const Doubles scores = scores_of(settings.score, logits);
    for (std::int64_t j = 0; j < k; ++j) {
      chosen.push_back(call.integer(kExperts, t * k + j));
      s.push_back(scores[chosen.back()]);
    }
    if (settings.score == RouterScore::kSoftmaxOfChosen) s = softmax(s);
    const double sum = std::accumulate(s.begin(), s.end(), kLeastSum);
    double along = 0;
    for (std::int64_t j = 0; j < k; ++j) along += dw[j] * s[j];
    Doubles ds;
    for (std::int64_t j = 0; j < k; ++j)
      ds.push_back(settings.scale * (settings.normalized ? (dw[j] - along / sum) / sum : dw[j]));
    double inner = 0;
    for (std::int64_t j = 0; j < k; ++j) inner += ds[j] * s[j];
    if (settings.score == RouterScore::kSoftmax)
      for (std::int64_t e = 0; e < E; ++e) dlogits[e] = -scores[e] * inner;
    for (std::int64_t j = 0; j < k; ++j) {
      double& d = dlogits[chosen[j]];
      switch (settings.score) {
        case RouterScore::kSoftmax:
          d += s[j] * ds[j];
          break;
        case RouterScore::kSigmoid:
          d = ds[j] * s[j] * (1 - s[j]);
          break;
        case RouterScore::kSoftmaxOfChosen:
          d = s[j] * (ds[j] - inner);
          break;
      }
    }
  }
}

void router_sums_kernel(KernelCall& call) {
  const RouterScore score = router_score_named(call.attributes().text("score"));
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  for (std::int64_t t = 0; t < T; ++t) {
    Doubles scores = scores_of(score, call.in(0).subspan(t * E, E));
    for (const std::int64_t e : largest_of(scores, call.attributes().integer("top_k"))) call.out(1)[e] += 1;
    const double sum =
        score == RouterScore::kSigmoid ? std::accumulate(scores.begin(), scores.end(), kLeastSum) : 1;
    for (std::int64_t e = 0; e < E; ++e) call.out(0)[e] += scores[e] / sum;
  }
}

// A sigmoid s divided by the sum S of all: ds_e = (d_e - sum_i d_i s_i / S) / S.
void router_sums_grad_kernel(KernelCall& call) {
  const RouterScore score = router_score_named(call.attributes().text("score"));
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  const std::span<const double> d = call.in(1);
  for (std::int64_t t = 0; t < T; ++t) {
    const Doubles s = scores_of(score, call.in(0).subspan(t * E, E));
    const std::span<double> dlogits = call.out(0).subspan(t * E, E);
    double along = 0;
    for (std::int64_t e = 0; e < E; ++e) along += d[e] * s[e];
    const double sum = score == RouterScore::kSigmoid ? std::accumulate(s.begin(), s.end(), kLeastSum) : 1;
    for (std::int64_t e = 0; e < E; ++e)
      dlogits[e] = score == RouterScore::kSigmoid ? s[e] * (1 - s[e]) * (d[e] - along / sum) / sum
                                                  : s[e] * (d[e] - along);
  }
}

void balance_loss_kernel(KernelCall& call) {
  const auto tokens = static_cast<double>(call.attributes().integer("tokens"));
  double sum = 0;
  for (std::size_t e = 0; e < call.in(0).size(); ++e) sum += call.in(0)[e] * call.in(1)[e];
  call.out(0)[0] = call.attributes().real("factor") * sum / (tokens * tokens);
}

void balance_loss_grad_kernel(KernelCall& call) {
  const auto tokens = static_cast<double>(call.attributes().integer("tokens"));
  const double factor = call.attributes().real("factor") * call.attributes().real("coefficient");
  for (std::size_t e = 0; e < call.in(0).size(); ++e)
    call.out(0)[e] = call.scalar(1) * factor * call.in(0)[e] / (tokens * tokens);
}

void router_z_loss_kernel(KernelCall& call) {
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  double sum = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    const std::span<const double> logits = call.in(0).subspan(t * E, E);
    const double largest = std::ranges::max(logits);
    double exponentials = 0;
    for (const double logit : logits) exponentials += std::exp(logit - largest);
    const double log_sum = largest + std::log(exponentials);
    sum += log_sum * log_sum;
  }
  call.out(0)[0] =
      call.attributes().real("factor") * sum / static_cast<double>(call.attributes().integer("tokens"));
}

void router_z_loss_grad_kernel(KernelCall& call) {
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  const double factor = call.scalar(1) * call.attributes().real("factor") *
                        call.attributes().real("coefficient") * 2 /
                        static_cast<double>(call.attributes().integer("tokens"));
  for (std::int64_t t = 0; t < T; ++t) {
    const std::span<const double> logits = call.in(0).subspan(t * E, E);
    const double largest = std::ranges::max(logits);
    double exponentials = 0;
    for (const double logit : logits) exponentials += std::exp(logit - largest);
    const Doubles p = softmax(logits);
    for (std::int64_t e = 0; e < E; ++e)
      call.out(0)[t * E + e] = factor * (largest + std::log(exponentials)) * p[e];
  }
}

void update_expert_bias_kernel(KernelCall& call) {
  const std::span<const double> bias = call.in(0), counts = call.in(1);
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  for (std::size_t e = 0; e < bias.size(); ++e) {
    const double sign = counts[e] < mean ? 1 : counts[e] > mean ? -1 : 0;
    call.out(0)[e] = bias[e] + call.attributes().real("rate") * sign;
  }
}

void place_tokens_kernel(KernelCall& call) {
  using namespace place_tokens_output;
  const Attributes& attributes = call.attributes();
  const std::int64_t E = attributes.integer("experts"), choices = call.shape(0).elements();
  const double factor = attributes.real("capacity_factor");
  const bool padded = attributes.boolean("padded");
  const std::int64_t capacity = factor > 0 ? expert_capacity(choices, E, factor) : choices;
  const bool by_weight = drop_policy_named(attributes.text("policy")) == DropPolicy::kProbs;
  std::ranges::fill(call.out(kSources), -1);
  std::ranges::fill(call.out(kSlots), -1);
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < E; ++e) {
    std::vector<std::int64_t> of_expert;  // choices
    for (std::int64_t i = 0; i < choices; ++i) {
      const std::int64_t expert = call.integer(0, i);
      if (!(expert >= 0 && expert < E))
        call.op().refuse(format("expert {} of choice {} is not one of {}", expert, i, E));
      if (expert == e) of_expert.push_back(i);
    }
    call.out(kLoad)[e] = static_cast<double>(of_expert.size());
    if (std::ssize(of_expert) > capacity) {
      if (by_weight)
        std::ranges::stable_sort(of_expert, std::greater{}, [&](std::int64_t i) { return call.in(1)[i]; });
      of_expert.resize(capacity);
      std::ranges::sort(of_expert);
    }
    call.out(kLoad)[E + e] = static_cast<double>(of_expert.size());
    for (std::int64_t i = 0; i < std::ssize(of_expert); ++i) {
      call.out(kSources)[row + i] = static_cast<double>(of_expert[i]);
      call.out(kSlots)[of_expert[i]] = static_cast<double>(row + i);
    }
    const std::int64_t rows = padded ? capacity : std::ssize(of_expert);
    call.out(kCounts)[e] = static_cast<double>(rows);
    row += rows;
  }
}

void permute_tokens_kernel(KernelCall& call) {
  using namespace permute_tokens_input;
  const std::int64_t copies = call.shape(kSlots)[-1], W = call.shape(kRows)[-1];
  for (std::int64_t row = 0; row < call.shape(kSources)[0]; ++row) {
    const std::int64_t source = call.integer(kSources, row);
    if (source >= 0)
      std::ranges::copy(call.in(kRows).subspan(source / copies * W, W), call.out(0).begin() + row * W);
  }
}

void unpermute_tokens_kernel(KernelCall& call) {
  using namespace permute_tokens_input;
  const std::int64_t copies = call.shape(kSlots)[-1], W = call.shape(kRows)[-1];
  for (std::int64_t i = 0; i < call.shape(kSlots).elements(); ++i) {
    const std::int64_t row = call.integer(kSlots, i);
    if (row < 0) continue;
    for (std::int64_t w = 0; w < W; ++w) call.out(0)[i / copies * W + w] += call.in(kRows)[row * W + w];
  }
}

// Rows come from the ranks in their order, and from each in the order of experts.
void place_received_kernel(KernelCall& call) {
  using namespace place_received_output;
  const std::int64_t P = call.shape(0)[0], E = call.shape(0)[1], own = E / P, place = call.integer(1, 0);
  const std::int64_t R = call.attributes().integer("rows");
  const auto count = [&](std::int64_t rank, std::int64_t expert) {
    return call.integer(0, rank * E + expert);
  };
  std::ranges::fill(call.out(kSources), -1);
  std::ranges::fill(call.out(kSlots), -1);
  std::int64_t all = 0;
  for (std::int64_t p = 0; p < P; ++p)
    for (std::int64_t e = 0; e < own; ++e) {
      call.out(kSent)[p] += static_cast<double>(count(place, p * own + e));
      call.out(kReceived)[p] += static_cast<double>(count(p, place * own + e));
      all += count(p, place * own + e);
    }
  if (all > R) call.op().refuse(format("{} rows for the experts of this rank, and room for {}", all, R));
  std::int64_t sorted = 0;
  for (std::int64_t e = 0; e < own; ++e)
    for (std::int64_t p = 0; p < P; ++p) {
      std::int64_t at = 0;  // where the rows of this rank and expert begin
      for (std::int64_t q = 0; q < p; ++q) at += static_cast<std::int64_t>(call.out(kReceived)[q]);
      for (std::int64_t before = 0; before < e; ++before) at += count(p, place * own + before);
      const std::int64_t rows = count(p, place * own + e);
      call.out(kCounts)[e] += static_cast<double>(rows);
      for (std::int64_t i = 0; i < rows; ++i, ++sorted) {
        call.out(kSources)[sorted] = static_cast<double>(at + i);
        call.out(kSlots)[at + i] = static_cast<double>(sorted);
      }
    }
}

// In a group of one, rows come back as they are.
void exchange_rows_kernel(KernelCall& call) {
  using namespace exchange_rows_input;
  const std::int64_t elements = call.integer(kSent, 0) * call.shape(kRows)[1];
  if (elements > std::ssize(call.out(0)))
    call.op().refuse(
        format("{} rows, and room for {}", call.integer(kSent, 0), call.attributes().integer("rows")));
  std::ranges::copy(call.in(kRows).first(elements), call.out(0).begin());
}

}  // namespace nadi::inline engines
