// Small traces, written down node by node, and the findings about them.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/chakra/chakra_writer.h"
#include "nadi/check/check_traces.h"
#include "nadi/check/structure_check.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi {

// A folder that goes when the test does.
class FolderForTests {
 public:
  FolderForTests() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("nadi_check_" + std::to_string(::getpid()) + "_" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  ~FolderForTests() { std::filesystem::remove_all(path_); }
  FolderForTests(const FolderForTests&) = delete;
  FolderForTests& operator=(const FolderForTests&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline void write_trace(const std::filesystem::path& path, const Trace& trace) {
  std::ofstream file(path, std::ios::binary);
  write_chakra(trace, [&](std::string_view part) { file << part; });
}

// A node in few words: {.id = 1, .data = {0}}.
struct NodeForTests {
  std::uint64_t id = 0;
  std::string_view name = "a";
  NodeType type = NodeType::kComp;
  std::vector<std::uint64_t> ctrl = {};
  std::vector<std::uint64_t> data = {};
  std::int64_t start = 0;      // ns
  std::int64_t duration = 0;   // ns
  std::int64_t inclusive = 0;  // ns; 0: no attribute
};

inline void fill_node(TraceNode& node, const NodeForTests& words) {
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

inline Trace trace_of(const std::vector<NodeForTests>& nodes) {
  Trace trace;
  TraceNode node;
  for (const NodeForTests& words : nodes) {
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

}  // namespace nadi
