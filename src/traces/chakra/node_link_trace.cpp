#include "nadi/chakra/node_link_trace.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/chakra/json_output.h"
#include "nadi/graph/collective_table.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace_check.h"

namespace nadi::inline traces {
namespace {

using Kind = TraceAttributeKind;

constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

// Members of a node that are no attributes.
constexpr std::array<std::string_view, 8> kFields{"name",   "type",    "start_ns", "duration_ns",
                                                  "inputs", "outputs", "node_id",  "id"};

bool is_field(std::string_view name) {
  return std::ranges::find(kFields, name) != kFields.end();
}

// The writer puts "attr_" in front of an attribute whose name is taken.
std::string_view attribute_name_of(std::string_view member) {
  constexpr std::string_view kPrefix = "attr_";
  if (!member.starts_with(kPrefix)) return member;
  std::string_view rest = member;
  while (rest.starts_with(kPrefix)) rest.remove_prefix(kPrefix.size());
  return is_field(rest) ? member.substr(kPrefix.size()) : member;
}

std::optional<Kind> expected_kind(std::string_view name) {
  namespace names = attribute_name;
  if (name == names::kTensorSize) return Kind::kUint64;
  for (const std::string_view int32 :
       {names::kCommSrc, names::kCommDst, names::kCommTag, names::kCommPriority})
    if (name == int32) return Kind::kInt32;
  return std::nullopt;
}

std::optional<NodeType> node_type_named(std::string_view text) {
  for (std::uint64_t number = 0; const auto type = node_type_from_number(number); ++number)
    if (to_string(*type) == text) return type;
  return std::nullopt;
}

void add_list(TraceNode& node, std::string_view name, const Json& list) {
  const auto all = [&](bool (Json::*is)() const noexcept) {
    return !list.empty() && std::ranges::all_of(list, [&](const Json& item) { return (item.*is)(); });
  };
  if (all(&Json::is_boolean)) {
    std::vector<std::uint64_t> bits;
    for (const Json& item : list) bits.push_back(item.get<bool>() ? 1 : 0);
    TraceAttribute attribute;
    attribute.name = name;
    attribute.kind = Kind::kBoolList;
    attribute.numbers = bits;
    node.attributes.add_copy(attribute);
  } else if (all(&Json::is_number_integer)) {
    const auto numbers = list.get<std::vector<std::int64_t>>();
    node.attributes.add_int64_list(name, numbers);
  } else if (all(&Json::is_number)) {
    std::vector<std::uint64_t> bits;
    for (const Json& item : list) bits.push_back(number_bits(item.get<double>()));
    TraceAttribute attribute;
    attribute.name = name;
    attribute.kind = Kind::kDoubleList;
    attribute.numbers = bits;
    node.attributes.add_copy(attribute);
  } else if (list.empty() || all(&Json::is_string)) {
    std::vector<std::string_view> texts;
    for (const Json& item : list) texts.push_back(item.get_ref<const std::string&>());
    node.attributes.add_text_list(name, texts);
  } else {
    node.attributes.add_text(name, list.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

// `member` outlives the node.
void add_json_attribute(TraceNode& node, std::string_view member, const Json& value) {
  const std::string_view name = attribute_name_of(member);
  switch (value.type()) {
    case Json::value_t::boolean:
      node.attributes.add_bool(name, value.get<bool>());
      return;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: {
      constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
      const bool is_large = value.is_number_unsigned() && value.get<std::uint64_t>() > kMost;
      const Kind kind = is_large ? Kind::kUint64 : expected_kind(name).value_or(Kind::kInt64);
      const auto number = is_large ? std::int64_t{0} : value.get<std::int64_t>();
      if (kind == Kind::kUint64 && (is_large || number >= 0))
        node.attributes.add_uint64(name, value.get<std::uint64_t>());
      else if (kind == Kind::kInt32 && number >= std::numeric_limits<std::int32_t>::min() &&
               number <= std::numeric_limits<std::int32_t>::max())
        node.attributes.add_int32(name, static_cast<std::int32_t>(number));
      else
        node.attributes.add_int64(name, number);
      return;
    }
    case Json::value_t::number_float:
      node.attributes.add_double(name, value.get<double>());
      return;
    case Json::value_t::string:
      node.attributes.add_text(name, value.get_ref<const std::string&>());
      return;
    case Json::value_t::array:
      add_list(node, name, value);
      return;
    case Json::value_t::null: {
      TraceAttribute attribute;
      attribute.name = name;
      node.attributes.add_copy(attribute);
      return;
    }
    case Json::value_t::object:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      node.attributes.add_text(name, value.dump(-1, ' ', false, Json::error_handler_t::replace));
      return;
  }
}

// The tensors on one side of an op, as StepTracer lists them.
struct TensorTexts {
  std::string values = "[", shapes = "[", types = "[";

  void add(const NodeLinkTensor& tensor) {
    const char* comma = values.size() > 1 ? ", " : "";
    values.append(comma).append("[");
    append_json_text(values, tensor.name);
    values.append(", ").append(std::to_string(tensor.bytes.value_or(0))).append("]");
    shapes.append(comma).append(format("[{}]", fmt::join(tensor.shape, ", ")));
    types.append(comma);
    append_json_text(types, tensor.dtype);
  }
  IoInfo io(TraceNode& node) const {
    return {node.keep(values + "]"), node.keep(shapes + "]"), node.keep(types + "]")};
  }
};

class TraceMaker {
 public:
  TraceMaker(const NodeLinkGraph& graph, const ChakraReadOptions& options)
      : graph_(graph), options_(options) {
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) kinds_.push_back(kind_of(graph.nodes[i]));
    number_nodes();
    sort_links();
  }

  std::uint64_t dropped() const { return dropped_; }

  std::vector<RankTrace> make() {
    std::vector<RankTrace> traces;
    for (const std::int64_t rank : ranks_) {
      RankTrace& made = traces.emplace_back();
      made.rank = rank;
      made.names_rank = names_ranks_;
      put_metadata(made.trace.metadata, rank);
      std::vector<std::uint64_t> bytes;
      for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
        if (!is_op(i) || rank_of_[i] != rank) continue;
        put_node(i);
        dropped_ += drop_control_dependencies(node_, options_);
        made.trace.add(node_);
        bytes.push_back(graph_.nodes[i].byte);
      }
      dropped_ += settle_dependencies(made.trace, {.file = graph_.file, .record_bytes = bytes}, options_);
    }
    return traces;
  }

 private:
  bool is_op(std::uint32_t i) const { return kinds_[i] != NodeLinkKind::kTensor; }

  // Ids: the number that the file gives, `node_id` first; where one has none, all are numbered.
  void number_nodes() {
    const std::int64_t whole = [&] {
      const auto rank = graph_.graph.find("rank");
      const bool is_rank = rank != graph_.graph.end() && rank->is_number_integer();
      names_ranks_ = is_rank;
      return is_rank ? rank->get<std::int64_t>() : 0;
    }();
    rank_of_.assign(graph_.nodes.size(), whole);
    bool all_numbered = true;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeLinkNode& node = graph_.nodes[i];
      if (const auto rank = integer_member(node.members, "rank")) {
        rank_of_[i] = *rank;
        names_ranks_ = true;
      }
      if (!is_op(i)) continue;
      ranks_.push_back(rank_of_[i]);
      all_numbered = all_numbered && number_of(node).has_value();
    }
    std::ranges::sort(ranks_);
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    if (ranks_.empty()) ranks_.push_back(whole);
    std::map<std::int64_t, std::uint64_t> next;
    ids_.resize(graph_.nodes.size());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (is_op(i)) ids_[i] = TraceNodeId{all_numbered ? *number_of(graph_.nodes[i]) : next[rank_of_[i]]++};
  }

  static std::optional<std::uint64_t> number_of(const NodeLinkNode& node) {
    const Json* given = find_member(node.members, "node_id");
    const Json& id = given != nullptr ? *given : node.id;
    if (id.is_number_unsigned()) return id.get<std::uint64_t>();
    return id.is_number_integer() && id.get<std::int64_t>() >= 0 ? std::optional(id.get<std::uint64_t>())
                                                                 : std::nullopt;
  }

  void sort_links() {
    const std::size_t n = graph_.nodes.size();
    ctrl_.resize(n), data_.resize(n), reads_.resize(n), writes_.resize(n), writers_.resize(n);
    std::vector<std::uint32_t> view_of(n, kNoRow);
    for (const NodeLinkLink& link : graph_.links) {
      const auto [from, to] = std::pair(link.source, link.target);
      const std::string key = text_member(link.members, "key");
      if (key == "communication" || rank_of_[from] != rank_of_[to]) continue;
      if (is_op(from) && is_op(to)) {
        (key == "control" ? ctrl_ : data_)[to].push_back(from);
      } else if (is_op(from)) {
        writes_[from].push_back(to);
        writers_[to].push_back(from);
      } else if (is_op(to)) {
        reads_[to].push_back(from);
      } else if (view_of[to] == kNoRow && from != to) {
        view_of[to] = from;
      }
    }
    for (std::vector<std::uint32_t>& writers : writers_) std::ranges::sort(writers);
    // A tensor that is made of another and written by nobody was written by the other's writers. Chains are
    // followed once: each tensor on the way then points at its end, and a ring ends where it was entered.
    source_of_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) source_of_[i] = i;
    for (std::uint32_t i = 0; i < n; ++i) {
      std::vector<std::uint32_t> way;
      std::uint32_t at = i;
      while (writers_[at].empty() && view_of[at] != kNoRow) {
        way.push_back(at);
        at = std::exchange(view_of[at], kNoRow);
      }
      for (const std::uint32_t seen : way) source_of_[seen] = source_of_[at];
    }
  }

