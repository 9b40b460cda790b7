#include "nadi/convert/host_match.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/convert/op_order.h"
#include "nadi/trace/trace_check.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {

HostMatch::HostMatch(const KinetoTrace& kineto, const HostTrace& host) : kineto_(&kineto), host_(&host) {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  std::size_t count = 0;
  for (const std::uint64_t id : host.record_function) {
    if (id == 0) continue;
    least = std::min(least, id);
    most = std::max(most, id);
    ++count;
  }
  rows_ = IdTable(least, most, count);
  for (std::uint32_t row = 0; row < host.record_function.size(); ++row)
    if (host.record_function[row] != 0) rows_.set(host.record_function[row], row);
  rows_.finish();
  node_of_.assign(host.nodes.size(), kNoNode);
  choose_ids();
}

bool HostMatch::is_op(std::uint32_t event) const {
  const KinetoCategory category = kineto_->category[event];
  return category == KinetoCategory::kCpuOp || category == KinetoCategory::kUserAnnotation;
}

void HostMatch::choose_ids() {
  constexpr std::size_t kPercentOfSameName = 90;
  std::size_t same_id = 0, same_name = 0;
  for (std::uint32_t event = 0; event < kineto_->events.size(); ++event) {
    if (!is_op(event)) continue;
    if (kineto_->record_function[event] != 0) return;
    const std::uint64_t id = kineto_->external_id[event];
    const std::uint32_t row = id == 0 ? IdTable::kNone : rows_.find(id);
    if (row == IdTable::kNone) continue;
    ++same_id;
    same_name += kineto_->events.name(event) == host_->nodes.name(row);
  }
  if (same_name > 0 && same_name * 100 >= same_id * kPercentOfSameName) {
    by_ = MatchedBy::kExternalId;
    return;
  }
  OpOrder order = match_by_order(*kineto_, *host_);
  by_ = MatchedBy::kOrder;
  places_ = order.places;
  ordered_ = std::move(order.row_of);
}

std::optional<std::uint32_t> HostMatch::row_of(std::uint32_t event) const {
  if (host_ == nullptr) return std::nullopt;
  std::uint32_t row = IdTable::kNone;
  switch (by_) {
    case MatchedBy::kRecordFunction:
      if (kineto_->record_function[event] != 0) row = rows_.find(kineto_->record_function[event]);
      break;
    case MatchedBy::kExternalId:
      // Calls of the runtime and kernels have the id of their op.
      if (kineto_->external_id[event] != 0 && is_op(event)) row = rows_.find(kineto_->external_id[event]);
      break;
    case MatchedBy::kOrder:
      if (ordered_[event] != OpOrder::kNoRow) row = ordered_[event];
      break;
  }
  return row == IdTable::kNone ? std::nullopt : std::optional(row);
}

std::optional<std::uint32_t> HostMatch::matched_row(const LinkGraph& graph, std::uint32_t node) const {
  if (graph.kind[node] == LinkedKind::kHostNode) return graph.row[node];
  if (graph.kind[node] != LinkedKind::kHost) return std::nullopt;
  const std::optional<std::uint32_t> row = row_of(graph.row[node]);
  return row && node_of_[*row] == node ? row : std::nullopt;
}

void HostMatch::link(LinkGraph& graph, ConversionReport& report) {
  if (host_ == nullptr) return;
  report.host_nodes = host_->nodes.size();
  report.matched_by = by_;
  report.places = places_;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    if (graph.kind[node] != LinkedKind::kHost) continue;
    const KinetoCategory category = kineto_->category[graph.row[node]];
    if (category != KinetoCategory::kCpuOp && category != KinetoCategory::kUserAnnotation) continue;
    const std::optional<std::uint32_t> row = row_of(graph.row[node]);
    if (row && node_of_[*row] == kNoNode) {
      node_of_[*row] = node;
      ++report.matched;
    } else {
      ++report.unmatched_events;
    }
  }
  for (std::uint32_t row = 0; row < host_->nodes.size(); ++row) {
    if (node_of_[row] != kNoNode) continue;
    node_of_[row] = graph.add(LinkedKind::kHostNode, row, Nanoseconds{}, kNoNode, kNoNode);
    if (graph.has_layers) graph.layer.push_back(0);
    ++report.unmatched_host;
  }
  link_parents(graph, report);
}

void HostMatch::link_parents(LinkGraph& graph, ConversionReport& report) const {
  const Trace& nodes = host_->nodes;
  const TraceIndex index(nodes);
  check_unique_ids(nodes, index, {.file = host_->file, .record_bytes = {}});
  for (std::uint32_t row = 0; row < nodes.size(); ++row) {
    for (const TraceNodeId caller : nodes.ctrl_deps(row)) {
      const std::optional<std::uint32_t> caller_row = index.row_of(caller);
      // The root of the trace calls itself in some files.
      if (caller_row && *caller_row != row)
        graph.parent[node_of_[row]] = node_of_[*caller_row];
      else
        ++report.removed_dependencies;
    }
  }
}

}  // namespace nadi::inline traces
