#include "nadi/trace/trace.h"

#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/hash.h"

namespace nadi::inline traces {

namespace {

template <typename T>
std::size_t held(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

// Appends a row's dependencies. Rows before it without any have no end yet.
void add_dependencies(std::span<const TraceNodeId> from, std::size_t row, std::vector<TraceNodeId>& deps,
                      std::vector<std::uint64_t>& ends) {
  if (from.empty()) return;
  ends.resize(row, deps.size());
  deps.insert(deps.end(), from.begin(), from.end());
  ends.push_back(deps.size());
}

}  // namespace

std::size_t Trace::AttributeKeyHash::operator()(const AttributeKey& key) const {
  const std::uint64_t mixed =
      (std::uint64_t{key.name} << 32 | key.doc) * 31 + static_cast<std::uint64_t>(key.kind);
  return mixed * kGoldenRatio64 >> 16;
}

void Trace::reserve(const TraceCapacity& capacity) {
  const auto reserve_columns = [](std::size_t size, auto&... columns) { (columns.reserve(size), ...); };
  reserve_columns(capacity.nodes, ids_, names_, types_, starts_, durations_, io_, attribute_ends_);
  reserve_columns(capacity.nodes_with_tensors, node_io_);
  reserve_columns(capacity.ctrl_deps > 0 ? capacity.nodes : 0, ctrl_ends_);
  reserve_columns(capacity.ctrl_deps, ctrl_deps_);
  reserve_columns(capacity.data_deps > 0 ? capacity.nodes : 0, data_ends_);
  reserve_columns(capacity.data_deps, data_deps_);
  reserve_columns(capacity.attributes, attribute_keys_, attribute_payloads_);
}

// Rows fit 32 bits in TraceIndex and in io_.
void Trace::expect_room() const {
  if (ids_.size() < std::numeric_limits<std::uint32_t>::max()) [[likely]]
    return;
  throw Error{ErrorKind::kInfeasible,
              {},
              "a trace in memory holds at most 4,294,967,295 nodes",
              "stream it node by node instead"};
}

std::size_t Trace::add(const TraceNode& node) {
  expect_room();
  const std::size_t row = ids_.size();
  ids_.push_back(node.id);
  names_.push_back(intern(node.name));
  types_.push_back(node.type);
  starts_.push_back(node.start);
  durations_.push_back(node.duration);
  add_io(intern(node.inputs), intern(node.outputs));
  add_dependencies(node.ctrl_deps, row, ctrl_deps_, ctrl_ends_);
  add_dependencies(node.data_deps, row, data_deps_, data_ends_);
  std::size_t follower = 0;
  for (const TraceAttribute& attribute : node.attributes) {
    attribute_keys_.push_back(key_of(attribute, follower));
    attribute_payloads_.push_back(payload_of(attribute));
  }
  attribute_ends_.push_back(attribute_keys_.size());
  return row;
}

std::size_t Trace::add(const InternedNode& node) {
  expect_room();
  const std::size_t row = ids_.size();
  ids_.push_back(node.id);
  names_.push_back(node.name);
  types_.push_back(node.type);
  starts_.push_back(node.start);
  durations_.push_back(node.duration);
  add_io(node.inputs, node.outputs);
  add_dependencies(node.ctrl_deps, row, ctrl_deps_, ctrl_ends_);
  add_dependencies(node.data_deps, row, data_deps_, data_ends_);
  for (const InternedAttribute& attribute : node.attributes) {
    attribute_keys_.push_back(attribute.key);
    attribute_payloads_.push_back(attribute.payload);
  }
  attribute_ends_.push_back(attribute_keys_.size());
  return row;
}

void Trace::add_io(const InternedIo& inputs, const InternedIo& outputs) {
  if (inputs == InternedIo{} && outputs == InternedIo{}) {
    io_.push_back(0);
    return;
  }
  node_io_.push_back({.inputs = inputs, .outputs = outputs});
  io_.push_back(static_cast<std::uint32_t>(node_io_.size()));
}

TraceKey Trace::key(std::string_view name, TraceAttributeKind kind) {
  return key_number({.name = texts_.intern(name), .doc = 0, .kind = kind});
}

TraceKey Trace::key_number(const AttributeKey& key) {
  const auto [entry, is_new] =
      key_numbers_.try_emplace(key, TraceKey{static_cast<std::uint32_t>(keys_.size())});
  if (is_new) {
    keys_.push_back(key);
    followers_.push_back(entry->second);
  }
  return entry->second;
}

// Nodes of a kind have the same attributes in the same order: comparing a name with the one expected here is
// several times faster than looking two texts and a key up. `follower` is where the guess stands and is moved
// on.
TraceKey Trace::key_of(const TraceAttribute& attribute, std::size_t& follower) {
  TraceKey found = followers_[follower];
  const auto is_wanted = [&](const AttributeKey& key) {
    return key.kind == attribute.kind && texts_.text(key.name) == attribute.name &&
           texts_.text(key.doc) == attribute.doc;
  };
  if (keys_.empty() || !is_wanted(keys_[static_cast<std::uint32_t>(found)])) {
    found = key_number(
        {.name = texts_.intern(attribute.name), .doc = texts_.intern(attribute.doc), .kind = attribute.kind});
    followers_[follower] = found;
  }
  follower = static_cast<std::uint32_t>(found) + std::size_t{1};
  return found;
}

TraceList Trace::add_list(std::span<const std::uint64_t> numbers) {
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  number_list_ends_.push_back(numbers_.size());
  return TraceList{number_list_ends_.size() - 1};
}

std::uint64_t Trace::payload_of(const TraceAttribute& attribute) {
  if (is_list(attribute.kind) && is_text(attribute.kind)) {
    for (std::string_view text : attribute.texts) list_texts_.push_back(texts_.text(texts_.intern(text)));
    text_list_ends_.push_back(list_texts_.size());
    return text_list_ends_.size() - 1;
  }
  if (is_list(attribute.kind)) return static_cast<std::uint64_t>(add_list(attribute.numbers));
  return is_text(attribute.kind) ? texts_.intern(attribute.text) : attribute.bits;
}

InternedIo Trace::intern(const IoInfo& io) {
  return {.values = intern(io.values), .shapes = intern(io.shapes), .types = intern(io.types)};
}

IoInfo Trace::texts_of(const InternedIo& io) const {
  return {.values = text(io.values), .shapes = text(io.shapes), .types = text(io.types)};
}

IoInfo Trace::inputs(std::size_t row) const {
  return io_[row] == 0 ? IoInfo{} : texts_of(node_io_[io_[row] - 1].inputs);
}

IoInfo Trace::outputs(std::size_t row) const {
  return io_[row] == 0 ? IoInfo{} : texts_of(node_io_[io_[row] - 1].outputs);
}

std::size_t Trace::attribute_count(std::size_t row) const {
  return attribute_ends_[row] - (row == 0 ? 0 : attribute_ends_[row - 1]);
}

TraceAttribute Trace::attribute(std::size_t row, std::size_t i) const {
  return attribute_at((row == 0 ? 0 : attribute_ends_[row - 1]) + i);
}

std::optional<TraceAttribute> Trace::find_attribute(std::size_t row, std::string_view name) const {
  const std::optional<std::uint32_t> wanted = texts_.find(name);
  return wanted ? find_attribute(row, *wanted) : std::nullopt;
}

std::optional<TraceAttribute> Trace::find_attribute(std::size_t row, std::uint32_t name_number) const {
  for (std::uint64_t at = row == 0 ? 0 : attribute_ends_[row - 1]; at < attribute_ends_[row]; ++at)
    if (keys_[static_cast<std::uint32_t>(attribute_keys_[at])].name == name_number) return attribute_at(at);
  return std::nullopt;
}

TraceAttribute Trace::attribute_at(std::uint64_t position) const {
  const AttributeKey& key = keys_[static_cast<std::uint32_t>(attribute_keys_[position])];
  const std::uint64_t payload = attribute_payloads_[position];
  TraceAttribute attribute;
  attribute.name = texts_.text(key.name);
  attribute.doc = texts_.text(key.doc);
  attribute.kind = key.kind;
  if (is_list(key.kind) && is_text(key.kind)) {
    attribute.texts = slice(list_texts_, text_list_ends_, payload);
  } else if (is_list(key.kind)) {
    attribute.numbers = slice(numbers_, number_list_ends_, payload);
  } else if (is_text(key.kind)) {
    attribute.text = texts_.text(static_cast<std::uint32_t>(payload));
  } else {
    attribute.bits = payload;
  }
  return attribute;
}

void Trace::get(std::size_t row, TraceNode& node) const {
  node.clear();
  node.id = ids_[row];
  node.name = name(row);
  node.type = types_[row];
  node.start = starts_[row];
  node.duration = durations_[row];
  node.inputs = inputs(row);
  node.outputs = outputs(row);
  const auto ctrl = ctrl_deps(row);
  node.ctrl_deps.assign(ctrl.begin(), ctrl.end());
  const auto data = data_deps(row);
  node.data_deps.assign(data.begin(), data.end());
  for (std::uint64_t at = row == 0 ? 0 : attribute_ends_[row - 1]; at < attribute_ends_[row]; ++at)
    node.attributes.add_borrowed(attribute_at(at));
}

std::uint64_t Trace::remove_dependencies(const std::function<bool(TraceNodeId)>& unwanted) {
  const auto compact = [&](std::vector<TraceNodeId>& deps, std::vector<std::uint64_t>& ends) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    for (std::uint64_t& end : ends) {
      for (; from < end; ++from)
        if (!unwanted(deps[from])) deps[to++] = deps[from];
      end = to;
    }
    const std::uint64_t removed = deps.size() - to;
    deps.resize(to);
    return removed;
  };
  return compact(ctrl_deps_, ctrl_ends_) + compact(data_deps_, data_ends_);
}

Bytes Trace::memory() const {
  const std::size_t total =
      texts_.memory() + held(ids_) + held(names_) + held(types_) + held(starts_) + held(durations_) +
      held(io_) + held(node_io_) + held(ctrl_deps_) + held(ctrl_ends_) + held(data_deps_) + held(data_ends_) +
      held(attribute_keys_) + held(attribute_payloads_) + held(attribute_ends_) + held(keys_) +
      held(followers_) + held(numbers_) + held(number_list_ends_) + held(list_texts_) + held(text_list_ends_);
  return Bytes{static_cast<std::int64_t>(total)};
}

}  // namespace nadi::inline traces
