#include "nadi/parallel/reduction_cost.h"

#include <algorithm>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/graph/ops/copy.h"
#include "nadi/graph/ops/gradient_scaling.h"

namespace nadi::inline describe {
namespace {

// What the ops of the optimizer depend on; all else are numbers that they compute with.
auto fields(const OptimizerOptions& o) {
  return std::tuple(o.kind, o.momentum != 0, o.weight_decay_schedule.has_value(), o.max_grad_norm > 0);
}

GroupArgs named_group(GroupKind kind, std::int64_t ranks) {
  return {std::string(to_string(kind)), ranks};
}

std::int64_t part_of(const BucketSample& sample) {
  return bucket_part(sample.elements, sample.ranks);
}

std::vector<TensorId> variables(GraphBuilder& builder, const BucketSample& sample, DType dtype, Role role) {
  std::vector<TensorId> all;
  for (std::int64_t i = 0; i < sample.tensors; ++i)
    all.push_back(builder.variable({.name = "t" + std::to_string(i),
                                    .shape = Shape{sample.elements / sample.tensors},
                                    .dtype = dtype,
                                    .role = role}));
  return all;
}

StepWork work_of(const Graph& graph) {
  StepWork work;
  for (const Op& op : graph.ops()) add_op(work, graph, op);
  return work;
}

// a - b; what is in b is in a.
StepWork difference(StepWork a, const StepWork& b) {
  for (const WorkEntry& entry : b.work) add(a.work, entry, -1);
  for (StepMessage message : b.messages) {
    message.count = -message.count;
    a.messages.push_back(message);
  }
  return merged(std::move(a));
}

// Numbers of a work entry, and what is sent, as one vector.
struct Numbers {
  std::array<std::int64_t, 5> values{};

  friend Numbers operator-(Numbers a, const Numbers& b) {
    for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] -= b.values[i];
    return a;
  }
  Numbers times(std::int64_t factor) const {
    Numbers result = *this;
    for (std::int64_t& value : result.values) value *= factor;
    return result;
  }
  Numbers per(std::int64_t count) const {
    Numbers result = *this;
    for (std::int64_t& value : result.values) {
      check(value % count == 0, "the cost of an op of a bucket is not linear");
      value /= count;
    }
    return result;
  }
};

Numbers numbers_of(const StepWork& work) {
  check(work.work.size() == 1 && work.work[0].ops == 1, "a sample has one op");
  const WorkEntry& entry = work.work[0];
  return {{entry.vector.count(), entry.read.count(), entry.written.count(),
           work.messages.empty() ? 0 : work.messages[0].size.count(), entry.matrix.count()}};
}

}  // namespace

bool ReductionKey::operator==(const ReductionKey& o) const {
  return std::tuple(reduces, splits_model, zero, partial, last_stage, dtype) ==
             std::tuple(o.reduces, o.splits_model, o.zero, o.partial, o.last_stage, o.dtype) &&
         fields(optimizer) == fields(o.optimizer);
}

// Four samples tell the four parts apart.
ReductionCosts::OpLine ReductionCosts::line_of(const Measure& measure) {
  constexpr std::int64_t kElements = 1 << 16;
  const BucketSample plain{1, kElements, 2}, larger{1, 2 * kElements, 4}, divided{1, kElements, 4},
      several{2, kElements, 2};
  check(part_of(plain) == part_of(larger) && part_of(plain) != part_of(divided),
        "parts of a bucket are its quotient");
  const StepWork work = measure(plain);
  const Numbers a = numbers_of(work);
  OpLine line;
  const Numbers per_element = (numbers_of(measure(larger)) - a).per(kElements);
  const Numbers per_part = (a - numbers_of(measure(divided))).per(part_of(plain) - part_of(divided));
  const Numbers per_tensor = numbers_of(measure(several)) - a;
  const Numbers fixed = a - per_element.times(kElements) - per_part.times(part_of(plain)) - per_tensor;
  const WorkEntry& entry = work.work[0];
  const auto as_entry = [&](const Numbers& numbers, std::int64_t ops) {
    check(numbers.values[4] == 0, "an op of a bucket is no matrix product");
    return WorkEntry{.phase = entry.phase,
                     .kind = entry.kind,
                     .dtype = entry.dtype,
                     .ops = ops,
                     .matrix = {},
                     .vector = Flops{numbers.values[0]},
                     .read = Bytes{numbers.values[1]},
                     .written = Bytes{numbers.values[2]}};
  };
  line.fixed = as_entry(fixed, 1);
  line.per_tensor = as_entry(per_tensor, 0);
  line.per_element = as_entry(per_element, 0);
  line.per_part = as_entry(per_part, 0);
  if (work.messages.empty()) return line;
  check(per_tensor.values[3] == 0 && fixed.values[3] == 0, "a message has the size of its elements");
  line.message = work.messages[0];
  line.sent_per_element = per_element.values[3];
  line.sent_per_part = per_part.values[3];
  return line;
}

