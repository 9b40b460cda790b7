#include "nadi/recording/device_work.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "nadi/base/error.h"

namespace nadi {
namespace {

// Shows what overlaps on a stream one after the other: from when it is free.
void follow(Nanoseconds free, Nanoseconds& start, Nanoseconds& end) {
  start = std::max(start, free);
  end = std::max(end, start);
}

}  // namespace

void settle_device_work(ExecutedStep& step, std::size_t first_kernel) {
  std::vector<DeviceWork>& work = step.device_work;
  std::ranges::sort(work, [](const DeviceWork& a, const DeviceWork& b) {
    return std::tie(a.kernel, a.start, a.end, a.graph_node, a.correlation) <
           std::tie(b.kernel, b.start, b.end, b.graph_node, b.correlation);
  });
  for (const DeviceWork& piece : work) {
    check(piece.kernel == DeviceWork::kNoKernel || piece.kernel < step.kernels.size(),
          "work of a device is of a recorded kernel");
    step.start = std::min(step.start, piece.start);
  }

  std::map<StreamId, Nanoseconds> free;  // when a stream's work so far was done
  for (std::size_t i = 0; i < first_kernel; ++i) free[step.kernels[i].stream] = step.kernels[i].end;
  auto next = std::ranges::lower_bound(work, first_kernel, {}, &DeviceWork::kernel);
  for (std::size_t i = first_kernel; i < step.kernels.size(); ++i) {
    ExecutedKernel& kernel = step.kernels[i];
    Nanoseconds& done = free.try_emplace(kernel.stream, step.start).first->second;
    const bool known_to_host = kernel.end != Nanoseconds{};
    bool first = !known_to_host;
    for (; next != work.end() && next->kernel == i; ++next) {
      if (!known_to_host) follow(done, next->start, next->end);
      kernel.start = first ? next->start : std::min(kernel.start, next->start);
      kernel.end = std::max(kernel.end, next->end);
      if (!known_to_host) done = next->end;
      first = false;
    }
    if (first) kernel.start = kernel.end = done;
    follow(done, kernel.start, kernel.end);
    done = kernel.end;
  }
  // What the engine did besides, by its own stream.
  std::map<std::uint32_t, Nanoseconds> free_besides;
  for (; next != work.end(); ++next) {
    Nanoseconds& done = free_besides[next->stream];
    follow(done, next->start, next->end);
    done = next->end;
  }
  for (const ExecutedKernel& kernel : step.kernels) step.end = std::max(step.end, kernel.end);
  for (const DeviceWork& piece : work) step.end = std::max(step.end, piece.end);
}

}  // namespace nadi
