#include "nadi/engine/cpu/comm_ops.h"

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/engine/comm/plan_groups.h"
#include "nadi/engine/cpu/strided_copy.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/ops/views.h"
#include "nadi/recording/executed_step.h"

namespace nadi::cpu {
namespace {

// Keys and values are gathered one after the other: two are under way, and a third leaves room.
constexpr int kStagingBuffers = 3;
// More than are ever under way at once: gradients' buckets, and messages of a pipeline. Only growing beyond
// allocates.
constexpr std::size_t kUsualPending = 256;

std::int64_t bytes_of(const Operand& operand) {
  return operand.tensor->size().count();
}

std::span<std::byte> span_of(const Operand& operand) {
  return {operand.data, static_cast<std::size_t>(bytes_of(operand))};
}

bool is_contiguous(const Operand& operand) {
  return nadi::is_contiguous(operand.shape(), operand.strides);
}

// How a whole is made of parts along an axis: each part is `outer` runs.
struct PartsLayout {
  std::int64_t parts = 1, outer = 1, run = 1;  // run in bytes
};

PartsLayout parts_of(const Tensor& whole, int axis, std::int64_t parts) {
  PartsLayout layout{.parts = parts};
  for (int i = 0; i < axis; ++i) layout.outer *= whole.shape[i];
  layout.run = whole.size().count() / layout.outer / parts;
  return layout;
}

void pack(const std::byte* whole, const PartsLayout& layout, std::byte* packed) {
  for (std::int64_t part = 0; part < layout.parts; ++part)
    for (std::int64_t o = 0; o < layout.outer; ++o, packed += layout.run)
      std::memcpy(packed, whole + (o * layout.parts + part) * layout.run,
                  static_cast<std::size_t>(layout.run));
}

std::int64_t group_size_of(const Op& op) {
  return op.attributes.integer("group_size");
}

int axis_of(const Op& op, std::string_view name) {
  return static_cast<int>(op.attributes.integer(name));
}

// As the program has it.
StreamId stream_of(const Op& op, const std::string& group) {
  if (op.kind == OpKind::kSend) return kSendStream;
  if (op.kind == OpKind::kReceive) return kReceiveStream;
  return collective_stream(group_named(group));
}

std::int64_t aligned(std::int64_t size) {
  return aligned_size(Bytes{size}).count();
}

// A bucket's tensors lie one after the other, as the variable store has placed them; `bytes` counts what the
// bucket is padded with, too.
std::span<std::byte> bucket_of(std::span<const Operand> tensors, std::int64_t bytes) {
  const std::byte* next = tensors[0].data;
  for (const Operand& tensor : tensors) {
    check(tensor.data == next, "the tensors of a bucket are not one after the other");
    next += bytes_of(tensor);
  }
  return {tensors[0].data, static_cast<std::size_t>(bytes)};
}

}  // namespace

CommOps::CommOps(const PlanGroups* groups, int threads) : groups_(groups), threads_(threads) {
  pending_.reserve(kUsualPending);
}

std::int64_t CommOps::staging_bytes(const Graph& graph, const Op& op) {
  const auto size_of_input = [&] { return aligned(graph.tensor(op.inputs[0]).size().count()); };
  switch (op.kind) {
    case OpKind::kAllGather:
      return size_of_input() + aligned(graph.tensor(op.outputs[0].tensor).size().count());
    case OpKind::kReduceScatter:
      return 2 * size_of_input();
    case OpKind::kAllToAll:
      return 3 * size_of_input();
    case OpKind::kSend:
      return size_of_input();
    default:
      return 0;
  }
}

Bytes CommOps::reserved_for(std::int64_t staging) {
  return Bytes{staging * kStagingBuffers};
}

void CommOps::reserve(Bytes size, std::byte* memory) {
  staging_ = memory;
  staging_size_ = size.count() / kStagingBuffers;
  staging_used_.assign(kStagingBuffers, 0);
}

// A buffer that belongs to `pending` until it is done.
std::byte* CommOps::take_staging(Pending& pending) {
  auto free = std::ranges::find(staging_used_, 0);
  if (free == staging_used_.end()) {
    const auto oldest = std::ranges::find_if(pending_, [](const Pending& p) { return p.staging >= 0; });
    check(oldest != pending_.end(), "all staging memory is in use, and by nobody");
    finish(static_cast<std::size_t>(oldest - pending_.begin()));
    free = std::ranges::find(staging_used_, 0);
  }
  *free = 1;
  pending.staging = static_cast<int>(free - staging_used_.begin());
  return staging_ + pending.staging * staging_size_;
}

// The operand's elements one after the other: its own memory, or a copy at `staging`.
const std::byte* CommOps::contiguous(const Operand& operand, std::byte* staging) const {
  if (is_contiguous(operand)) return operand.data;
  strided_copy({.source = operand.data,
                .target = staging,
                .shape = operand.shape(),
                .strides = operand.strides,
                .element_size = size_of(operand.dtype())},
               threads_);
  return staging;
}

// What is combined in place starts as a copy of the input, unless they are the same memory.
std::byte* CommOps::copied(const Operand& from, const Operand& to) const {
  if (from.data == to.data && is_contiguous(from)) return to.data;
  if (contiguous(from, to.data) != to.data)
    std::memcpy(to.data, from.data, static_cast<std::size_t>(bytes_of(to)));
  return to.data;
}

struct CommOps::Call {
  const Op& op;
  std::span<const Operand> inputs, outputs;
  const std::string& group_name;
  CommLine line;

