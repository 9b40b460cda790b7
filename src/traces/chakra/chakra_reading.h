// How Chakra traces are read, whatever the file: options, what was counted on the way, and what is done with
// the whole trace in the end. Used by chakra_reader.h, chakra_json_reader.h and trace_files.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nadi/base/memory_limit.h"
#include "nadi/base/units.h"
#include "nadi/chakra/chakra_decoder.h"
#include "nadi/chakra/chakra_recognition.h"

namespace nadi::inline traces {

// Readers report progress each time they have read so many nodes.
inline constexpr std::size_t kNodesPerReport = 65536;

class Trace;
struct TraceNode;
struct TraceOrigin;

enum class MissingParents {
  kRefuse,  // a dependency on a node that is not in the file is an error
  kDrop,    // such dependencies are removed and counted: files of Chakra's own converter may hold them
};

enum class ControlDependencies {
  kKeep,
  kDrop,  // removed and counted: Chakra's converter of 2023 wrote cycles of them
};

enum class DamagedRecords {
  kRefuse,
  kSkip,  // a record that cannot be decoded is left out; at a length that cannot be, the file ends
};

struct ChakraReadOptions {
  // Longest record of an .et file taken. Decoded, one made for the purpose takes up to fifty times its size.
  Bytes max_record = 64_MiB;
  // What the nodes of a whole trace may take; the longest record follows from it, too.
  MemoryLimit memory = {};
  DamagedRecords damaged_records = DamagedRecords::kRefuse;
  // What is done when a whole trace is read; ChakraReader hands out nodes as they are.
  ControlDependencies control_dependencies = ControlDependencies::kKeep;
  MissingParents missing_parents = MissingParents::kRefuse;
  bool checked = true;  // false means ids may repeat, parents be missing and nodes wait in cycles
  std::function<void(std::uint64_t bytes)> progress = {};  // called now and then with what was read so far
};

struct ChakraReadStats {
  ChakraSchema schema = ChakraSchema::kCurrent;
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;
  UnknownFields unknown_fields = {};
  std::uint64_t dropped_dependencies = 0;  // of a whole trace, where the options say so
  // With DamagedRecords::kSkip.
  std::uint64_t dropped_records = 0;
  std::uint64_t replaced_characters = 0;  // of JSON: raw control characters taken as spaces
  bool cut_short = false;                 // the file ends before a record does
  std::optional<std::uint64_t> first_dropped_byte = {};
  std::string first_dropped_reason = {};
};

// What a reader does with each node before it goes into the trace, and with the trace in the end: drops
// dependencies and checks as the options say. Each returns how many were dropped. Error (input) with the
// node's byte.
std::uint64_t drop_control_dependencies(TraceNode& node, const ChakraReadOptions& options);
std::uint64_t settle_dependencies(Trace& trace, const TraceOrigin& origin, const ChakraReadOptions& options);

}  // namespace nadi::inline traces
