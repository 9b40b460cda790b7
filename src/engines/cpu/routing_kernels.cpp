// Which experts tokens go to, the losses of that, and where each token's rows stand. Letters: T tokens, E experts, k of
// them per token, R rows, W width, P ranks.
//
// Places of rows are found by one thread, in two passes over the choices: it takes less time than a step of the
// smallest product. Sums over tokens are taken in double precision, each thread's tokens first, in the order of threads.
#include <algorithm>
#include <cmath>

#include "nadi/base/format.h"
#include "nadi/cpu/blocks.h"
#include "nadi/cpu/vector_math.h"
#include "nadi/graph/ops/expert_rows.h"
#include "nadi/graph/ops/route.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::int64_t logits_bytes(const OpView& op, int threads, std::int64_t rows_each) {
  return threads * rows_each * op.in(0)[-1] * static_cast<std::int64_t>(sizeof(float));
}

void load_logits(const Source& logits, std::int64_t first, std::int64_t count, float* to) {
  convert_to_float(logits.at(first), logits.dtype(), count, to);
}

float largest_in(const float* values, std::int64_t count) {
  float largest = kNever;
  walk_blocks(0, count, [&](std::int64_t first, std::int64_t block) {
    largest = std::max(largest, largest_of(values + first, block));
  });
  return largest;
}

// In place; returns the logarithm of the sum of exponentials.
float softmax(float* values, std::int64_t count) {
  const float largest = largest_in(values, count);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] = fast_exp(values[i] - largest);
  const float inverse = 1.0F / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) values[i] *= inverse;
  return largest + std::log(sum);
}

void scores_of(RouterScore score, float* values, std::int64_t count) {
  switch (score) {
    case RouterScore::kSoftmax:
      softmax(values, count);
      return;
    case RouterScore::kSigmoid:
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) values[i] = sigmoid(values[i]).value;
      return;
    case RouterScore::kSoftmaxOfChosen:
      return;
  }
}

// Where the largest value is, of equal ones the first; the value becomes kNever. Where none is larger than that, the
// first that is not among those taken before.
template <class Taken>
std::int64_t take_largest(float* values, std::int64_t count, const Taken& was_taken) {
  const float largest = largest_in(values, count);
  std::int64_t at = largest > kNever ? std::find(values, values + count, largest) - values : 0;
  if (!(largest > kNever))
    while (was_taken(at)) ++at;
  values[at] = kNever;
  return at;
}

// The chosen experts of a token, into `chosen`; `choosing` is used up.
void choose(const RouteSettings& settings, float* choosing, std::int64_t E, std::int32_t* chosen) {
  for (std::int64_t j = 0; j < settings.top_k; ++j)
    chosen[j] = static_cast<std::int32_t>(take_largest(choosing, E, [&](std::int64_t e) {
      return std::find(chosen, chosen + j, static_cast<std::int32_t>(e)) != chosen + j;
    }));
}

// Experts whose group is not chosen get kNever. `scratch` has room for a copy of a group and for two numbers of each.
void leave_groups_out(const RouteSettings& settings, float* choosing, std::int64_t E, float* scratch) {
  if (settings.chosen_groups == settings.groups) return;
  const std::int64_t per_group = E / settings.groups;
  float* of_group = scratch;
  float* is_chosen = scratch + settings.groups;
  float* copy = is_chosen + settings.groups;
  for (std::int64_t g = 0; g < settings.groups; ++g) {
    std::copy_n(choosing + g * per_group, per_group, copy);
    of_group[g] = is_chosen[g] = 0;
    for (std::int64_t i = 0; i < settings.group_best; ++i) {
      const float largest = largest_in(copy, per_group);
      take_largest(copy, per_group, [](std::int64_t) { return false; });
      of_group[g] += largest;
    }
  }
  for (std::int64_t i = 0; i < settings.chosen_groups; ++i)
    is_chosen[take_largest(of_group, settings.groups, [&](std::int64_t g) { return is_chosen[g] > 0; })] = 1;
  for (std::int64_t g = 0; g < settings.groups; ++g)
    if (is_chosen[g] == 0) std::fill_n(choosing + g * per_group, per_group, kNever);
}

