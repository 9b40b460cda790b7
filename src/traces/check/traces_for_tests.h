// Small traces, written down node by node, and the findings about them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/check/check_traces.h"
#include "nadi/check/structure_check.h"
#include "nadi/testing/text_files.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

inline void write_trace(const std::filesystem::path& path, const Trace& trace) {
  std::ofstream file(path, std::ios::binary);
  write_chakra(trace, [&](std::string_view part) { file << part; });
}

// A node in few words: {.id = 1, .data = {0}}.
struct CheckedNodeForTests {
  std::uint64_t id = 0;
  std::string_view name = "a";
  NodeType type = NodeType::kComp;
  std::vector<std::uint64_t> ctrl = {};
  std::vector<std::uint64_t> data = {};
  std::int64_t start = 0;      // ns
  std::int64_t duration = 0;   // ns
  std::int64_t inclusive = 0;  // ns; 0 means no attribute
};

inline void fill_node(TraceNode& node, const CheckedNodeForTests& words) {
  node.clear();
  node.id = TraceNodeId{words.id};
  node.name = words.name;
  node.type = words.type;
  for (const std::uint64_t id : words.ctrl) node.ctrl_deps.push_back(TraceNodeId{id});
  for (const std::uint64_t id : words.data) node.data_deps.push_back(TraceNodeId{id});
  node.start = Nanoseconds{words.start};
  node.duration = Nanoseconds{words.duration};
  if (words.inclusive != 0) node.attributes.add_int64("inclusive_ns", words.inclusive);
}

inline Trace trace_of(const std::vector<CheckedNodeForTests>& nodes) {
  Trace trace;
  TraceNode node;
  for (const CheckedNodeForTests& words : nodes) {
    fill_node(node, words);
    trace.add(node);
  }
  return trace;
}

// Texts of the findings of a rule.
inline std::vector<std::string> messages(const Findings& findings, const Rule& rule) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings.kept())
    if (finding.rule == &rule) texts.push_back(finding.message);
  return texts;
}

inline std::uint64_t found(const Findings& findings, const Rule& rule) {
  const auto entry = findings.by_rule().find(rule.id);
  return entry == findings.by_rule().end() ? 0 : entry->second.findings;
}

}  // namespace nadi::inline traces
