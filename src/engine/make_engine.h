// The devices that programs can run on, and the engine of each.
//
//   const std::unique_ptr<Engine> engine = make_engine(options.device, {.threads = 2, .groups = &groups});
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "nadi/engine/cuda/device_traits.h"

namespace nadi {

class Engine;
class PlanGroups;
struct KernelPlan;
struct Program;

enum class DeviceKind : std::uint8_t { kCpu, kCuda, kReference };
struct DeviceEntry {
  DeviceKind kind;
  std::string_view name;
  std::string_view summary;
  bool plans_memory;  // what a program takes is known before it runs
};
std::span<const DeviceEntry> devices();
std::string_view to_string(DeviceKind kind);  // "cpu", "cuda", "reference"

struct EngineOptions {
  int threads = 0;                     // of the host; 0: one per core that the process may run on
  const PlanGroups* groups = nullptr;  // of this rank; nullptr: there are no others
  // Every kernel takes that many times as long, by sleeping: a slower device, for experiments.
  double slowdown = 1;
  cuda::MathOptions math = {};  // of GPUs
};

// Error (environment) when the machine lacks what the device needs.
std::unique_ptr<Engine> make_engine(DeviceKind kind, const EngineOptions& options);

// The kernels that a device takes for a program, whether or not the device is there: what it fuses, and its
// workspace. For predictions of memory. Of the options, threads and math count.
KernelPlan plan_kernels(DeviceKind kind, const Program& program, const EngineOptions& options = {});

}  // namespace nadi
