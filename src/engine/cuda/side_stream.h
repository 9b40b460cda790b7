// A second stream for computation that nobody waits for soon: gradients of weights, which are too small to
// fill the GPU by themselves, beside the chain of gradients that the backward pass goes along.
//
//   side.settle(address, size, writes, main);        // before a kernel on `main` touches that memory
//   side.begin(main);                                // what follows comes after all that `main` was given
//   ...                                              // enqueue on side.stream()
//   side.add_read(address, size); side.add_write(address, size);
//   side.end();
//   side.join(main);                                 // before a run, or a piece of a captured one, ends
//
// Memory decides who waits for whom: a kernel on the main stream that touches what one on the side still
// reads or writes comes after it. All calls only enqueue, and may be captured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nadi/engine/cuda/device.h"

namespace nadi::cuda {

class SideStream {
 public:
  explicit SideStream(const Device& device);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  cudaStream_t stream() const { return stream_; }
  bool idle() const { return pending_.empty(); }

  void settle(const std::byte* address, std::int64_t size, bool writes, cudaStream_t main);
  void begin(cudaStream_t main);
  void add_read(const std::byte* address, std::int64_t size);
  void add_write(const std::byte* address, std::int64_t size);
  void end();
  void join(cudaStream_t main);

 private:
  struct Range {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    bool written = false;
  };
  struct Pending {
    cudaEvent_t done = nullptr;
    std::vector<Range> ranges;
  };
  cudaEvent_t take_event();
  // `main` comes after this one, and so after all before it.
  void wait_for(std::size_t pending, cudaStream_t main);

  cudaStream_t stream_ = nullptr;
  cudaEvent_t begun_ = nullptr;
  std::vector<cudaEvent_t> events_;  // all of them
  std::vector<cudaEvent_t> unused_;
  std::vector<Pending> pending_;  // in the order in which they were enqueued
  std::vector<Range> ranges_;     // of the one that is being enqueued
};

}  // namespace nadi::cuda
