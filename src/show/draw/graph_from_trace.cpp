#include "nadi/draw/graph_from_trace.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/json_output.h"
#include "nadi/draw/tensor_list.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline show {
namespace {

constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

Json json_of(const TraceAttribute& attribute) {
  std::string text;
  append_json_value(text, attribute);
  return Json::parse(text, nullptr, false);
}

GraphNodeKind drawn_kind(NodeType type) {
  switch (type) {
    case NodeType::kCommSend:
    case NodeType::kCommRecv:
    case NodeType::kCommColl:
      return GraphNodeKind::kCommunication;
    case NodeType::kInvalid:
    case NodeType::kMetadata:
    case NodeType::kMemLoad:
    case NodeType::kMemStore:
    case NodeType::kComp:
      return GraphNodeKind::kOp;
  }
  unreachable();
}

std::string lower_name(CollectiveType type) {
  std::string name(to_string(type));
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return name;
}

}  // namespace

// What one rank adds to the graph.
class RankGraph {
 public:
  RankGraph(GraphMaker& maker, const Trace& trace, std::int64_t rank)
      : maker_(maker), view_(maker.view_), trace_(trace), index_(trace), rank_(rank) {}

  void add() {
    const std::size_t room = view_.nodes.size() + trace_.size();
    if (room > maker_.options_.most_nodes)
      throw Error{ErrorKind::kInfeasible, {}, format("a graph of more than {} nodes is not drawn", room)};
    for (std::uint32_t row = 0; row < trace_.size(); ++row) add_op(row);
    list_tensors();
    for (std::uint32_t row = 0; row < trace_.size(); ++row) connect(row);
  }

 private:
  struct OpTensors {
    std::vector<ListedTensor> inputs, outputs;
    std::vector<std::uint32_t> output_nodes;
  };

  std::string text(std::uint32_t row, std::string_view name) const {
    const auto attribute = trace_.find_attribute(row, name);
    const auto value = attribute ? attribute->string() : std::nullopt;
    return value ? std::string(*value) : "";
  }
  std::optional<std::int64_t> integer(std::uint32_t row, std::string_view name) const {
    const auto attribute = trace_.find_attribute(row, name);
    return attribute ? attribute->integer() : std::nullopt;
  }

  Json id_of(std::string text, std::optional<std::uint64_t> number) const {
    if (maker_.options_.many_ranks) return format("{}:{}", rank_, number ? std::to_string(*number) : text);
    if (number) return *number;
    return text;
  }

  void add_op(std::uint32_t row) {
    GraphNode node;
    const NodeType type = trace_.type(row);
    node.kind = drawn_kind(type);
    const std::uint64_t number = to_number(trace_.id(row));
    node.id = id_of("", number);
    node.name = trace_.name(row);
    node.rank = rank_;
    node.layer = text(row, "layer");
    const std::string section = text(row, "section");
    node.part = section == "prefill" || section == "decode" ? section : text(row, "phase");
    node.pass = pass_of(row, node.part);
    node.what = text(row, "op");
    if (trace_.duration(row).count() > 0) node.duration_ns = trace_.duration(row).count();
    if (node.kind == GraphNodeKind::kCommunication) {
      node.bytes = integer(row, attribute_name::kCommSize);
      join(row, node);
    } else {
      node.bytes = integer(row, attribute_name::kTensorSize);
      node.flops = integer(row, attribute_name::kNumOps);
    }
    if (maker_.options_.members) put_members(row, node);
    nodes_.push_back(static_cast<std::uint32_t>(view_.nodes.size()));
    view_.nodes.push_back(std::move(node));
  }

  // A step, a micro-batch or a decode step that does what one before it did has the next number.
  std::int64_t pass_of(std::uint32_t row, const std::string& part) {
    const auto key = std::pair(integer(row, "step").value_or(0), integer(row, "micro_batch").value_or(0));
    auto& known = passes_[part];
    return known.emplace(key, static_cast<std::int64_t>(known.size())).first->second;
  }

