#include "nadi/parallel/chunk_family.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/graph/kept_values.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/parallel/pipeline_memory.h"
#include "nadi/parallel/program_memory.h"

namespace nadi::inline describe {
namespace {

// The number of the block in a tensor's name, "transformer.h.3.attn.c_attn.weight"; -1 without.
std::int64_t block_in(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (!part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; })) {
      std::int64_t number = 0;
      for (const char digit : part) number = number * 10 + (digit - '0');
      return number;
    }
    at = end + 1;
  }
  return -1;
}

// The first prime that divides none of the sizes which tensors besides parameters have.
std::int64_t first_prime(const ModelConfig& config, const ChunkKey& key) {
  for (const std::int64_t prime : GraphBatch::kPrimes)
    if (key.seq_length % prime != 0 && config.heads % prime != 0 && config.kv_heads % prime != 0 &&
        config.head_width % prime != 0)
      return prime;
  return GraphBatch::kPrimes.back();
}

}  // namespace

ChunkKey of_family(ChunkKey key) {
  key.micro_batch_size = 1;
  key.accumulates = true;
  return key;
}

ChunkFamily::ChunkFamily(const ModelConfig& config, const ChunkKey& key)
    : key_(of_family(key)), repeated_(key.layers == ChunkKey::kRepeated) {
  for (std::int64_t prime = first_prime(config, key);;) {
    key_.micro_batch_size = prime;
    now_ = {.size = prime, .accumulates = true};
    chunk_ = build_chunk(config, key_);
    batch_ = GraphBatch(chunk_.graph, prime);
    if (!batch_.is_ambiguous()) break;
    const auto next = std::ranges::upper_bound(GraphBatch::kPrimes, prime);
    if (next == GraphBatch::kPrimes.end())
      throw input_error({}, "a model with multiples of large primes as sizes cannot be planned");
    prime = *next;
  }
  key_.micro_batch_size = 1;
  if (repeated_) {
    pieces_ = pieces_of(chunk_.graph,
                        {.forward_ops = chunk_.send_output.end, .layers_per_unit = key.layers_per_unit()});
    if (pieces_.empty()) return;
  } else {
    pieces_.assign(chunk_.graph.ops().size(), Piece::kBefore);
  }
  parameters_ = parameters_by_readiness(config, key_, chunk_);
  find_tensors();
  find_memory();
}

bool ChunkFamily::is_inner(std::int64_t block) const {
  const std::int64_t per_unit = key_.layers_per_unit();
  return repeated_ && block >= per_unit && block < 2 * per_unit;
}

// Those that are there for the whole step.
void ChunkFamily::find_tensors() {
  const std::span<const Tensor> tensors = chunk_.graph.tensors();
  for (std::uint32_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].producer != kNoOp) continue;
    if (tensors[t].name == "loss") has_loss_ = true;
    const std::int64_t block = block_in(tensors[t].name);
    resident_.push_back({.tensor = TensorId{t}, .block = block, .inner = is_inner(block)});
  }
}

void ChunkFamily::find_memory() {
  const Graph& graph = chunk_.graph;
  const std::array passes{chunk_.receive_input,    chunk_.forward,  chunk_.send_output,
                          chunk_.receive_gradient, chunk_.backward, chunk_.send_gradient};
  std::vector<char> in_slot = crossing_values(graph, passes);
  std::vector<char> in_ring(graph.tensors().size(), 0);
  root_ = view_roots(graph);
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kReceive) continue;
    const std::size_t tensor = index(op.outputs[0].tensor);
    in_ring[tensor] = 1;
    in_slot[tensor] = 0;
    ChunkCost::Ring ring{.stride = {}, .gradient = op.phase == Phase::kBackward};
    for (std::size_t pass = 0; pass < passes.size(); ++pass)
      for (std::uint32_t i = passes[pass].first; i < passes[pass].end; ++i)
        for (const TensorId input : graph.ops()[i].inputs)
          if (input != kNoTensor && root_[index(input)] == tensor)
            ring.touched |= bit_of(static_cast<PipelineEvent>(pass));
    rings_.emplace_back(op.outputs[0].tensor, ring);
  }
  for (std::uint32_t t = 0; t < in_slot.size(); ++t) {
    if (in_slot[t] == 0) continue;
    const std::int64_t block = graph.op(graph.tensors()[t].producer).block;
    in_slot_.push_back({.tensor = TensorId{t}, .block = block, .inner = is_inner(block)});
  }
  for (const KeptValue& value : kept_for_backward(graph))
    kept_.push_back({.tensor = value.tensor, .block = value.block, .inner = is_inner(value.block)});
  for (std::size_t t = 0; t < in_slot.size(); ++t) in_slot[t] |= in_ring[t];
  whole_.elsewhere = std::move(in_ring);
  pipelined_.elsewhere = std::move(in_slot);
}

void ChunkFamily::find_values(Arena& arena) const {
  const ValueLifetimes lifetimes = value_lifetimes(chunk_.graph, {.elsewhere = std::move(arena.elsewhere)});
  arena.values.assign(lifetimes.allocations.size(), kNoTensor);
  arena.memory = {pieces_, lifetimes.allocations};
  // Values that take over each other's bytes have the same size; views may be parts.
  for (std::uint32_t t = 0; t < root_.size(); ++t)
    if (root_[t] == t && lifetimes.allocation_of[t] >= 0)
      arena.values[static_cast<std::size_t>(lifetimes.allocation_of[t])] = TensorId{t};
  arena.found = true;
}

