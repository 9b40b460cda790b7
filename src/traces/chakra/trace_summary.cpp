#include "nadi/chakra/trace_summary.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_json_reader.h"
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
  Summarizer(const fs::path& path, const std::function<void()>& at_node) : path_(path), at_node_(at_node) {}

  TraceSummary of_records(const MemoryLimit& memory) {
    ChakraReader reader(path_, {.memory = memory});
    summary_.metadata = reader.take_metadata();
    Trace skeleton;  // ids, names and dependencies only
    std::vector<std::uint64_t> record_bytes;
    for (TraceNode node, bare; reader.next(node);) {
      byte_ = static_cast<std::int64_t>(reader.record_byte());
      at_node_();
      add(node);
      bare.id = node.id;
      bare.name = node.name;
      bare.ctrl_deps.swap(node.ctrl_deps);
      bare.data_deps.swap(node.data_deps);
      skeleton.add(bare);
      record_bytes.push_back(reader.record_byte());
      expect_trace_memory(skeleton, reader.allowed(), reader.record_byte(), reader.record_size());
    }
    summary_.stats = reader.stats();
    return finished(skeleton, record_bytes);
  }

  TraceSummary of_json(const MemoryLimit& memory) {
    Trace trace = read_chakra_json(path_, {.memory = memory}, &summary_.stats);
    TraceNode node;
    for (std::size_t row = 0; row < trace.size(); ++row) {
      at_node_();
      trace.get(row, node);
      add(node);
    }
    summary_.metadata = std::move(trace.metadata);
    return finished(trace, {});
  }

 private:
  TraceSummary finished(const Trace& trace, std::span<const std::uint64_t> record_bytes) {
    check_trace(trace, {.file = path_.string(), .record_bytes = record_bytes});
    summary_.file = path_.string();
    summary_.longest_chain = longest_chain(trace, TraceIndex(trace));
    summary_.types = types_.take();
    summary_.phases = phases_.take();
    summary_.sections = sections_.take();
    return std::move(summary_);
  }

  void add(const TraceNode& node) {
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
  }

  Place here() const { return {.file = path_.string(), .byte = byte_}; }

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
  std::optional<std::int64_t> byte_;  // of the record that is read
  TraceSummary summary_;
  Grouping types_, phases_, sections_;
};

}  // namespace

bool is_trace(const fs::path& path) {
  if (path.extension() == ".et") return true;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const FileKind kind = content_kind(path);
  return kind == FileKind::kChakra || kind == FileKind::kChakraJson;
}

TraceSummary summarize_trace(const fs::path& path, const std::function<void()>& at_node,
                             const MemoryLimit& memory) {
  std::error_code ignored;
  const bool in_json = fs::is_regular_file(path, ignored) && content_kind(path) == FileKind::kChakraJson;
  Summarizer summarizer(path, at_node);
  return in_json ? summarizer.of_json(memory) : summarizer.of_records(memory);
}

}  // namespace nadi::inline traces
