// Attention, fused and in parts. Letters: B sequences, T queries, S keys, H heads, K key-value heads, D width
// of a head.
#include "nadi/graph/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

using namespace attention_input;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// to += factor * x
void add_scaled(std::span<double> to, double factor, std::span<const double> x) {
  for (std::size_t i = 0; i < x.size(); ++i) to[i] += factor * x[i];
}

// Turns the first `seen` scores into probabilities and the rest into zeros; the logarithm of the denominator,
// minus infinity where nothing is seen.
double softmax_row(std::span<double> row, std::int64_t seen) {
  for (std::size_t s = seen; s < row.size(); ++s) row[s] = 0;
  if (seen == 0) return -std::numeric_limits<double>::infinity();
  const std::span<double> scores = row.first(seen);
  const double largest = *std::ranges::max_element(scores);
  double denominator = 0;
  for (const double score : scores) denominator += std::exp(score - largest);
  for (double& score : scores) score = std::exp(score - largest) / denominator;
  return largest + std::log(denominator);
}

// Where queries, keys and values are, and which keys a query sees.
class Attention {
 public:
  explicit Attention(const KernelCall& call)
      : extents(attention_extents(call.op())),
        scale(call.attributes().real("scale")),
        call_(call),
        packed_(!call.has(kK)) {
    const double rate = call.attributes().real("dropout");
    if (rate > 0) mask_.emplace(call.in(kRandom), rate, call.attributes().integer("site"));
  }

  std::int64_t query(std::int64_t b, std::int64_t t, std::int64_t h) const {
    const auto& e = extents;
    return (b * e.T + t) * (packed_ ? e.H + 2 * e.K : e.H) * e.D + h * e.D;
  }
  // Place of the key-value head that query head h uses.
  std::int64_t key(std::int64_t b, std::int64_t s, std::int64_t h) const {
    const auto& e = extents;
    const std::int64_t head = h / (e.H / e.K);
    return packed_ ? ((b * e.S + s) * (e.H + 2 * e.K) + e.H + head) * e.D
                   : ((b * e.S + s) * e.K + head) * e.D;
  }
  std::int64_t value(std::int64_t b, std::int64_t s, std::int64_t h) const {
    return key(b, s, h) + (packed_ ? extents.K * extents.D : 0);
  }
  std::int64_t result(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return ((b * extents.T + t) * extents.H + h) * extents.D;
  }

  std::span<const double> q(std::int64_t at) const { return call_.in(kQ).subspan(at, extents.D); }
  std::span<const double> k(std::int64_t at) const {
    return call_.in(packed_ ? kQ : kK).subspan(at, extents.D);
  }
  std::span<const double> v(std::int64_t at) const {
    return call_.in(packed_ ? kQ : kV).subspan(at, extents.D);
  }

  // Position of a query's token and of a key's in the whole sequence.
  std::int64_t query_position(std::int64_t b, std::int64_t t) const {
    if (call_.has(kQueryPositions)) return call_.integer(kQueryPositions, t);
    return (call_.has(kPositions) ? call_.integer(kPositions, b) : 0) + t;
  }
  std::int64_t key_position(std::int64_t s) const {
    return call_.has(kKeyPositions) ? call_.integer(kKeyPositions, s) : s;
  }

  // The keys that a query sees.
  std::vector<std::int64_t> seen(std::int64_t b, std::int64_t t) const {
    std::vector<std::int64_t> keys;
    for (std::int64_t s = 0; s < extents.S; ++s) {
      if (call_.attributes().boolean("causal") && key_position(s) > query_position(b, t)) continue;
      if (call_.has(kLengths) && key_position(s) >= call_.integer(kLengths, b)) continue;
      keys.push_back(s);
    }
    return keys;
  }

  // What dropout multiplies the probability by; numbered in [B, H, T, S] of all heads and tokens.
  double kept(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) const {
    if (!mask_) return 1;
    const auto& e = extents;
    const bool some_heads = call_.has(kHeadIds), some_tokens = call_.has(kQueryPositions);
    const std::int64_t heads = some_heads ? call_.attributes().integer("whole_heads") : e.H;
    const std::int64_t head = some_heads ? call_.integer(kHeadIds, h) : h;
    const std::int64_t tokens = some_tokens ? e.S : e.T;
    const std::int64_t token = some_tokens ? query_position(b, t) : t;
    return mask_->factor(((b * heads + head) * tokens + token) * e.S + key_position(s), heads * tokens * e.S);
  }

  const AttentionExtents extents;
  const double scale;

 private:
  const KernelCall& call_;
  const bool packed_;
  std::optional<DropoutMask> mask_;
};

