// The file is read as a stream of records (json_records.h): nodes, then links; or links first, then they are
// kept and resolved at the end. What is kept grows with the file, by a small factor.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/chakra/chakra_reading.h"
#include "nadi/chakra/node_link_graph.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/content_kind.h"
#include "nadi/input/json_records.h"

namespace nadi::inline traces {
namespace {

constexpr std::array<std::string_view, 3> kNodeLinkArrays{"nodes", "links", "edges"};
constexpr std::size_t kNodesArray = 0;
constexpr int kDeepest = 32;               // levels of nesting in a value
constexpr std::size_t kMostNested = 1024;  // members of an object within a node

// What values of the JSON library take, with what the heap adds: each of them, what an array, an object or a
// text has elsewhere, a member of an object.
constexpr std::int64_t kTreeValue = sizeof(Json), kTreePart = 64, kTreeMember = 112;

// simdjson's value as a tree.
class TreeMaker {
 public:
  // Adds what it makes to `held`, which is compared with the limit.
  TreeMaker(const MemoryAllowance& allowed, std::int64_t& held, const std::string& file, std::uint64_t byte)
      : allowed_(allowed), held_(held), file_(file), byte_(byte) {}

  template <typename Value>
  Json make(Value value, int depth = 0) const {
    held_ += kTreeValue;
    allowed_.expect(Bytes{held_}, byte_, "the graph");
    using simdjson::ondemand::json_type;
    if (depth > kDeepest) throw fail(format("values are nested more than {} levels deep", kDeepest));
    switch (value.type()) {
      case json_type::object: {
        Json object = Json::object();
        held_ += kTreePart;
        for (auto field : value.get_object()) {
          if (object.size() >= kMostNested)
            throw fail(format("an object of more than {} members", kMostNested));
          const std::string key(std::string_view(field.unescaped_key()));
          held_ += kTreeMember + static_cast<std::int64_t>(key.size());
          object[key] = make(field.value().value(), depth + 1);
        }
        return object;
      }
      case json_type::array: {
        Json array = Json::array();
        held_ += kTreePart;
        for (auto item : value.get_array()) array.push_back(make(item.value(), depth + 1));
        return array;
      }
      case json_type::number: {
        const simdjson::ondemand::number number = value.get_number();
        if (number.is_int64()) return number.get_int64();
        if (number.is_uint64()) return number.get_uint64();
        return number.get_double();
      }
      case json_type::string:
        return text(value.get_string());
      case json_type::boolean:
        return bool(value.get_bool());
      case json_type::null:
        break;
    }
    if (!value.is_null()) throw fail("a value is no JSON");
    return nullptr;
  }

 private:
  Error fail(std::string message) const {
    return input_error({.file = file_, .byte = static_cast<std::int64_t>(byte_)}, std::move(message));
  }
  Json text(std::string_view value) const {
    held_ += kTreePart + static_cast<std::int64_t>(value.size());
    return std::string(value);
  }

  const MemoryAllowance& allowed_;
  std::int64_t& held_;
  const std::string& file_;
  std::uint64_t byte_;
};

class NodeLinkTaker : public JsonRecordTaker {
 public:
  NodeLinkTaker(MemoryAllowance allowed, std::string file, const NodeLinkReadOptions& options)
      : allowed_(std::move(allowed)), options_(options) {
    graph_.file = std::move(file);
  }

  void member(std::string_view name, std::string_view json, std::uint64_t byte) override {
    const simdjson::padded_string text(json);
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document = parser.iterate(text);
    if (name == "directed") {
      // The document of a scalar is a value of its own kind.
      if (json == "false")
        throw fail(byte, "the graph is not directed", "make it a DiGraph before it is written");
    } else if (name == "graph") {
      if (document.type() != simdjson::ondemand::json_type::object) throw fail(byte, "graph is no object");
      graph_.graph = TreeMaker(allowed_, held_, graph_.file, byte).make(document.get_value().value());
    }
  }

  void record(std::size_t array, JsonObject& object, std::uint64_t byte) override {
    NodeLinkMembers members;
    std::unordered_set<std::string> names;
    held_ += kRecord;
    const TreeMaker maker(allowed_, held_, graph_.file, byte);
    for (auto field : object) {
      std::string name(std::string_view(field.unescaped_key()));
      if (!names.insert(name).second)
        throw fail(byte, format("member {} is given twice", quote_for_message(name)));
      held_ += static_cast<std::int64_t>(sizeof(std::pair<std::string, Json>) + name.size());
      members.emplace_back(std::move(name), maker.make(field.value().value()));
    }
    if (array == kNodesArray)
      add_node(std::move(members), byte);
    else
      add_link(std::move(members), byte);
    if (options_.progress && ++records_ % kNodesPerReport == 0) options_.progress(byte);
  }

  void restart() override {
    NodeLinkGraph empty;
    empty.file = graph_.file;
    graph_ = std::move(empty);
    places_.clear();
    pending_.clear();
    held_ = 0;
    has_ids_ = has_integer_ids_ = false;
  }

