#include "nadi/calibrate/machine_description.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/cpu/cpu_description.h"
#include "nadi/cuda/cuda_available.h"

namespace nadi::inline runs {
namespace {

// Ops that take less than this say more about the clock than about the device.
constexpr Nanoseconds kLongEnough{20'000};

// The best rate that kernels reach of an amount. Those of less than kLongEnough do not count, unless no
// kernel takes as long: a tiny model still has a peak, that of its longest kernel.
template <typename Amount>
double best_rate(std::span<const MeasuredOp> kernels, const Amount& amount_of) {
  Nanoseconds longest{};
  for (const MeasuredOp& op : kernels)
    if (amount_of(op) > 0) longest = std::max(longest, op.time);
  const Nanoseconds least = std::clamp(longest, Nanoseconds{1}, kLongEnough);
  double best = 0;
  for (const MeasuredOp& op : kernels)
    if (op.time >= least) best = std::max(best, static_cast<double>(amount_of(op)) / to_seconds(op.time));
  return best;
}

// Rate of memory: kernels that move about as much as any does. Less may come out of a cache.
double memory_rate(std::span<const MeasuredOp> kernels) {
  const auto moved = [](const MeasuredOp& op) { return (op.read + op.written).count(); };
  std::int64_t most = 0;
  for (const MeasuredOp& op : kernels) most = std::max(most, moved(op));
  return best_rate(kernels, [&](const MeasuredOp& op) { return 2 * moved(op) >= most ? moved(op) : 0; });
}

// The least that a kernel takes: the smallest time of an op that runs by itself.
Nanoseconds least_time(const MeasuredOps& measured) {
  Nanoseconds least{};
  for (const MeasuredOp& op : measured.ops)
    if (op.time > Nanoseconds{} && (least == Nanoseconds{} || op.time < least)) least = op.time;
  return least;
}

}  // namespace

DeviceSpec describe_device(const CalibrationOptions& options, std::int64_t ranks, int threads,
                           MeasuredOps measured, std::span<const MeasuredOp> kernels) {
  DeviceSpec device;
  const std::string source = format("measured by nadi calibrate, {} of the machine",
                                    ranks == 1 ? std::string("all") : format("one of {} ranks", ranks));
  if (options.device == DeviceKind::kCuda) {
    const cuda::GpuDescription gpu = cuda::gpu_of_this_rank();
    device.name = "this-gpu";
    device.product = gpu.name;
    device.type = DeviceType::kGpu;
    device.memory = gpu.memory;
    device.units = gpu.multiprocessors;
  } else {
    const cpu::CpuDescription cpu = cpu::describe_cpu();
    device.name = ranks == 1 ? "this-cpu" : format("this-cpu-of-{}", ranks);
    device.product = format("{}, {} {}", cpu.name.empty() ? "CPU" : cpu.name, threads,
                            threads == 1 ? "thread" : "threads");
    device.type = DeviceType::kCpu;
    device.memory = Bytes{cpu.memory.count() / ranks};
    device.units = threads;
  }
  for (std::size_t i = 0; i < device.matrix_peak.size(); ++i)
    device.matrix_peak[i] = FlopRate{best_rate(kernels, [&](const MeasuredOp& op) {
      return op.dtype == static_cast<DType>(i) ? op.matrix.count() : 0;
    })};
  device.vector_peak = FlopRate{
      best_rate(kernels, [](const MeasuredOp& op) { return op.matrix > Flops{} ? 0 : op.vector.count(); })};
  device.memory_bandwidth = ByteRate{memory_rate(kernels)};
  device.launch_overhead = least_time(measured);
  // The figures above are what ops reach.
  device.curve.matrix_efficiency = 1;
  device.curve.bandwidth_efficiency = 1;
  for (const char* figure : {"matrix_peak", "vector_peak", "memory_bandwidth", "launch_overhead", "measured"})
    device.sources.push_back({figure, source});
  device.measured = std::move(measured);
  return device;
}

}  // namespace nadi::inline runs
