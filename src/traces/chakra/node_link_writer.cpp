#include "nadi/chakra/node_link_writer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/chakra/json_output.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

constexpr std::array<std::string_view, 7> kOwnMembers{"id",          "name",   "type",   "start_ns",
                                                      "duration_ns", "inputs", "outputs"};

class NodeLinkFile {
 public:
  NodeLinkFile(const Trace& trace, const ByteSink& sink) : trace_(trace), sink_(sink), index_(trace) {}

  NodeLinkCounts write() {
    out_ += "{\"directed\": true, \"multigraph\": true, \"graph\": {\"version\": ";
    append_json_text(out_, trace_.metadata.version);
    used_.assign({"version"});
    for (const TraceAttribute& attribute : trace_.metadata.attributes) put_attribute(attribute);
    out_ += "},\n\"nodes\": [";
    for (std::size_t row = 0; row < trace_.size(); ++row) put_node(row);
    out_ += "\n],\n\"links\": [";
    for (std::size_t row = 0; row < trace_.size(); ++row) {
      for (const TraceNodeId id : trace_.ctrl_deps(row)) put_link(id, row, "control");
      for (const TraceNodeId id : trace_.data_deps(row)) put_link(id, row, "data");
    }
    out_ += "\n]}\n";
    sink_(out_);
    return counts_;
  }

 private:
  void next_line(bool first) {
    if (out_.size() >= kJsonPart) {
      sink_(out_);
      out_.clear();
    }
    out_ += first ? "\n" : ",\n";
  }

  void put_node(std::size_t row) {
    next_line(row == 0);
    fmt::format_to(std::back_inserter(out_), "{{\"id\": {}, \"name\": ", to_number(trace_.id(row)));
    append_json_text(out_, trace_.name(row));
    fmt::format_to(std::back_inserter(out_), ", \"type\": \"{}\"", to_string(trace_.type(row)));
    if (trace_.start(row) != Nanoseconds{} || trace_.duration(row) != Nanoseconds{})
      fmt::format_to(std::back_inserter(out_), ", \"start_ns\": {}, \"duration_ns\": {}",
                     trace_.start(row).count(), trace_.duration(row).count());
    put_io("inputs", trace_.inputs(row));
    put_io("outputs", trace_.outputs(row));
    used_.assign(kOwnMembers.begin(), kOwnMembers.end());
    for (std::size_t i = 0; i < trace_.attribute_count(row); ++i) put_attribute(trace_.attribute(row, i));
    out_ += '}';
  }

  void put_io(std::string_view name, const IoInfo& io) {
    if (io.empty()) return;
    fmt::format_to(std::back_inserter(out_), ", \"{}\": {{\"values\": ", name);
    append_json_text(out_, io.values);
    out_ += ", \"shapes\": ";
    append_json_text(out_, io.shapes);
    out_ += ", \"types\": ";
    append_json_text(out_, io.types);
    out_ += '}';
  }

  void put_attribute(const TraceAttribute& attribute) {
    std::string key(attribute.name);
    while (std::ranges::find(used_, key) != used_.end()) key.insert(0, "attr_");
    out_ += ", ";
    append_json_text(out_, key);
    out_ += ": ";
    append_json_value(out_, attribute);
    used_.push_back(std::move(key));
  }

  void put_link(TraceNodeId source, std::size_t row, std::string_view kind) {
    if (!index_.row_of(source)) {
      ++counts_.left_out;
      return;
    }
    next_line(counts_.links++ == 0);
    fmt::format_to(std::back_inserter(out_), "{{\"source\": {}, \"target\": {}, \"key\": \"{}\"}}",
                   to_number(source), to_number(trace_.id(row)), kind);
  }

  const Trace& trace_;
  const ByteSink& sink_;
  const TraceIndex index_;
  std::string out_;
  std::vector<std::string> used_;  // keys of the object being written
  NodeLinkCounts counts_;
};

}  // namespace

NodeLinkCounts write_node_link(const Trace& trace, const ByteSink& sink) {
  return NodeLinkFile(trace, sink).write();
}

}  // namespace nadi::inline traces
