#include "nadi/parallel/chunk_cost.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nadi/graph/kept_values.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/model/model.h"
#include "nadi/parallel/chunk_graph.h"
#include "nadi/parallel/pipeline_memory.h"
#include "nadi/parallel/program_memory.h"

namespace nadi {
namespace {

// The number of the block in a tensor's name, "transformer.h.3.attn.c_attn.weight"; -1 without.
std::int64_t block_in(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (!part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }))
      return std::stoll(std::string(part));
    at = end + 1;
  }
  return -1;
}

class ChunkCoster {
 public:
  ChunkCoster(const ModelConfig& config, const ChunkKey& key, const ChunkGraph& chunk)
      : config_(config), key_(key), chunk_(chunk) {
    cost_.repeated = key.layers == ChunkKey::kRepeated;
    cost_.per_unit = key.layers_per_unit();
  }

  std::optional<ChunkCost> run() {
    if (cost_.repeated) {
      pieces_ =
          pieces_of(chunk_.graph, {.forward_ops = chunk_.send_output.end, .layers_per_unit = cost_.per_unit});
      if (pieces_.empty()) return std::nullopt;
    }
    add_work();
    add_tensors();
    add_memory();
    add_members();
    return std::move(cost_);
  }

 private:
  bool is_inner(std::int64_t block) const {
    return cost_.repeated && block >= cost_.per_unit && block < 2 * cost_.per_unit;
  }

  void add_work() {
    StepWork all, inner;
    for (const Op& op : chunk_.graph.ops()) {
      add_op(all, chunk_.graph, op);
      if (is_inner(op.block)) add_op(inner, chunk_.graph, op);
    }
    const auto counts = [](const auto& list, const auto& part) {
      std::vector<std::int64_t> result(list.size(), 0);
      for (const auto& entry : part)
        for (std::size_t i = 0; i < list.size(); ++i)
          if (list[i].key() == entry.key()) result[i] = entry.count;
      return result;
    };
    cost_.inner_products = counts(all.products, inner.products);
    cost_.inner_messages = counts(all.messages, inner.messages);
    cost_.work = std::move(all.work);
    cost_.inner_work = std::move(inner.work);
    cost_.products = std::move(all.products);
    cost_.messages = std::move(all.messages);
  }

  void add_tensors() {
    for (const Tensor& tensor : chunk_.graph.tensors()) {
      if (tensor.producer != kNoOp) continue;
      const std::int64_t block = block_in(tensor.name);
      const std::int64_t parameters = tensor.role == Role::kParameter ? tensor.shape.elements() : 0;
      cost_.sizes.parameters += parameters;
      if (is_inner(block)) cost_.inner_sizes.parameters += parameters;
      if (tensor.name == "loss") cost_.has_loss = true;
      if (tensor.shares_memory) continue;
      const auto role = static_cast<std::size_t>(tensor.role);
      if (block < 0) {
        cost_.shared.push_back({tensor.name, tensor.role, tensor.size()});
        continue;
      }
      cost_.sizes.resident[role] += tensor.size();
      if (is_inner(block)) cost_.inner_sizes.resident[role] += tensor.size();
    }
  }

