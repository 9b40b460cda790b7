#include "nadi/convert/node_order.h"

#include <algorithm>
#include <queue>
#include <string>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/pytorch/host_trace.h"

namespace nadi {

namespace {

constexpr std::size_t kShownOfCircle = 8;

class Orderer {
 public:
  Orderer(const LinkGraph& graph, const KinetoTrace& kineto, const HostTrace* host)
      : graph_(graph), kineto_(kineto), host_(host), state_(graph.size(), State::kOpen) {
    order_.reserve(graph.size());
  }

  std::vector<std::uint32_t> order() {
    for (std::uint32_t node = 0; node < graph_.size(); ++node)
      if (graph_.kind[node] == LinkedKind::kHostNode) place(node);
    merge_lanes();
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
        continue;
      }
      if (state_[missing] == State::kOnStack) throw circle(missing);
      state_[missing] = State::kOnStack;
      stack_.push_back(missing);
    }
  }

  std::uint32_t missing_dependency(std::uint32_t node) const {
    for (const std::uint32_t other : {graph_.parent[node], graph_.before[node], graph_.launch[node]})
      if (other != kNoNode && state_[other] != State::kPlaced) return other;
    for (const auto& [waiting, awaited] : graph_.waits_of(node))
      if (state_[awaited] != State::kPlaced) return awaited;
    return kNoNode;
  }

  Error circle(std::uint32_t node) const {
    const auto first = std::ranges::find(stack_, node);
    std::string names;
    std::size_t shown = 0;
    for (auto at = first; at != stack_.end(); ++at, ++shown) {
      if (shown == kShownOfCircle) {
        names += format(", ... {} more", stack_.end() - at);
        break;
      }
      names += format("{}'{}'", names.empty() ? "" : " waits for ", name_of(*at));
    }
    return input_error(
        {.file = kineto_.file},
        format("events wait for one another in a circle: {} waits for '{}'", names, name_of(node)),
        host_ == nullptr ? "" : "do both files come from the same run?");
  }

  std::string name_of(std::uint32_t node) const {
    switch (graph_.kind[node]) {
      case LinkedKind::kHost:
      case LinkedKind::kDevice:
        return std::string(kineto_.events.name(graph_.row[node]));
      case LinkedKind::kGap:
        return "host gap";
      case LinkedKind::kHostNode:
        return format("{} (node {})", host_->nodes.name(graph_.row[node]),
                      to_number(host_->nodes.id(graph_.row[node])));
    }
    unreachable();
  }

  const LinkGraph& graph_;
  const KinetoTrace& kineto_;
  const HostTrace* host_;
  std::vector<State> state_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<std::uint32_t> order_nodes(const LinkGraph& graph, const KinetoTrace& kineto,
                                       const HostTrace* host) {
  return Orderer(graph, kineto, host).order();
}

}  // namespace nadi
