// Reads a Chakra execution trace (.et) of schema 0.0.4 or 1.0.0.
//
// Node by node, in memory that does not grow with the file:
//
//   ChakraReader reader(path);
//   TraceNode node;
//   while (reader.next(node)) use(node);
//   if (reader.stats().unknown_fields.count > 0) warn(...);
//
// Or all of it, checked to be a trace that can be replayed:
//
//   Trace trace = read_chakra(path);
//
// Everything wrong with the file is an Error (input) that names the byte. Fields that the schema does not
// have are passed over and counted. `start_ns` and `duration_ns` (see chakra_writer.h) go into the node's
// times and are not among its attributes; when they contradict the microseconds, that is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "nadi/base/units.h"
#include "nadi/trace/chakra_decoder.h"
#include "nadi/input/chunked_input.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_node.h"

namespace nadi {

enum class MissingParents {
  kRefuse,  // a dependency on a node that is not in the file is an error
  kDrop,    // such dependencies are removed and counted: files of Chakra's own converter may hold them
};

enum class ControlDependencies {
  kKeep,
  kDrop,  // removed and counted: Chakra's converter of 2023 wrote ones that go in circles
};

struct ChakraReadOptions {
  // Longest record taken. Decoded, a record made for the purpose takes up to fifty times its size.
  Bytes max_record = 64_MiB;
  // What read_chakra() does; ChakraReader hands out nodes as they are.
  ControlDependencies control_dependencies = ControlDependencies::kKeep;
  MissingParents missing_parents = MissingParents::kRefuse;
};

struct ChakraReadStats {
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;
  UnknownFields unknown_fields;
  std::uint64_t dropped_dependencies = 0;  // by read_chakra(), where the options say so
};

class ChakraReader {
 public:
  // Opens the file and reads its metadata.
  explicit ChakraReader(const std::filesystem::path& path, const ChakraReadOptions& options = {});
  // Reads from memory, which must outlive the reader. `name` stands for a file name in messages.
  ChakraReader(std::span<const std::byte> bytes, std::string name, const ChakraReadOptions& options = {});

  const GlobalMetadata& metadata() const { return metadata_; }
  GlobalMetadata take_metadata() { return std::move(metadata_); }

  // Fills `node` with the next node; false at the end of the file. The node's texts are valid until the
  // next call. A record without any bytes is a node with id 0 and no name, not the end.
  bool next(TraceNode& node);

  // Byte at which the record of the latest node starts (that of its length).
  std::uint64_t record_byte() const { return record_byte_; }

  ChakraReadStats stats() const;

 private:
  void read_metadata();
  // Goes to the next record. `content` are its bytes, starting at `content_byte` of the file.
  bool next_record(std::string_view& content, std::uint64_t& content_byte);

  ChunkedInput input_;
  ChakraReadOptions options_;
  ChakraDecoder decoder_;
  GlobalMetadata metadata_;
  std::size_t held_ = 0;  // bytes of the latest record, given back when the next one is read
  std::uint64_t record_byte_ = 0;
  std::uint64_t nodes_ = 0;
};

// The whole file, after check_trace(): ids are unique, parents exist, there is no cycle. `stats` receives
// what was counted on the way.
Trace read_chakra(const std::filesystem::path& path, const ChakraReadOptions& options = {},
                  ChakraReadStats* stats = nullptr);
Trace read_chakra(std::span<const std::byte> bytes, std::string name, const ChakraReadOptions& options = {},
                  ChakraReadStats* stats = nullptr);

}  // namespace nadi
