#include "nadi/chakra/trace_summary.h"

#include <algorithm>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/input/content_kind.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace_check.h"
#include "nadi/trace/trace_index.h"
#include "nadi/trace/trace_memory.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

// Adds up nodes that have a text in common, in the order in which the texts first occur.
class Grouping {
 public:
  NodeGroup& group_of(std::string_view name) {
    const auto [entry, fresh] = rows_.emplace(std::string(name), groups_.size());
    if (fresh) groups_.emplace_back().name = name;
    return groups_[entry->second];
  }
  std::vector<NodeGroup> take() {
    const bool nobody_says = groups_.size() == 1 && groups_[0].name.empty();
    return nobody_says ? std::vector<NodeGroup>{} : std::move(groups_);
  }

 private:
  std::vector<NodeGroup> groups_;
  std::unordered_map<std::string, std::size_t> rows_;
};

// Nodes on the longest path; the trace has been checked. Depth-first with its own stack: linear time, any
// depth.
std::int64_t longest_chain(const Trace& trace, const TraceIndex& index) {
  struct Visit {
    std::uint32_t row;
    std::size_t next;  // dependency to follow next
  };
  std::vector<std::uint32_t> depth(trace.size(), 0);  // 0 means not known yet
  std::uint32_t longest = 0;
  std::vector<Visit> stack;
  for (std::uint32_t root = 0; root < trace.size(); ++root) {
    if (depth[root] == 0) stack.push_back({root, 0});
    while (!stack.empty()) {
      const std::uint32_t row = stack.back().row;
      const auto ctrl = trace.ctrl_deps(row);
      const auto data = trace.data_deps(row);
      const auto parent_at = [&](std::size_t i) {
        return *index.row_of(i < ctrl.size() ? ctrl[i] : data[i - ctrl.size()]);
      };
      const std::size_t count = ctrl.size() + data.size();
      std::size_t& next = stack.back().next;
      while (next < count && depth[parent_at(next)] != 0) ++next;
      if (next < count) {
        stack.push_back({parent_at(next), 0});
        continue;
      }
      std::uint32_t deepest = 0;
      for (std::size_t i = 0; i < count; ++i) deepest = std::max(deepest, depth[parent_at(i)]);
      depth[row] = deepest + 1;
      longest = std::max(longest, depth[row]);
      stack.pop_back();
    }
  }
  return longest;
}

class Summarizer {
 public:
  Summarizer(const fs::path& path, const std::function<void()>& at_node, const MemoryLimit& memory)
      : path_(path), at_node_(at_node), reader_(path, {.memory = memory}) {}

  TraceSummary run() {
    summary_.file = path_.string();
    summary_.metadata = reader_.take_metadata();
    for (TraceNode node; reader_.next(node);) {
      at_node_();
      add(node);
    }
    const TraceOrigin origin{.file = path_.string(), .record_bytes = record_bytes_};
    check_trace(skeleton_, origin);
    summary_.longest_chain = longest_chain(skeleton_, TraceIndex(skeleton_));
    summary_.stats = reader_.stats();
    summary_.types = types_.take();
    summary_.phases = phases_.take();
    summary_.sections = sections_.take();
    return std::move(summary_);
  }

 private:
  void add(TraceNode& node) {
    const std::int64_t num_ops = count_of(node, attribute_name::kNumOps);
    const std::int64_t tensor_size = count_of(node, attribute_name::kTensorSize);
    const std::int64_t comm_size = count_of(node, attribute_name::kCommSize);
    const auto add_to = [&](NodeGroup& group) {
      try {
        group.num_ops += Flops{num_ops};
        group.tensor_size += Bytes{tensor_size};
        group.comm_size += Bytes{comm_size};
        group.duration += node.duration;
        ++group.nodes;
      } catch (const Error& overflow) {
        // The file is at fault, not the question.
        throw input_error(here(), format("{}, added up to here", overflow.message()));
      }
    };
    add_to(summary_.total);
    add_to(types_.group_of(to_string(node.type)));
    add_to(phases_.group_of(text_of(node, "phase")));
    add_to(sections_.group_of(text_of(node, "section")));
    if (node.type == NodeType::kComp && node.attributes.find(attribute_name::kNumOps) == nullptr)
      ++summary_.compute_nodes_without_num_ops;
    summary_.data_edges += static_cast<std::int64_t>(node.data_deps.size());
    summary_.control_edges += static_cast<std::int64_t>(node.ctrl_deps.size());

    bare_.id = node.id;
    bare_.name = node.name;
    bare_.ctrl_deps.swap(node.ctrl_deps);
    bare_.data_deps.swap(node.data_deps);
    skeleton_.add(bare_);
    record_bytes_.push_back(reader_.record_byte());
    expect_trace_memory(skeleton_, reader_.allowed(), reader_.record_byte(), reader_.record_size());
  }

  Place here() const {
    return {.file = path_.string(), .byte = static_cast<std::int64_t>(reader_.record_byte())};
  }

  // An attribute that counts something; 0 without it.
  std::int64_t count_of(const TraceNode& node, std::string_view name) const {
    const TraceAttribute* attribute = node.attributes.find(name);
    if (attribute == nullptr) return 0;
    const std::optional<std::int64_t> count = attribute->integer();
    if (!count || *count < 0)
      throw input_error(here(), format("{} of node {} is not a whole number between 0 and 2^63 - 1", name,
                                       to_number(node.id)));
    return *count;
  }

  static std::string_view text_of(const TraceNode& node, std::string_view name) {
    const TraceAttribute* attribute = node.attributes.find(name);
    return attribute == nullptr ? "" : attribute->string().value_or("");
  }

  const fs::path& path_;
  const std::function<void()>& at_node_;
  ChakraReader reader_;
  TraceSummary summary_;
  Grouping types_, phases_, sections_;
  Trace skeleton_;  // ids, names and dependencies only
  TraceNode bare_;
  std::vector<std::uint64_t> record_bytes_;
};

}  // namespace

bool is_trace(const fs::path& path) {
  if (path.extension() == ".et") return true;
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && content_kind(path) == FileKind::kChakra;
}

TraceSummary summarize_trace(const fs::path& path, const std::function<void()>& at_node,
                             const MemoryLimit& memory) {
  return Summarizer(path, at_node, memory).run();
}

}  // namespace nadi::inline traces