// Per thread: scores, what chooses, and what groups need.
constexpr std::int64_t kRouteRows = 5;

std::int64_t route_workspace(const OpView& op, int threads) {
  return logits_bytes(op, threads, kRouteRows);
}

void route_kernel(const KernelCall& call) {
  using namespace route_input;
  const RouteSettings settings = route_settings(call.attributes());
  const std::int64_t E = call.shape(kLogits)[-1], T = call.shape(kLogits).elements() / E, k = settings.top_k;
  const Source logits(call.inputs[kLogits]);
  parallel_for(T, worthwhile_threads(T * E, call.threads),
               [&](std::int64_t first, std::int64_t end, int thread) {
                 auto* const scores = call.workspace_of<float>(thread, kRouteRows * E);
                 float* const choosing = scores + E;
                 for (std::int64_t t = first; t < end; ++t) {
                   load_logits(logits, t * E, E, scores);
                   scores_of(settings.score, scores, E);
                   std::copy_n(scores, E, choosing);
                   if (call.has(kBias))
                     for (std::int64_t e = 0; e < E; ++e) choosing[e] += call.in<float>(kBias)[e];
                   leave_groups_out(settings, choosing, E, choosing + E);
                   std::int32_t* const chosen = call.out<std::int32_t>(0) + t * k;
                   choose(settings, choosing, E, chosen);
                   float* const weights = call.out<float>(1) + t * k;
                   for (std::int64_t j = 0; j < k; ++j) weights[j] = scores[chosen[j]];
                   if (settings.score == RouterScore::kSoftmaxOfChosen) softmax(weights, k);
                   double sum = kLeastSum;
                   for (std::int64_t j = 0; j < k; ++j) sum += weights[j];
                   const double factor = settings.scale / (settings.normalized ? sum : 1);
                   for (std::int64_t j = 0; j < k; ++j) weights[j] = static_cast<float>(weights[j] * factor);
                 }
               });
}

// With w_j = scale s_j / S: ds_j = scale (dw_j - sum_i dw_i s_i / S) / S. A softmax p has
// dx_e = p_e (ds_e - sum_i ds_i p_i), a sigmoid dx = ds s (1 - s).
void route_grad_kernel(const KernelCall& call) {
  using namespace route_grad_input;
  const RouteSettings settings = route_settings(call.attributes());
  const std::int64_t E = call.shape(kLogits)[-1], T = call.shape(kLogits).elements() / E, k = settings.top_k;
  const Source logits(call.inputs[kLogits]);
  const Target dlogits(call, 0);
  parallel_for(
      T, worthwhile_threads(T * E, call.threads), [&](std::int64_t first, std::int64_t end, int thread) {
        auto* const scores = call.workspace_of<float>(thread, kRouteRows * E);
        float* const d = scores + E;
        float* const s = d + E;  // of the chosen
        for (std::int64_t t = first; t < end; ++t) {
          const std::int32_t* const chosen = call.in<std::int32_t>(kExperts) + t * k;
          const float* const dw = call.in<float>(kGradient) + t * k;
          load_logits(logits, t * E, E, scores);
          scores_of(settings.score, scores, E);
          for (std::int64_t j = 0; j < k; ++j) s[j] = scores[chosen[j]];
          if (settings.score == RouterScore::kSoftmaxOfChosen) softmax(s, k);
          double sum = kLeastSum, along = 0;
          for (std::int64_t j = 0; j < k; ++j) {
            sum += s[j];
            along += static_cast<double>(dw[j]) * s[j];
          }
          const auto ds = [&](std::int64_t j) {
            return static_cast<float>(settings.scale * (settings.normalized ? (dw[j] - along / sum) / sum
                                                                            : static_cast<double>(dw[j])));
          };
          float inner = 0;
          for (std::int64_t j = 0; j < k; ++j) inner += ds(j) * s[j];
          if (settings.score == RouterScore::kSoftmax)
            for (std::int64_t e = 0; e < E; ++e) d[e] = -scores[e] * inner;
          else
            std::fill_n(d, E, 0.0F);
          for (std::int64_t j = 0; j < k; ++j) {
            float& of_expert = d[chosen[j]];
            switch (settings.score) {
              case RouterScore::kSoftmax:
                of_expert += s[j] * ds(j);
                break;
              case RouterScore::kSigmoid:
                of_expert = ds(j) * s[j] * (1 - s[j]);
                break;
              case RouterScore::kSoftmaxOfChosen:
                of_expert = s[j] * (ds(j) - inner);
                break;
            }
          }
          walk_blocks(0, E,
                      [&](std::int64_t e, std::int64_t count) { dlogits.put(t * E + e, count, d + e); });
        }
      });
}

