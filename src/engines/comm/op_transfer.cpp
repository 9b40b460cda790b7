#include "nadi/comm/op_transfer.h"

#include "nadi/base/error.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline engines {
namespace {

std::span<std::byte> span_of(const Operand& operand) {
  return {operand.data, static_cast<std::size_t>(operand.bytes())};
}

bool is_contiguous(const Operand& operand) {
  return nadi::is_contiguous(operand.shape(), operand.strides);
}

std::int64_t members_of(const Op& op) {
  return op.attributes.integer("group_size");
}

std::int64_t staged_size(const Tensor& tensor) {
  return aligned_size(tensor.size()).count();
}

// How a whole is made of parts along an axis: each part is `outer` runs.
struct PartsLayout {
  std::int64_t parts = 1, outer = 1, run = 1;  // run in bytes
};

PartsLayout parts_of(const Tensor& whole, const Op& op, std::string_view axis) {
  PartsLayout layout{.parts = members_of(op)};
  for (int i = 0; i < static_cast<int>(op.attributes.integer(axis)); ++i) layout.outer *= whole.shape[i];
  layout.run = whole.size().count() / layout.outer / layout.parts;
  return layout;
}

BlockSwap packed(const PartsLayout& layout, const std::byte* whole, std::byte* parts) {
  return {.from = whole, .to = parts, .rows = layout.outer, .columns = layout.parts, .run = layout.run};
}

BlockSwap unpacked(const PartsLayout& layout, const std::byte* parts, std::byte* whole) {
  return {.from = parts, .to = whole, .rows = layout.parts, .columns = layout.outer, .run = layout.run};
}

// A bucket's tensors lie one after the other, as the variable store has placed them; `bytes` counts what the
// bucket is padded with, too.
std::span<std::byte> bucket_of(std::span<const Operand> tensors, std::int64_t bytes) {
  const std::byte* next = tensors[0].data;
  for (const Operand& tensor : tensors) {
    check(tensor.data == next, "the tensors of a bucket are not one after the other");
    next += tensor.bytes();
  }
  return {tensors[0].data, static_cast<std::size_t>(bytes)};
}

// The operand's elements one after the other: its own memory, or a copy at `staging`.
std::byte* contiguous(OpTransfer& transfer, const Operand& operand, std::byte* staging) {
  if (is_contiguous(operand)) return operand.data;
  transfer.copied = &operand;
  transfer.copy_to = staging;
  return staging;
}

// What is combined in place starts as a copy of the input, unless they are the same memory.
void work_in_output(OpTransfer& transfer, const CommOpCall& call) {
  transfer.to = span_of(call.out());
  transfer.writes = ByteRange(transfer.to);
  if (call.in().data == call.out().data && is_contiguous(call.in())) return;
  transfer.copied = &call.in();
  transfer.copy_to = call.out().data;
}

// One tensor, or a bucket of them, which is combined where it lies.
void describe_all_reduce(const CommOpCall& call, OpTransfer& transfer) {
  transfer.kind = TransferKind::kAllReduce;
  transfer.reduce_op = reduce_op_named(call.op.attributes.text("op"));
  if (call.outputs.size() == 1) return work_in_output(transfer, call);
  check(call.in().data == call.out().data, "a bucket is reduced in place");
  std::int64_t bytes = 0;
  for (const Operand& output : call.outputs) bytes += output.bytes();
  transfer.to = bucket_of(call.outputs, bytes);
  transfer.writes = ByteRange(transfer.to);
}

void describe_reduce(const CommOpCall& call, std::int64_t place, OpTransfer& transfer) {
  transfer.kind = TransferKind::kReduce;
  work_in_output(transfer, call);
  if (place != call.op.attributes.integer("root")) transfer.clear = transfer.to;
}

void describe_all_gather(const CommOpCall& call, std::byte* staging, OpTransfer& transfer) {
  const PartsLayout layout = parts_of(*call.out().tensor, call.op, "axis");
  transfer.kind = TransferKind::kAllGather;
  transfer.from = {contiguous(transfer, call.in(), staging), static_cast<std::size_t>(call.in().bytes())};
  transfer.to = span_of(call.out());
  transfer.reads = ByteRange(transfer.from);
  transfer.writes = ByteRange(transfer.to);
  if (layout.outer == 1) return;
  transfer.to = {staging + staged_size(*call.in().tensor), transfer.to.size()};
  transfer.unpack = unpacked(layout, transfer.to.data(), call.out().data);
}

// Others may still read the input, and it would not survive: its copy is what is combined.
void describe_reduce_scatter(const CommOpCall& call, std::byte* staging, OpTransfer& transfer) {
  const PartsLayout layout = parts_of(*call.in().tensor, call.op, "axis");
  transfer.kind = TransferKind::kReduceScatter;
  const std::byte* whole = contiguous(transfer, call.in(), staging + staged_size(*call.in().tensor));
  transfer.pack = packed(layout, whole, staging);
  transfer.from = {staging, static_cast<std::size_t>(call.in().bytes())};
  transfer.to = span_of(call.out());
  transfer.writes = ByteRange(transfer.to);
}

void describe_all_to_all(const CommOpCall& call, std::byte* staging, OpTransfer& transfer) {
  const PartsLayout split = parts_of(*call.in().tensor, call.op, "split_axis");
  const PartsLayout concat = parts_of(*call.out().tensor, call.op, "concat_axis");
  const std::size_t size = static_cast<std::size_t>(call.in().bytes());
  const std::int64_t stride = staged_size(*call.in().tensor);
  transfer.kind = TransferKind::kAllToAll;
  transfer.pack = packed(split, contiguous(transfer, call.in(), staging + 2 * stride), staging);
  transfer.from = {staging, size};
  transfer.to = {staging + stride, size};
  transfer.unpack = unpacked(concat, transfer.to.data(), call.out().data);
  transfer.writes = ByteRange(span_of(call.out()));
}

void describe_exchange(const CommOpCall& call, std::byte* staging, OpTransfer& transfer) {
  transfer.kind = TransferKind::kExchange;
  transfer.from = {contiguous(transfer, call.in(), staging), static_cast<std::size_t>(call.in().bytes())};
  transfer.to = span_of(call.out());
  transfer.reads = ByteRange(transfer.from);
  transfer.writes = ByteRange(transfer.to);
}

}  // namespace

