// Reads a Chakra execution trace (.et): schemas 0.0.2 to 0.0.4 and 1.0.0, told apart by their first records.
// Nodes of old schemas are handed out as a file of today would have them (chakra_2023_decoder.h).
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
// Everything wrong with the file is an Error (input) that names the byte, or, where the options say so, a
// record that is left out and counted. Fields that the schema does not have are passed over and counted.
// `start_ns` and `duration_ns` (see chakra_writer.h) go into the node's times and are not among its
// attributes; when they contradict the microseconds, that is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "nadi/base/memory_limit.h"
#include "nadi/chakra/chakra_2023_decoder.h"
#include "nadi/chakra/chakra_decoder.h"
#include "nadi/chakra/chakra_reading.h"
#include "nadi/chakra/chakra_recognition.h"
#include "nadi/input/chunked_input.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline ground {
class Error;
}  // namespace nadi::inline ground

namespace nadi::inline traces {

class ChakraReader {
 public:
  // Opens the file and reads its metadata.
  explicit ChakraReader(const std::filesystem::path& path, const ChakraReadOptions& options = {});
  // Reads from memory, which must outlive the reader. `name` stands for a file name in messages.
  ChakraReader(std::span<const std::byte> bytes, std::string name, const ChakraReadOptions& options = {});

  const GlobalMetadata& metadata() const { return metadata_; }
  GlobalMetadata take_metadata() { return std::move(metadata_); }

  // Fills `node` with the next node; false at the end of the file. The node's texts are valid until the
  // next call. A record without any bytes is a node with id 0 and no name, not the end. After an Error the
  // reader can only be destroyed.
  bool next(TraceNode& node);

  // Byte at which the record of the latest node starts (that of its length).
  std::uint64_t record_byte() const { return record_byte_; }

  ChakraReadStats stats() const;

  // Bytes of the latest record.
  std::uint64_t record_size() const { return held_; }
  // The limit of this file.
  const MemoryAllowance& allowed() const { return allowed_; }

 private:
  void read_metadata();
  // Goes to the next record and reads it; false at the end of the file.
  bool next_record(WireReader& record);
  void decode(WireReader record, TraceNode& node);
  void drop(const Error& error);

  ChunkedInput input_;
  ChakraReadOptions options_;
  MemoryAllowance allowed_;
  ChakraFormat format_;
  ChakraDecoder decoder_;
  std::optional<Chakra2023Decoder> old_decoder_;  // of a file that has an old schema
  GlobalMetadata metadata_;
  std::size_t held_ = 0;       // bytes of the latest record, given back when the next one is read
  bool record_found_ = false;  // the latest record starts and ends within the file
  std::uint64_t record_byte_ = 0;
  ChakraReadStats stats_;  // as far as it is counted here
};

// The whole file, after check_trace(), unless the options say otherwise: ids are unique, parents exist, there
// is no cycle. `stats` receives what was counted on the way.
Trace read_chakra(const std::filesystem::path& path, const ChakraReadOptions& options = {},
                  ChakraReadStats* stats = nullptr);
Trace read_chakra(std::span<const std::byte> bytes, std::string name, const ChakraReadOptions& options = {},
                  ChakraReadStats* stats = nullptr);

}  // namespace nadi::inline traces
