#include "nadi/trace/trace_flows.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

constexpr std::string_view kEngineFrame = "autograd::engine::evaluate_function";

std::optional<std::int64_t> integer(const Trace& trace, std::uint32_t row, std::string_view name) {
  const std::optional<TraceAttribute> attribute = trace.find_attribute(row, name);
  return attribute ? attribute->integer() : std::nullopt;
}

struct BackwardOp {
  std::int64_t sequence = 0;
  std::uint32_t row = 0;
};

class FlowFinder {
 public:
  explicit FlowFinder(const Trace& trace) : trace_(trace) {
    for (std::uint32_t row = 0; row < trace.size(); ++row) {
      if (integer(trace, row, "stream")) {
        device_.push_back(row);
      } else {
        host(row);
      }
    }
  }

  std::vector<TraceFlow> find() {
    std::vector<TraceFlow> flows;
    for (const std::uint32_t row : device_) {
      const std::int64_t correlation = integer(trace_, row, "correlation").value_or(0);
      if (const auto call = calls_.find(correlation); correlation > 0 && call != calls_.end())
        flows.push_back(
            {.name = "ac2g", .id = static_cast<std::uint64_t>(correlation), .from = call->second, .to = row});
    }
    std::ranges::stable_sort(backward_, {}, [&](const BackwardOp& op) { return trace_.start(op.row); });
    std::uint64_t number = 0;
    for (const BackwardOp& op : backward_) {
      const auto forward = forward_.find(op.sequence);
      if (forward == forward_.end() || trace_.start(forward->second) > trace_.start(op.row)) continue;
      flows.push_back({.name = "fwdbwd", .id = ++number, .from = forward->second, .to = op.row});
      forward_.erase(forward);  // the first op of the backward pass alone
    }
    return flows;
  }

 private:
  void host(std::uint32_t row) {
    if (const std::int64_t correlation = integer(trace_, row, "correlation").value_or(0); correlation > 0)
      calls_.emplace(correlation, row);
    const std::optional<std::int64_t> sequence = integer(trace_, row, "Sequence number");
    if (!sequence || *sequence < 0) return;
    if (integer(trace_, row, "Fwd thread id").value_or(0) == 0) {
      const auto [last, is_new] = forward_.emplace(*sequence, row);
      if (!is_new && trace_.start(last->second) <= trace_.start(row)) last->second = row;
    } else if (!trace_.name(row).starts_with(kEngineFrame)) {
      backward_.push_back({.sequence = *sequence, .row = row});
    }
  }

  const Trace& trace_;
  std::vector<std::uint32_t> device_;
  std::unordered_map<std::int64_t, std::uint32_t> calls_;    // by correlation
  std::unordered_map<std::int64_t, std::uint32_t> forward_;  // by sequence number: the last one
  std::vector<BackwardOp> backward_;
};

}  // namespace

std::vector<TraceFlow> flows_of(const Trace& trace) {
  return FlowFinder(trace).find();
}

}  // namespace nadi::inline traces
