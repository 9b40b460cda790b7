// The trace of one file while it is checked, and how findings name its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "nadi/check/finding.h"

namespace nadi::inline traces {

class Trace;

struct CheckedTrace {
  const Trace* trace = nullptr;
  std::string file;
  std::optional<std::int64_t> rank = {};
};

// "node 17 'aten::mm'"
std::string describe_node(const Trace& trace, std::size_t row);

// A finding of the rule about the whole file, or about one of its nodes.
Finding finding_about(const CheckedTrace& checked, const Rule& rule, std::string message);
Finding finding_at(const CheckedTrace& checked, const Rule& rule, std::size_t row, std::string message);

}  // namespace nadi::inline traces