// Per thread: scores as fp32, and two sums of each expert in double precision.
constexpr std::int64_t kSumsRows = 6;

std::int64_t sums_workspace(const OpView& op, int threads) {
  return logits_bytes(op, threads, kSumsRows);
}

void router_sums_kernel(const KernelCall& call) {
  const RouterScore score = router_score_named(call.attributes().text("score"));
  const std::int64_t k = call.attributes().integer("top_k");
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  const Source logits(call.inputs[0]);
  const int threads = worthwhile_threads(T * E, call.threads);
  const auto sums_of = [&](int thread) { return call.workspace_of<double>(thread, kSumsRows * E / 2); };
  for (int thread = 0; thread < threads; ++thread) std::fill_n(sums_of(thread), 2 * E, 0.0);
  parallel_for(T, threads, [&](std::int64_t first, std::int64_t end, int thread) {
    double* const sums = sums_of(thread);
    auto* const scores = reinterpret_cast<float*>(sums + 2 * E);
    float* const choosing = scores + E;
    for (std::int64_t t = first; t < end; ++t) {
      load_logits(logits, t * E, E, scores);
      scores_of(score, scores, E);
      double sum = 1;
      if (score == RouterScore::kSigmoid) {
        sum = kLeastSum;
        for (std::int64_t e = 0; e < E; ++e) sum += scores[e];
      }
      for (std::int64_t e = 0; e < E; ++e) sums[e] += scores[e] / sum;
      std::copy_n(scores, E, choosing);
      for (std::int64_t j = 0; j < k; ++j)
        sums[E + take_largest(choosing, E, [](std::int64_t) { return false; })] += 1;
    }
  });
  for (std::int64_t e = 0; e < E; ++e)
    for (const std::size_t output : {0, 1}) {
      double sum = 0;
      for (int thread = 0; thread < std::min<std::int64_t>(threads, T); ++thread)
        sum += sums_of(thread)[static_cast<std::int64_t>(output) * E + e];
      call.out<float>(output)[e] = static_cast<float>(sum);
    }
}

// A sigmoid s divided by the sum S of all: ds_e = (d_e - sum_i d_i s_i / S) / S.
void router_sums_grad_kernel(const KernelCall& call) {
  const RouterScore score = router_score_named(call.attributes().text("score"));
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  const Source logits(call.inputs[0]);
  const float* const d = call.in<float>(1);
  const Target dlogits(call, 0);
  parallel_for(
      T, worthwhile_threads(T * E, call.threads), [&](std::int64_t first, std::int64_t end, int thread) {
        auto* const s = call.workspace_of<float>(thread, kRouteRows * E);
        for (std::int64_t t = first; t < end; ++t) {
          load_logits(logits, t * E, E, s);
          scores_of(score, s, E);
          float along = 0, sum = 0;
          for (std::int64_t e = 0; e < E; ++e) {
            along += d[e] * s[e];
            sum += s[e];
          }
          if (score == RouterScore::kSigmoid) {
            sum += static_cast<float>(kLeastSum);
            for (std::int64_t e = 0; e < E; ++e) s[e] *= (1 - s[e]) * (d[e] - along / sum) / sum;
          } else {
            for (std::int64_t e = 0; e < E; ++e) s[e] *= d[e] - along;
          }
          walk_blocks(0, E,
                      [&](std::int64_t e, std::int64_t count) { dlogits.put(t * E + e, count, s + e); });
        }
      });
}