// Calls f(b, h, t, row) for every query; row counts them in the order of [B, H, T].
template <typename F>
void for_each_query(const AttentionExtents& e, F f) {
  std::int64_t row = 0;
  for (std::int64_t b = 0; b < e.B; ++b)
    for (std::int64_t h = 0; h < e.H; ++h)
      for (std::int64_t t = 0; t < e.T; ++t) f(b, h, t, row++);
}

}  // namespace

void attention_kernel(KernelCall& call) {
  const Attention attention(call);
  const AttentionExtents& e = attention.extents;
  for_each_query(e, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t row) {
    const std::vector<std::int64_t> keys = attention.seen(b, t);
    const std::span<const double> q = attention.q(attention.query(b, t, h));
    Doubles p;
    for (const std::int64_t s : keys)
      p.push_back(attention.scale * dot(q, attention.k(attention.key(b, s, h))));
    const double log_denominator = softmax_row(p, static_cast<std::int64_t>(p.size()));
    if (call.output_count() > 1) call.out(1)[row] = log_denominator;
    const std::span<double> y = call.out(0).subspan(attention.result(b, t, h), e.D);
    for (std::size_t i = 0; i < keys.size(); ++i)
      add_scaled(y, p[i] * attention.kept(b, h, t, keys[i]), attention.v(attention.value(b, keys[i], h)));
  });
}

// With probabilities p, dropout factors f and y = sum of p f v over keys:
//   dv = p f dy,   dp = f (dy . v),   d score = p (dp - sum of p dp) = p (dp - dy . y),
//   dq = scale * d score * k,   dk = scale * d score * q.
void attention_grad_kernel(KernelCall& call) {
  const Attention attention(call);
  const AttentionExtents& e = attention.extents;
  const bool packed = call.output_count() == 1;
  const std::span<double> d_queries = call.out(0);
  const std::span<double> d_keys = call.out(packed ? 0 : 1);
  const std::span<double> d_values = call.out(packed ? 0 : 2);
  for_each_query(e, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t row) {
    const std::int64_t query = attention.query(b, t, h);
    const std::span<const double> q = attention.q(query);
    const std::span<const double> y = call.in(kY).subspan(attention.result(b, t, h), e.D);
    const std::span<const double> dy = call.in(kDy).subspan(attention.result(b, t, h), e.D);
    for (const std::int64_t s : attention.seen(b, t)) {
      const std::int64_t key = attention.key(b, s, h), value = attention.value(b, s, h);
      const double score = attention.scale * dot(q, attention.k(key));
      const double p = std::exp(score - call.in(kStatistics)[row]);
      const double f = attention.kept(b, h, t, s);
      const double d_score = p * (f * dot(dy, attention.v(value)) - dot(dy, y));
      add_scaled(d_values.subspan(value, e.D), p * f, dy);
      add_scaled(d_queries.subspan(query, e.D), attention.scale * d_score, attention.k(key));
      add_scaled(d_keys.subspan(key, e.D), attention.scale * d_score, q);
    }
  });
}

void softmax_kernel(KernelCall& call) {
  const Shape& shape = call.shape(0);
  const AttentionExtents e{.B = shape[0], .T = shape[2], .S = shape[3], .H = shape[1], .K = 0, .D = 0};
  call.pass(0, 0);
  for_each_query(e, [&](std::int64_t b, std::int64_t, std::int64_t t, std::int64_t row) {
    std::int64_t seen = e.S;
    if (call.attributes().boolean("causal")) seen = std::min(seen, t + 1);
    if (call.has(1)) seen = std::clamp<std::int64_t>(call.integer(1, b), 0, seen);
    softmax_row(call.out(0).subspan(row * e.S, e.S), seen);
  });
}

// dx = y (dy - sum of y dy over the row).
void softmax_grad_kernel(KernelCall& call) {
  const std::int64_t S = call.shape(0)[-1];
  for (std::int64_t first = 0; first < call.shape(0).elements(); first += S) {
    const std::span<const double> y = call.in(0).subspan(first, S), dy = call.in(1).subspan(first, S);
    const double sum = dot(y, dy);
    for (std::int64_t s = 0; s < S; ++s) call.out(0)[first + s] = y[s] * (dy[s] - sum);
  }
}

void repeat_heads_kernel(KernelCall& call) {
  const std::int64_t times = call.attributes().integer("times");
  const std::int64_t head = call.shape(0).elements(2, 4);
  for (std::int64_t i = 0; i < call.op().output(0).shape.elements() / head; ++i)
    std::ranges::copy(call.in(0).subspan(i / times * head, head), call.out(0).begin() + i * head);
}

void sum_head_groups_kernel(KernelCall& call) {
  const std::int64_t times = call.attributes().integer("times");
  const std::int64_t head = call.shape(0).elements(2, 4);
  for (std::int64_t i = 0; i < call.shape(0).elements() / head; ++i)
    add_scaled(call.out(0).subspan(i / times * head, head), 1, call.in(0).subspan(i * head, head));
}

}  // namespace nadi::inline engines
