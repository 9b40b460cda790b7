#include <algorithm>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/content_kind.h"
#include "nadi/input/json_records.h"
#include "nadi/pytorch/host_node.h"
#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/json_number.h"
#include "nadi/pytorch/process_group_texts.h"
#include "nadi/pytorch/record_place.h"
#include "nadi/trace/trace_memory.h"

namespace nadi::inline traces {

namespace {

constexpr std::string_view kHostArrays[] = {"nodes"};
constexpr std::string_view kGroupsNode = "## process_group:init ##";
constexpr std::uint64_t kHostNodesPerReport = 1024;

// As PyTorch writes them, with or without "-chakra.0.0.4" behind.
constexpr std::string_view kSchemas[] = {"1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1"};

// Bytes of text for a node and for an attribute, at the least. Memory for more than there turn out to be is
// never touched, so that it costs nothing.
constexpr std::uint64_t kBytesPerNode = 300;
constexpr std::uint64_t kBytesPerHostAttribute = 40;

class HostReader : public JsonRecordTaker {
 public:
  HostReader(MemoryAllowance allowed, std::string file, const HostReadOptions& options)
      : allowed_(std::move(allowed)), options_(options), place_(std::move(file)) {
    restart();
  }

  void reserve(std::uint64_t bytes);
  void restart() override;
  void member(std::string_view name, std::string_view json, std::uint64_t byte) override;
  void record(std::size_t array, JsonObject& record, std::uint64_t byte) override;
  HostTrace finish(JsonRecordCounts counts);

 private:
  bool lenient() const { return options_.damage == JsonDamage::kSkip; }
  void take_groups();