  void put_metadata(GlobalMetadata& metadata, std::int64_t rank) const {
    bool has_rank = false;
    TraceNode holder;
    for (const auto& [name, value] : graph_.graph.items()) {
      if (name == "version" && value.is_string()) {
        metadata.version = value.get<std::string>();
      } else {
        has_rank = has_rank || name == "rank";
        if (name != "rank") add_json_attribute(holder, name, value);
      }
    }
    for (const TraceAttribute& attribute : holder.attributes) metadata.attributes.add_copy(attribute);
    if (names_ranks_ || has_rank) metadata.attributes.add_int64("rank", rank);
  }

  void put_node(std::uint32_t i) {
    const NodeLinkNode& from = graph_.nodes[i];
    node_.clear();
    node_.id = ids_[i];
    const Json* name = find_member(from.members, "name");
    node_.name = name != nullptr && name->is_string() ? std::string_view(name->get_ref<const std::string&>())
                                                      : node_.keep(name_of(from));
    const std::string type = text_member(from.members, "type");
    const std::optional<NodeType> known = node_type_named(type);
    if (known)
      node_.type = *known;
    else
      node_.type = kinds_[i] == NodeLinkKind::kCommunication ? NodeType::kCommColl : NodeType::kComp;
    node_.start = time_of(from, "start_ns");
    node_.duration = time_of(from, "duration_ns");
    put_io(from, i);
    for (const auto& [member, value] : from.members) {
      const bool is_own_rank = member == "rank" && find_member(from.members, "node_id") != nullptr;
      if (is_own_rank || (is_field(member) && !(member == "type" && !known))) continue;
      add_json_attribute(node_, member, value);
    }
    if (!known && kinds_[i] == NodeLinkKind::kCommunication) describe_collective();
    put_dependencies(i);
  }