  void add_memory() {
    const Graph& graph = chunk_.graph;
    const std::array passes{chunk_.receive_input,    chunk_.forward,  chunk_.send_output,
                            chunk_.receive_gradient, chunk_.backward, chunk_.send_gradient};
    std::vector<char> in_slot = crossing_values(graph, passes);
    std::vector<char> in_ring(graph.tensors().size(), 0);
    const std::vector<std::uint32_t> root = view_roots(graph);
    for (const Op& op : graph.ops()) {
      if (op.kind != OpKind::kReceive) continue;
      const std::size_t tensor = index(op.outputs[0].tensor);
      in_ring[tensor] = 1;
      in_slot[tensor] = 0;
      ChunkCost::Ring ring{.stride = aligned_size(graph.tensors()[tensor].size()),
                           .gradient = op.phase == Phase::kBackward};
      for (std::size_t pass = 0; pass < passes.size(); ++pass)
        for (std::uint32_t i = passes[pass].first; i < passes[pass].end; ++i)
          for (const TensorId input : graph.ops()[i].inputs)
            if (input != kNoTensor && root[index(input)] == tensor)
              ring.touched |= bit_of(static_cast<PipelineEvent>(pass));
      cost_.rings.push_back(ring);
    }
    const auto block_of = [&](const Tensor& tensor) { return graph.op(tensor.producer).block; };
    for (std::size_t t = 0; t < in_slot.size(); ++t) {
      if (in_slot[t] == 0) continue;
      const Tensor& tensor = graph.tensors()[t];
      cost_.sizes.slot += aligned_size(tensor.size());
      if (is_inner(block_of(tensor))) cost_.inner_sizes.slot += aligned_size(tensor.size());
    }
    std::map<std::int32_t, Bytes> kept_in_block;
    for (const KeptValue& value : kept_for_backward(graph)) {
      cost_.sizes.kept += value.size;
      if (is_inner(value.block)) cost_.inner_sizes.kept += value.size;
      if (value.block < 0) continue;
      Bytes& in_block = kept_in_block[value.block];
      in_block += value.size;
      cost_.kept_per_block = std::max(cost_.kept_per_block, in_block);
    }
    for (std::size_t t = 0; t < in_slot.size(); ++t) in_slot[t] |= in_ring[t];
    if (cost_.repeated) {
      cost_.memory = {pieces_, value_lifetimes(graph, {.elsewhere = in_ring}).allocations};
      cost_.memory_pipelined = {pieces_, value_lifetimes(graph, {.elsewhere = in_slot}).allocations};
    } else {
      const MemoryPlan whole = plan_memory(graph, {.elsewhere = in_ring});
      const MemoryPlan pipelined = plan_memory(graph, {.elsewhere = in_slot});
      cost_.built = {whole.arena, whole.peak};
      cost_.built_pipelined = {pipelined.arena, pipelined.peak};
    }
  }

  void add_members() {
    for (const auto& [member, ready] : parameters_by_readiness(config_, key_, chunk_)) {
      if (cost_.repeated && pieces_[ready] == Piece::kInnerBackward)
        cost_.members_inner.push_back(member);
      else if (cost_.repeated && pieces_[ready] > Piece::kInnerBackward)
        cost_.members_after.push_back(member);
      else
        cost_.members_before.push_back(member);
    }
  }

  const ModelConfig& config_;
  const ChunkKey& key_;
  const ChunkGraph& chunk_;
  std::vector<Piece> pieces_;
  ChunkCost cost_;
};

}  // namespace

Plan smallest_plan(const ChunkKey& key) {
  Plan plan{.tp = key.tp, .cp = key.cp, .sequence_parallel = key.sequence_parallel};
  plan.dp = key.reduces && key.cp == 1 ? 2 : 1;
  plan.pp = key.first && key.last ? 1 : key.first || key.last ? 2 : 3;
  return plan;
}

ChunkGraph build_chunk(const ModelConfig& config, const ChunkKey& key) {
  const bool repeated = key.layers == ChunkKey::kRepeated;
  const Plan plan = smallest_plan(key);
  return build_chunk(config, plan,
                     {.options = {.mode = ForwardMode::kTrain,
                                  .batch_size = key.micro_batch_size,
                                  .seq_length = key.seq_length / key.cp,
                                  .dtype = key.dtype,
                                  .fp8 = key.fp8,
                                  .fused_attention = key.fused_attention},
                      .whole_tokens = key.seq_length,
                      .number = key.first ? 0 : 1,
                      .chunks = plan.pp,
                      .first_layer = 0,
                      .end_layer = repeated ? kUnitsBuilt * key.layers_per_unit() : key.layers,
                      .recompute = {key.granularity, key.method, key.recomputed_layers},
                      .accumulate = key.accumulates});
}

std::int64_t ChunkKey::layers_per_unit() const {
  const bool together = granularity == Recompute::Granularity::kFull && method == Recompute::Method::kUniform;
  return together ? recomputed_layers : 1;
}

