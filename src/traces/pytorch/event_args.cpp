#include "nadi/pytorch/event_args.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/pytorch/json_number.h"

namespace nadi::inline traces {

namespace {

// Marks an attribute that does not count any more.
constexpr TraceKey kForgotten{std::numeric_limits<std::uint32_t>::max()};

constexpr std::array<TraceAttributeKind, 7> kTraceKinds = {
    TraceAttributeKind::kNone,     TraceAttributeKind::kBool,   TraceAttributeKind::kInt64,
    TraceAttributeKind::kUint64,   TraceAttributeKind::kDouble, TraceAttributeKind::kString,
    TraceAttributeKind::kInt64List};

// Kept even where attributes are passed over: what waits for what, what is communicated, and what Nadi's own
// profiles say about an op.
constexpr std::string_view kNeeded[] = {
    "name",
    "Collective name",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "Group size",
    "In msg nelems",
    "Out msg nelems",
    "dtype",
    "Rank",
    "Src Rank",
    "Dst Rank",
    "Seq",
    "bytes",
    "cuda_sync_kind",
    "wait_on_stream",
    "wait_on_cuda_event_record_corr_id",
    "wait_on_cuda_event_id",
    "op",
    "layer",
    "phase",
    "section",
    "micro_batch",
    "step",
    "flops",
};

// A number or a word.
bool is_plain(char first) {
  return first != '"' && first != '[' && first != '{';
}

}  // namespace

struct EventArgs::RoleName {
  std::string_view name;
  Role role;
};

// Names of 2021 beside today's.
const EventArgs::RoleName EventArgs::kRoles[] = {
    {"correlation", Role::kCorrelation},
    {"External id", Role::kExternalId},
    {"external id", Role::kExternalId},
    {"Record function id", Role::kRecordFunction},
    {"device", Role::kDevice},
    {"stream", Role::kStream},
    {"Concrete Inputs", Role::kInputValues},
    {"Input Dims", Role::kInputShapes},
    {"Input dims", Role::kInputShapes},
    {"Input type", Role::kInputTypes},
};

void EventArgValues::clear() {
  correlation = 0;
  external_id = 0;
  record_function = 0;
  device.reset();
  stream.reset();
  inputs = {};
  attributes.clear();
  names.clear();
}

void EventArgValues::merge(const EventArgValues& later) {
  if (later.correlation != 0) correlation = later.correlation;
  if (later.external_id != 0) external_id = later.external_id;
  if (later.record_function != 0) record_function = later.record_function;
  if (later.device) device = later.device;
  if (later.stream) stream = later.stream;
  if (later.inputs != InternedIo{}) inputs = later.inputs;
  std::unordered_map<std::uint32_t, std::size_t> positions;
  for (std::size_t i = 0; i < names.size(); ++i) positions.emplace(names[i], i);
  for (std::size_t i = 0; i < later.names.size(); ++i) {
    if (const auto same = positions.find(later.names[i]); same != positions.end()) {
      attributes[same->second] = later.attributes[i];
    } else {
      attributes.push_back(later.attributes[i]);
      names.push_back(later.names[i]);
    }
  }
}

EventArgs::EventArgs(Trace& trace, const RecordPlace& place, const EventArgsOptions& options)
    : trace_(&trace), place_(&place), options_(options), texts_(trace, place) {
  look_up("");
}

std::uint32_t EventArgs::look_up(std::string_view raw) {
  if (const auto known = raw_names_.find(raw); known && *known < args_.size()) return *known;
  const bool escaped = raw.find('\\') != std::string_view::npos;
  const std::string_view name = escaped ? texts_.unescaped(raw) : raw;
  const std::uint32_t index = raw_names_.intern(raw);
  Arg arg{.raw = std::string(raw),
          .text = trace_->intern(name),
          .number = names_.intern(name),
          .follower = index};
  positions_.resize(names_.size());
  const auto special = std::ranges::find(kRoles, name, &RoleName::name);
  if (special != std::end(kRoles)) {
    arg.role = special->role;
  } else if (!options_.all && std::ranges::find(kNeeded, name) == std::end(kNeeded)) {
    arg.role = Role::kPassedOver;
  }
  const bool is_tensor = arg.role >= Role::kInputValues;
  if (!options_.all && is_tensor) arg.role = Role::kPassedOver;
  args_.push_back(std::move(arg));
  return index;
}

void EventArgs::begin(EventArgValues& values) {
  values.clear();
  ++event_;
  forgotten_ = 0;
}

void EventArgs::read(JsonTokens& tokens, EventArgValues& values) {
  std::uint32_t before = 0;
  for (bool more = tokens.enter('{'); more; more = tokens.next('}')) {
    const std::uint32_t index = find(tokens.key(), args_[before].follower);
    args_[before].follower = index;
    before = index;
    take(index, tokens, values);
  }
  if (forgotten_ == 0) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values.names.size(); ++i) {
    if (values.attributes[i].key == kForgotten) continue;
    values.attributes[kept] = values.attributes[i];
    values.names[kept] = values.names[i];
    positions_[values.names[kept]].at = kept;
    ++kept;
  }
  values.attributes.resize(kept);
  values.names.resize(kept);
  forgotten_ = 0;
}