StreamId transfer_stream(const Op& op) {
  if (op.kind == OpKind::kSend) return kSendStream;
  if (op.kind == OpKind::kReceive) return kReceiveStream;
  return collective_stream(group_named(op.attributes.text("group")));
}

std::int64_t transfer_staging(const Graph& graph, const Op& op) {
  const auto size_of_input = [&] { return staged_size(graph.tensor(op.inputs[0])); };
  switch (op.kind) {
    case OpKind::kAllGather:
      return size_of_input() + staged_size(graph.tensor(op.outputs[0].tensor));
    case OpKind::kReduceScatter:
      return 2 * size_of_input();
    case OpKind::kAllToAll:
      return 3 * size_of_input();
    case OpKind::kSend:
    case OpKind::kExchangeRows:
      return size_of_input();
    default:
      return 0;
  }
}

bool needs_staging(const CommOpCall& call) {
  switch (call.op.kind) {
    case OpKind::kReduceScatter:
    case OpKind::kAllToAll:
      return true;
    case OpKind::kAllGather:
      return !is_contiguous(call.in()) || parts_of(*call.out().tensor, call.op, "axis").outer > 1;
    case OpKind::kSend:
    case OpKind::kExchangeRows:
      return !is_contiguous(call.in());
    default:
      return false;
  }
}

OpTransfer op_transfer(const CommOpCall& call, std::int64_t place, std::byte* staging) {
  for (const OpOutput& output : call.op.outputs)
    check(!output.accumulate, "what other ranks sent is not added to anything");
  OpTransfer transfer;
  transfer.dtype = call.outputs.empty() ? call.in().dtype() : call.out().dtype();
  switch (call.op.kind) {
    case OpKind::kAllReduce:
      describe_all_reduce(call, transfer);
      return transfer;
    case OpKind::kReduce:
      describe_reduce(call, place, transfer);
      return transfer;
    case OpKind::kBroadcast:
      transfer.kind = TransferKind::kBroadcast;
      work_in_output(transfer, call);
      return transfer;
    case OpKind::kAllGather:
      describe_all_gather(call, staging, transfer);
      return transfer;
    case OpKind::kReduceScatter:
      describe_reduce_scatter(call, staging, transfer);
      return transfer;
    case OpKind::kAllToAll:
      describe_all_to_all(call, staging, transfer);
      return transfer;
    case OpKind::kExchangeRows:
      describe_exchange(call, staging, transfer);
      return transfer;
    case OpKind::kBucketReduceScatter:
      transfer.kind = TransferKind::kReduceScatter;
      transfer.from = bucket_of(call.inputs, call.out().bytes() * members_of(call.op));
      transfer.to = span_of(call.out());
      transfer.writes = ByteRange(transfer.from);
      return transfer;
    case OpKind::kBucketAllGather:
      transfer.kind = TransferKind::kAllGather;
      transfer.from = span_of(call.in());
      transfer.to = bucket_of(call.outputs, call.in().bytes() * members_of(call.op));
      transfer.writes = ByteRange(transfer.to);
      return transfer;
    case OpKind::kSend:
      transfer.kind = TransferKind::kSend;
      transfer.from = {contiguous(transfer, call.in(), staging), static_cast<std::size_t>(call.in().bytes())};
      transfer.reads = ByteRange(transfer.from);
      return transfer;
    case OpKind::kReceive:
      transfer.kind = TransferKind::kReceive;
      transfer.to = span_of(call.out());
      transfer.writes = ByteRange(transfer.to);
      return transfer;
    default:
      unreachable();
  }
}

}  // namespace nadi::inline engines