void put_number(const KernelCall& call, double value) {
  const auto number = static_cast<float>(value);
  Target(call, 0).put(0, 1, &number);
}

void balance_loss_kernel(const KernelCall& call) {
  const auto tokens = static_cast<double>(call.attributes().integer("tokens"));
  double sum = 0;
  for (std::int64_t e = 0; e < call.inputs[0].elements(); ++e)
    sum += static_cast<double>(call.in<float>(0)[e]) * call.in<float>(1)[e];
  put_number(call, call.attributes().real("factor") * sum / (tokens * tokens));
}

void balance_loss_grad_kernel(const KernelCall& call) {
  const auto tokens = static_cast<double>(call.attributes().integer("tokens"));
  const double factor = call.scalar(1) * call.attributes().real("factor") *
                        call.attributes().real("coefficient") / (tokens * tokens);
  for (std::int64_t e = 0; e < call.inputs[0].elements(); ++e)
    call.out<float>(0)[e] = static_cast<float>(factor * call.in<float>(0)[e]);
}

void router_z_loss_kernel(const KernelCall& call) {
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  const Source logits(call.inputs[0]);
  auto* const scores = call.workspace_of<float>(0, kRouteRows * E);
  double sum = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    load_logits(logits, t * E, E, scores);
    const double log_sum = softmax(scores, E);
    sum += log_sum * log_sum;
  }
  put_number(call, call.attributes().real("factor") * sum /
                       static_cast<double>(call.attributes().integer("tokens")));
}

void router_z_loss_grad_kernel(const KernelCall& call) {
  const std::int64_t E = call.shape(0)[-1], T = call.shape(0).elements() / E;
  const double factor = call.scalar(1) * call.attributes().real("factor") *
                        call.attributes().real("coefficient") * 2 /
                        static_cast<double>(call.attributes().integer("tokens"));
  const Source logits(call.inputs[0]);
  const Target dlogits(call, 0);
  parallel_for(
      T, worthwhile_threads(T * E, call.threads), [&](std::int64_t first, std::int64_t end, int thread) {
        auto* const p = call.workspace_of<float>(thread, kRouteRows * E);
        for (std::int64_t t = first; t < end; ++t) {
          load_logits(logits, t * E, E, p);
          const auto slope = static_cast<float>(factor * softmax(p, E));
          for (std::int64_t e = 0; e < E; ++e) p[e] *= slope;
          walk_blocks(0, E,
                      [&](std::int64_t e, std::int64_t count) { dlogits.put(t * E + e, count, p + e); });
        }
      });
}

void update_expert_bias_kernel(const KernelCall& call) {
  const std::int64_t E = call.inputs[0].elements();
  const float* const counts = call.in<float>(1);
  double sum = 0;
  for (std::int64_t e = 0; e < E; ++e) sum += counts[e];
  const double mean = sum / static_cast<double>(E);
  const auto rate = static_cast<float>(call.attributes().real("rate"));
  for (std::int64_t e = 0; e < E; ++e) {
    const float step = counts[e] < mean ? rate : counts[e] > mean ? -rate : 0;
    call.out<float>(0)[e] = call.in<float>(0)[e] + step;
  }
}

// The choices in the order of their experts, and where those of each expert begin.
std::int64_t place_workspace(const OpView& op, int) {
  return (op.in(0).elements() + op.attributes().integer("experts") + 1) *
         static_cast<std::int64_t>(sizeof(std::int32_t));
}