  void join(std::uint32_t row, GraphNode& node) {
    const auto place = static_cast<std::uint32_t>(view_.nodes.size());
    const std::int64_t tag = integer(row, attribute_name::kCommTag).value_or(0);
    switch (trace_.type(row)) {
      case NodeType::kCommSend:
        if (node.what.empty()) node.what = "send";
        if (const auto to = integer(row, attribute_name::kCommDst))
          maker_.sends_[{rank_, *to, tag}].push_back(place);
        return;
      case NodeType::kCommRecv:
        if (node.what.empty()) node.what = "receive";
        if (const auto from = integer(row, attribute_name::kCommSrc))
          maker_.receives_[{*from, rank_, tag}].push_back(place);
        return;
      default:
        break;
    }
    const auto number = integer(row, attribute_name::kCommType);
    const auto type = number ? collective_type_from_number(*number) : std::nullopt;
    if (node.what.empty()) node.what = type ? lower_name(*type) : "collective";
    std::string group = text(row, attribute_name::kProcessGroup);
    if (group == "0") group.clear();
    maker_.groups_[group].by_rank[rank_].push_back(place);
  }

  void put_members(std::uint32_t row, GraphNode& node) {
    const auto add = [&](std::string name, Json value) {
      node.members.emplace_back(std::move(name), std::move(value));
    };
    add("name", node.name);
    add("type", to_string(trace_.type(row)));
    if (trace_.start(row).count() != 0 || trace_.duration(row).count() != 0) {
      add("start_ns", trace_.start(row).count());
      add("duration_ns", trace_.duration(row).count());
    }
    const auto add_io = [&](std::string name, const IoInfo& io) {
      if (!io.empty())
        add(std::move(name), Json{{"values", io.values}, {"shapes", io.shapes}, {"types", io.types}});
    };
    add_io("inputs", trace_.inputs(row));
    add_io("outputs", trace_.outputs(row));
    if (maker_.options_.many_ranks) {
      add("rank", rank_);
      add("node_id", to_number(trace_.id(row)));
    }
    for (std::size_t i = 0; i < trace_.attribute_count(row); ++i) {
      const TraceAttribute attribute = trace_.attribute(row, i);
      std::string name(attribute.name);
      while (name == "id" || name == "kind" || find_member(node.members, name) != nullptr)
        name.insert(0, "attr_");
      add(std::move(name), json_of(attribute));
    }
  }

  // Where a trace lists the tensors of its first micro-batch alone, others have those of their namesake.
  void list_tensors() {
    tensors_.resize(trace_.size());
    std::unordered_map<std::string, std::uint32_t> namesakes;
    const TraceAttribute* listing = trace_.metadata.attributes.find("tensors");
    const bool first_only = listing != nullptr && listing->string() == "first_micro_batch";
    for (std::uint32_t row = 0; row < trace_.size(); ++row) {
      OpTensors& tensors = tensors_[row];
      tensors.inputs = listed_tensors(trace_.inputs(row));
      tensors.outputs = listed_tensors(trace_.outputs(row));
      const bool has_none = tensors.inputs.empty() && tensors.outputs.empty();
      if (first_only) {
        const GraphNode& node = view_.nodes[nodes_[row]];
        const std::string key = node.part + '\0' + node.name;
        if (!has_none) {
          namesakes.emplace(key, row);
        } else if (const auto found = namesakes.find(key); found != namesakes.end()) {
          tensors.inputs = tensors_[found->second].inputs;
          tensors.outputs = tensors_[found->second].outputs;
        }
      }
      if (tensors.inputs.empty() && tensors.outputs.empty()) ++view_.without_tensors;
    }
  }

