#include "nadi/trace/trace.h"

#include <limits>

#include "nadi/base/error.h"

namespace nadi {

namespace {

// Vectors grow by doubling, so capacity rather than size is what is held.
template <typename T>
std::size_t held(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

}  // namespace

std::size_t Trace::AttributeKeyHash::operator()(const AttributeKey& key) const {
  const std::uint64_t mixed =
      (std::uint64_t{key.name} << 32 | key.doc) * 31 + static_cast<std::uint64_t>(key.kind);
  return mixed * 0x9e3779b97f4a7c15u >> 16;  // Fibonacci hashing: 2^64 divided by the golden ratio
}

void Trace::reserve(std::size_t nodes) {
  ids_.reserve(nodes);
  names_.reserve(nodes);
  types_.reserve(nodes);
  starts_.reserve(nodes);
  durations_.reserve(nodes);
  io_.reserve(nodes);
  ctrl_ends_.reserve(nodes);
  data_ends_.reserve(nodes);
  attribute_ends_.reserve(nodes);
}

std::size_t Trace::add(const TraceNode& node) {
  const std::size_t row = ids_.size();
  // Rows fit 32 bits in TraceIndex and in io_.
  if (row >= std::numeric_limits<std::uint32_t>::max())
    throw Error{ErrorKind::kInfeasible,
                {},
                "a trace in memory holds at most 4,294,967,295 nodes",
                "stream it node by node instead"};
  ids_.push_back(node.id);
  names_.push_back(texts_.intern(node.name));
  types_.push_back(node.type);
  starts_.push_back(node.start);
  durations_.push_back(node.duration);
  if (node.inputs.empty() && node.outputs.empty()) {
    io_.push_back(0);
  } else {
    node_io_.push_back({.inputs = intern(node.inputs), .outputs = intern(node.outputs)});
    io_.push_back(static_cast<std::uint32_t>(node_io_.size()));
  }
  ctrl_deps_.insert(ctrl_deps_.end(), node.ctrl_deps.begin(), node.ctrl_deps.end());
  ctrl_ends_.push_back(ctrl_deps_.size());
  data_deps_.insert(data_deps_.end(), node.data_deps.begin(), node.data_deps.end());
  data_ends_.push_back(data_deps_.size());
  for (const TraceAttribute& attribute : node.attributes) {
    attribute_keys_.push_back(key_of(attribute));
    attribute_payloads_.push_back(payload_of(attribute));
  }
  attribute_ends_.push_back(attribute_keys_.size());
  return row;
}

std::uint32_t Trace::key_of(const TraceAttribute& attribute) {
  const AttributeKey key{
      .name = texts_.intern(attribute.name), .doc = texts_.intern(attribute.doc), .kind = attribute.kind};
  const auto [entry, is_new] = key_numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
  if (is_new) keys_.push_back(key);
  return entry->second;
}

std::uint64_t Trace::payload_of(const TraceAttribute& attribute) {
  if (is_list(attribute.kind) && is_text(attribute.kind)) {
    for (std::string_view text : attribute.texts) list_texts_.push_back(texts_.text(texts_.intern(text)));
    text_list_ends_.push_back(list_texts_.size());
    return text_list_ends_.size() - 1;
  }
  if (is_list(attribute.kind)) {
    numbers_.insert(numbers_.end(), attribute.numbers.begin(), attribute.numbers.end());
    number_list_ends_.push_back(numbers_.size());
    return number_list_ends_.size() - 1;
  }
  return is_text(attribute.kind) ? texts_.intern(attribute.text) : attribute.bits;
}

Trace::IoTexts Trace::intern(const IoInfo& io) {
  return {.values = texts_.intern(io.values),
          .shapes = texts_.intern(io.shapes),
          .types = texts_.intern(io.types)};
}

IoInfo Trace::texts_of(const IoTexts& io) const {
  return {.values = texts_.text(io.values), .shapes = texts_.text(io.shapes), .types = texts_.text(io.types)};
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
    if (keys_[attribute_keys_[at]].name == name_number) return attribute_at(at);
  return std::nullopt;
}

TraceAttribute Trace::attribute_at(std::uint64_t position) const {
  const AttributeKey& key = keys_[attribute_keys_[position]];
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
  const std::size_t total = texts_.memory() + held(ids_) + held(names_) + held(types_) + held(starts_) +
                            held(durations_) + held(io_) + held(node_io_) + held(ctrl_deps_) +
                            held(ctrl_ends_) + held(data_deps_) + held(data_ends_) + held(attribute_keys_) +
                            held(attribute_payloads_) + held(attribute_ends_) + held(keys_) + held(numbers_) +
                            held(number_list_ends_) + held(list_texts_) + held(text_list_ends_);
  return Bytes{static_cast<std::int64_t>(total)};
}

}  // namespace nadi
