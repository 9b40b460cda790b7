#include "nadi/engine/cuda/side_stream.h"

#include <algorithm>
#include <utility>

#include "nadi/engine/cuda/cuda_error.h"

namespace nadi::cuda {

SideStream::SideStream(const Device& device) {
  device.make_current();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming), "cudaEventCreate");
}

SideStream::~SideStream() {
  cudaStreamSynchronize(stream_);
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
  cudaEventDestroy(begun_);
  cudaStreamDestroy(stream_);
}

cudaEvent_t SideStream::take_event() {
  if (unused_.empty()) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    events_.push_back(event);
    unused_.push_back(event);
  }
  const cudaEvent_t event = unused_.back();
  unused_.pop_back();
  return event;
}

void SideStream::wait_for(std::size_t last, cudaStream_t main) {
  check_cuda(cudaStreamWaitEvent(main, pending_[last].done, 0), "cudaStreamWaitEvent");
  for (std::size_t i = 0; i <= last; ++i) unused_.push_back(pending_[i].done);
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
}

void SideStream::settle(const std::byte* address, std::int64_t size, bool writes, cudaStream_t main) {
  for (std::size_t i = pending_.size(); i-- > 0;) {
    const bool touched = std::ranges::any_of(pending_[i].ranges, [&](const Range& range) {
      return (writes || range.written) && range.begin < address + size && address < range.end;
    });
    if (!touched) continue;
    wait_for(i, main);
    return;
  }
}

void SideStream::begin(cudaStream_t main) {
  check_cuda(cudaEventRecord(begun_, main), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(stream_, begun_, 0), "cudaStreamWaitEvent");
}

void SideStream::add_read(const std::byte* address, std::int64_t size) {
  ranges_.push_back({address, address + size, false});
}

void SideStream::add_write(const std::byte* address, std::int64_t size) {
  ranges_.push_back({address, address + size, true});
}

void SideStream::end() {
  const cudaEvent_t done = take_event();
  check_cuda(cudaEventRecord(done, stream_), "cudaEventRecord");
  pending_.push_back({.done = done, .ranges = std::exchange(ranges_, {})});
}

void SideStream::join(cudaStream_t main) {
  if (!pending_.empty()) wait_for(pending_.size() - 1, main);
}

}  // namespace nadi::cuda
