// What a Chakra trace file holds, in figures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/chakra/chakra_reader.h"

namespace nadi::inline traces {

struct NodeGroup {
  std::string name;  // of the phase, section or type; "" for nodes that do not say
  std::int64_t nodes = 0;
  Flops num_ops;
  Bytes tensor_size;
  Bytes comm_size;
  Nanoseconds duration;
};

struct TraceSummary {
  std::string file;
  GlobalMetadata metadata;
  ChakraReadStats stats;
  std::int64_t data_edges = 0;
  std::int64_t control_edges = 0;
  std::int64_t longest_chain = 0;  // nodes, each waiting for the one before
  std::int64_t compute_nodes_without_num_ops = 0;
  NodeGroup total;
  // In the order in which they first occur. Empty when no node says its phase, or its section.
  std::vector<NodeGroup> types;
  std::vector<NodeGroup> phases;
  std::vector<NodeGroup> sections;
};

// Whether `path` names a Chakra trace: it ends in .et, or is a file that starts like one, in JSON, too.
bool is_trace(const std::filesystem::path& path);

// Reads the file node by node. Memory: of each node its id, name and dependencies, which the check for cycles
// needs; of JSON the whole trace. Everything wrong with the file is Error (input) with the byte: damage, an id used twice, a parent
// that is missing, a cycle, sizes that are negative or do not fit when added up. `at_node` is called for
// each node.
TraceSummary summarize_trace(const std::filesystem::path& path, const std::function<void()>& at_node,
                             const MemoryLimit& memory = {});

}  // namespace nadi::inline traces
