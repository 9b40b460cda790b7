// The communicator over NCCL: memory of GPUs, each rank with one of its own. Set up through a communicator
// for memory of the host among the same ranks.
//
//   NcclCommunicator world(host, device);                  // on all ranks, with the device current
//   const CommGroup data = world.add_group(members);
//   const CommGroup groups[] = {data};                     // what will be used, and nothing else
//   world.connect(groups, message_lines(program, ...));
//   world.compute_on(stream);
//   const CommRequest sum = world.all_reduce({data, kComputeStream, device_memory(device)}, ...);
//   world.stream_wait(kComputeStream, sum);
//   world.forget(sum);
//
// All of this but the setup enqueues work and returns, and may be captured into a CUDA graph: requests that a
// capture has started are waited for within it, by stream_wait(), and forgotten.
//
// NCCL runs what one of its communicators is given one after the other, and a message waits for its receiver.
// So each group has a communicator and a stream of its own, and so have the messages of one tag from one
// rank to another: they are matched in order, and whatever else is under way does not hold them up. Groups and
// lines of messages that nothing uses have none. Those of all ranks that are needed at a time are split from one
// of all ranks, in as few calls as can be (channel_plan.h); before NCCL 2.18, which cannot split, each is made
// by itself.
//
// A rank that is gone. NCCL sees when a connection is closed: while the host waits for the GPU
// (cuda/device_wait.h) it asks, and the wait ends with Error (environment), after abort(): then nothing is on
// the GPU any more that would wait for others. A rank that just says nothing is not NCCL's matter: that this one
// waits for its GPU is told to the record of `host` (comm_record.h), and who watches the ranks ends them.
//
// Sums of bf16 and fp16 are rounded at each addition, in an order that NCCL chooses by size and machine.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "nadi/comm/comm_record.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/message_lines.h"
#include "nadi/cuda/device_wait.h"
#include "nadi/cuda/nccl_library.h"

namespace nadi::inline engines::cuda {

struct NcclOptions {
  bool split = true;  // where NCCL can
};

// What making communicators has taken so far.
struct NcclSetup {
  std::int64_t communicators = 0;  // of this rank
  std::int64_t calls = 0;          // of NCCL, in which all ranks take part at once
  double seconds = 0;
};
// "NCCL 2.28.3: 3 communicators of this rank, made by 2 calls in 0.85 s".
std::string to_string(const NcclSetup& setup);

// One per process at a time: it is the guard of its waits.
class NcclCommunicator : public Communicator, private WaitGuard {
 public:
  // Collective. `host` must outlive this. Error (environment) where NCCL is not there.
  NcclCommunicator(Communicator& host, int device, const NcclOptions& options = {});
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // What kComputeStream is from now on.
  void compute_on(cudaStream_t stream) { compute_ = stream; }

  // Collective over all ranks of the job, each with the groups and the lines that it will use. Those that are
  // there already stay. Nothing is under way.
  void connect(std::span<const CommGroup> groups, std::span<const MessageLine> lines);
  const NcclSetup& setup() const { return setup_; }

  // Ends what is under way, whatever the other ranks do. Nothing can be started any more.
  void abort();

  Rank rank() const override { return host_.rank(); }
  std::int64_t size() const override { return host_.size(); }
  bool can_move(CommMemory memory) const override { return memory == device_memory(device_); }
  CommGroup add_group(std::span<const Rank> members) override;

  CommRequest all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) override;
  CommRequest reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) override;
  CommRequest all_gather(CommLine line, std::span<const std::byte> part, std::span<std::byte> whole) override;
  CommRequest reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                             ReduceOp op) override;
  CommRequest broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) override;
  CommRequest all_to_all(CommLine line, std::span<const std::byte> from, std::span<std::byte> to) override;
  // For lines that are connected.
  CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                   std::span<const std::byte> bytes) override;
  CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                      std::span<std::byte> bytes) override;

  // For kComputeStream only.
  void stream_wait(StreamId stream, CommRequest request) override;
  std::optional<Nanoseconds> test(CommRequest request) override;
  Nanoseconds wait(CommRequest request) override;
  void forget(CommRequest request) override;

  void barrier(CommGroup group) override;

 private:
  // A communicator of NCCL with the stream that it works on.
  class Channel;
  struct Group;
  struct Request {
    cudaEvent_t done = nullptr;
    const Channel* channel = nullptr;  // nullptr means the request is free
  };

  // What is asked of a channel.
  struct Asked {
    CommOp op = CommOp::kAllReduce;
    CommGroup group = kWorld;
    std::size_t bytes = 0;
    std::int64_t peer = -1;  // place in the group
    std::int64_t tag = 0;
  };
  struct Wanted;  // a channel that connect() is to make

  Group& group_of(CommGroup group);
  std::vector<Wanted> wanted(std::span<const CommGroup> groups, std::span<const MessageLine> lines);
  Channel* take(NcclComm comm, std::int64_t members);
  NcclComm joined(const NcclId& id, std::int64_t members, std::int64_t place);
  NcclComm made_in_round(std::int32_t color, const Wanted* own);
  Channel& channel_of(const CommLine& line);
  Channel& channel_of(const CommLine& line, std::int64_t peer, std::int64_t tag, bool sends);
  // What `call` gives the channel comes after what the compute stream was given so far.
  template <class Call>
  CommRequest start(const Channel& channel, const Asked& asked, const Call& call);
  CommRequest started(const Channel& channel);
  Request& under_way(CommRequest request);
  void look() override;
  void waits_long() override;
  void waited() override;
  void warm_up(const Wanted& wanted, Channel& channel);

  Communicator& host_;
  const NcclLibrary& nccl_;
  const int device_;
  const bool splits_;
  NcclSetup setup_;
  cudaStream_t compute_ = nullptr;
  cudaEvent_t computed_ = nullptr;
  std::vector<std::unique_ptr<Channel>> channels_;  // in the order in which they were made
  NcclComm world_ = nullptr;                        // of all ranks, and its channel; nullptr: not made
  Channel* world_channel_ = nullptr;
  bool world_given_ = false;  // it is the channel of a group
  void* small_ = nullptr;     // memory of the GPU that warms up
  std::optional<CommRecord::Waiting> waits_long_;
  std::vector<Group> groups_;
  // By group, place of the peer, tag, and whether it sends.
  using LineKey = std::tuple<CommGroup, std::int64_t, std::int64_t, bool>;
  std::map<LineKey, Channel*> lines_;
  std::vector<Request> requests_;
  std::vector<std::size_t> free_;  // of them
};

}  // namespace nadi::inline engines::cuda