  std::uint32_t add_tensor(const ListedTensor& tensor, const GraphNode& of) {
    GraphNode node;
    node.kind = GraphNodeKind::kTensor;
    node.name = tensor.name;
    node.what = tensor.dtype;
    node.shape = tensor.shape;
    node.bytes = tensor.bytes;
    node.rank = rank_;
    node.layer = of.layer;
    node.part = of.part;
    node.pass = of.pass;
    std::uint64_t& times = values_of_[tensor.name];
    std::string id;
    do {  // a name may look like the second value of another
      id = ++times == 1 ? format("tensor:{}", tensor.name) : format("tensor:{}@{}", tensor.name, times);
    } while (!used_.insert(id).second);
    node.id = id_of(std::move(id), std::nullopt);
    if (maker_.options_.members) put_tensor_members(node);
    if (view_.nodes.size() >= kNoNode)
      throw Error{ErrorKind::kInfeasible, {}, "the graph has too many nodes"};
    view_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(view_.nodes.size() - 1);
  }

  void put_tensor_members(GraphNode& node) const {
    const auto add = [&](std::string name, Json value) {
      node.members.emplace_back(std::move(name), std::move(value));
    };
    add("name", node.name);
    add("type", "TENSOR");
    Json shape = Json::array();
    std::int64_t size = 0;
    bool in_number = false;
    for (const char c : node.shape) {
      const bool digit = c >= '0' && c <= '9';
      if (digit) size = in_number ? 10 * size + (c - '0') : c - '0';
      if (!digit && in_number) shape.push_back(size);
      in_number = digit;
    }
    if (in_number) shape.push_back(size);
    add("shape", std::move(shape));
    add("dtype", node.what);
    if (node.bytes) add("bytes", *node.bytes);
    if (!node.layer.empty()) add("layer", node.layer);
    if (maker_.options_.many_ranks) add("rank", rank_);
  }

  void edge(std::uint32_t from, std::uint32_t to, GraphEdgeKind kind) {
    view_.edges.push_back({.from = from, .to = to, .kind = kind});
  }

  // The tensor of that name that the row writes.
  std::uint32_t output_named(std::uint32_t row, std::string_view name) const {
    const OpTensors& tensors = tensors_[row];
    for (std::size_t i = 0; i < tensors.outputs.size(); ++i)
      if (tensors.outputs[i].name == name && i < tensors.output_nodes.size()) return tensors.output_nodes[i];
    return kNoNode;
  }

  // One of the row's tensors that a tensor of so many bytes can be a view of: the same size, else a multiple.
  std::uint32_t output_viewed(std::uint32_t row, const ListedTensor& view) const {
    const OpTensors& tensors = tensors_[row];
    if (!view.bytes || *view.bytes <= 0) return kNoNode;
    for (const bool exact : {true, false})
      for (std::size_t i = 0; i < tensors.output_nodes.size(); ++i) {
        const auto& bytes = tensors.outputs[i].bytes;
        if (!bytes || tensors.outputs[i].dtype != view.dtype) continue;
        if (exact ? *bytes == *view.bytes : *bytes > *view.bytes && *bytes % *view.bytes == 0)
          return tensors.output_nodes[i];
      }
    return kNoNode;
  }

