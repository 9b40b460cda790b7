#include "nadi/pytorch/kineto_trace.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "nadi/base/error.h"

namespace nadi::inline traces {

std::string_view to_string(KinetoCategory category) {
  switch (category) {
    case KinetoCategory::kCpuOp:
      return "cpu_op";
    case KinetoCategory::kUserAnnotation:
      return "user_annotation";
    case KinetoCategory::kPythonFunction:
      return "python_function";
    case KinetoCategory::kRuntime:
      return "cuda_runtime";
    case KinetoCategory::kDriver:
      return "cuda_driver";
    case KinetoCategory::kKernel:
      return "kernel";
    case KinetoCategory::kMemcpy:
      return "gpu_memcpy";
    case KinetoCategory::kMemset:
      return "gpu_memset";
    case KinetoCategory::kGpuAnnotation:
      return "gpu_user_annotation";
    case KinetoCategory::kSync:
      return "cuda_sync";
    case KinetoCategory::kOverhead:
      return "overhead";
    case KinetoCategory::kSpan:
      return "Trace";
    case KinetoCategory::kOther:
      return "";
  }
  unreachable();
}

std::string_view device_of_category(std::string_view name) {
  struct DeviceEntry {
    std::string_view prefix;
    std::string_view device;
  };
  constexpr std::array kDevices{
      DeviceEntry{"mtia_", "MTIA"},
      DeviceEntry{"xpu_", "XPU"},
      DeviceEntry{"hpu_", "HPU"},
      DeviceEntry{"npu_", "NPU"},
      DeviceEntry{"mlu_", "MLU"},
      DeviceEntry{"musa_", "MUSA"},
      DeviceEntry{"tpu_", "TPU"},
      DeviceEntry{"ipu_", "IPU"},
      DeviceEntry{"aiu_", "AIU"},
      DeviceEntry{"gcu_", "GCU"},
      DeviceEntry{"privateuse1_", "device"},
  };
  const auto* const found = std::ranges::find_if(
      kDevices, [&](const DeviceEntry& entry) { return name.starts_with(entry.prefix); });
  return found == kDevices.end() ? std::string_view() : found->device;
}

// Kineto names a category after the kind of device ("xpu_runtime", "mlu_memcpy"); profilers of 2021 wrote
// "Operator", "Runtime", "Memcpy".
KinetoCategory kineto_category(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto is = [&](std::string_view last_word) {
    if (!lower.ends_with(last_word)) return false;
    return lower.size() == last_word.size() || lower[lower.size() - last_word.size() - 1] == '_';
  };
  if (lower == "cpu_op" || lower == "operator") return KinetoCategory::kCpuOp;
  if (lower == "user_annotation") return KinetoCategory::kUserAnnotation;
  if (lower == "python_function") return KinetoCategory::kPythonFunction;
  if (lower == "overhead") return KinetoCategory::kOverhead;
  if (lower == "trace") return KinetoCategory::kSpan;
  if (is("user_annotation")) return KinetoCategory::kGpuAnnotation;
  if (is("kernel")) return KinetoCategory::kKernel;
  if (is("memcpy")) return KinetoCategory::kMemcpy;
  if (is("memset")) return KinetoCategory::kMemset;
  if (is("runtime")) return KinetoCategory::kRuntime;
  if (is("driver")) return KinetoCategory::kDriver;
  if (is("sync")) return KinetoCategory::kSync;
  const bool counts = lower.ends_with("counters") || lower.ends_with("range");
  return !counts && !device_of_category(lower).empty() ? KinetoCategory::kKernel : KinetoCategory::kOther;
}

}  // namespace nadi::inline traces
