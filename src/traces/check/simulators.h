// Whether simulators of Chakra traces accept a trace, and which parts they would simulate differently than
// meant.
//
// The requirements of each simulator were read in its source, at the version that its entry names. A
// simulator is a file of its own and a line in simulators.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/chakra/trace_files.h"
#include "nadi/check/astra_sim_play.h"
#include "nadi/check/checked_trace.h"
#include "nadi/check/common_attribute_reader.h"
#include "nadi/check/group_members.h"
#include "nadi/check/structure_check.h"

namespace nadi::inline traces {

// What is known of a file when a simulator is asked about it.
struct SimulatedTrace {
  const CheckedTrace& checked;
  const StructureFacts& structure;
  TraceFileKind kind = TraceFileKind::kChakra;
  ChakraSchema schema = ChakraSchema::kCurrent;
  bool compressed = false;
  bool damaged = false;                  // records were left out when it was read
  const GroupMembers* groups = nullptr;  // nothing where there is no file
};

struct SimulatedNode {
  const SimulatedTrace& of;
  std::uint32_t row = 0;
  NodeType type = NodeType::kInvalid;
  const CommonAttributes& attributes;
};

// A property of nodes or of the file that a simulator refuses, or simulates differently than meant.
struct SimulatorPoint {
  std::string what;  // "attribute comm_size is missing"
  std::uint64_t nodes = 0;
  std::optional<TraceNodeId> first = {};  // nothing means it is about the file
  std::string first_name = {};
};

struct SimulatorVerdict {
  std::string_view simulator;
  std::vector<SimulatorPoint> refusals;  // empty means the trace is taken
  std::vector<SimulatorPoint> remarks;

  bool takes() const { return refusals.empty(); }
};

// Collects the points of one simulator about one trace. Points are told apart by `what` up to its first
// colon.
class VerdictMaker {
 public:
  explicit VerdictMaker(std::string_view simulator) { verdict_.simulator = simulator; }

  void refuse(std::string what);
  void remark(std::string what);
  void refuse(const SimulatedNode& node, std::string_view what);
  void remark(const SimulatedNode& node, std::string_view what);

  SimulatorVerdict take() { return std::move(verdict_); }

 private:
  static void add(std::vector<SimulatorPoint>& points, const SimulatedNode& node, std::string_view what);

  SimulatorVerdict verdict_;
};

struct Simulator {
  std::string_view name;   // "astra-sim"
  std::string_view title;  // which versions it stands for
  void (*check_file)(const SimulatedTrace& trace, VerdictMaker& verdict);
  void (*check_node)(const SimulatedNode& node, VerdictMaker& verdict);
  // How long computation takes when the ranks of a run are played (astra_sim_play.h); nothing means they are not.
  std::optional<PlayedTimes> played = {};
};

std::span<const Simulator> simulators();

// The verdict of each, in that order. One pass over the nodes.
std::vector<SimulatorVerdict> ask_simulators(const SimulatedTrace& trace);

}  // namespace nadi::inline traces
