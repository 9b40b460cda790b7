#include "nadi/graph/ops/decoding.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/format.h"
#include "nadi/graph/ops/definitions.h"
#include "nadi/graph/ops/dropout.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer_cache_write(const OpView& op) {
  const Shape& cache = op.in(0);
  const Shape& rows = op.in(1);
  op.require(cache.rank() == 3 && rows.rank() == 3 && cache[0] == rows[0] && cache[2] == rows[2] &&
                 rows[1] <= cache[1],
             "takes a cache [B, L, W] and rows [B, T, W] with T at most L");
  op.require(op.input(0).dtype == op.input(1).dtype, "cache and rows differ in element type");
  if (op.has(2)) op.require(op.in(2) == Shape{cache[0]}, "positions must be [B]");
  return {{cache, op.input(0).dtype}};
}

std::vector<OutputSpec> infer_advance(const OpView& op) {
  op.require(!is_floating(op.input(0).dtype), "counters are integers");
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_select_rows(const OpView& op) {
  const Shape& x = op.in(0);
  op.require(x.rank() == 3 && op.in(1) == Shape{x[0]}, "takes [B, T, W] and lengths [B]");
  return {{Shape{x[0], 1, x[2]}, op.input(0).dtype}};
}

std::vector<OutputSpec> infer_take_tokens(const OpView& op) {
  op.require(op.in(0).rank() == 2 && op.in(1).rank() == 1, "takes ids [B, T] and indices [n]");
  return {{Shape{op.in(0)[0], op.in(1)[0]}, op.input(0).dtype}};
}

std::vector<OutputSpec> infer_argmax(const OpView& op) {
  const Shape& logits = op.in(0);
  const std::int64_t vocabulary = op.attributes().integer("vocabulary");
  op.require(logits.rank() >= 1 && vocabulary >= 1 && vocabulary <= logits[-1],
             "the vocabulary is larger than the number of columns");
  return {{logits.slice(0, logits.rank() - 1), DType::kI32}};
}

std::vector<OutputSpec> infer_sample(const OpView& op) {
  using namespace sample_input;
  op.require(op.in(kSampling) == Shape{3} && op.input(kSampling).dtype == DType::kF32,
             "sampling must be f32 [3]");
  op.require(op.in(kRandom) == Shape{3}, "the random key must be [3]");
  return infer_argmax(op);
}

}  // namespace

void cache_write(GraphBuilder& builder, const CacheWriteArgs& args) {
  builder.add({.kind = OpKind::kCacheWrite,
               .inputs = {args.cache, args.rows, args.positions},
               .into = {{args.cache}}});
}

void advance(GraphBuilder& builder, TensorId counter, std::int64_t by) {
  builder.add(
      {.kind = OpKind::kAdvance, .inputs = {counter}, .attributes = {{"by", by}}, .into = {{counter}}});
}

TensorId select_last_rows(GraphBuilder& builder, TensorId x, TensorId lengths) {
  return builder.add_one({.kind = OpKind::kSelectRows, .inputs = {x, lengths}});
}

TensorId take_tokens(GraphBuilder& builder, TensorId ids, TensorId indices) {
  return builder.add_one({.kind = OpKind::kTakeTokens, .inputs = {ids, indices}});
}

void argmax(GraphBuilder& builder, const ArgmaxArgs& args) {
  const std::int64_t columns = builder.shape(args.logits)[-1];
  builder.add({.kind = OpKind::kArgmax,
               .inputs = {args.logits},
               .attributes = {{"vocabulary", args.vocabulary > 0 ? args.vocabulary : columns}},
               .into = {{args.into}}});
}

void sample(GraphBuilder& builder, const SampleArgs& args) {
  const std::int64_t columns = builder.shape(args.logits)[-1];
  builder.add({.kind = OpKind::kSample,
               .inputs = {args.logits, args.sampling, args.random},
               .attributes = {{"vocabulary", args.vocabulary > 0 ? args.vocabulary : columns},
                              {"site", dropout_site(builder, "sample")}},
               .into = {{args.into}}});
}

SamplingSettings::SamplingSettings(const OpView& op, double temperature_given, double top_k_given,
                                   double top_p_given)
    : temperature(temperature_given), top_k(op.attributes().integer("vocabulary")), top_p(top_p_given) {
  if (!(temperature >= 0 && std::isfinite(temperature)))
    op.refuse(format("a temperature of {} is not a number from 0 on", temperature));
  if (!(top_k_given >= 0 && top_k_given == std::floor(top_k_given)))
    op.refuse(format("a top_k of {} is not a whole number from 0 on", top_k_given));
  if (!(top_p >= 0 && top_p <= 1)) op.refuse(format("a top_p of {} is not within 0 and 1", top_p));
  // Compared before it is converted: infinity is a way to say that there is no limit.
  if (top_k_given > 0 && top_k_given < static_cast<double>(top_k))
    top_k = static_cast<std::int64_t>(top_k_given);
}

OpDefinition cache_write_definition() {
  return {.kind = OpKind::kCacheWrite,
          .name = "cache_write",
          .work = WorkKind::kCopy,
          .inputs = {"cache", "rows", "positions?"},
          .infer = infer_cache_write,
          // The rest of the cache stays where it is.
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.read = op.input(1).size() + (op.has(2) ? op.input(2).size() : Bytes{});
            cost.written = op.input(1).size();
          }};
}

OpDefinition advance_definition() {
  return {.kind = OpKind::kAdvance,
          .name = "advance",
          .work = WorkKind::kElementwise,
          .attributes = {{"by", std::int64_t{1}}},
          .inputs = {"counter"},
          .infer = infer_advance};
}

OpDefinition select_rows_definition() {
  return {.kind = OpKind::kSelectRows,
          .name = "select_rows",
          .work = WorkKind::kIndexing,
          .inputs = {"x", "lengths"},
          .infer = infer_select_rows,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.read = op.output(0).size() + op.input(1).size();
          }};
}

OpDefinition take_tokens_definition() {
  return {.kind = OpKind::kTakeTokens,
          .name = "take_tokens",
          .work = WorkKind::kIndexing,
          .inputs = {"ids", "indices"},
          .infer = infer_take_tokens,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.read = op.output(0).size() + op.input(1).size();
          }};
}

OpDefinition argmax_definition() {
  return {.kind = OpKind::kArgmax,
          .name = "argmax",
          .work = WorkKind::kReduction,
          .attributes = {{"vocabulary", std::int64_t{0}}},
          .inputs = {"logits"},
          .infer = infer_argmax,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()};
          }};
}

OpDefinition sample_definition() {
  return {.kind = OpKind::kSample,
          .name = "sample",
          .attributes = {{"vocabulary", std::int64_t{0}}, {"site", std::int64_t{0}}},
          .inputs = {"logits", "sampling", "random"},
          .infer = infer_sample,
          // Compare, subtract, divide, exponential, sum; putting the likely ones in order is no arithmetic.
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(sample_input::kLogits).elements()} * 5;
          }};
}

}  // namespace nadi::inline describe