void place_tokens_kernel(const KernelCall& call) {
  using namespace place_tokens_output;
  const Attributes& attributes = call.attributes();
  const std::int64_t E = attributes.integer("experts"), choices = call.inputs[0].elements();
  const double factor = attributes.real("capacity_factor");
  const bool padded = attributes.boolean("padded");
  const std::int64_t capacity = factor > 0 ? expert_capacity(choices, E, factor) : choices;
  const bool by_weight = drop_policy_named(attributes.text("policy")) == DropPolicy::kProbs;
  const std::int32_t* const experts = call.in<std::int32_t>(0);
  auto* const begins = reinterpret_cast<std::int32_t*>(call.workspace.data());
  std::int32_t* const ordered = begins + E + 1;
  auto* const sources = call.out<std::int32_t>(kSources);
  auto* const slots = call.out<std::int32_t>(kSlots);
  std::fill_n(begins, E + 1, 0);
  for (std::int64_t i = 0; i < choices; ++i) {
    if (!(experts[i] >= 0 && experts[i] < E))
      call.op.refuse(format("expert {} of choice {} is not one of {}", experts[i], i, E));
    ++begins[experts[i] + 1];
  }
  for (std::int64_t e = 0; e < E; ++e) begins[e + 1] += begins[e];
  for (std::int64_t i = 0; i < choices; ++i) ordered[begins[experts[i]]++] = static_cast<std::int32_t>(i);
  std::fill_n(sources, call.outputs[kSources].elements(), -1);
  std::fill_n(slots, choices, -1);
  std::int64_t row = 0, first = 0;  // `begins` is where each expert's choices end, by now
  for (std::int64_t e = 0; e < E; ++e) {
    const std::int64_t chosen = begins[e] - first, kept = std::min(chosen, capacity);
    std::int32_t* const own = ordered + first;
    if (kept < chosen && by_weight) {
      const float* const weights = call.in<float>(1);
      std::nth_element(own, own + kept, own + chosen, [&](std::int32_t a, std::int32_t b) {
        return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
      });
      std::sort(own, own + kept);
    }
    for (std::int64_t i = 0; i < kept; ++i) {
      sources[row + i] = own[i];
      slots[own[i]] = static_cast<std::int32_t>(row + i);
    }
    const std::int64_t rows = padded ? capacity : kept;
    call.out<std::int32_t>(kCounts)[e] = static_cast<std::int32_t>(rows);
    call.out<float>(kLoad)[e] = static_cast<float>(chosen);
    call.out<float>(kLoad)[E + e] = static_cast<float>(kept);
    row += rows;
    first = begins[e];
  }
}

void permute_tokens_kernel(const KernelCall& call) {
  using namespace permute_tokens_input;
  const std::int64_t copies = call.shape(kSlots)[-1], W = call.shape(kRows)[-1], R = call.shape(kSources)[0];
  const Source x(call.inputs[kRows]);
  const Target rows(call, 0);
  parallel_for(R, worthwhile_threads(R * W, call.threads), [&](std::int64_t first, std::int64_t end, int) {
    for (std::int64_t row = first; row < end; ++row)
      if (const std::int64_t source = call.in<std::int32_t>(kSources)[row]; source >= 0)
        transfer(x, source / copies * W, rows, row * W, W);
      else
        rows.put_zeros(row * W, W);
  });
}

void unpermute_tokens_kernel(const KernelCall& call) {
  using namespace permute_tokens_input;
  const std::int64_t copies = call.shape(kSlots)[-1], W = call.shape(kRows)[-1];
  const std::int64_t T = call.shape(kSlots).elements() / copies;
  const Source rows(call.inputs[kRows]);
  const Target y(call, 0);
  parallel_for(T, worthwhile_threads(T * copies * W, call.threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t t = first; t < end; ++t) {
                   const std::int32_t* const slots = call.in<std::int32_t>(kSlots) + t * copies;
                   walk_blocks(0, W, [&](std::int64_t column, std::int64_t count) {
                     Block sum, buffer;
                     std::fill_n(sum, count, 0.0F);
                     for (std::int64_t j = 0; j < copies; ++j) {
                       if (slots[j] < 0) continue;
                       const float* const row = rows.load(slots[j] * W + column, count, buffer);
#pragma omp simd
                       for (std::int64_t i = 0; i < count; ++i) sum[i] += row[i];
                     }
                     y.put(t * W + column, count, sum);
                   });
                 }
               });
}