ReductionCosts::ReductionCosts(const ReductionKey& key) : key_(key) {
  const Graph graph = optimizer_graph(0, 0);
  for (const Tensor& tensor : graph.tensors())
    if (tensor.producer == kNoOp && !tensor.shares_memory)
      shared_.push_back({tensor.name, tensor.role, tensor.size()});
  const std::array<Bytes, kRoleCount> one = state_of(1), two = state_of(2);
  for (std::size_t role = 0; role < one.size(); ++role) {
    state_per_element_[role] = two[role] - one[role];
    state_per_update_[role] = one[role] - state_per_element_[role];
  }
}

ArenaNeed ReductionCosts::arena(std::int64_t norm_parts, bool updates) const {
  std::optional<ArenaNeed>& known = arena_[static_cast<std::size_t>(norm_parts)][updates ? 1 : 0];
  if (!known) {
    const MemoryPlan plan = plan_memory(optimizer_graph(norm_parts, updates ? 1 : 0));
    known = ArenaNeed{plan.arena, plan.peak};
  }
  return *known;
}

const ReductionCosts::Lines& ReductionCosts::lines() const {
  if (!lines_) lines_ = made_lines();
  return *lines_;
}

ReductionCosts::Lines ReductionCosts::made_lines() const {
  Lines lines;
  const auto in_phase = [](Phase phase, auto&& make) {
    return [phase, make](const BucketSample& sample) {
      GraphBuilder builder;
      const auto scope = builder.in_phase(phase);
      make(builder, sample);
      return work_of(builder.graph());
    };
  };
  const auto all_reduce_of = [&](GroupKind group) {
    return line_of(in_phase(Phase::kBackward, [group](GraphBuilder& builder, const BucketSample& sample) {
      bucket_all_reduce(builder, variables(builder, sample, DType::kF32, Role::kGradient),
                        named_group(group, sample.ranks));
    }));
  };
  lines.tensor_reduce = all_reduce_of(GroupKind::kTensor);
  lines.embedding_reduce = all_reduce_of(GroupKind::kEmbedding);
  lines.data_reduce = all_reduce_of(GroupKind::kData);
  lines.scatter = line_of(in_phase(Phase::kBackward, [](GraphBuilder& builder, const BucketSample& sample) {
    const TensorId part =
        builder.variable({.name = "part", .shape = Shape{part_of(sample)}, .role = Role::kGradient});
    bucket_reduce_scatter(builder, variables(builder, sample, DType::kF32, Role::kGradient),
                          named_group(GroupKind::kData, sample.ranks), part);
  }));
  lines.gather = line_of(in_phase(Phase::kOptimizer, [&](GraphBuilder& builder, const BucketSample& sample) {
    const TensorId part = builder.variable({.name = "part",
                                            .shape = Shape{part_of(sample)},
                                            .dtype = key_.dtype,
                                            .role = Role::kOptimizerState});
    bucket_all_gather(builder, part, named_group(GroupKind::kData, sample.ranks),
                      variables(builder, sample, key_.dtype, Role::kParameter));
  }));
  lines.norm = line_of(in_phase(Phase::kOptimizer, [](GraphBuilder& builder, const BucketSample& sample) {
    squared_norm(builder, variables(builder, sample, DType::kF32, Role::kGradient), 1);
  }));
  lines.clear =
      per_tensor_line(in_phase(Phase::kOptimizer, [](GraphBuilder& builder, const BucketSample& sample) {
        fill(builder, variables(builder, sample, DType::kF32, Role::kGradient)[0], 0);
      }));
  for (std::int64_t parts = 0; parts < kNormParts; ++parts)
    lines.base[static_cast<std::size_t>(parts)] = work_of(optimizer_graph(parts, 0));
  lines.update = per_tensor_line([&](const BucketSample& sample) {
    return difference(work_of(optimizer_graph(0, sample.elements)), lines.base[0]);
  });
  return lines;
}

// An op that takes one tensor.
ReductionCosts::OpLine ReductionCosts::per_tensor_line(const Measure& measure) {
  OpLine line = line_of([&](BucketSample sample) {
    sample.tensors = 1;
    return measure(sample);
  });
  return line;
}

