#include "nadi/trace/step_processors.h"

#include <optional>

#include "nadi/trace/trace.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

void add_processor_use(const ProcessorUse& use, TraceNode& node) {
  const std::array values{use.elapsed, use.stolen, use.busy, use.own};
  for (std::size_t i = 0; i < values.size(); ++i)
    node.attributes.add_int64(kProcessorUseAttributes[i], values[i].count());
}

std::map<std::int64_t, ProcessorUse> processor_use_by_step(const Trace& trace) {
  const auto number = [&](std::size_t row, std::string_view name) -> std::optional<std::int64_t> {
    const auto attribute = trace.find_attribute(row, name);
    return attribute ? attribute->integer() : std::nullopt;
  };
  std::map<std::int64_t, ProcessorUse> uses;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const auto elapsed = number(row, kProcessorUseAttributes[0]);
    if (!elapsed) continue;
    const auto stolen = number(row, kProcessorUseAttributes[1]),
               busy = number(row, kProcessorUseAttributes[2]), own = number(row, kProcessorUseAttributes[3]);
    if (!stolen || !busy || !own) continue;
    uses[number(row, "step").value_or(0)] = {.elapsed = Nanoseconds{*elapsed},
                                             .stolen = Nanoseconds{*stolen},
                                             .busy = Nanoseconds{*busy},
                                             .own = Nanoseconds{*own}};
  }
  return uses;
}

}  // namespace nadi::inline traces
