#include "nadi/chakra/chakra_json_writer.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_recognition.h"
#include "nadi/chakra/json_output.h"
#include "nadi/chakra/whole_microseconds.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/exact_time.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

// An object being written: puts the commas.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  void end() { out_ += '}'; }

  std::string& add(std::string_view key) {
    out_ += first_ ? "\"" : ",\"";
    first_ = false;
    out_.append(key).append("\":");
    return out_;
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_quoted(std::string& out, std::uint64_t number) {
  fmt::format_to(std::back_inserter(out), "\"{}\"", number);
}

void append_proto_real(std::string& out, double value, bool single) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else if (single) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<float>(value));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void append_proto_number(std::string& out, TraceAttributeKind kind, std::uint64_t bits) {
  using Kind = TraceAttributeKind;
  if (kind == Kind::kDouble) {
    append_proto_real(out, std::bit_cast<double>(bits), false);
  } else if (kind == Kind::kFloat) {
    append_proto_real(out, std::bit_cast<float>(static_cast<std::uint32_t>(bits)), true);
  } else if (kind == Kind::kBool) {
    out += bits != 0 ? "true" : "false";
  } else if (kind == Kind::kUint64 || kind == Kind::kFixed64) {
    append_quoted(out, bits);
  } else if (kind == Kind::kInt64 || kind == Kind::kSint64 || kind == Kind::kSfixed64) {
    fmt::format_to(std::back_inserter(out), "\"{}\"", static_cast<std::int64_t>(bits));
  } else {  // 32 bits, kept sign- or zero-extended
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(bits));
  }
}

void append_scalar(std::string& out, TraceAttributeKind kind, std::uint64_t bits, std::string_view text) {
  if (kind == TraceAttributeKind::kString) {
    append_json_text(out, text);
  } else if (kind == TraceAttributeKind::kBytes) {
    append_json_bytes(out, text);
  } else {
    append_proto_number(out, kind, bits);
  }
}

void append_attribute(std::string& out, const TraceAttribute& attribute) {
  Members members(out);
  if (!attribute.name.empty()) append_json_text(members.add("name"), attribute.name);
  if (!attribute.doc.empty()) append_json_text(members.add("docString"), attribute.doc);
  if (attribute.kind == TraceAttributeKind::kNone) {
    // A name and nothing else: the schema allows it, files hold it.
  } else if (is_list(attribute.kind)) {
    const TraceAttributeKind element = element_kind(attribute.kind);
    members.add(format("{}List", to_string(element)));
    Members list(out);
    if (!attribute.numbers.empty() || !attribute.texts.empty()) {
      list.add("values") += '[';
      const char* comma = "";
      for (const std::uint64_t bits : attribute.numbers) {
        out += std::exchange(comma, ",");
        append_proto_number(out, element, bits);
      }
      for (const std::string_view text : attribute.texts) {
        out += std::exchange(comma, ",");
        append_scalar(out, element, 0, text);
      }
      out += ']';
    }
    list.end();
  } else {
    members.add(format("{}Val", to_string(attribute.kind)));
    append_scalar(out, attribute.kind, attribute.bits, attribute.text);
  }
  members.end();
}

void append_dependencies(Members& members, std::string_view key, const std::vector<TraceNodeId>& ids) {
  if (ids.empty()) return;
  std::string& out = members.add(key);
  const char* comma = "[";
  for (const TraceNodeId id : ids) {
    out += std::exchange(comma, ",");
    append_quoted(out, to_number(id));
  }
  out += ']';
}

void append_io(Members& members, std::string_view key, const IoInfo& io) {
  if (io.empty()) return;
  Members info(members.add(key));
  if (!io.values.empty()) append_json_text(info.add("values"), io.values);
  if (!io.shapes.empty()) append_json_text(info.add("shapes"), io.shapes);
  if (!io.types.empty()) append_json_text(info.add("types"), io.types);
  info.end();
}

TraceAttribute exact_time(std::string_view name, Nanoseconds time) {
  TraceAttribute attribute;
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kInt64;
  attribute.bits = number_bits(time.count());
  return attribute;
}