// The optimizer with as many norm parts, of one element each, and, if `updated` is not 0, one update.
Graph ReductionCosts::optimizer_graph(std::int64_t norm_parts, std::int64_t updated) const {
  GraphBuilder builder;
  const auto phase = builder.in_phase(Phase::kOptimizer);
  OptimizerInput input;
  constexpr std::int64_t kRanks = 2;  // any number of several
  if (key_.zero) input.norm_groups.push_back(named_group(GroupKind::kData, kRanks));
  if (key_.splits_model) input.norm_groups.push_back(named_group(GroupKind::kModel, kRanks));
  const LossScale loss_scale = key_.dtype == DType::kF16 ? make_loss_scale(builder) : LossScale{};
  if (key_.last_stage && key_.reduces) {
    const TensorId loss = builder.variable({.name = "loss", .role = Role::kMetric});
    all_reduce(builder, {.x = loss, .group = named_group(GroupKind::kData, kRanks), .into = {loss}});
  }
  for (std::int64_t i = 0; i < norm_parts; ++i)
    input.norm.push_back({{builder.variable(
        {.name = "norm" + std::to_string(i), .shape = Shape{1}, .role = Role::kGradient})}});
  if (updated > 0) {
    const TensorId parameter = builder.variable(
        {.name = "p", .shape = Shape{updated}, .dtype = key_.dtype, .role = Role::kParameter});
    const TensorId gradient =
        builder.variable({.name = "p.grad", .shape = Shape{updated}, .role = Role::kGradient});
    input.updates.push_back({parameter, gradient, true});
  }
  add_optimizer(builder, input, key_.optimizer, loss_scale);
  return builder.take();
}

std::array<Bytes, kRoleCount> ReductionCosts::state_of(std::int64_t elements) const {
  std::array<Bytes, kRoleCount> state{};
  const Graph graph = optimizer_graph(0, elements);
  for (const Tensor& tensor : graph.tensors())
    if (tensor.role == Role::kOptimizerState && tensor.producer == kNoOp && !tensor.shares_memory)
      state[static_cast<std::size_t>(tensor.role)] += tensor.size();
  return state;
}

void ReductionCosts::add_line(StepWork& work, const OpLine& line, const Amount& amount) {
  if (amount.ops == 0 && amount.tensors == 0 && amount.elements == 0) return;
  WorkEntry sum = line.fixed;
  const auto add_times = [&sum](const WorkEntry& part, std::int64_t times) {
    sum.vector += part.vector * times;
    sum.read += part.read * times;
    sum.written += part.written * times;
  };
  sum.ops = amount.ops;
  sum.vector *= amount.ops;
  sum.read *= amount.ops;
  sum.written *= amount.ops;
  add_times(line.per_tensor, amount.tensors);
  add_times(line.per_element, amount.elements);
  add_times(line.per_part, amount.parts);
  add(work.work, sum);
}

// Buckets with what they come to.
struct ReductionCosts::Sums {
  std::int64_t data_ranks = 1;
  const Lines* lines = nullptr;  // nullptr means work is not wanted
  StepWork work = {};
  Amount tensor_reduce = {}, embedding_reduce = {}, data_reduce = {}, scatter = {}, gather = {}, norm = {},
         update = {}, clear = {};
  std::int64_t norm_parts = 0;
  std::array<bool, 2> has_common_part{};  // of parameters that are split, and that are replicated
};

void ReductionCosts::add_bucket(Sums& sums, BucketKind kind, const BucketFiller::Bucket& bucket) const {
  const bool replicated = kind.replicated(), tied = kind.tied();
  const bool partial = replicated && key_.partial;
  const std::int64_t part = key_.zero ? bucket_part(bucket.elements, sums.data_ranks) : 0;
  const auto communicate = [&](OpLine Lines::*kind_of_op, Amount& amount) {
    if (sums.lines == nullptr) return;
    const OpLine& line = sums.lines->*kind_of_op;
    amount.ops += 1;
    amount.tensors += bucket.tensors;
    amount.elements += bucket.elements;
    amount.parts += part;
    StepMessage message = line.message;
    message.size = Bytes{line.sent_per_element * bucket.elements + line.sent_per_part * part};
    message.count = 1;
    for (StepMessage& known : sums.work.messages)
      if (known.key() == message.key()) {
        ++known.count;
        return;
      }
    sums.work.messages.push_back(message);
  };
  if (partial) communicate(&Lines::tensor_reduce, sums.tensor_reduce);
  if (tied) communicate(&Lines::embedding_reduce, sums.embedding_reduce);
  if (key_.zero) {
    communicate(&Lines::scatter, sums.scatter);
    communicate(&Lines::gather, sums.gather);
  } else if (key_.reduces) {
    communicate(&Lines::data_reduce, sums.data_reduce);
  }
  const BucketFiller::Bucket updated = key_.zero ? BucketFiller::Bucket{part, 1} : bucket;
  sums.update.ops += updated.tensors;
  sums.update.tensors += updated.tensors;
  sums.update.elements += updated.elements;
  if (tied && key_.last_stage) return;
  if (!takes_grad_norm(key_.optimizer, key_.dtype == DType::kF16)) return;
  sums.norm.tensors += updated.tensors;
  sums.norm.elements += updated.elements;
  // Buckets that nobody reduces have one part of the norm together.
  const bool reduced = key_.reduces || partial || tied;
  bool& common = sums.has_common_part[replicated ? 1 : 0];
  if (reduced || !common) ++sums.norm_parts;
  if (!reduced) common = true;
}