// Rows come from the ranks in their order, and from each in the order of experts.
void place_received_kernel(const KernelCall& call) {
  using namespace place_received_output;
  const std::int64_t P = call.shape(0)[0], E = call.shape(0)[1], own = E / P,
                     place = integer_at(call.inputs[1], 0);
  const std::int64_t R = call.attributes().integer("rows");
  const auto count = [&](std::int64_t rank, std::int64_t expert) {
    return std::int64_t{call.in<std::int32_t>(0)[rank * E + expert]};
  };
  std::int64_t all = 0;
  for (std::int64_t p = 0; p < P; ++p) {
    std::int64_t sent = 0, received = 0;
    for (std::int64_t e = 0; e < own; ++e) {
      sent += count(place, p * own + e);
      received += count(p, place * own + e);
    }
    call.out<std::int32_t>(kSent)[p] = static_cast<std::int32_t>(sent);
    call.out<std::int32_t>(kReceived)[p] = static_cast<std::int32_t>(received);
    all += received;
  }
  if (all > R) call.op.refuse(format("{} rows for the experts of this rank, and room for {}", all, R));
  auto* const sources = call.out<std::int32_t>(kSources);
  auto* const slots = call.out<std::int32_t>(kSlots);
  std::int64_t sorted = 0;
  for (std::int64_t e = 0; e < own; ++e) {
    std::int64_t from_rank = 0, of_expert = 0;  // where the rows of a rank begin
    for (std::int64_t p = 0; p < P; ++p) {
      std::int64_t at = from_rank;
      for (std::int64_t before = 0; before < e; ++before) at += count(p, place * own + before);
      const std::int64_t rows = count(p, place * own + e);
      for (std::int64_t i = 0; i < rows; ++i) {
        sources[sorted + i] = static_cast<std::int32_t>(at + i);
        slots[at + i] = static_cast<std::int32_t>(sorted + i);
      }
      sorted += rows;
      of_expert += rows;
      from_rank += call.out<std::int32_t>(kReceived)[p];
    }
    call.out<std::int32_t>(kCounts)[e] = static_cast<std::int32_t>(of_expert);
  }
  std::fill(sources + sorted, sources + R, -1);
  std::fill(slots + sorted, slots + R, -1);
}

// In a group of one, rows come back as they are.
void exchange_rows_kernel(const KernelCall& call) {
  using namespace exchange_rows_input;
  const std::int64_t rows = integer_at(call.inputs[kSent], 0), W = call.shape(kRows)[1];
  const std::int64_t room = call.attributes().integer("rows");
  if (rows > room) call.op.refuse(format("{} rows, and room for {}", rows, room));
  const Target y(call, 0);
  transfer(Source(call.inputs[kRows]), 0, y, 0, rows * W);
  y.put_zeros(rows * W, (room - rows) * W);
}

}  // namespace

const KernelEntry route_entry{route_kernel, route_workspace};
const KernelEntry route_grad_entry{route_grad_kernel, route_workspace};
const KernelEntry router_sums_entry{router_sums_kernel, sums_workspace};
const KernelEntry router_sums_grad_entry{router_sums_grad_kernel, route_workspace};
const KernelEntry balance_loss_entry{balance_loss_kernel};
const KernelEntry balance_loss_grad_entry{balance_loss_grad_kernel};
const KernelEntry router_z_loss_entry{router_z_loss_kernel, route_workspace};
const KernelEntry router_z_loss_grad_entry{router_z_loss_grad_kernel, route_workspace};
const KernelEntry update_expert_bias_entry{update_expert_bias_kernel};
const KernelEntry place_tokens_entry{place_tokens_kernel, place_workspace};
const KernelEntry permute_tokens_entry{permute_tokens_kernel};
const KernelEntry unpermute_tokens_entry{unpermute_tokens_kernel};
const KernelEntry place_received_entry{place_received_kernel};
const KernelEntry exchange_rows_entry{exchange_rows_kernel};

}  // namespace nadi::inline engines::cpu
