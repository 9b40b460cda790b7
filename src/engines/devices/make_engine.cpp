#include "nadi/devices/make_engine.h"

#include <array>

#include "nadi/base/error.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/cuda/cuda_engine.h"
#include "nadi/cuda/prepared_graph.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/reference/reference_engine.h"

namespace nadi::inline engines {
namespace {

constexpr std::array kDevices{
    DeviceEntry{DeviceKind::kCpu, "cpu", "this machine's cores, fast", true},
    DeviceEntry{DeviceKind::kCuda, "cuda", "an NVIDIA GPU for each rank", true},
    DeviceEntry{DeviceKind::kReference, "reference", "plain loops in double precision, slow", false},
};

}  // namespace

std::span<const DeviceEntry> devices() {
  return kDevices;
}

std::string_view to_string(DeviceKind kind) {
  for (const DeviceEntry& entry : kDevices)
    if (entry.kind == kind) return entry.name;
  unreachable();
}

std::unique_ptr<Engine> make_engine(DeviceKind kind, const EngineOptions& options) {
  switch (kind) {
    case DeviceKind::kCpu:
      return std::make_unique<CpuEngine>(options);
    case DeviceKind::kCuda:
      return make_cuda_engine(options);
    case DeviceKind::kReference:
      return std::make_unique<ReferenceEngine>(options);
  }
  unreachable();
}

KernelPlan plan_kernels(DeviceKind kind, const Program& program, const EngineOptions& options) {
  switch (kind) {
    case DeviceKind::kCpu:
      return plan_cpu_kernels(program, options.threads, true);
    case DeviceKind::kCuda:
      return cuda::plan_cuda_kernels(program, {.math = options.math}, true);
    case DeviceKind::kReference:
      return plan_reference_kernels(program);
  }
  unreachable();
}

}  // namespace nadi::inline engines
