#include "nadi/recording/device_work.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "nadi/base/error.h"

namespace nadi::inline traces {
namespace {

constexpr std::uint32_t kUnreported = 0xffff'ffff;

// Shows what overlaps on a stream one after the other: from when it is free.
void follow(Nanoseconds free, Nanoseconds& start, Nanoseconds& end) {
  start = std::max(start, free);
  end = std::max(end, start);
}

// A device that runs a graph spreads it over streams of its own and reports those, other ones for each graph.
// The stream that the graph was launched on has the lowest number: it stands for the stream that computes,
// and the others follow it as the program numbers them, the same in each step. What the engine does besides
// has numbers behind those of programs and of streams that engines add to them.
void number_streams(ExecutedStep& step, std::span<DeviceWork> reported, std::size_t first_kernel) {
  std::uint32_t lowest = kUnreported;
  std::map<std::uint32_t, std::uint32_t> besides;
  for (const DeviceWork& piece : reported)
    if (piece.kernel == DeviceWork::kNoKernel)
      besides[piece.stream];
    else
      lowest = std::min(lowest, piece.stream);
  if (lowest == kUnreported) return;
  for (std::size_t i = first_kernel; i < step.kernels.size(); ++i)
    step.kernels[i].stream = StreamId{lowest + to_number(step.kernels[i].stream)};
  std::uint32_t next = lowest + 2 * kStreamCount;
  for (auto& [stream, number] : besides) number = stream == lowest ? lowest : next++;
  for (DeviceWork& piece : reported)
    piece.stream = piece.kernel == DeviceWork::kNoKernel ? besides.at(piece.stream)
                                                         : to_number(step.kernels[piece.kernel].stream);
}

}  // namespace

void add_device_work(ExecutedStep& step, std::vector<DeviceWork> reported, std::size_t first_kernel) {
  std::ranges::sort(reported, [](const DeviceWork& a, const DeviceWork& b) {
    return std::tie(a.kernel, a.start, a.end, a.graph_node, a.correlation) <
           std::tie(b.kernel, b.start, b.end, b.graph_node, b.correlation);
  });
  for (const DeviceWork& piece : reported) {
    const bool known = piece.kernel >= first_kernel && piece.kernel < step.kernels.size();
    check(known || piece.kernel == DeviceWork::kNoKernel, "work of a device is of a recorded kernel");
    step.start = std::min(step.start, piece.start);
  }
  number_streams(step, reported, first_kernel);

  const Nanoseconds begin = first_kernel == 0 ? step.start : step.kernels[first_kernel - 1].end;
  std::map<StreamId, Nanoseconds> free;  // when a stream's work so far was done
  auto next = reported.begin();
  for (std::size_t i = first_kernel; i < step.kernels.size(); ++i) {
    ExecutedKernel& kernel = step.kernels[i];
    Nanoseconds& done = free.try_emplace(kernel.stream, begin).first->second;
    const auto first = next;
    while (next != reported.end() && next->kernel == i) ++next;
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
    step.end = std::max(step.end, kernel.end);
  }
  step.device_work.insert(step.device_work.end(), reported.begin(), next);

  std::map<std::uint32_t, Nanoseconds> free_besides;
  for (; next != reported.end(); ++next) {
    Nanoseconds& done = free_besides[next->stream];
    follow(done, next->start, next->end);
    done = next->end;
    step.end = std::max(step.end, next->end);
    step.work_besides.push_back(*next);
  }
}

}  // namespace nadi::inline traces