void EventArgs::take(std::uint32_t index, JsonTokens& tokens, EventArgValues& values) {
  switch (args_[index].role) {
    case Role::kAttribute:
      return take_attribute(index, tokens, values);
    case Role::kPassedOver:
      return tokens.skip();
    case Role::kCorrelation:
      return take_id(index, tokens, values.correlation, values);
    case Role::kExternalId:
      return take_id(index, tokens, values.external_id, values);
    case Role::kRecordFunction:
      return take_id(index, tokens, values.record_function, values);
    case Role::kDevice:
      return take_place(index, tokens, values.device, values);
    case Role::kStream:
      return take_place(index, tokens, values.stream, values);
    case Role::kInputValues:
      values.inputs.values = texts_.take_any(tokens);
      return;
    case Role::kInputShapes:
      values.inputs.shapes = texts_.take_any(tokens);
      return;
    case Role::kInputTypes:
      values.inputs.types = texts_.take_any(tokens);
      return;
  }
  unreachable();
}

void EventArgs::take_id(std::uint32_t index, JsonTokens& tokens, std::uint64_t& id, EventArgValues& values) {
  id = 0;
  if (!is_plain(tokens.front())) return take_attribute(index, tokens, values);
  const std::string_view scalar = tokens.take_scalar();
  const JsonNumber number = read_json_number(scalar);
  const bool is_id =
      number.kind == JsonNumber::kUint64 || (number.kind == JsonNumber::kInt64 && scalar[0] != '-');
  if (!is_id) return put_scalar(index, scalar, number, values);
  id = number.bits;
  forget(args_[index].number, values);
}

void EventArgs::take_place(std::uint32_t index, JsonTokens& tokens, std::optional<std::int64_t>& place,
                           EventArgValues& values) {
  place.reset();
  if (!is_plain(tokens.front())) return take_attribute(index, tokens, values);
  const std::string_view scalar = tokens.take_scalar();
  const JsonNumber number = read_json_number(scalar);
  if (number.kind == JsonNumber::kInt64) place = static_cast<std::int64_t>(number.bits);
  put_scalar(index, scalar, number, values);
}

void EventArgs::take_attribute(std::uint32_t index, JsonTokens& tokens, EventArgValues& values) {
  const char first = tokens.front();
  if (first == '"') return put(index, kString, texts_.take_string(tokens), values);
  if (first == '{') return put(index, kString, texts_.take_json(tokens), values);
  if (first != '[') {
    const std::string_view scalar = tokens.take_scalar();
    return put_scalar(index, scalar, read_json_number(scalar), values);
  }
  const JsonTexts::Array array = texts_.take_array(tokens);
  if (!array.numbers) return put(index, kString, array.text, values);
  put(index, kInt64List, static_cast<std::uint64_t>(*array.numbers), values);
}

// `number`: what the scalar is as a number.
void EventArgs::put_scalar(std::uint32_t index, std::string_view scalar, const JsonNumber& number,
                           EventArgValues& values) {
  switch (number.kind) {
    case JsonNumber::kInt64:
      return put(index, kInt64, number.bits, values);
    case JsonNumber::kUint64:
      return put(index, kUint64, number.bits, values);
    case JsonNumber::kDouble:
      return put(index, kDouble, number.bits, values);
    case JsonNumber::kNone:
      break;
  }
  const std::string_view word = without_space(scalar);
  if (word == "true" || word == "false") return put(index, kBool, word == "true", values);
  if (word == "null") return put(index, kNull, 0, values);
  const std::optional<double> real = options_.non_finite ? read_non_finite(word) : std::nullopt;
  if (!real) place_->fail(word.data(), format("'{}' is not a JSON value", word.substr(0, 40)));
  put(index, kDouble, number_bits(*real), values);
}

void EventArgs::put(std::uint32_t index, Kind kind, std::uint64_t payload, EventArgValues& values) {
  static_assert(kTraceKinds.size() == kKinds);
  Arg& arg = args_[index];
  if (!arg.keys[kind]) arg.keys[kind] = trace_->key(trace_->text(arg.text), kTraceKinds[kind]);
  const InternedAttribute attribute{.key = *arg.keys[kind], .payload = payload};
  Position& position = positions_[arg.number];
  if (position.event == event_) {
    values.attributes[position.at] = attribute;
    return;
  }
  position = {.event = event_, .at = values.attributes.size()};
  values.attributes.push_back(attribute);
  values.names.push_back(arg.number);
}

// An arg that was an attribute and is given again as what has a column. Its place stays until the end of
// read().
void EventArgs::forget(std::uint32_t number, EventArgValues& values) {
  Position& position = positions_[number];
  if (position.event != event_) return;
  values.attributes[position.at].key = kForgotten;
  position.event = 0;
  ++forgotten_;
}

std::optional<std::string_view> EventArgs::find_text(std::string_view name,
                                                     const EventArgValues& values) const {
  const std::optional<std::uint32_t> number = names_.find(name);
  const auto found = number ? std::ranges::find(values.names, *number) : values.names.end();
  if (found == values.names.end()) return std::nullopt;
  const InternedAttribute& value = values.attributes[static_cast<std::size_t>(found - values.names.begin())];
  const auto is_string = [&](const Arg& arg) {
    return arg.number == *number && arg.keys[kString] == value.key;
  };
  if (std::ranges::none_of(args_, is_string)) return std::nullopt;
  return trace_->text(static_cast<std::uint32_t>(value.payload));
}

void EventArgs::add_text(std::string_view name, std::uint32_t text, EventArgValues& values) {
  put(look_up(name), kString, text, values);
}

}  // namespace nadi::inline traces