  const Operand& in() const { return inputs[0]; }
  const Operand& out() const { return outputs[0]; }
  std::int64_t root() const { return op.attributes.integer("root"); }
  std::int64_t peer() const { return op.attributes.integer("peer"); }
  std::int64_t tag() const { return op.attributes.integer("tag"); }
};

void CommOps::start(const OpView& view, std::span<const Operand> inputs, std::span<const Operand> outputs,
                    ExecutedStep* record) {
  for (const OpOutput& output : view.op.outputs)
    check(!output.accumulate, "what other ranks sent is not added to anything");
  for (const Operand& input : inputs) sent_ += input.tensor->size();
  const std::string& name = view.op.attributes.text("group");
  const Call call{view.op, inputs, outputs, name, {groups_->group(name), stream_of(view.op, name)}};
  const auto started = [&]() -> Pending {
    switch (view.op.kind) {
      case OpKind::kAllReduce:
        return all_reduce(call);
      case OpKind::kReduce:
        return reduce(call);
      case OpKind::kBroadcast:
        return broadcast(call);
      case OpKind::kAllGather:
        return all_gather(call);
      case OpKind::kReduceScatter:
        return reduce_scatter(call);
      case OpKind::kAllToAll:
        return all_to_all(call);
      case OpKind::kBucketReduceScatter:
        return bucket_reduce_scatter(call);
      case OpKind::kBucketAllGather:
        return bucket_all_gather(call);
      case OpKind::kSend:
        return send(call);
      case OpKind::kReceive:
        return receive(call);
      default:
        unreachable();
    }
  };
  Pending pending = started();
  if (record != nullptr) {
    pending.record = record;
    pending.recorded = record->kernels.size() - 1;
  }
  pending_.push_back(pending);
}

// One tensor, or a bucket of them, which is combined where it lies.
CommOps::Pending CommOps::all_reduce(const Call& call) {
  std::span<std::byte> whole = span_of(call.out());
  if (call.outputs.size() == 1) {
    copied(call.in(), call.out());
  } else {
    std::int64_t bytes = 0;
    for (const Operand& output : call.outputs) bytes += bytes_of(output);
    whole = bucket_of(call.outputs, bytes);
    check(call.in().data == call.out().data, "a bucket is reduced in place");
  }
  const ReduceOp op = reduce_op_named(call.op.attributes.text("op"));
  Pending pending;
  pending.writes = Range(whole);
  pending.request = groups_->world().all_reduce(call.line, {whole, call.out().dtype()}, op);
  return pending;
}

CommOps::Pending CommOps::reduce(const Call& call) {
  copied(call.in(), call.out());
  const std::span<std::byte> bytes = span_of(call.out());
  Pending pending;
  if (groups_->place(call.group_name) != call.root()) pending.clear = bytes;
  pending.writes = Range(bytes);
  pending.request =
      groups_->world().reduce(call.line, {bytes, call.out().dtype()}, ReduceOp::kSum, call.root());
  return pending;
}

CommOps::Pending CommOps::broadcast(const Call& call) {
  copied(call.in(), call.out());
  Pending pending;
  pending.writes = Range(span_of(call.out()));
  pending.request = groups_->world().broadcast(call.line, span_of(call.out()), call.root());
  return pending;
}

CommOps::Pending CommOps::all_gather(const Call& call) {
  const PartsLayout layout = parts_of(*call.out().tensor, axis_of(call.op, "axis"), group_size_of(call.op));
  const bool direct = layout.outer == 1;
  Pending pending;
  std::byte* staging = direct && is_contiguous(call.in()) ? nullptr : take_staging(pending);
  const std::span part{contiguous(call.in(), staging), static_cast<std::size_t>(bytes_of(call.in()))};
  std::span<std::byte> whole = span_of(call.out());
  pending.reads = Range(part);
  pending.writes = Range(whole);
  if (!direct) {
    whole = {staging + aligned(bytes_of(call.in())), whole.size()};
    pending.unpack = {.packed = whole.data(),
                      .whole = call.out().data,
                      .parts = layout.parts,
                      .outer = layout.outer,
                      .run = layout.run};
  }
  pending.request = groups_->world().all_gather(call.line, part, whole);
  return pending;
}

// Others may still read the input, and it would not survive: its copy is what is combined.
CommOps::Pending CommOps::reduce_scatter(const Call& call) {
  const PartsLayout layout = parts_of(*call.in().tensor, axis_of(call.op, "axis"), group_size_of(call.op));
  Pending pending;
  std::byte* staging = take_staging(pending);
  const std::span whole{staging, static_cast<std::size_t>(bytes_of(call.in()))};
  pack(contiguous(call.in(), staging + aligned(bytes_of(call.in()))), layout, staging);
  pending.writes = Range(span_of(call.out()));
  pending.request = groups_->world().reduce_scatter(call.line, {whole, call.in().dtype()},
                                                    span_of(call.out()), ReduceOp::kSum);
  return pending;
}

CommOps::Pending CommOps::all_to_all(const Call& call) {
  const std::int64_t members = group_size_of(call.op);
  const PartsLayout split = parts_of(*call.in().tensor, axis_of(call.op, "split_axis"), members);
  const PartsLayout concat = parts_of(*call.out().tensor, axis_of(call.op, "concat_axis"), members);
  const std::size_t size = static_cast<std::size_t>(bytes_of(call.in()));
  const std::int64_t stride = aligned(bytes_of(call.in()));
  Pending pending;
  std::byte* staging = take_staging(pending);
  pack(contiguous(call.in(), staging + 2 * stride), split, staging);
  const std::span<std::byte> received{staging + stride, size};
  pending.unpack = {.packed = received.data(),
                    .whole = call.out().data,
                    .parts = members,
                    .outer = concat.outer,
                    .run = concat.run};
  pending.writes = Range(span_of(call.out()));
  pending.request = groups_->world().all_to_all(call.line, {staging, size}, received);
  return pending;
}

CommOps::Pending CommOps::bucket_reduce_scatter(const Call& call) {
  const std::span<std::byte> whole = bucket_of(call.inputs, bytes_of(call.out()) * group_size_of(call.op));
  Pending pending;
  pending.writes = Range(whole);
  pending.request = groups_->world().reduce_scatter(call.line, {whole, call.out().dtype()},
                                                    span_of(call.out()), ReduceOp::kSum);
  return pending;
}

CommOps::Pending CommOps::bucket_all_gather(const Call& call) {
  const std::span<std::byte> whole = bucket_of(call.outputs, bytes_of(call.in()) * group_size_of(call.op));
  Pending pending;
  pending.writes = Range(whole);
  pending.request = groups_->world().all_gather(call.line, span_of(call.in()), whole);
  return pending;
}

CommOps::Pending CommOps::send(const Call& call) {
  Pending pending;
  std::byte* staging = is_contiguous(call.in()) ? nullptr : take_staging(pending);
  const std::span bytes{contiguous(call.in(), staging), static_cast<std::size_t>(bytes_of(call.in()))};
  pending.reads = Range(bytes);
  pending.request = groups_->world().send(call.line, call.peer(), call.tag(), bytes);
  return pending;
}

CommOps::Pending CommOps::receive(const Call& call) {
  Pending pending;
  pending.writes = Range(span_of(call.out()));
  pending.request = groups_->world().receive(call.line, call.peer(), call.tag(), span_of(call.out()));
  return pending;
}

void CommOps::finish(std::size_t number) {
  const Pending pending = pending_[number];
  // What comes next on the stream that computes, this thread, needs it.
  groups_->world().stream_wait(kComputeStream, pending.request);
  const Nanoseconds done = groups_->world().wait(pending.request);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(number));
  const Unpack& unpack = pending.unpack;
  const std::byte* from = unpack.packed;
  for (std::int64_t part = 0; part < unpack.parts; ++part)
    for (std::int64_t o = 0; o < unpack.outer; ++o, from += unpack.run)
      std::memcpy(unpack.whole + (o * unpack.parts + part) * unpack.run, from,
                  static_cast<std::size_t>(unpack.run));
  std::ranges::fill(pending.clear, std::byte{0});
  if (pending.staging >= 0) staging_used_[pending.staging] = 0;
  if (pending.record != nullptr) {
    ExecutedKernel& recorded = pending.record->kernels[pending.recorded];
    recorded.end = std::max(done, recorded.start);
  }
}

void CommOps::settle(const std::byte* address, std::int64_t size, bool writes) {
  const Range range(address, size);
  for (std::size_t i = 0; i < pending_.size();) {
    const Pending& pending = pending_[i];
    if (pending.writes.overlaps(range) || (writes && pending.reads.overlaps(range)))
      finish(i);
    else
      ++i;
  }
}

void CommOps::settle_all() {
  while (!idle()) finish(0);
}

}  // namespace nadi::cpu
