// What the processors did during a step, as attributes (int64) of the first node of the step: so a trace of a
// run says itself which of its steps were disturbed (base/processor_use.h).
//
//   add_processor_use(use, node);                                              // who records
//   for (const auto& [step, use] : processor_use_by_step(trace)) judge(use);   // who reads
//
// Each rank says how much of the processor time was its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "nadi/base/processor_use.h"

namespace nadi::inline traces {

class Trace;
struct TraceNode;

// elapsed, stolen, busy and own of ProcessorUse, in nanoseconds.
inline constexpr std::array<std::string_view, 4> kProcessorUseAttributes = {"processors_ns", "stolen_ns",
                                                                            "busy_ns", "own_ns"};

void add_processor_use(const ProcessorUse& use, TraceNode& node);

// By attribute `step`; a step whose first node does not say it is not in it.
std::map<std::int64_t, ProcessorUse> processor_use_by_step(const Trace& trace);

}  // namespace nadi::inline traces