std::optional<ArenaNeed> ChunkFamily::arena(const ArenaRequest& request) {
  Arena& arena = request.pipelined ? pipelined_ : whole_;
  // Values that have different sizes with one size of micro-batches may have equal ones with another, and
  // then take over each other's bytes: the lifetimes are those of the graph as it was built.
  if (!arena.found) {
    graph(built_form());
    find_values(arena);
  }
  ScaledArena& scaled = arena.of_size[request.micro_batch_size];
  if (scaled.memory == nullptr) {
    graph({.size = request.micro_batch_size, .accumulates = now_.accumulates});
    scaled = resized(arena);
  }
  const auto need = scaled.memory->of(repeated_ ? request.layers / key_.layers_per_unit() : kFewestUnits);
  if (!need) return std::nullopt;
  return ArenaNeed{need->arena * scaled.unit, need->peak * scaled.unit};
}

ChunkGraph& ChunkFamily::graph(const MicroBatchForm& form) {
  if (now_.size != form.size) batch_.set(chunk_.graph, form.size);
  if (now_.accumulates != form.accumulates) batch_.set_accumulating(chunk_.graph, form.accumulates);
  now_ = form;
  return chunk_;
}

const ChunkCost* ChunkFamily::cost(std::int64_t micro_batch_size) {
  if (pieces_.empty()) return nullptr;
  const auto known = costs_.find(micro_batch_size);
  if (known != costs_.end()) return &known->second;
  return &costs_.emplace(micro_batch_size, made(micro_batch_size)).first->second;
}

const ChunkWork& ChunkFamily::work(const MicroBatchForm& form) {
  const auto known = works_.find(form);
  if (known != works_.end()) return known->second;
  return works_.emplace(form, worked(form)).first->second;
}

// An arena serves requests by comparing their sizes, so it comes out the same in any unit.
ChunkFamily::ScaledArena ChunkFamily::resized(Arena& arena) const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(arena.values.size());
  std::int64_t unit = 0;
  for (const TensorId value : arena.values) {
    sizes.push_back(aligned_size(chunk_.graph.tensor(value).size()).count());
    unit = std::gcd(unit, sizes.back());
  }
  if (unit > 1)
    for (std::int64_t& size : sizes) size /= unit;
  std::unique_ptr<RepeatedMemory>& known = arena.known[sizes];
  if (known == nullptr) known = std::make_unique<RepeatedMemory>(arena.memory.with_sizes(sizes));
  return {.memory = known.get(), .unit = std::max<std::int64_t>(unit, 1)};
}

ChunkCost ChunkFamily::made(std::int64_t micro_batch_size) {
  const Graph& graph = this->graph({.size = micro_batch_size, .accumulates = now_.accumulates}).graph;
  ChunkCost cost;
  cost.repeated = repeated_;
  cost.per_unit = key_.layers_per_unit();
  for (const Held& held : resident_) {
    const Tensor& tensor = graph.tensor(held.tensor);
    const std::int64_t parameters = tensor.role == Role::kParameter ? tensor.shape.elements() : 0;
    cost.sizes.parameters += parameters;
    if (held.inner) cost.inner_sizes.parameters += parameters;
    if (tensor.shares_memory) continue;
    const auto role = static_cast<std::size_t>(tensor.role);
    if (held.block < 0) {
      cost.shared.push_back({tensor.name, tensor.role, tensor.size()});
      continue;
    }
    cost.sizes.resident[role] += tensor.size();
    if (held.inner) cost.inner_sizes.resident[role] += tensor.size();
  }
  cost.has_loss = has_loss_;
  for (const auto& [tensor, ring] : rings_) {
    cost.rings.push_back(ring);
    cost.rings.back().stride = aligned_size(graph.tensor(tensor).size());
  }
  for (const Held& held : in_slot_) {
    const Bytes size = aligned_size(graph.tensor(held.tensor).size());
    cost.sizes.slot += size;
    if (held.inner) cost.inner_sizes.slot += size;
  }
  std::map<std::int64_t, Bytes> kept_in_block;
  for (const Held& held : kept_) {
    const Bytes size = graph.tensor(held.tensor).size();
    cost.sizes.kept += size;
    if (held.inner) cost.inner_sizes.kept += size;
    if (held.block < 0) continue;
    Bytes& in_block = kept_in_block[held.block];
    in_block += size;
    cost.kept_per_block = std::max(cost.kept_per_block, in_block);
  }
  for (const ReadyParameter& each : parameters_) {
    const Piece piece = pieces_[each.ready_after];
    (repeated_ && piece == Piece::kInnerBackward  ? cost.parameters_inner
     : repeated_ && piece > Piece::kInnerBackward ? cost.parameters_after
                                                  : cost.parameters_before)
        .push_back(each.parameter);
  }
  return cost;
}

ChunkWork ChunkFamily::worked(const MicroBatchForm& form) {
  const Graph& graph = this->graph(form).graph;
  StepWork all, inner;
  for (const Op& op : graph.ops()) {
    add_op(all, graph, op);
    if (is_inner(op.block)) add_op(inner, graph, op);
  }
  const auto counts = [](const auto& list, const auto& part) {
    std::vector<std::int64_t> result(list.size(), 0);
    for (const auto& entry : part)
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].key() == entry.key()) result[i] = entry.count;
    return result;
  };
  ChunkWork work;
  work.inner_products = counts(all.products, inner.products);
  work.inner_messages = counts(all.messages, inner.messages);
  work.work = std::move(all.work);
  work.inner_work = std::move(inner.work);
  work.products = std::move(all.products);
  work.messages = std::move(all.messages);
  return work;
}

}  // namespace nadi::inline describe