ReductionCosts::Sums ReductionCosts::sums_of(std::span<const Chunk> chunks, const Request& request,
                                             const Lines* lines) const {
  const auto for_parameters = [](const Chunk& chunk, auto&& visit) {
    std::ranges::for_each(chunk.cost->parameters_before, visit);
    for (std::int64_t unit = 0; unit <= chunk.more_units; ++unit)
      std::ranges::for_each(chunk.cost->parameters_inner, visit);
    std::ranges::for_each(chunk.cost->parameters_after, visit);
  };
  BucketsOf of{.ranks = request.data_ranks, .first_chunk = request.first_stage};
  for (const Chunk& chunk : chunks)
    for_parameters(chunk, [&](const LaidParameter& parameter) { of.elements += parameter.elements; });
  Sums sums{.data_ranks = request.data_ranks, .lines = lines};
  for (const Chunk& chunk : chunks) {
    BucketFiller filler(full_bucket(request.rules, of));
    of.first_chunk = false;
    for_parameters(chunk, [&](const LaidParameter& parameter) {
      ++sums.clear.ops;
      sums.clear.elements += parameter.elements;
      if (const BucketKind kind = filler.put(parameter); filler.is_full(kind))
        add_bucket(sums, kind, filler.take(kind));
    });
    filler.take_rest(
        [&](BucketKind kind, const BucketFiller::Bucket& bucket) { add_bucket(sums, kind, bucket); });
    if (chunk.cost->has_loss) {
      ++sums.clear.ops;
      ++sums.clear.elements;
    }
  }
  sums.clear.tensors = sums.clear.ops;
  sums.norm.tensors -= sums.norm_parts;  // one tensor of one element each is in the base
  sums.norm.elements -= sums.norm_parts;

  return sums;
}

ReductionMemory ReductionCosts::memory_of(const Sums& sums) const {
  ReductionMemory memory;
  for (std::size_t role = 0; role < memory.resident.size(); ++role)
    memory.resident[role] =
        state_per_update_[role] * sums.update.ops + state_per_element_[role] * sums.update.elements;
  memory.arena = arena(std::min(sums.norm_parts, kNormParts - 1), sums.update.ops > 0);
  return memory;
}

ReductionMemory ReductionCosts::memory(std::span<const Chunk> chunks, const Request& request) const {
  return memory_of(sums_of(chunks, request, nullptr));
}

ReductionCost ReductionCosts::of(std::span<const Chunk> chunks, const Request& request) const {
  const Lines& lines = this->lines();
  Sums sums = sums_of(chunks, request, &lines);
  ReductionCost cost{.work = {}, .memory = memory_of(sums)};
  cost.work = std::move(sums.work);
  add_line(cost.work, lines.tensor_reduce, sums.tensor_reduce);
  add_line(cost.work, lines.embedding_reduce, sums.embedding_reduce);
  add_line(cost.work, lines.data_reduce, sums.data_reduce);
  add_line(cost.work, lines.scatter, sums.scatter);
  add_line(cost.work, lines.gather, sums.gather);
  add_line(cost.work, lines.norm, sums.norm);
  add_line(cost.work, lines.update, sums.update);
  if (request.clears) add_line(cost.work, lines.clear, sums.clear);
  const std::int64_t parts = std::min(sums.norm_parts, kNormParts - 1);
  const std::int64_t more = sums.norm_parts - parts;
  const std::array<StepWork, kNormParts>& base = lines.base;
  for (const WorkEntry& entry : base[parts].work) add(cost.work.work, entry, 1 + more);
  if (more > 0)
    for (const WorkEntry& entry : base[parts - 1].work) add(cost.work.work, entry, -more);
  for (const StepMessage& message : base[parts].messages) cost.work.messages.push_back(message);
  return cost;
}

}  // namespace nadi::inline describe
