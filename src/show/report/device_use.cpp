#include "nadi/report/device_use.h"

#include <algorithm>

#include "nadi/base/format.h"

namespace nadi::inline show {

NodeUse use_of(const NodeLog& node) {
  NodeUse use;
  const bool has_gpus = std::ranges::any_of(
      node.devices, [](const DeviceLog& device) { return device.kind == DeviceLog::Kind::kGpu; });
  double sum = 0, share = -1;
  int known = 0;
  for (const DeviceLog& device : node.devices) {
    const bool gpu = device.kind == DeviceLog::Kind::kGpu;
    if (gpu != has_gpus) continue;
    if (gpu) ++use.gpus;
    if (device.last.utilisation) {
      sum += static_cast<double>(*device.last.utilisation);
      ++known;
    }
    if (device.last.temperature)
      use.degrees = std::max(use.degrees.value_or(0), static_cast<double>(*device.last.temperature));
    if (device.last.memory_used && device.memory_total && device.memory_total->count() > 0) {
      const double own = static_cast<double>(device.last.memory_used->count()) /
                         static_cast<double>(device.memory_total->count());
      if (own > share) {
        share = own;
        use.used = device.last.memory_used;
        use.total = device.memory_total;
      }
    }
  }
  if (known > 0) use.percent = sum / known;
  return use;
}

std::string memory_text(const NodeUse& use) {
  if (!use.used || !use.total) return "-";
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  return format("{:.1f} of {:.1f} GiB", static_cast<double>(use.used->count()) / kGibibyte,
                static_cast<double>(use.total->count()) / kGibibyte);
}

std::string device_use_text(const JobLog& log) {
  double sum = 0, share = -1;
  int known = 0;
  bool gpus = false;
  NodeUse fullest;
  for (const NodeLog& node : log.nodes) {
    const NodeUse use = use_of(node);
    gpus = gpus || use.gpus > 0;
    if (use.percent) {
      sum += *use.percent;
      ++known;
    }
    if (use.used && use.total) {
      const double own = static_cast<double>(use.used->count()) / static_cast<double>(use.total->count());
      if (own > share) {
        share = own;
        fullest = use;
      }
    }
  }
  std::string text;
  if (known > 0) text = format("{} {:.0f} %", gpus ? "GPUs" : "CPUs", sum / known);
  if (share >= 0) text += format("{}memory {}", text.empty() ? "" : ", ", memory_text(fullest));
  return text;
}

}  // namespace nadi::inline show
