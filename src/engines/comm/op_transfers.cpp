#include "nadi/comm/op_transfers.h"

#include <algorithm>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/graph/ops/expert_rows.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline engines {
namespace {

// Keys and values are gathered one after the other: two are under way, and a third leaves room.
constexpr int kStagingBuffers = 3;
// More than are ever under way at once: gradients' buckets, and messages of a pipeline. Only growing beyond
// allocates.
constexpr std::size_t kUsualPending = 256;

}  // namespace

OpTransfers::OpTransfers(const OpTransfersOptions& options) : options_(options) {
  pending_.reserve(kUsualPending);
}

Bytes OpTransfers::reserved_for(std::int64_t staging) {
  return Bytes{staging * kStagingBuffers};
}

void OpTransfers::reserve(Bytes size, std::byte* memory) {
  staging_ = memory;
  staging_size_ = size.count() / kStagingBuffers;
  staging_used_.assign(kStagingBuffers, 0);
}

// The number of a buffer that is free from now on.
int OpTransfers::take_staging() {
  auto free = std::ranges::find(staging_used_, 0);
  if (free == staging_used_.end()) {
    const auto oldest = std::ranges::find_if(pending_, [](const Pending& p) { return p.staging >= 0; });
    check(oldest != pending_.end(), "all staging memory is in use, and by nobody");
    finish(static_cast<std::size_t>(oldest - pending_.begin()));
    free = std::ranges::find(staging_used_, 0);
  }
  *free = 1;
  return static_cast<int>(free - staging_used_.begin());
}

Bytes OpTransfers::sent_by(const CommOpCall& call) {
  Bytes sent;
  if (call.op.kind == OpKind::kExchangeRows)
    return Bytes{size_of(call.in().dtype())} *
           (call.op.attributes.integer("rows_in_use") * call.in().shape()[1]);
  for (const Operand& input : call.inputs) sent += input.tensor->size();
  return sent;
}

void OpTransfers::start(const CommOpCall& call, ExecutedStep* record) {
  Pending pending;
  if (needs_staging(call)) pending.staging = take_staging();
  const OpTransfer transfer = op_transfer(call, options_.groups->place(call.op.attributes.text("group")),
                                          staging_ + std::max(pending.staging, 0) * staging_size_);
  pending.reads = transfer.reads;
  pending.writes = transfer.writes;
  pending.unpack = transfer.unpack;
  pending.clear = transfer.clear;
  if (!rehearsing_) {
    if (transfer.copied != nullptr) options_.mover->copy(*transfer.copied, transfer.copy_to);
    if (!transfer.pack.empty()) options_.mover->swap(transfer.pack);
    pending.request = request(call, transfer);
    sent_ += sent_by(call);
  }
  if (record != nullptr) {
    pending.record = record;
    pending.recorded = record->kernels.size() - 1;
  }
  pending_.push_back(pending);
}

CommRequest OpTransfers::request(const CommOpCall& call, const OpTransfer& transfer) {
  const Attributes& attributes = call.op.attributes;
  const std::string& name = attributes.text("group");
  const CommLine line(options_.groups->group(name), transfer_stream(call.op), options_.memory);
  Communicator& world = options_.groups->world();
  switch (transfer.kind) {
    case TransferKind::kAllReduce:
      return world.all_reduce(line, {transfer.to, transfer.dtype}, transfer.reduce_op);
    case TransferKind::kReduce:
      return world.reduce(line, {transfer.to, transfer.dtype}, transfer.reduce_op,
                          attributes.integer("root"));
    case TransferKind::kBroadcast:
      return world.broadcast(line, transfer.to, attributes.integer("root"));
    case TransferKind::kAllGather:
      return world.all_gather(line, transfer.from, transfer.to);
    case TransferKind::kReduceScatter:
      return world.reduce_scatter(line, {transfer.from, transfer.dtype}, transfer.to, transfer.reduce_op);
    case TransferKind::kAllToAll:
      return world.all_to_all(line, transfer.from, transfer.to);
    case TransferKind::kExchange:
      return exchange(line, call, transfer);
    case TransferKind::kSend:
      return world.send(line, attributes.integer("peer"), attributes.integer("tag"), transfer.from);
    case TransferKind::kReceive:
      return world.receive(line, attributes.integer("peer"), attributes.integer("tag"), transfer.to);
  }
  unreachable();
}

// The sizes are computed by the time that rows are sent. Rows behind those that come are zeros.
CommRequest OpTransfers::exchange(const CommLine& line, const CommOpCall& call, const OpTransfer& transfer) {
  using namespace exchange_rows_input;
  const std::int64_t row = call.in().bytes() / call.in().shape()[0];
  const auto bytes_of = [&](std::size_t input, std::vector<std::int64_t>& bytes) {
    const auto* const rows = reinterpret_cast<const std::int32_t*>(call.inputs[input].data);
    bytes.resize(static_cast<std::size_t>(call.inputs[input].elements()));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = row * rows[i];
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  };
  bytes_of(kSent, rows_sent_);
  const std::int64_t come = bytes_of(kReceived, rows_received_);
  if (come < std::ssize(transfer.to))
    options_.mover->clear(transfer.to.subspan(static_cast<std::size_t>(come)));
  return options_.groups->world().exchange(line, transfer.from, transfer.to,
                                           {.sent = rows_sent_, .received = rows_received_});
}

void OpTransfers::finish(std::size_t number) {
  const Pending pending = pending_[number];
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(number));
  if (pending.staging >= 0) staging_used_[pending.staging] = 0;
  if (rehearsing_) return;
  Communicator& world = options_.groups->world();
  world.stream_wait(kComputeStream, pending.request);
  if (!pending.unpack.empty()) options_.mover->swap(pending.unpack);
  if (!pending.clear.empty()) options_.mover->clear(pending.clear);
  if (!options_.host_waits) return world.forget(pending.request);
  const Nanoseconds done = world.wait(pending.request);
  if (pending.record == nullptr) return;
  ExecutedKernel& recorded = pending.record->kernels[pending.recorded];
  recorded.end = std::max(done, recorded.start);
}

bool OpTransfers::settle(const std::byte* address, std::int64_t size, bool writes) {
  const ByteRange range(address, size);
  bool settled = false;
  for (std::size_t i = 0; i < pending_.size();) {
    const Pending& pending = pending_[i];
    if (pending.writes.overlaps(range) || (writes && pending.reads.overlaps(range))) {
      finish(i);
      settled = true;
    } else {
      ++i;
    }
  }
  return settled;
}

bool OpTransfers::settle_all() {
  const bool settled = !idle();
  while (!idle()) finish(0);
  return settled;
}

void OpTransfers::rehearse(bool on) {
  check(idle(), "communication is under way when a rehearsal begins or ends");
  rehearsing_ = on;
}

}  // namespace nadi::inline engines
