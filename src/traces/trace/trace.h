// The trace of one rank in memory.
//
//   Trace trace;
//   trace.add(node);                             // a TraceNode, copied
//   for (std::size_t row = 0; row < trace.size(); ++row) {
//     use(trace.id(row), trace.name(row), trace.duration(row), trace.data_deps(row));
//     trace.get(row, node);                      // or all of it at once
//   }
//
// Nodes are addressed by row, in the order they were added; TraceIndex finds the row of an id. Traces reach
// hundreds of millions of nodes, so fields are kept as columns, texts once each in a string table, and
// lists of different lengths (dependencies, attributes) one after the other with an array of ends. A node
// takes 41 bytes, 8 for each dependency and 8 for each kind of dependency that the trace has at all, 12 for
// each attribute that is not a list, 24 if it has tensors.
//
// Readers of very large files add an InternedNode, whose texts and attribute names were looked up before.
//
// A Trace takes what it is given: ids may repeat and parents may be missing. check_trace() finds that;
// read_chakra() calls it. Not copyable (it may be huge); moving is cheap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/trace/interned_node.h"
#include "nadi/trace/node_type.h"
#include "nadi/trace/string_table.h"
#include "nadi/trace/trace_attribute.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

// How much a trace is going to hold. Too much costs nothing but address space; too little makes columns move
// as they grow, and while one moves it takes three times its size.
struct TraceCapacity {
  std::size_t nodes = 0;
  std::size_t nodes_with_tensors = 0;
  std::size_t attributes = 0;
  std::size_t ctrl_deps = 0;
  std::size_t data_deps = 0;
};

class Trace {
 public:
  // What the file says about itself.
  GlobalMetadata metadata;

  void reserve(std::size_t nodes) { reserve(TraceCapacity{.nodes = nodes}); }
  void reserve(const TraceCapacity& capacity);

  // Copies the node and returns its row. Throws Error (infeasible) past 2^32 - 1 nodes.
  std::size_t add(const TraceNode& node);

  // The same in two steps: numbers of texts, attribute names and lists, which nodes then refer to.
  std::uint32_t intern(std::string_view text) { return texts_.intern(text); }
  TraceKey key(std::string_view name, TraceAttributeKind kind);
  TraceList add_list(std::span<const std::uint64_t> numbers);
  std::size_t add(const InternedNode& node);

  std::size_t size() const { return ids_.size(); }

  // All of one node. Texts and lists point into the trace.
  void get(std::size_t row, TraceNode& node) const;

  // One field of a node. Spans and texts are valid until the trace changes.
  TraceNodeId id(std::size_t row) const { return ids_[row]; }
  std::string_view name(std::size_t row) const { return text(names_[row]); }
  NodeType type(std::size_t row) const { return types_[row]; }
  Nanoseconds start(std::size_t row) const { return starts_[row]; }
  Nanoseconds duration(std::size_t row) const { return durations_[row]; }
  std::span<const TraceNodeId> ctrl_deps(std::size_t row) const { return slice(ctrl_deps_, ctrl_ends_, row); }
  std::span<const TraceNodeId> data_deps(std::size_t row) const { return slice(data_deps_, data_ends_, row); }
  IoInfo inputs(std::size_t row) const;
  IoInfo outputs(std::size_t row) const;
  std::size_t attribute_count(std::size_t row) const;
  TraceAttribute attribute(std::size_t row, std::size_t i) const;
  // The first attribute of that name.
  std::optional<TraceAttribute> find_attribute(std::size_t row, std::string_view name) const;

  // Texts are kept once each and have numbers, below text_count(): passes over millions of nodes compare and
  // count these instead. A text that the trace does not have has no number.
  std::uint32_t name_number(std::size_t row) const { return names_[row]; }
  std::string_view text(std::uint32_t number) const { return texts_.text(number); }
  std::optional<std::uint32_t> text_number(std::string_view text) const { return texts_.find(text); }
  std::size_t text_count() const { return texts_.size(); }
  // The first attribute whose name has that number.
  std::optional<TraceAttribute> find_attribute(std::size_t row, std::uint32_t name_number) const;

  // Times are filled in after a run or a simulation.

  // Removes every dependency on an id for which `unwanted` is true; returns how many there were.
  std::uint64_t remove_dependencies(const std::function<bool(TraceNodeId)>& unwanted);

  // Memory in use. What was reserved and never written takes up no room in the machine and is not counted.
  Bytes memory() const;

 private:
  // Name, documentation and kind of an attribute: few different ones exist, so each is kept once.
  struct AttributeKey {
    std::uint32_t name = 0;
    std::uint32_t doc = 0;
    TraceAttributeKind kind = TraceAttributeKind::kNone;
    friend bool operator==(const AttributeKey&, const AttributeKey&) = default;
  };
  struct AttributeKeyHash {
    std::size_t operator()(const AttributeKey& key) const;
  };
  struct NodeIo {
    InternedIo inputs;
    InternedIo outputs;
  };

  // `ends` stops at the last row that has something.
  template <typename T>
  static std::span<const T> slice(const std::vector<T>& values, const std::vector<std::uint64_t>& ends,
                                  std::size_t row) {
    if (row >= ends.size()) return {};
    const std::uint64_t begin = row == 0 ? 0 : ends[row - 1];
    return {values.data() + begin, ends[row] - begin};
  }

  void expect_room() const;
  TraceKey key_number(const AttributeKey& key);
  TraceKey key_of(const TraceAttribute& attribute, std::size_t& follower);
  std::uint64_t payload_of(const TraceAttribute& attribute);
  TraceAttribute attribute_at(std::uint64_t position) const;
  void add_io(const InternedIo& inputs, const InternedIo& outputs);
  InternedIo intern(const IoInfo& io);
  IoInfo texts_of(const InternedIo& io) const;

  StringTable texts_;

  std::vector<TraceNodeId> ids_;
  std::vector<std::uint32_t> names_;
  std::vector<NodeType> types_;
  std::vector<Nanoseconds> starts_;
  std::vector<Nanoseconds> durations_;
  std::vector<std::uint32_t> io_;  // 0 means no tensors; else 1 + position in node_io_
  std::vector<NodeIo> node_io_;

  // Ends of dependencies are kept up to the last row that has one: events of a profiler have none at all.
  std::vector<TraceNodeId> ctrl_deps_;
  std::vector<std::uint64_t> ctrl_ends_;
  std::vector<TraceNodeId> data_deps_;
  std::vector<std::uint64_t> data_ends_;

  // Attribute: its key, and as payload the bits of a number, the number of a text, or the position of a
  // list in number_lists_ or text_lists_.
  std::vector<TraceKey> attribute_keys_;
  std::vector<std::uint64_t> attribute_payloads_;
  std::vector<std::uint64_t> attribute_ends_;
  std::vector<AttributeKey> keys_;
  // What add() tries first for a node's first attribute, and for the one after each key: what came there
  // last.
  std::vector<TraceKey> followers_ = {TraceKey{}};
  std::unordered_map<AttributeKey, TraceKey, AttributeKeyHash> key_numbers_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::uint64_t> number_list_ends_;
  std::vector<std::string_view> list_texts_;  // point into texts_
  std::vector<std::uint64_t> text_list_ends_;
};

}  // namespace nadi::inline traces
