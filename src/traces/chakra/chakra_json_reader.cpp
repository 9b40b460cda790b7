#include "nadi/chakra/chakra_json_reader.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_json_node.h"
#include "nadi/chakra/chakra_reading.h"
#include "nadi/chakra/json_layout.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/content_kind.h"
#include "nadi/input/json_records.h"
#include "nadi/trace/trace_check.h"
#include "nadi/trace/trace_memory.h"

namespace nadi::inline traces {
namespace {

// "" is the document itself.
constexpr std::array<std::string_view, 4> kArrays{"nodes", "node", "", "workload_graph"};
constexpr std::size_t kFeederArray = 3;

class NodeTaker : public JsonRecordTaker {
 public:
  NodeTaker(MemoryAllowance allowed, std::string file, FileKind kind, JsonLayout layout,
            const ChakraReadOptions& options)
      : allowed_(std::move(allowed)),
        file_(std::move(file)),
        kind_(kind == FileKind::kChakraJson ? FileKind::kJson : kind),
        layout_(layout),
        options_(options),
        decoder_(file_) {
    restart();
  }

  void member(std::string_view name, std::string_view json, std::uint64_t byte) override {
    if (name == "schema") return;  // what the nodes are written in, said by whoever wrote them
    if (name != "metadata" && name != "globalMetadata" && name != "global_metadata") {
      decoder_.pass_over(name, byte);
      return;
    }
    const simdjson::padded_string text(json);
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document = parser.iterate(text);
    TraceNode node;
    if (decoder_.decode_node_or_metadata(document.get_object(), byte, node, trace_.metadata))
      throw input_error({.file = file_, .byte = static_cast<std::int64_t>(byte)},
                        format("{} has members of a node", name));
  }

  void record(std::size_t array, JsonObject& object, std::uint64_t byte) override {
    if (array == kFeederArray && layout_ == JsonLayout::kDocument) {
      decoder_.decode_feeder_node(object, byte, node_);
    } else if (layout_ == JsonLayout::kDocuments && std::exchange(first_, false)) {
      if (!decoder_.decode_node_or_metadata(object, byte, node_, trace_.metadata)) return;
    } else {
      decoder_.decode_node(object, byte, node_);
      if (decoder_.is_foreign()) refuse(byte);
    }
    if (!says_something_) says_something_ = is_node();
    dropped_ += drop_control_dependencies(node_, options_);
    trace_.add(node_);
    if (options_.checked) record_bytes_.push_back(byte);
    // The record before this one, whose end is near where this one begins.
    expect_trace_memory(trace_, allowed_, byte, byte - std::exchange(latest_byte_, byte));
    if (options_.progress && trace_.size() % kNodesPerReport == 0) options_.progress(byte);
  }

  void restart() override {
    trace_ = Trace{};
    trace_.metadata.version.clear();  // what the file says, if it says something
    record_bytes_.clear();
    decoder_.forget_unknown_fields();
    dropped_ = 0;
    first_ = true;
    says_something_ = false;
    latest_byte_ = 0;
  }

  // Members that Chakra does not have, and none that it has: {"a": 1}.
  bool found_nothing_of_chakra() const { return !says_something_ && decoder_.unknown_fields().count > 0; }

  Trace finish(const JsonRecordCounts& counts, ChakraReadStats* stats) {
    dropped_ += settle_dependencies(trace_, {.file = file_, .record_bytes = record_bytes_}, options_);
    if (stats != nullptr) {
      *stats = {.schema = ChakraSchema::kCurrent,
                .nodes = trace_.size(),
                .bytes = counts.bytes,
                .unknown_fields = decoder_.unknown_fields(),
                .dropped_dependencies = dropped_,
                .dropped_records = counts.dropped_records,
                .replaced_characters = counts.replaced_characters,
                .cut_short = counts.cut_short,
                .first_dropped_byte = counts.first_dropped_byte,
                .first_dropped_reason = counts.first_dropped_reason};
    }
    return std::move(trace_);
  }

 private:
  // Whether the node has more than the number that one without a number has.
  bool is_node() const { return !(node_ == TraceNode{}); }

  // An array of objects may hold anything: [{"a": 1}].
  [[noreturn]] void refuse(std::uint64_t byte) const {
    if (trace_.size() == 0) throw WrongFileKind(file_, kind_, "a Chakra trace");
    throw input_error({.file = file_, .byte = static_cast<std::int64_t>(byte)},
                      "the record has no member of a node");
  }

  MemoryAllowance allowed_;
  std::string file_;
  FileKind kind_;  // where it is no trace
  JsonLayout layout_;
  const ChakraReadOptions& options_;
  ChakraJsonDecoder decoder_;
  Trace trace_;
  TraceNode node_;
  std::vector<std::uint64_t> record_bytes_;
  std::uint64_t dropped_ = 0;
  bool first_ = true;              // the next document is the first
  bool says_something_ = false;    // a node has a member of Chakra's
  std::uint64_t latest_byte_ = 0;  // where the latest node begins
};

Trace read(ChunkedInput& input, const ChakraReadOptions& options, ChakraReadStats* stats) {
  const FileKind kind = content_kind(input);
  switch (kind) {
    case FileKind::kChakraJson:
    case FileKind::kJson:
    case FileKind::kJsonLines:
      break;
    case FileKind::kText:
    case FileKind::kUnknown:
    case FileKind::kEmpty:
      throw input_error({.file = input.name(), .byte = 0},
                        "the file does not start with a JSON object or array");
    default:  // a kind of its own, now or in the future
      throw WrongFileKind(input.name(), kind, "a Chakra trace");
  }
  const JsonLayout layout = json_layout(input.ahead(0));
  const MemoryAllowance allowed = input.allowance(options.memory);
  const std::size_t longest = std::min<std::size_t>(kJsonLongestRecord, allowed.longest_record());
  NodeTaker taker(allowed, input.name(), kind, layout, options);
  const JsonDamage damage =
      options.damaged_records == DamagedRecords::kSkip ? JsonDamage::kSkip : JsonDamage::kRefuse;
  const JsonRecordCounts counts =
      layout == JsonLayout::kDocuments
          ? read_json_documents(input, damage, taker)
          : read_json_records(input, {.arrays = kArrays, .damage = damage, .longest_record = longest}, taker);
  if (kind != FileKind::kChakraJson && taker.found_nothing_of_chakra())
    throw WrongFileKind(input.name(), kind, "a Chakra trace");
  return taker.finish(counts, stats);
}

}  // namespace

Trace read_chakra_json(const std::filesystem::path& path, const ChakraReadOptions& options,
                       ChakraReadStats* stats) {
  ChunkedInput input(path);
  return read(input, options, stats);
}

Trace read_chakra_json(std::string_view json, std::string name, const ChakraReadOptions& options,
                       ChakraReadStats* stats) {
  ChunkedInput input(json, std::move(name));
  return read(input, options, stats);
}

}  // namespace nadi::inline traces
