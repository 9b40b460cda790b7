#include "nadi/convert/node_order.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "nadi/base/cycle_text.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/pytorch/host_trace.h"

namespace nadi::inline traces {

namespace {

// How well a dependency is known.
enum class Strength : std::uint8_t { kInferred, kRecorded, kFixed };

class Orderer {
 public:
  Orderer(const KinetoTrace& kineto, const HostTrace* host, LinkGraph& graph, ConversionReport& report)
      : kineto_(kineto), host_(host), graph_(graph), report_(report), state_(graph.size(), State::kOpen) {
    order_.reserve(graph.size());
  }

  std::vector<std::uint32_t> order() {
    for (std::uint32_t node = 0; node < graph_.size(); ++node)
      if (graph_.kind[node] == LinkedKind::kHostNode) place(node);
    merge_lanes();
    if (report_.yielded_inferred + report_.yielded_recorded > 0)
      std::erase_if(graph_.waits, [](const LinkedWait& wait) { return wait.awaited == kNoNode; });
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { kOpen, kOnStack, kPlaced };

  // Lanes are in the order of time each, so the next node is the first of one of them.
  void merge_lanes() {
    using Head = std::tuple<Nanoseconds, std::size_t, std::uint32_t>;  // start, lane, node
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    for (std::size_t lane = 0; lane < graph_.lanes.size(); ++lane)
      heads.emplace(graph_.start(graph_.lanes[lane].begin, kineto_), lane, graph_.lanes[lane].begin);
    while (!heads.empty()) {
      auto [start, lane, node] = heads.top();
      heads.pop();
      const std::uint32_t end = graph_.lanes[lane].end;
      do {
        place(node);
        if (++node == end) break;
        start = graph_.start(node, kineto_);
      } while (heads.empty() || Head{start, lane, node} < heads.top());
      if (node < end) heads.emplace(start, lane, node);
    }
  }

  void place(std::uint32_t first) {
    if (state_[first] == State::kPlaced) return;
    stack_.assign(1, first);
    state_[first] = State::kOnStack;
    while (!stack_.empty()) {
      const std::uint32_t node = stack_.back();
      const std::uint32_t missing = missing_dependency(node);
      if (missing == kNoNode) {
        state_[node] = State::kPlaced;
        order_.push_back(node);
        stack_.pop_back();
      } else if (state_[missing] == State::kOnStack) {
        break_cycle(missing);
      } else {
        state_[missing] = State::kOnStack;
        stack_.push_back(missing);
      }
    }
  }

  std::uint32_t missing_dependency(std::uint32_t node) const {
    for (const std::uint32_t other : {graph_.parent[node], graph_.before[node], graph_.launch[node]})
      if (other != kNoNode && state_[other] != State::kPlaced) return other;
    for (const LinkedWait& wait : std::as_const(graph_).waits_of(node))
      if (wait.awaited != kNoNode && state_[wait.awaited] != State::kPlaced) return wait.awaited;
    return kNoNode;
  }

  // The end of the stack, from `first` on, is a cycle: each waits for the next, and the last for `first`.
  void break_cycle(std::uint32_t first) {
    const auto begin = static_cast<std::size_t>(std::ranges::find(stack_, first) - stack_.begin());
    std::optional<std::size_t> weakest;
    std::tuple<Strength, std::int64_t> least;  // strength, and the contradiction, the other way round
    // From the end: of equals the one that takes back least.
    for (std::size_t at = stack_.size(); at-- > begin;) {
      const std::uint32_t node = stack_[at];
      const std::uint32_t awaited = at + 1 < stack_.size() ? stack_[at + 1] : first;
      const Strength strength = strength_of(node, awaited);
      if (strength == Strength::kFixed) continue;
      const std::tuple rank{strength, -(acts_at(awaited) - acts_at(node)).count()};
      if (weakest && rank >= least) continue;
      weakest = at;
      least = rank;
    }
    if (!weakest || consists_of_callers(begin)) throw cycle_error(begin);
    const std::uint32_t awaited = *weakest + 1 < stack_.size() ? stack_[*weakest + 1] : first;
    ++(std::get<Strength>(least) == Strength::kInferred ? report_.yielded_inferred
                                                        : report_.yielded_recorded);
    leave_out(stack_[*weakest], awaited);
    while (stack_.size() > *weakest + 1) {
      state_[stack_.back()] = State::kOpen;
      stack_.pop_back();
    }
  }

  // When a node does what others wait for, as recorded: a call that waited, after it has waited.
  Nanoseconds acts_at(std::uint32_t node) const {
    Nanoseconds time = graph_.start(node, kineto_);
    if (const auto whole = graph_.whole_duration(node)) time = time + (*whole - graph_.duration[node]);
    return time;
  }

  // A node can wait for another in more ways than one.
  Strength strength_of(std::uint32_t node, std::uint32_t awaited) const {
    if (graph_.before[node] == awaited) return Strength::kFixed;
    if (graph_.parent[node] == awaited) {
      const bool is_nested = graph_.kind[node] != LinkedKind::kDevice && host_ == nullptr;
      return is_nested ? Strength::kFixed : Strength::kRecorded;
    }
    if (graph_.launch[node] == awaited)
      return graph_.kind[node] == LinkedKind::kGap ? Strength::kInferred : Strength::kRecorded;
    for (const LinkedWait& wait : std::as_const(graph_).waits_of(node))
      if (wait.awaited == awaited && !wait.inferred) return Strength::kRecorded;
    return Strength::kInferred;
  }

  void leave_out(std::uint32_t node, std::uint32_t awaited) {
    if (graph_.parent[node] == awaited) graph_.parent[node] = kNoNode;
    if (graph_.launch[node] == awaited) graph_.launch[node] = kNoNode;
    for (LinkedWait& wait : graph_.waits_of(node))
      if (wait.awaited == awaited) wait.awaited = kNoNode;
    const std::optional<Nanoseconds> whole = graph_.whole_duration(node);
    if (!whole) return;
    graph_.duration[node] = *whole;
    if (graph_.kind[node] != LinkedKind::kHost) return;
    const Nanoseconds end = graph_.event_end(node, kineto_);
    for (const LinkedWait& wait : std::as_const(graph_).waits_of(node)) {
      if (wait.awaited == kNoNode) continue;
      const Nanoseconds after = end - graph_.event_end(wait.awaited, kineto_);
      graph_.duration[node] = std::clamp(after, Nanoseconds{}, graph_.duration[node]);
    }
  }

  // No time has a part in it.
  bool consists_of_callers(std::size_t begin) const {
    for (std::size_t at = begin; at < stack_.size(); ++at) {
      const std::uint32_t awaited = at + 1 < stack_.size() ? stack_[at + 1] : stack_[begin];
      if (graph_.parent[stack_[at]] != awaited || graph_.kind[stack_[at]] == LinkedKind::kDevice)
        return false;
    }
    return true;
  }

  Error cycle_error(std::size_t begin) const {
    const std::string path = cycle_text(
        stack_.size() - begin, [&](std::size_t i) { return name_of(stack_[begin + i]); },
        name_of(stack_[begin]));
    return input_error({.file = host_ == nullptr ? kineto_.file : host_->file},
                       format("ops call each other in a cycle: {}", path), "an arrow points to the caller");
  }

  std::string name_of(std::uint32_t node) const {
    switch (graph_.kind[node]) {
      case LinkedKind::kHost:
      case LinkedKind::kDevice:
        return quote_for_message(kineto_.events.name(graph_.row[node]));
      case LinkedKind::kGap:
        return "'host gap'";
      case LinkedKind::kHostNode:
        return format("{} (node {})", quote_for_message(host_->nodes.name(graph_.row[node])),
                      to_number(host_->nodes.id(graph_.row[node])));
    }
    unreachable();
  }

  const KinetoTrace& kineto_;
  const HostTrace* host_;
  LinkGraph& graph_;
  ConversionReport& report_;
  std::vector<State> state_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<std::uint32_t> order_nodes(const KinetoTrace& kineto, const HostTrace* host, LinkGraph& graph,
                                       ConversionReport& report) {
  return Orderer(kineto, host, graph, report).order();
}

}  // namespace nadi::inline traces
