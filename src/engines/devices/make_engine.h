// The devices that programs can run on, and the engine of each.
//
//   const std::unique_ptr<Engine> engine = make_engine(options.device, {.threads = 2, .groups = &groups});
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "nadi/engine/engine_options.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline engines {

class Engine;
struct KernelPlan;

enum class DeviceKind : std::uint8_t { kCpu, kCuda, kReference };
struct DeviceEntry {
  DeviceKind kind;
  std::string_view name;
  std::string_view summary;
  bool plans_memory;  // what a program takes is known before it runs
};
std::span<const DeviceEntry> devices();
std::string_view to_string(DeviceKind kind);  // "cpu", "cuda", "reference"

// Error (environment) when the machine lacks what the device needs.
std::unique_ptr<Engine> make_engine(DeviceKind kind, const EngineOptions& options);

// The kernels that a device takes for a program, whether or not the device is there: what it fuses, and its
// workspace. For predictions of memory. Of the options, threads and math count.
KernelPlan plan_kernels(DeviceKind kind, const Program& program, const EngineOptions& options = {});

}  // namespace nadi::inline engines