std::size_t ChunkKeyHash::operator()(const ChunkKey& key) const {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint64_t>(key.layers));
  mix(static_cast<std::uint64_t>(key.tp << 32 | key.cp));
  mix(static_cast<std::uint64_t>(key.micro_batch_size << 32 | key.seq_length));
  mix(static_cast<std::uint64_t>(key.recomputed_layers));
  std::uint64_t bits = static_cast<std::uint64_t>(key.dtype);
  bits = bits << 4 | static_cast<std::uint64_t>(key.granularity);
  bits = bits << 4 | static_cast<std::uint64_t>(key.method);
  for (const bool bit : {key.fp8, key.fused_attention, key.sequence_parallel, key.first, key.last,
                         key.accumulates, key.reduces})
    bits = bits << 1 | static_cast<std::uint64_t>(bit);
  mix(bits);
  return hash;
}

ChunkKey chunk_key(const StepRequest& request, const Plan& plan, const ChunkPlace& place) {
  ChunkKey key{.tp = plan.tp,
               .cp = plan.cp,
               .micro_batch_size = request.batch_size / plan.micro_batches,
               .seq_length = request.seq_length,
               .dtype = request.dtype,
               .granularity = request.recompute.granularity,
               .fp8 = request.fp8,
               .fused_attention = request.fused_attention,
               .sequence_parallel = plan.sequence_parallel,
               .first = place.first,
               .last = place.last,
               .accumulates = plan.micro_batches > 1 || request.keeps_gradients,
               // Only the first chunk orders its gradients for their reduction.
               .reduces = place.first && group_size(plan, GroupKind::kData) > 1};
  if (key.granularity == Recompute::Granularity::kFull) {
    key.method = request.recompute.method;
    key.recomputed_layers = request.recompute.layers;
    // The first layers one by one and the others not at all: where that is all layers, they are alike.
    if (key.method == Recompute::Method::kBlock && key.recomputed_layers >= place.layers) {
      key.method = Recompute::Method::kUniform;
      key.recomputed_layers = 1;
    }
  }
  const std::int64_t unit = key.layers_per_unit();
  const bool alike = key.method == Recompute::Method::kUniform;
  if (!alike || place.layers % unit != 0 || place.layers / unit < kFewestUnits) key.layers = place.layers;
  return key;
}

std::optional<ArenaNeed> ChunkCost::arena(std::int64_t layers, bool pipelined) {
  if (!repeated) return pipelined ? built_pipelined : built;
  return (pipelined ? memory_pipelined : memory).of(layers / per_unit);
}

// The same facts as ReductionBuilder takes from a chunk.
std::vector<ReadyParameter> parameters_by_readiness(const ModelConfig& config, const ChunkKey& key,
                                                    const ChunkGraph& chunk) {
  const Graph& graph = chunk.graph;
  std::vector<std::uint32_t> last_write(graph.tensors().size(), 0);
  for (std::uint32_t i = 0; i < graph.ops().size(); ++i)
    for (const OpOutput& output : graph.ops()[i].outputs) last_write[index(output.tensor)] = i;
  const std::string tied = key.first != key.last && config.tied_embeddings
                               ? std::string(model_of(config.architecture).word_embeddings())
                               : "";
  std::vector<ReadyParameter> members;
  for (const auto& [parameter, gradient] : chunk.gradients) {
    const Tensor& tensor = graph.tensor(parameter);
    members.push_back({.member = {.elements = tensor.shape.elements(),
                                  .decays = tensor.shape.rank() >= 2,
                                  .replicated = key.tp > 1 && tensor.shards.empty(),
                                  .tied = tensor.name == tied},
                       .ready_after = last_write[index(gradient)]});
  }
  std::ranges::stable_sort(members, {}, &ReadyParameter::ready_after);
  return members;
}

std::optional<ChunkCost> chunk_cost(const ModelConfig& config, const ChunkKey& key) {
  return chunk_cost(config, key, build_chunk(config, key));
}

std::optional<ChunkCost> chunk_cost(const ModelConfig& config, const ChunkKey& key, const ChunkGraph& chunk) {
  return ChunkCoster(config, key, chunk).run();
}

}  // namespace nadi
