#include "nadi/recording/device_work.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "nadi/base/error.h"

namespace nadi {
namespace {

constexpr std::uint32_t kUnreported = 0xffff'ffff;

// Shows what overlaps on a stream one after the other: from when it is free.
void follow(Nanoseconds free, Nanoseconds& start, Nanoseconds& end) {
  start = std::max(start, free);
  end = std::max(end, start);
}

// A device that runs a graph spreads it over streams of its own and reports those, other ones for each graph.
// The stream that the graph was launched on has the lowest number: it stands for the stream that computes,
// and the others follow it as the program numbers them, the same in each step.
std::uint32_t lowest_stream(const ExecutedStep& step) {
  std::uint32_t lowest = kUnreported;
  for (const DeviceWork& piece : step.device_work)
    if (piece.kernel != DeviceWork::kNoKernel) lowest = std::min(lowest, piece.stream);
  return lowest;
}

void number_streams(ExecutedStep& step, std::size_t first_kernel) {
  const std::uint32_t lowest = lowest_stream(step);
  if (lowest == kUnreported) return;
  for (std::size_t i = first_kernel; i < step.kernels.size(); ++i)
    step.kernels[i].stream = StreamId{lowest + to_number(step.kernels[i].stream)};
  // What the engine does besides has numbers behind those of programs and of streams that engines add to
  // them.
  std::map<std::uint32_t, std::uint32_t> besides;
  for (DeviceWork& piece : step.device_work)
    if (piece.kernel == DeviceWork::kNoKernel && piece.stream != lowest) besides[piece.stream];
  std::uint32_t next = lowest + 2 * kStreamCount;
  for (auto& [reported, number] : besides) number = next++;
  for (DeviceWork& piece : step.device_work) {
    if (piece.kernel != DeviceWork::kNoKernel)
      piece.stream = to_number(step.kernels[piece.kernel].stream);
    else if (piece.stream != lowest)
      piece.stream = besides.at(piece.stream);
  }
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

  number_streams(step, first_kernel);

  std::map<StreamId, Nanoseconds> free;  // when a stream's work so far was done
  for (std::size_t i = 0; i < first_kernel; ++i) free[step.kernels[i].stream] = step.kernels[i].end;
  auto next = std::ranges::lower_bound(work, first_kernel, {}, &DeviceWork::kernel);
  for (std::size_t i = first_kernel; i < step.kernels.size(); ++i) {
    ExecutedKernel& kernel = step.kernels[i];
    Nanoseconds& done = free.try_emplace(kernel.stream, step.start).first->second;
    const auto first = next;
    while (next != work.end() && next->kernel == i) ++next;
    if (kernel.end != Nanoseconds{}) {  // the host knew when it was done
      for (auto piece = first; piece != next; ++piece) {
        kernel.start = std::min(kernel.start, piece->start);
        kernel.end = std::max(kernel.end, piece->end);
      }
      follow(done, kernel.start, kernel.end);
    } else if (first == next) {
      kernel.start = kernel.end = done;
    } else {
      for (auto piece = first; piece != next; ++piece) {
        follow(done, piece->start, piece->end);
        done = piece->end;
      }
      kernel.start = first->start;
      kernel.end = done;
    }
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