bool loses_something(Nanoseconds time) {
  return time.count() % kNanosecondsPerMicrosecond != 0;
}

void append_attributes(Members& members, const TraceNode& node) {
  if (node.attributes.empty() && !loses_something(node.start) && !loses_something(node.duration)) return;
  std::string& out = members.add("attr");
  const char* comma = "[";
  const auto append = [&](const TraceAttribute& attribute) {
    out += std::exchange(comma, ",");
    append_attribute(out, attribute);
  };
  for (const TraceAttribute& attribute : node.attributes) append(attribute);
  if (loses_something(node.start)) append(exact_time(attribute_name::kStartNs, node.start));
  if (loses_something(node.duration)) append(exact_time(attribute_name::kDurationNs, node.duration));
  out += ']';
}

}  // namespace

void append_metadata_json(std::string& out, const GlobalMetadata& metadata) {
  Members members(out);
  if (!metadata.version.empty()) append_json_text(members.add("version"), metadata.version);
  if (!metadata.attributes.empty()) {
    members.add("attr");
    const char* comma = "[";
    for (const TraceAttribute& attribute : metadata.attributes) {
      out += std::exchange(comma, ",");
      append_attribute(out, attribute);
    }
    out += ']';
  }
  members.end();
}

void append_node_json(std::string& out, const TraceNode& node) {
  check(node.start.count() >= 0 && node.duration.count() >= 0, "a node is written with a negative time");
  Members members(out);
  if (to_number(node.id) != 0) append_quoted(members.add("id"), to_number(node.id));
  if (!node.name.empty()) append_json_text(members.add("name"), node.name);
  if (node.type != NodeType::kInvalid) members.add("type") += format("\"{}_NODE\"", to_string(node.type));
  append_dependencies(members, "ctrlDeps", node.ctrl_deps);
  append_dependencies(members, "dataDeps", node.data_deps);
  const auto append_micros = [&](std::string_view key, std::int64_t micros) {
    if (micros != 0) append_quoted(members.add(key), static_cast<std::uint64_t>(micros));
  };
  append_micros("startTimeMicros", node.start.count() / kNanosecondsPerMicrosecond);
  append_micros("durationMicros", nearest_microsecond(node.duration));
  append_io(members, "inputs", node.inputs);
  append_io(members, "outputs", node.outputs);
  append_attributes(members, node);
  members.end();
}

ChakraJsonForm chakra_json_form(const std::filesystem::path& file) {
  return file.extension() == ".jsonl" ? ChakraJsonForm::kLines : ChakraJsonForm::kDocument;
}

ChakraJsonWriter::ChakraJsonWriter(ByteSink sink, const GlobalMetadata& metadata, ChakraJsonForm form)
    : sink_(std::move(sink)), form_(form) {
  if (form_ == ChakraJsonForm::kLines) {
    append_metadata_json(out_, metadata);
    out_ += '\n';
    return;
  }
  out_ += "{\"schema\":";
  append_json_text(out_, format("chakra {}", metadata.version.empty() ? to_string(ChakraSchema::kCurrent)
                                                                      : metadata.version));
  out_ += ",\"metadata\":";
  append_metadata_json(out_, metadata);
  out_ += ",\n\"nodes\":[\n";
}

void ChakraJsonWriter::write(const TraceNode& node) {
  if (form_ == ChakraJsonForm::kDocument && !first_) out_ += ",\n";
  first_ = false;
  append_node_json(out_, node);
  if (form_ == ChakraJsonForm::kLines) out_ += '\n';
  if (out_.size() < kJsonPart) return;
  sink_(out_);
  out_.clear();
}

void ChakraJsonWriter::finish() {
  if (form_ == ChakraJsonForm::kDocument) out_ += first_ ? "]}\n" : "\n]}\n";
  sink_(out_);
  out_.clear();
}

void write_chakra_json(const Trace& trace, const ByteSink& sink, ChakraJsonForm form) {
  ChakraJsonWriter writer(sink, trace.metadata, form);
  TraceNode node;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    trace.get(row, node);
    writer.write(node);
  }
  writer.finish();
}

}  // namespace nadi::inline traces
