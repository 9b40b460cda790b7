#include "nadi/chakra/chakra_reading.h"

#include "nadi/trace/trace.h"
#include "nadi/trace/trace_check.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {

std::uint64_t drop_control_dependencies(TraceNode& node, const ChakraReadOptions& options) {
  if (options.control_dependencies == ControlDependencies::kKeep) return 0;
  const std::uint64_t dropped = node.ctrl_deps.size();
  node.ctrl_deps.clear();
  return dropped;
}

std::uint64_t settle_dependencies(Trace& trace, const TraceOrigin& origin, const ChakraReadOptions& options) {
  if (!options.checked && options.missing_parents == MissingParents::kRefuse) return 0;
  std::uint64_t dropped = 0;
  const TraceIndex index(trace);
  if (options.checked) check_unique_ids(trace, index, origin);
  if (options.missing_parents == MissingParents::kDrop)
    dropped += trace.remove_dependencies([&](TraceNodeId id) { return !index.row_of(id); });
  if (options.checked) {
    check_parents_exist(trace, index, origin);
    check_no_cycle(trace, index, origin);
  }
  return dropped;
}

}  // namespace nadi::inline traces
