#include "nadi/analysis/derived_work.h"

#include <algorithm>
#include <unordered_map>

#include "nadi/analysis/memory_limit.h"
#include "nadi/analysis/timeline.h"
#include "nadi/analysis/work_kind.h"
#include "nadi/work/torch_work.h"

namespace nadi::inline traces {
namespace {

// An op, how long all kernels lasted that do its work, and of these the ones that do not only copy.
struct LaunchingOp {
  TorchWork work = {};
  std::int64_t lasted = 0;
  std::int64_t computed = 0;
};

class WorkOfOps {
 public:
  explicit WorkOfOps(const Timeline& timeline) : timeline_(timeline) {}

  // Nothing where no op around the kernel says its shapes.
  LaunchingOp* of_kernel(std::uint32_t kernel) {
    std::uint32_t op = timeline_.enclosing(kernel);
    for (int depth = 0; op != kNoRow && depth < kMaxNesting; ++depth, op = timeline_.enclosing(op)) {
      const auto [entry, is_new] = ops_.try_emplace(op);
      if (is_new) {
        const Trace& trace = timeline_.trace();
        if (const auto work = torch_work(trace.name(op), trace.inputs(op), trace.outputs(op)))
          entry->second = LaunchingOp{.work = *work};
      }
      if (entry->second) return &*entry->second;
    }
    return nullptr;
  }

 private:
  const Timeline& timeline_;
  std::unordered_map<std::uint32_t, std::optional<LaunchingOp>> ops_;  // by row; looked up only
};

std::int64_t part_of(std::int64_t whole, std::int64_t part, std::int64_t all) {
  constexpr double kMost = 9e18;  // fits an int64
  return static_cast<std::int64_t>(
      std::min(static_cast<double>(whole) * static_cast<double>(part) / static_cast<double>(all), kMost));
}

}  // namespace

std::optional<DerivedWork> derive_work(const Timeline& timeline) {
  WorkOfOps ops(timeline);
  const ByteRate limit = memory_limit(timeline.trace());
  // Kernels that lasted no time at all count as 1 ns each.
  const auto lasted = [&](std::uint32_t row) {
    return std::max<std::int64_t>(timeline.duration(row).count(), 1);
  };
  std::unordered_map<std::uint32_t, bool> copies;  // by label
  const auto only_copies = [&](std::uint32_t row) {
    const auto [entry, is_new] = copies.try_emplace(timeline.label(row), false);
    if (is_new) entry->second = work_kind(timeline.text(timeline.label(row))) == WorkKind::kCopy;
    return entry->second;
  };
  bool any = false;
  for (std::uint32_t row = 0; row < timeline.size(); ++row)
    if (timeline.activity(row) == Activity::kCompute)
      if (LaunchingOp* op = ops.of_kernel(row)) {
        op->lasted += lasted(row);
        if (!only_copies(row)) op->computed += lasted(row);
        any = true;
      }
  if (!any) return std::nullopt;
  DerivedWork result{.flops = std::vector<std::int64_t>(timeline.size(), -1),
                     .bytes = std::vector<std::int64_t>(timeline.size(), -1)};
  for (std::uint32_t row = 0; row < timeline.size(); ++row) {
    if (timeline.activity(row) == Activity::kMemory) {
      const auto bytes = timeline.trace().find_attribute(row, "bytes");
      if (const auto size = bytes ? bytes->integer() : std::nullopt; size && *size > 0)
        result.bytes[row] = *size;
    }
    if (timeline.activity(row) != Activity::kCompute) continue;
    const LaunchingOp* op = ops.of_kernel(row);
    if (op == nullptr || !op->work.known) continue;
    if (op->computed == 0)
      result.flops[row] = part_of(op->work.flops.count(), lasted(row), op->lasted);
    else if (!only_copies(row))
      result.flops[row] = part_of(op->work.flops.count(), lasted(row), op->computed);
    result.bytes[row] = part_of(op->work.bytes.count(), lasted(row), op->lasted);
  }
  // Shapes say how large tensors are, and not how much of them was touched: what no memory of the device can
  // have moved in the time was not.
  for (std::uint32_t row = 0; row < timeline.size(); ++row)
    if (static_cast<double>(result.bytes[row]) > limit.per_second() * 1e-9 * static_cast<double>(lasted(row)))
      result.bytes[row] = -1;
  return result;
}

}  // namespace nadi::inline traces
