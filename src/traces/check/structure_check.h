// Checks one trace by itself: ids, dependencies, circles, types, times, and what it leaves unsaid. Linear in
// nodes, dependencies and attributes.
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/check/checked_trace.h"

namespace nadi::inline traces {

// What the check of simulators wants to know.
struct StructureFacts {
  std::uint64_t edges = 0;
  std::uint64_t missing_control = 0;  // dependencies on nodes that are not there
  std::uint64_t missing_data = 0;
  std::optional<std::uint32_t> first_missing_control = {};  // row of the node that has it
  std::optional<std::uint32_t> first_missing_data = {};
  std::optional<std::uint32_t> duplicate = {};   // row with the id of an earlier one
  std::optional<std::uint32_t> cycle = {};       // row in a circle, or that waits for itself
  std::optional<std::uint32_t> data_cycle = {};  // the same, of data dependencies alone
};

// `strict`: a dependency on a node that is not in the file is an error; else a warning.
StructureFacts check_structure(const CheckedTrace& checked, Findings& findings, bool strict = true);

}  // namespace nadi::inline traces
