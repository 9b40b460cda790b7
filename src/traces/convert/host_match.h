// Matches nodes of the host's trace with events of the profile. The two have the same record-function id
// ("rf_id", "Record function id"). Profiles of PyTorch 1.12 to 2.1 do not say theirs: there "External id" is
// the same as rf_id where most of the ops so matched have the same name, and else names and order tell
// (op_order.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nadi/convert/conversion_report.h"
#include "nadi/convert/id_table.h"
#include "nadi/convert/link_graph.h"
#include "nadi/pytorch/host_trace.h"

namespace nadi::inline traces {

class HostMatch {
 public:
  HostMatch() = default;  // no trace of the host
  // Error (input) where two nodes have the same id.
  HostMatch(const KinetoTrace& kineto, const HostTrace& host);

  // Finds the partners of all nodes in the graph, adds nodes for those of the host's trace that have none,
  // and takes over which op called which.
  void link(LinkGraph& graph, ConversionReport& report);

  // The row in the host's trace of an event; before link() of one that another event may share.
  std::optional<std::uint32_t> row_of(std::uint32_t event) const;
  // The row in the host's trace that a node stands for. After link().
  std::optional<std::uint32_t> row_of(const LinkGraph& graph, std::uint32_t node) const {
    return host_ == nullptr ? std::nullopt : matched_row(graph, node);
  }

 private:
  std::optional<std::uint32_t> matched_row(const LinkGraph& graph, std::uint32_t node) const;
  bool is_op(std::uint32_t event) const;
  void choose_ids();
  void link_parents(LinkGraph& graph, ConversionReport& report) const;

  const KinetoTrace* kineto_ = nullptr;
  const HostTrace* host_ = nullptr;
  MatchedBy by_ = MatchedBy::kRecordFunction;
  std::size_t places_ = 0;              // see OpOrder
  IdTable rows_;                        // of the host's trace, by record-function id
  std::vector<std::uint32_t> ordered_;  // kOrder: OpOrder::row_of
  std::vector<std::uint32_t> node_of_;  // by row of the host's trace
};

}  // namespace nadi::inline traces