  MemoryAllowance allowed_;
  HostReadOptions options_;
  RecordPlace place_;
  HostTrace trace_;
  std::unique_ptr<HostNodeReader> reader_;
  HostNode node_;
  std::uint64_t latest_byte_ = 0;  // where the latest node begins
};

void HostReader::reserve(std::uint64_t bytes) {
  const std::size_t nodes = bytes / kBytesPerNode;
  try {
    trace_.nodes.reserve(TraceCapacity{.nodes = nodes,
                                       .nodes_with_tensors = nodes,
                                       .attributes = bytes / kBytesPerHostAttribute,
                                       .ctrl_deps = nodes});
    trace_.record_function.reserve(nodes);
    trace_.thread.reserve(nodes);
  } catch (const std::bad_alloc&) {
    // The machine does not lend memory that is not there: columns grow as they fill up.
  }
}

void HostReader::restart() {
  trace_ = HostTrace{};
  latest_byte_ = 0;
  trace_.file = place_.file();
  reader_ = std::make_unique<HostNodeReader>(
      trace_.nodes, place_, HostNodeOptions{.all = options_.attributes, .lenient = lenient()});
}

// The text between the quotes; "" for anything else.
std::string_view unquoted(std::string_view json) {
  const bool is_text = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return is_text ? json.substr(1, json.size() - 2) : std::string_view{};
}

bool is_known(std::string_view schema) {
  return std::ranges::any_of(kSchemas, [&](std::string_view known) {
    return schema == known || (schema.starts_with(known) && schema[known.size()] == '-');
  });
}

void HostReader::member(std::string_view name, std::string_view json, std::uint64_t byte) {
  const Place place{.file = place_.file(), .byte = static_cast<std::int64_t>(byte)};
  if (name == kHostArrays[0]) throw input_error(place, "nodes is not a list");
  TraceAttributes& attributes = trace_.nodes.metadata.attributes;
  if (name == "schema") {
    trace_.schema = std::string(unquoted(json));
    if (!lenient() && !is_known(trace_.schema))
      throw input_error(
          place, format("unknown schema {}", json.substr(0, 40)),
          format("known: {}; read the file leniently to try it anyway", fmt::join(kSchemas, ", ")));
  } else if (name == "pid") {
    const JsonNumber process = read_json_number(json);
    if (process.kind != JsonNumber::kInt64) throw input_error(place, "pid is not a whole number");
    trace_.process = static_cast<std::int64_t>(process.bits);
  } else if (const JsonNumber number = read_json_number(json); number.kind == JsonNumber::kInt64) {
    attributes.add_int64(trace_.nodes.text(trace_.nodes.intern(name)),
                         static_cast<std::int64_t>(number.bits));
  } else {
    attributes.add_text(trace_.nodes.text(trace_.nodes.intern(name)),
                        json.front() == '"' ? unquoted(json) : json);
  }
}

void HostReader::take_groups() {
  try {
    for (KinetoGroup& group : read_group_values(node_.input_values)) {
      const auto same = std::ranges::find(trace_.groups, group.name, &KinetoGroup::name);
      if (same == trace_.groups.end()) {
        trace_.groups.push_back(std::move(group));
      } else {
        *same = std::move(group);
      }
    }
  } catch (const Error& error) {
    place_.fail(node_.input_values.data(), error.message());
  }
}

// Nothing may change before everything that can be wrong with the node was looked at.
void HostReader::record(std::size_t /*array*/, JsonObject& record, std::uint64_t byte) {
  place_.enter(byte);
  reader_->read(JsonTokens(record, place_), node_);
  if (node_.name == kGroupsNode) take_groups();
  const TraceNodeId parent{node_.parent};
  const bool has_parent = node_.parent != 0 && node_.parent != *node_.id;  // the root names itself
  trace_.nodes.add(InternedNode{.id = TraceNodeId{*node_.id},
                                .name = trace_.nodes.intern(node_.name),
                                .ctrl_deps = {&parent, has_parent ? std::size_t{1} : 0},
                                .inputs = node_.inputs,
                                .outputs = node_.outputs,
                                .attributes = node_.attributes});
  trace_.record_function.push_back(node_.record_function);
  trace_.thread.push_back(node_.thread);
  expect_trace_memory(trace_.nodes, allowed_, byte, byte - std::exchange(latest_byte_, byte));
  if (options_.progress && trace_.thread.size() % kHostNodesPerReport == 0) options_.progress(byte);
}

HostTrace HostReader::finish(JsonRecordCounts counts) {
  trace_.damage = std::move(counts);
  return std::move(trace_);
}

HostTrace read(ChunkedInput& input, const HostReadOptions& options, std::uint64_t size) {
  const MemoryAllowance allowed = input.allowance(options.memory);
  HostReader reader(allowed, input.name(), options);
  reader.reserve(size);
  JsonRecordCounts counts = read_json_records(
      input,
      {.arrays = kHostArrays,
       .damage = options.damage,
       .may_be_open = true,
       .longest_record = std::min<std::size_t>(kJsonLongestRecord, allowed.longest_record())},
      reader);
  HostTrace trace = reader.finish(std::move(counts));
  if (trace.schema.empty() && options.damage == JsonDamage::kRefuse)
    throw input_error({.file = trace.file, .byte = 0},
                      "this is not an execution trace of PyTorch: it has no schema");
  return trace;
}

// Damage may hide what the file is, so that JSON of no known kind and text are read to their end.
FileKind expect_host(ChunkedInput& input) {
  const FileKind kind = content_kind(input);
  const bool may_be = kind == FileKind::kPytorchHost || kind == FileKind::kJson ||
                      kind == FileKind::kJsonLines || kind == FileKind::kText || kind == FileKind::kUnknown ||
                      kind == FileKind::kEmpty;
  if (!may_be) throw WrongFileKind(input.name(), kind, "an execution trace of PyTorch's host");
  return kind;
}

HostTrace read_expected(ChunkedInput& input, const HostReadOptions& options, std::uint64_t size) {
  const FileKind kind = expect_host(input);
  HostTrace trace = read(input, options, size);
  if (trace.nodes.size() > 0 || kind == FileKind::kPytorchHost) return trace;
  throw input_error({.file = trace.file, .byte = 0},
                    "this is not an execution trace of PyTorch: it has no nodes");
}

}  // namespace

HostTrace read_host_trace(const std::filesystem::path& path, const HostReadOptions& options) {
  ChunkedInput input(path);
  return read_expected(input, options, input.remaining().value_or(likely_unpacked_size(path)));
}

HostTrace read_host_trace(std::string_view json, std::string name, const HostReadOptions& options) {
  ChunkedInput input(json, std::move(name));
  return read_expected(input, options, json.size());
}

}  // namespace nadi::inline traces