  void connect(std::uint32_t row) {
    OpTensors& tensors = tensors_[row];
    const std::uint32_t self = nodes_[row];
    std::vector<std::uint32_t> parents;  // rows whose results it reads
    for (const TraceNodeId id : trace_.data_deps(row))
      if (const auto parent = index_.row_of(id)) parents.push_back(*parent);
    std::vector<bool> explained(parents.size(), false);
    // A row may list thousands: each tensor asks each parent, within reason.
    constexpr std::size_t kMostPairs = 4096;
    const bool few = parents.size() * tensors.inputs.size() <= kMostPairs;

    std::vector<std::uint32_t> sources(tensors.inputs.size(), kNoNode);
    for (std::size_t i = 0; i < tensors.inputs.size(); ++i) {
      for (std::size_t p = 0; few && p < parents.size(); ++p) {
        const std::uint32_t found = output_named(parents[p], tensors.inputs[i].name);
        if (found == kNoNode) continue;
        sources[i] = found;
        explained[p] = true;
      }
      if (sources[i] != kNoNode) continue;
      if (const auto written = latest_.find(tensors.inputs[i].name); written != latest_.end())
        sources[i] = written->second;
    }
    for (std::size_t p = 0; few && p < parents.size(); ++p) {
      if (explained[p]) continue;
      for (std::size_t i = 0; i < sources.size() && !explained[p]; ++i) {
        if (sources[i] != kNoNode) continue;
        sources[i] = output_viewed(parents[p], tensors.inputs[i]);
        explained[p] = sources[i] != kNoNode;
      }
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i] == kNoNode) sources[i] = outside(tensors.inputs[i], view_.nodes[self]);
      if (std::find(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(i), sources[i]) ==
          sources.begin() + static_cast<std::ptrdiff_t>(i))
        edge(sources[i], self, GraphEdgeKind::kData);
    }
    for (std::size_t p = 0; p < parents.size(); ++p)
      if (!explained[p]) edge(nodes_[parents[p]], self, GraphEdgeKind::kData);
    for (const TraceNodeId id : trace_.ctrl_deps(row))
      if (const auto parent = index_.row_of(id)) edge(nodes_[*parent], self, GraphEdgeKind::kControl);
    for (const ListedTensor& output : tensors.outputs) {
      const std::uint32_t made = add_tensor(output, view_.nodes[self]);
      tensors.output_nodes.push_back(made);
      latest_[output.name] = made;
      edge(self, made, GraphEdgeKind::kData);
    }
  }

  // A tensor that no op of the trace wrote before: one node for all its readers.
  std::uint32_t outside(const ListedTensor& tensor, const GraphNode& reader) {
    const auto [known, is_new] = outside_.emplace(tensor.name, kNoNode);
    if (is_new) known->second = add_tensor(tensor, GraphNode(reader));
    return known->second;
  }

  GraphMaker& maker_;
  GraphView& view_;
  const Trace& trace_;
  const TraceIndex index_;
  const std::int64_t rank_;
  std::vector<std::uint32_t> nodes_;  // by row
  std::vector<OpTensors> tensors_;    // by row
  std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>> passes_;
  std::unordered_map<std::string, std::uint32_t> latest_, outside_;
  std::unordered_map<std::string, std::uint64_t> values_of_;
  std::unordered_set<std::string> used_;  // ids of tensors
};

void GraphMaker::add(const Trace& trace, std::int64_t rank) {
  if (view_.ranks.empty()) {
    view_.facts["version"] = trace.metadata.version;
    for (const TraceAttribute& attribute : trace.metadata.attributes)
      if (attribute.name != "version" && (attribute.name != "rank" || !options_.many_ranks))
        view_.facts[std::string(attribute.name)] = json_of(attribute);
  }
  view_.ranks.push_back(rank);
  RankGraph(*this, trace, rank).add();
}

GraphView GraphMaker::finish() {
  std::ranges::sort(view_.ranks);
  join_collectives();
  join_messages();
  return std::move(view_);
}

void GraphMaker::join_collectives() {
  for (const auto& [name, group] : groups_) {
    if (group.by_rank.size() < 2) continue;
    std::size_t calls = std::numeric_limits<std::size_t>::max();
    for (const auto& [rank, nodes] : group.by_rank) calls = std::min(calls, nodes.size());
    for (std::size_t call = 0; call < calls; ++call) {
      std::vector<std::uint32_t> members;
      for (const auto& [rank, nodes] : group.by_rank) members.push_back(nodes[call]);
      for (std::size_t i = 0; i + 1 < members.size(); ++i)
        view_.edges.push_back(
            {.from = members[i], .to = members[i + 1], .kind = GraphEdgeKind::kCommunication});
      if (members.size() > 2)
        view_.edges.push_back(
            {.from = members.back(), .to = members[0], .kind = GraphEdgeKind::kCommunication});
    }
  }
}

void GraphMaker::join_messages() {
  for (const auto& [line, sent] : sends_) {
    const auto received = receives_.find(line);
    if (received == receives_.end()) continue;
    const std::size_t messages = std::min(sent.size(), received->second.size());
    for (std::size_t k = 0; k < messages; ++k)
      view_.edges.push_back(
          {.from = sent[k], .to = received->second[k], .kind = GraphEdgeKind::kCommunication});
  }
}

}  // namespace nadi::inline show