  // A collective of another tool has at least its name.
  void describe_collective() {
    if (node_.attributes.find(attribute_name::kCommType) != nullptr) return;
    std::string name(node_.name.substr(std::min(node_.name.rfind(':') + 1, node_.name.size())));
    std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    if (const auto type = collective_with_prefix(name)) add_comm_type(node_, *type);
  }

  Nanoseconds time_of(const NodeLinkNode& node, std::string_view name) const {
    const auto time = integer_member(node.members, name);
    if (time && *time < 0)
      throw input_error({.file = graph_.file, .byte = static_cast<std::int64_t>(node.byte)},
                        format("{} of node {} is {}", name, quote_for_message(name_of(node)), *time));
    return Nanoseconds{time.value_or(0)};
  }

  void put_io(const NodeLinkNode& from, std::uint32_t i) {
    const auto given = [&](std::string_view name, IoInfo& io) {
      const Json* object = find_member(from.members, name);
      if (object == nullptr || !object->is_object()) return false;
      const auto text = [&](const char* part) -> std::string_view {
        const auto found = object->find(part);
        if (found == object->end() || !found->is_string()) return {};
        return found->get_ref<const std::string&>();
      };
      io = {text("values"), text("shapes"), text("types")};
      return true;
    };
    const bool has_inputs = given("inputs", node_.inputs);
    const bool has_outputs = given("outputs", node_.outputs);
    // A trace may say that it lists the tensors of some nodes only.
    if (has_inputs || has_outputs || (reads_[i].empty() && writes_[i].empty()) ||
        graph_.graph.contains("tensors"))
      return;
    TensorTexts inputs, outputs;
    for (const std::uint32_t tensor : reads_[i]) inputs.add(tensor_of(graph_.nodes[tensor]));
    for (const std::uint32_t tensor : writes_[i]) outputs.add(tensor_of(graph_.nodes[tensor]));
    node_.inputs = inputs.io(node_);
    node_.outputs = outputs.io(node_);
  }

