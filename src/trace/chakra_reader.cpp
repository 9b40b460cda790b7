#include "nadi/trace/chakra_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/trace/protobuf_wire.h"
#include "nadi/trace/trace_check.h"
#include "nadi/trace/trace_index.h"

namespace nadi {

namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Trace read_all(ChakraReader& reader, const std::string& file, const ChakraReadOptions& options,
               ChakraReadStats* stats) {
  Trace trace;
  trace.metadata = reader.take_metadata();
  std::vector<std::uint64_t> record_bytes;
  std::uint64_t dropped = 0;
  for (TraceNode node; reader.next(node);) {
    if (options.control_dependencies == ControlDependencies::kDrop) {
      dropped += node.ctrl_deps.size();
      node.ctrl_deps.clear();
    }
    trace.add(node);
    record_bytes.push_back(reader.record_byte());
  }
  const TraceOrigin origin{.file = file, .record_bytes = record_bytes};
  const TraceIndex index(trace);
  check_unique_ids(trace, index, origin);
  if (options.missing_parents == MissingParents::kDrop)
    dropped += trace.remove_dependencies([&](TraceNodeId id) { return !index.row_of(id); });
  check_parents_exist(trace, index, origin);
  check_no_cycle(trace, index, origin);
  if (stats != nullptr) {
    *stats = reader.stats();
    stats->dropped_dependencies = dropped;
  }
  return trace;
}

}  // namespace

ChakraReader::ChakraReader(const std::filesystem::path& path, const ChakraReadOptions& options)
    : input_(path), options_(options) {
  read_metadata();
}

ChakraReader::ChakraReader(std::span<const std::byte> bytes, std::string name,
                           const ChakraReadOptions& options)
    : input_(as_text(bytes), std::move(name)), options_(options) {
  read_metadata();
}

void ChakraReader::read_metadata() {
  const Place start{.file = input_.name(), .byte = 0};
  const std::string_view first = input_.ahead(2);
  if (first.empty())
    throw input_error(start, "the file is empty; a Chakra trace starts with a GlobalMetadata");
  // No trace starts like this: 0x8b would be a group, and Chakra has none.
  if (first.starts_with("\x1f\x8b"))
    throw input_error(start, "the file is compressed with gzip", "decompress it first: gunzip --keep FILE");
  std::string_view content;
  std::uint64_t content_byte = 0;
  next_record(content, content_byte);
  decoder_.decode_metadata(WireReader(content, content_byte, input_.name()), metadata_);
}

bool ChakraReader::next(TraceNode& node) {
  std::string_view content;
  std::uint64_t content_byte = 0;
  if (!next_record(content, content_byte)) return false;
  decoder_.decode_node(WireReader(content, content_byte, input_.name()), node);
  ++nodes_;
  return true;
}

bool ChakraReader::next_record(std::string_view& content, std::uint64_t& content_byte) {
  input_.consume(std::exchange(held_, 0));
  const std::string_view prefix = input_.ahead(kLongestVarint);
  if (prefix.empty()) return false;
  record_byte_ = input_.position();
  WireReader length_reader(prefix.substr(0, kLongestVarint), record_byte_, input_.name());
  const std::uint64_t length = length_reader.varint();
  const auto limit = static_cast<std::uint64_t>(options_.max_record.count());
  if (length > limit)
    length_reader.fail(record_byte_,
                       format("a record of {} bytes is longer than the limit of {}", length, limit),
                       "is this a Chakra trace (.et)? other files look like one with absurd lengths");
  const std::size_t length_bytes = length_reader.byte() - record_byte_;
  const auto past_the_end = [&](std::uint64_t there) {
    length_reader.fail(
        record_byte_,
        format("a record of {} bytes runs past the end of the file: {} are there", length, there),
        "the file is cut short or damaged");
  };
  input_.consume(length_bytes);
  const std::optional<std::uint64_t> remaining = input_.remaining();
  if (remaining && *remaining < length) past_the_end(*remaining);
  const std::string_view ahead = input_.ahead(length);
  if (ahead.size() < length) past_the_end(ahead.size());
  content = ahead.substr(0, length);
  content_byte = input_.position();
  held_ = length;
  return true;
}

ChakraReadStats ChakraReader::stats() const {
  return {.nodes = nodes_,
          .bytes = input_.position() + held_,
          .unknown_fields = decoder_.unknown_fields(),
          .dropped_dependencies = 0};
}

Trace read_chakra(const std::filesystem::path& path, const ChakraReadOptions& options,
                  ChakraReadStats* stats) {
  ChakraReader reader(path, options);
  return read_all(reader, path.string(), options, stats);
}

Trace read_chakra(std::span<const std::byte> bytes, std::string name, const ChakraReadOptions& options,
                  ChakraReadStats* stats) {
  ChakraReader reader(bytes, name, options);
  return read_all(reader, name, options, stats);
}

}  // namespace nadi