  NodeLinkGraph finish(const JsonRecordCounts& counts) {
    graph_.counts = counts;
    graph_.links.reserve(pending_.size());
    for (Pending& link : pending_) resolve(link);
    return std::move(graph_);
  }

 private:
  // A node with its place by id, or a link that waits for its nodes.
  static constexpr std::int64_t kRecord = 256;

  struct Pending {
    Json source, target;
    NodeLinkMembers members;
    std::uint64_t byte;
  };

  Error fail(std::uint64_t byte, std::string message, std::string hint = "") const {
    return input_error({.file = graph_.file, .byte = static_cast<std::int64_t>(byte)}, std::move(message),
                       std::move(hint));
  }

  static Json take(NodeLinkMembers& members, std::string_view name) {
    const auto found = std::ranges::find(members, name, &std::pair<std::string, Json>::first);
    if (found == members.end()) return Json::value_t::discarded;
    Json value = std::move(found->second);
    members.erase(found);
    return value;
  }

  void add_node(NodeLinkMembers members, std::uint64_t byte) {
    if (graph_.nodes.size() >= std::numeric_limits<std::uint32_t>::max()) throw fail(byte, "too many nodes");
    Json id = take(members, "id");
    if (id.is_discarded())
      id = graph_.nodes.size();
    else
      has_ids_ = true;
    if (id.is_structured() || id.is_null())
      throw fail(byte, "the id of a node is neither a number nor a text");
    has_integer_ids_ = has_integer_ids_ || id.is_number_integer();
    const auto [other, is_new] = places_.emplace(id.dump(-1, ' ', false, Json::error_handler_t::replace),
                                                 static_cast<std::uint32_t>(graph_.nodes.size()));
    if (!is_new) throw fail(byte, format("two nodes have the id {}", quote_for_message(other->first)));
    graph_.nodes.push_back({.id = std::move(id), .members = std::move(members), .byte = byte});
  }

  void add_link(NodeLinkMembers members, std::uint64_t byte) {
    Json source = take(members, "source");
    Json target = take(members, "target");
    if (source.is_discarded() || target.is_discarded())
      throw fail(byte, "a link has no source or no target",
                 "a file written with other names for them is not read: NetworkX's are source and target");
    pending_.push_back({.source = std::move(source),
                        .target = std::move(target),
                        .members = std::move(members),
                        .byte = byte});
  }

  std::optional<std::uint32_t> place_of(const Json& id) const {
    const auto found = places_.find(id.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (found != places_.end()) return found->second;
    // NetworkX 1 wrote places instead of ids.
    if (has_ids_ && !has_integer_ids_ && id.is_number_integer() && id.get<std::int64_t>() >= 0 &&
        id.get<std::uint64_t>() < graph_.nodes.size())
      return id.get<std::uint32_t>();
    return std::nullopt;
  }

  void resolve(Pending& link) {
    const std::optional<std::uint32_t> source = place_of(link.source);
    const std::optional<std::uint32_t> target = place_of(link.target);
    if (source && target) {
      graph_.links.push_back({.source = *source, .target = *target, .members = std::move(link.members)});
      return;
    }
    if (options_.damage == JsonDamage::kSkip) {
      ++graph_.counts.dropped_records;
      return;
    }
    const std::string id =
        (source ? link.target : link.source).dump(-1, ' ', false, Json::error_handler_t::replace);
    throw fail(link.byte, format("a link is on node {}, which is not in the file", quote_for_message(id)));
  }

  MemoryAllowance allowed_;
  std::int64_t held_ = 0;  // about what the graph takes
  const NodeLinkReadOptions& options_;
  NodeLinkGraph graph_;
  std::unordered_map<std::string, std::uint32_t> places_;  // by id as JSON
  std::vector<Pending> pending_;
  std::uint64_t records_ = 0;
  bool has_ids_ = false;
  bool has_integer_ids_ = false;
};

NodeLinkGraph read_graph(ChunkedInput& input, const NodeLinkReadOptions& options) {
  const FileKind kind = content_kind(input);
  if (kind != FileKind::kNodeLink && kind != FileKind::kJson)
    throw WrongFileKind(input.name(), kind, "a graph in node-link form");
  const MemoryAllowance allowed = input.allowance(options.memory);
  NodeLinkTaker taker(allowed, input.name(), options);
  const JsonRecordCounts counts = read_json_records(
      input,
      {.arrays = kNodeLinkArrays,
       .damage = options.damage,
       .longest_record = std::min<std::size_t>(kJsonLongestRecord, allowed.longest_record())},
      taker);
  return taker.finish(counts);
}

}  // namespace

NodeLinkGraph read_node_link(const std::filesystem::path& path, const NodeLinkReadOptions& options) {
  ChunkedInput input(path);
  return read_graph(input, options);
}

NodeLinkGraph read_node_link(std::string_view json, std::string name, const NodeLinkReadOptions& options) {
  ChunkedInput input(json, std::move(name));
  return read_graph(input, options);
}

}  // namespace nadi::inline traces