  void put_dependencies(std::uint32_t i) {
    for (const std::uint32_t parent : ctrl_[i]) node_.ctrl_deps.push_back(ids_[parent]);
    std::vector<std::uint32_t> parents = data_[i];
    for (const std::uint32_t tensor : reads_[i])
      if (const auto writer = writer_of(source_of_[tensor], i)) parents.push_back(*writer);
    if (parents.size() > data_[i].size()) {
      std::ranges::sort(parents);
      parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    }
    for (const std::uint32_t parent : parents) node_.data_deps.push_back(ids_[parent]);
  }

  // Whose result `reader` reads. Of several writers, as of a tensor that is changed in place, it is the last
  // one before the reader: two ops that read and write one tensor would wait for each other.
  std::optional<std::uint32_t> writer_of(std::uint32_t tensor, std::uint32_t reader) const {
    const std::vector<std::uint32_t>& writers = writers_[tensor];
    if (writers.size() == 1) return writers[0] == reader ? std::nullopt : std::optional(writers[0]);
    const auto behind = std::ranges::lower_bound(writers, reader);
    return behind == writers.begin() ? std::nullopt : std::optional(*std::prev(behind));
  }

  const NodeLinkGraph& graph_;
  const ChakraReadOptions& options_;
  std::vector<NodeLinkKind> kinds_;
  std::vector<std::int64_t> rank_of_;
  std::vector<std::int64_t> ranks_;
  bool names_ranks_ = false;
  std::vector<TraceNodeId> ids_;
  // By position of an op: ops it waits for, tensors it reads and writes. By position of a tensor: who writes
  // it.
  std::vector<std::vector<std::uint32_t>> ctrl_, data_, reads_, writes_, writers_;
  std::vector<std::uint32_t>
      source_of_;  // by position of a tensor: the tensor that it is a view of, or itself
  TraceNode node_;
  std::uint64_t dropped_ = 0;
};

}  // namespace

std::vector<RankTrace> traces_of(const NodeLinkGraph& graph, const ChakraReadOptions& options,
                                 std::uint64_t* dropped) {
  TraceMaker maker(graph, options);
  std::vector<RankTrace> traces = maker.make();
  if (dropped != nullptr) *dropped = maker.dropped();
  return traces;
}

}  // namespace nadi::inline traces
