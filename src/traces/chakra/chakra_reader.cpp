#include "nadi/chakra/chakra_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_reading.h"
#include "nadi/chakra/protobuf_wire.h"
#include "nadi/trace/trace_check.h"
#include "nadi/trace/trace_memory.h"

namespace nadi::inline traces {

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
    dropped += drop_control_dependencies(node, options);
    trace.add(node);
    if (options.checked) record_bytes.push_back(reader.record_byte());
    expect_trace_memory(trace, reader.allowed(), reader.record_byte(), reader.record_size());
    if (options.progress && trace.size() % kNodesPerReport == 0) options.progress(reader.record_byte());
  }
  const TraceOrigin origin{.file = file, .record_bytes = record_bytes};
  dropped += settle_dependencies(trace, origin, options);
  if (stats != nullptr) {
    *stats = reader.stats();
    stats->dropped_dependencies = dropped;
  }
  return trace;
}

}  // namespace

ChakraReader::ChakraReader(const std::filesystem::path& path, const ChakraReadOptions& options)
    : input_(path), options_(options), allowed_(input_.allowance(options.memory)) {
  read_metadata();
}

ChakraReader::ChakraReader(std::span<const std::byte> bytes, std::string name,
                           const ChakraReadOptions& options)
    : input_(as_text(bytes), std::move(name)), options_(options), allowed_(input_.allowance(options.memory)) {
  read_metadata();
}

void ChakraReader::read_metadata() {
  const std::string_view start = input_.ahead(kRecognitionBytes);
  if (start.empty())
    throw input_error({.file = input_.name(), .byte = 0},
                      "the file is empty; a Chakra trace starts with a GlobalMetadata");
  expect_kind(start, input_.name(), "a Chakra trace", {FileKind::kChakra});
  format_ = recognise_chakra(start);
  if (format_.schema != ChakraSchema::kCurrent) old_decoder_.emplace(format_.schema);
  const bool skips = options_.damaged_records == DamagedRecords::kSkip;
  if (!format_.has_metadata && (old_decoder_ || skips)) return;
  WireReader record({}, 0, input_.name());
  try {
    if (!next_record(record)) return;
    if (old_decoder_) {
      old_decoder_->decode_metadata(record, metadata_);
    } else {
      decoder_.decode_metadata(record, metadata_);
    }
  } catch (const Error& error) {
    if (!skips || error.kind() != ErrorKind::kInput) throw;
    drop(error);
  }
}

bool ChakraReader::next(TraceNode& node) {
  WireReader record({}, 0, input_.name());
  while (!stats_.cut_short) {
    try {
      if (!next_record(record)) return false;
      decode(record, node);
      ++stats_.nodes;
      return true;
    } catch (const Error& error) {
      if (options_.damaged_records == DamagedRecords::kRefuse || error.kind() != ErrorKind::kInput) throw;
      drop(error);
    }
  }
  return false;
}

void ChakraReader::decode(WireReader record, TraceNode& node) {
  if (old_decoder_) {
    old_decoder_->decode_node(record, node);
  } else {
    decoder_.decode_node(record, node);
  }
}

// A record that has a place can be passed over; where there is none, nothing after it can be found.
void ChakraReader::drop(const Error& error) {
  if (stats_.dropped_records++ == 0) {
    stats_.first_dropped_byte = static_cast<std::uint64_t>(error.place().byte.value_or(0));
    stats_.first_dropped_reason = error.message();
  }
  stats_.cut_short = !record_found_;
}

bool ChakraReader::next_record(WireReader& record) {
  record_found_ = false;
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
  // What is decoded of a record takes up to kPerByte times its size.
  if (length > allowed_.longest_record())
    allowed_.expect(Bytes{static_cast<std::int64_t>(length) * MemoryLimit::kPerByte}, record_byte_,
                    format("a record of {} bytes", length));
  const std::string_view ahead = input_.ahead(length);
  if (ahead.size() < length) past_the_end(ahead.size());
  record = WireReader(ahead.substr(0, length), input_.position(), input_.name());
  held_ = length;
  record_found_ = true;
  return true;
}

ChakraReadStats ChakraReader::stats() const {
  ChakraReadStats stats = stats_;
  stats.schema = format_.schema;
  stats.bytes = input_.position() + held_;
  stats.unknown_fields = old_decoder_ ? old_decoder_->unknown_fields() : decoder_.unknown_fields();
  return stats;
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

}  // namespace nadi::inline traces
