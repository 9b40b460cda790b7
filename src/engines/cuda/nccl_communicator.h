// The communicator over NCCL: memory of GPUs, each rank with one of its own. Set up through a communicator
// for memory of the host among the same ranks.
//
//   NcclCommunicator world(host, device);                  // on all ranks, with the device current
//   const CommGroup data = world.add_group(members);
//   world.connect(message_lines(program, groups));         // if there are sends and receives
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
// rank to another: they are matched in order, and whatever else is under way does not hold them up.
//
// Sums of bf16 and fp16 are rounded at each addition, in an order that NCCL chooses by size and machine.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "nadi/comm/communicator.h"
#include "nadi/comm/message_lines.h"
#include "nadi/cuda/nccl_library.h"

namespace nadi::inline engines::cuda {

class NcclCommunicator : public Communicator {
 public:
  // Collective. `host` must outlive this. Error (environment) where NCCL is not there.
  NcclCommunicator(Communicator& host, int device);
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // What kComputeStream is from now on.
  void compute_on(cudaStream_t stream) { compute_ = stream; }

  // Collective over all ranks of the job, each with its message_lines(). Those that are there already stay.
  void connect(std::span<const MessageLine> lines);

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
  // Of lines that are connected.
  CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                   std::span<const std::byte> bytes) override;
  CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                      std::span<std::byte> bytes) override;

  // Of kComputeStream only.
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

  Group& group_of(CommGroup group);
  Channel& made_channel(Group& group);  // collective where it is not there yet
  Channel& channel_of(const CommLine& line);
  Channel& channel_of(const CommLine& line, std::int64_t peer, std::int64_t tag, bool sends);
  // What the channel is given from now on comes after what the compute stream was given so far.
  void begin(const Channel& channel);
  CommRequest started(const Channel& channel);
  Request& under_way(CommRequest request);
  void check_progress(const Request& request) const;

  Communicator& host_;
  const NcclLibrary& nccl_;
  const int device_;
  cudaStream_t compute_ = nullptr;
  cudaEvent_t computed_ = nullptr;
  std::vector<Group> groups_;
  // By group, place of the peer, tag, and whether it sends.
  using LineKey = std::tuple<CommGroup, std::int64_t, std::int64_t, bool>;
  std::map<LineKey, std::unique_ptr<Channel>> lines_;
  std::vector<Request> requests_;
  std::vector<std::size_t> free_;  // of them
};

}  // namespace nadi::inline engines::cuda
