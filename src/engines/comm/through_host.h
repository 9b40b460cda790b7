// The communicator for memory of devices that goes through memory of the host: for ranks that share a GPU,
// and where there is no NCCL. What a request gives is copied to the host when it is started, another
// communicator moves it there, and what it gets is copied back when somebody waits for it.
//
//   ThroughHost world(host, device_memory(0), copies);
//   const CommRequest sum = world.all_reduce({data, kComputeStream, device_memory(0)}, ...);
//   ...                                          // what is computed meanwhile overlaps
//   world.stream_wait(kComputeStream, sum);      // blocks; then the result is on its way to the device
//   world.wait(sum);
//
// Knows no device: how memory is copied is a HostCopies. Starting blocks until all that the compute stream
// was given is done. Results are there for what the compute stream is given after stream_wait(); a request
// that no stream waits for has its result copied by wait() or test().
#pragma once

#include <vector>

#include "nadi/comm/communicator.h"

namespace nadi::inline engines {

// Copies between memory of the device and of the host.
class HostCopies {
 public:
  virtual ~HostCopies() = default;
  // Memory of the host that the device copies fast from and to. What was given back is used again, when
  // nothing is copied from it any more.
  virtual std::span<std::byte> take(std::size_t size) = 0;
  virtual void give_back(std::span<std::byte> buffer) = 0;
  // After all that the compute stream was given so far; done when it returns.
  virtual void to_host(std::span<const std::byte> from, std::byte* to) = 0;
  // In the order of the compute stream. `from` may be given back before it is done.
  virtual void to_device(std::span<const std::byte> from, std::byte* to) = 0;
};

class ThroughHost : public Communicator {
 public:
  // Both must outlive this. Groups are those of `host`: those that it has may be used here.
  ThroughHost(Communicator& host, CommMemory memory, HostCopies& copies);

  Rank rank() const override { return host_.rank(); }
  std::int64_t size() const override { return host_.size(); }
  bool can_move(CommMemory memory) const override { return memory == memory_; }
  CommGroup add_group(std::span<const Rank> members) override { return host_.add_group(members); }

  CommRequest all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) override;
  CommRequest reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) override;
  CommRequest all_gather(CommLine line, std::span<const std::byte> part, std::span<std::byte> whole) override;
  CommRequest reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                             ReduceOp op) override;
  CommRequest broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) override;
  CommRequest all_to_all(CommLine line, std::span<const std::byte> from, std::span<std::byte> to) override;
  CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                   std::span<const std::byte> bytes) override;
  CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                      std::span<std::byte> bytes) override;

  void stream_wait(StreamId stream, CommRequest request) override;
  std::optional<Nanoseconds> test(CommRequest request) override;
  Nanoseconds wait(CommRequest request) override;
  void barrier(CommGroup group) override { host_.barrier(group); }

 private:
  struct Request {
    CommRequest on_host{};
    std::span<std::byte> given = {}, got = {};  // buffers on the host; empty means none
    std::byte* target = nullptr;                // where on the device `got` goes; nullptr means nowhere
    std::optional<Nanoseconds> done = {};       // set when the result was copied
    bool used = false;
  };

  CommLine on_host(const CommLine& line) const;
  std::span<std::byte> copied(std::span<const std::byte> bytes);
  CommRequest started(const Request& request);
  Request& under_way(CommRequest request);
  void deliver(Request& request, Nanoseconds done);
  Nanoseconds release(Request& request);

  Communicator& host_;
  const CommMemory memory_;
  HostCopies& copies_;
  std::vector<Request> requests_;  // by number; those that are not used are free
};

}  // namespace nadi::inline engines
