#include "nadi/convert/graph_captures.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace nadi::inline traces {

namespace {

constexpr std::size_t kCallsPerLost = 100;

// Names of NVIDIA's runtime and driver, and of AMD's, with whatever version behind them.
bool is_call(std::string_view name, std::string_view what) {
  for (const std::string_view maker : {"cuda", "cu", "hip"})
    if (name.starts_with(maker) && name.substr(maker.size()).starts_with(what)) return true;
  return false;
}

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// What a call launches.
std::optional<KinetoCategory> launched_by(std::string_view call) {
  if (has(call, "Launch") && has(call, "Kernel")) return KinetoCategory::kKernel;
  if (is_call(call, "Memcpy")) return KinetoCategory::kMemcpy;
  if (is_call(call, "Memset")) return KinetoCategory::kMemset;
  return std::nullopt;
}

struct Capture {
  Nanoseconds begin;
  Nanoseconds end;
  std::vector<std::uint32_t> calls = {};  // nodes, in the order of time
  bool named = true;                      // all calls that launch kernels name them
};

class CaptureMatcher {
 public:
  CaptureMatcher(const LinkSource& source, const LinkGraph& graph)
      : kineto_(source.kineto), graph_(graph), kernel_(kineto_.events.text_number("kernel")) {}

  std::unordered_map<std::uint32_t, std::uint32_t> match() {
    find_captures();
    if (captures_.empty() || launches_.empty()) return {};
    collect_work();
    collect_calls();
    std::unordered_map<std::uint32_t, std::uint32_t> calls;
    for (const std::uint32_t launch : launches_) {
      const auto [first, last] = std::ranges::equal_range(work_, kineto_.correlation[graph_.row[launch]], {},
                                                          &std::pair<std::uint64_t, std::uint32_t>::first);
      std::vector<std::uint32_t> rows;
      for (auto at = first; at != last; ++at) rows.push_back(at->second);
      std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return kineto_.events.start(row); });
      std::vector<std::uint32_t> found;
      bool ambiguous = false;
      for (const Capture& capture : captures_) {
        if (capture.end > kineto_.events.start(graph_.row[launch])) continue;
        std::vector<std::uint32_t> matched = match(rows, capture);
        if (matched.empty()) continue;
        ambiguous = ambiguous || !found.empty();
        found = std::move(matched);
      }
      if (ambiguous) continue;
      for (std::size_t i = 0; i < found.size(); ++i) calls.emplace(rows[i], found[i]);
    }
    return calls;
  }

 private:
  std::string_view name(std::uint32_t node) const { return kineto_.events.name(graph_.row[node]); }

  bool is_runtime(std::uint32_t node) const {
    if (graph_.kind[node] != LinkedKind::kHost) return false;
    const KinetoCategory category = kineto_.category[graph_.row[node]];
    return category == KinetoCategory::kRuntime || category == KinetoCategory::kDriver;
  }

  void find_captures() {
    for (const LinkedLane& lane : graph_.lanes) {
      std::optional<Nanoseconds> begin;
      for (std::uint32_t node = lane.begin; node < lane.end; ++node) {
        if (!is_runtime(node)) continue;
        if (is_call(name(node), "GraphLaunch")) launches_.push_back(node);
        if (is_call(name(node), "StreamBeginCapture")) begin = graph_.start(node, kineto_);
        if (!begin || !is_call(name(node), "StreamEndCapture")) continue;
        captures_.push_back({.begin = *begin, .end = graph_.start(node, kineto_)});
        begin.reset();
      }
    }
  }

  void collect_work() {
    for (std::uint32_t row = 0; row < kineto_.events.size(); ++row)
      if (is_device_work(kineto_.category[row]) && kineto_.correlation[row] != 0)
        work_.emplace_back(kineto_.correlation[row], row);
    std::ranges::sort(work_);
  }

  // Autograd's threads launch into a stream that another thread captures: calls of all threads count.
  void collect_calls() {
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      if (!is_runtime(node) || !launched_by(name(node))) continue;
      const std::uint64_t correlation = kineto_.correlation[graph_.row[node]];
      const bool ran =
          std::ranges::binary_search(work_, correlation, {}, &std::pair<std::uint64_t, std::uint32_t>::first);
      if (correlation == 0 || ran) continue;
      const Nanoseconds start = graph_.start(node, kineto_);
      for (Capture& capture : captures_) {
        if (start < capture.begin || start > capture.end) continue;
        capture.calls.push_back(node);
        if (launched_by(name(node)) == KinetoCategory::kKernel && !kernel_of(node)) capture.named = false;
        break;
      }
    }
    for (Capture& capture : captures_)
      std::ranges::stable_sort(capture.calls, {},
                               [&](std::uint32_t node) { return graph_.start(node, kineto_); });
  }

  std::optional<std::string_view> kernel_of(std::uint32_t node) const {
    if (!kernel_) return std::nullopt;
    const std::optional<TraceAttribute> kernel = kineto_.events.find_attribute(graph_.row[node], *kernel_);
    return kernel ? kernel->string() : std::nullopt;
  }

  // The calls of the device's events, or none.
  std::vector<std::uint32_t> match(const std::vector<std::uint32_t>& rows, const Capture& capture) const {
    if (rows.empty() || rows.size() > capture.calls.size()) return {};
    const std::size_t lost = capture.calls.size() - rows.size();
    if (lost * kCallsPerLost > (capture.named ? capture.calls.size() : 0)) return {};
    std::vector<std::uint32_t> calls;
    std::size_t next = 0;
    for (const std::uint32_t row : rows) {
      while (next < capture.calls.size() && !is_same(capture.calls[next], row)) ++next;
      if (next == capture.calls.size()) return {};
      calls.push_back(capture.calls[next++]);
    }
    return calls;
  }

  bool is_same(std::uint32_t call, std::uint32_t row) const {
    if (launched_by(name(call)) != kineto_.category[row]) return false;
    const std::optional<std::string_view> kernel = kernel_of(call);
    return !kernel || kineto_.category[row] != KinetoCategory::kKernel || *kernel == kineto_.events.name(row);
  }

  const KinetoTrace& kineto_;
  const LinkGraph& graph_;
  const std::optional<std::uint32_t> kernel_;                  // number of the text
  std::vector<Capture> captures_;                              // by thread, in the order of time
  std::vector<std::uint32_t> launches_;                        // of graphs: nodes
  std::vector<std::pair<std::uint64_t, std::uint32_t>> work_;  // correlation and row of device events
};

}  // namespace

GraphCaptures::GraphCaptures(const LinkSource& source, const LinkGraph& graph)
    : calls_(CaptureMatcher(source, graph).match()) {}

}  // namespace nadi::inline traces
