#include "nadi/cuda/comm_ops.h"

#include <optional>

#include "nadi/base/error.h"
#include "nadi/comm/message_lines.h"
#include "nadi/comm/op_transfers.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/comm/through_host.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/device_mover.h"
#include "nadi/cuda/nccl_communicator.h"
#include "nadi/cuda/pinned_copies.h"

namespace nadi::inline engines::cuda {
namespace {

CommOpCall call_of(const OpCall& op) {
  return {.op = op.op.op, .inputs = op.inputs, .outputs = op.outputs};
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

// One of the two communicators, and the groups of it.
struct CommOps::State {
  State(const PlanGroups* host_groups, const Device& device, const DeviceChoice& choice) {
    if (host_groups == nullptr) return;
    device.make_current();
    if (choice.why_through_host.empty())
      world = &nccl.emplace(host_groups->world(), device.number());
    else
      world = &through_host.emplace(host_groups->world(), device_memory(device.number()), copies);
    groups.emplace(*world, *host_groups);
    transfers.emplace(OpTransfersOptions{.groups = &*groups,
                                         .memory = device_memory(device.number()),
                                         .mover = &mover,
                                         .host_waits = through_host.has_value()});
  }

  OpTransfers& computing_on(cudaStream_t stream) {
    mover.compute_on(stream);
    copies.compute_on(stream);
    if (nccl) nccl->compute_on(stream);
    return *transfers;
  }

  DeviceMover mover;
  PinnedCopies copies;
  std::optional<NcclCommunicator> nccl;
  std::optional<ThroughHost> through_host;
  Communicator* world = nullptr;  // of the two, the one that is there
  std::optional<PlanGroups> groups;
  std::optional<OpTransfers> transfers;
  bool rehearsing = false;
};

CommOps::CommOps(const PlanGroups* groups, Device& device, const DeviceChoice& choice)
    : state_(std::make_unique<State>(groups, device, choice)) {}

CommOps::~CommOps() = default;

bool CommOps::connected() const {
  return state_->transfers.has_value();
}

bool CommOps::through_host() const {
  return state_->through_host.has_value();
}

void CommOps::connect(const Program& program) {
  if (state_->nccl)
    state_->nccl->connect(groups_of_collectives(program, *state_->groups),
                          message_lines(program, *state_->groups));
}

std::string CommOps::setup() const {
  return state_->nccl && state_->nccl->setup().calls > 0 ? to_string(state_->nccl->setup()) : "";
}

void CommOps::abort() {
  if (state_->nccl) state_->nccl->abort();
}

void CommOps::reserve(Bytes size, std::byte* memory) {
  if (connected()) state_->transfers->reserve(size, memory);
}

void CommOps::start(const OpCall& op, cudaStream_t stream, ExecutedStep* record) {
  OpTransfers& transfers = state_->computing_on(stream);
  const CommOpCall call = call_of(op);
  const bool captured = !state_->rehearsing && is_capturing(stream);
  check(!captured || !through_host(), "what goes through the host is not captured");
  transfers.start(call, through_host() ? record : nullptr);
  // It was not sent yet: who launches the graph counts that.
  if (captured) transfers.count_sent(Bytes{-OpTransfers::sent_by(call).count()});
}

bool CommOps::idle() const {
  return !connected() || state_->transfers->idle();
}

bool CommOps::settle(const std::byte* address, std::int64_t size, bool writes, cudaStream_t stream) {
  return !idle() && state_->computing_on(stream).settle(address, size, writes);
}

bool CommOps::settle_all(cudaStream_t stream) {
  return !idle() && state_->computing_on(stream).settle_all();
}

void CommOps::rehearse(bool on) {
  state_->rehearsing = on;
  if (connected()) state_->transfers->rehearse(on);
}

Bytes CommOps::sent() const {
  return connected() ? state_->transfers->sent() : Bytes{};
}

void CommOps::count_sent(Bytes bytes) {
  if (connected()) state_->transfers->count_sent(bytes);
}

Bytes CommOps::sent_by(const OpCall& op) {
  return OpTransfers::sent_by(call_of(op));
}

}  // namespace nadi::inline engines::cuda
