// The kind of work that a device node does, derived from its name.
//
//   for (const KindRow& row : kind_rows(timeline)) use(to_string(row.kind), row.time, row.work.per_second());
//
// The table of names is in kind_patterns.h. Where the kernel's name says nothing, that of the nearest
// enclosing op counts which says something. A matrix product within a convolution is convolution. Elementwise
// kernels and reductions of phase "optimizer" are the optimizer's. Communication and copies are what Timeline
// calls so; kernels that only copy, convert or fill memory are copies, too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/analysis/kind_patterns.h"
#include "nadi/analysis/op_table.h"
#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

// Nodes of one kind.
struct KindRow {
  WorkKind kind = WorkKind::kOther;
  std::int64_t nodes = 0;
  Nanoseconds time = {};                        // summed: nodes at the same time count twice
  KnownAmount work = {};                        // num_ops
  KnownAmount bytes = {};                       // tensor_size
  std::map<std::string, Nanoseconds> ops = {};  // by name

  // The op with the longest time, of equals the first by name; "" where there is none.
  std::string_view main_op() const;
};

// Nodes of the device; where the trace has none, ops of the host, with the time that is theirs alone. The
// longest time first, then the most work, then the most nodes.
std::vector<KindRow> kind_rows(const Timeline& timeline, const KindPatterns& patterns = {});
void add_kind_rows(std::vector<KindRow>& rows, const std::vector<KindRow>& others);

}  // namespace nadi::inline traces
