#include "nadi/pytorch/kineto_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/content_kind.h"
#include "nadi/input/json_records.h"
#include "nadi/pytorch/decimal_time.h"
#include "nadi/pytorch/event_args.h"
#include "nadi/pytorch/json_number.h"
#include "nadi/pytorch/kineto_event.h"
#include "nadi/pytorch/kineto_lanes.h"
#include "nadi/pytorch/nsys_profile.h"
#include "nadi/pytorch/process_group_texts.h"
#include "nadi/pytorch/record_place.h"

namespace nadi::inline traces {

namespace {

constexpr std::string_view kEventArrays[] = {"traceEvents", ""};
constexpr std::uint64_t kEventsPerReport = 4096;

// Bytes of text for a row, for a row with tensors and for an attribute, at the least that profilers write.
// Memory for more than there turn out to be is never touched, so that it costs nothing.
constexpr std::uint64_t kBytesPerRow = 120;
constexpr std::uint64_t kBytesPerRowWithTensors = 240;
constexpr std::uint64_t kBytesPerEventAttribute = 40;

// What the begin of an event says about it.
struct RowStart {
  std::uint32_t name = 0;
  KinetoCategory category = KinetoCategory::kOther;
  Nanoseconds start;
};
struct OpenEvent {
  RowStart row;
  EventArgValues args;
};

class KinetoReader : public JsonRecordTaker {
 public:
  KinetoReader(MemoryAllowance allowed, std::string file, const KinetoReadOptions& options)
      : allowed_(std::move(allowed)), options_(options), place_(std::move(file)) {
    restart();
  }

  void reserve(std::uint64_t bytes);
  void restart() override;
  void member(std::string_view name, std::string_view json, std::uint64_t byte) override;
  void record(std::size_t array, JsonObject& record, std::uint64_t byte) override;
  KinetoTrace finish(JsonRecordCounts counts);

 private:
  struct Category {
    std::string name;
    KinetoCategory category = KinetoCategory::kOther;
    std::uint32_t text = 0;  // where to_string() does not say it
  };
  using OpenEvents = std::map<LanePlace, std::vector<OpenEvent>>;

  bool lenient() const { return options_.damage == JsonDamage::kSkip; }
  void complete();
  void begin();
  void end();
  void metadata();
  std::size_t category_of(std::string_view name);
  KinetoCategory named_category();
  LanePlace lane_place();
  std::int64_t lane_number(const EventLaneName& name, std::string_view what);
  Nanoseconds time(std::string_view token, std::string_view what) const;
  void add_row(const RowStart& row, Nanoseconds duration, const EventArgValues& args);

  void expect_memory(std::uint64_t byte);

  MemoryAllowance allowed_;
  KinetoReadOptions options_;
  RecordPlace place_;
  KinetoTrace trace_;
  std::unique_ptr<EventArgs> args_;
  KinetoLanes lanes_;
  KinetoEvent event_;
  StringTable category_names_;
  std::vector<Category> categories_;  // by number in category_names_
  std::size_t last_category_ = 0;
  OpenEvents open_;
  std::int64_t open_memory_ = 0;     // of the events in open_
  std::int64_t members_memory_ = 0;  // of the document's members
  std::uint64_t latest_byte_ = 0;    // where the latest event begins
};

// What an event that has begun takes; the list of its lane counts, too.
std::int64_t memory_of(const OpenEvent& event) {
  constexpr std::size_t kLane = 96;
  return static_cast<std::int64_t>(sizeof event + kLane +
                                   event.args.attributes.size() * sizeof event.args.attributes[0] +
                                   event.args.names.size() * sizeof event.args.names[0]);
}

void KinetoReader::reserve(std::uint64_t bytes) {
  const std::size_t rows = bytes / kBytesPerRow;
  try {
    trace_.events.reserve(TraceCapacity{.nodes = rows,
                                        .nodes_with_tensors = bytes / kBytesPerRowWithTensors,
                                        .attributes = bytes / kBytesPerEventAttribute});
    const auto reserve_columns = [&](auto&... columns) { (columns.reserve(rows), ...); };
    reserve_columns(trace_.category, trace_.lane, trace_.correlation, trace_.external_id,
                    trace_.record_function);
  } catch (const std::bad_alloc&) {
    // The machine does not lend memory that is not there: columns grow as they fill up.
  }
}

void KinetoReader::restart() {
  trace_ = KinetoTrace{};
  trace_.file = place_.file();
  args_ = std::make_unique<EventArgs>(trace_.events, place_,
                                      EventArgsOptions{.all = options_.attributes, .non_finite = lenient()});
  lanes_ = KinetoLanes{};
  category_names_ = StringTable{};
  categories_ = {Category{}};
  last_category_ = 0;
  open_.clear();
  open_memory_ = members_memory_ = 0;
  latest_byte_ = 0;
}

void KinetoReader::expect_memory(std::uint64_t byte) {
  constexpr std::uint64_t kEventsPerLook = 256, kLongEvent = 64 << 10;
  const std::uint64_t latest = byte - std::exchange(latest_byte_, byte);
  if (trace_.counts.events % kEventsPerLook != 0 && latest < kLongEvent) return;
  const auto columns = static_cast<std::int64_t>(
      trace_.category.size() * (sizeof(KinetoCategory) + sizeof(std::uint32_t) + 3 * sizeof(std::uint64_t)));
  allowed_.expect(trace_.events.memory() + Bytes{columns + lanes_.memory() + open_memory_ + members_memory_},
                  byte, "the trace");
}

void KinetoReader::member(std::string_view name, std::string_view json, std::uint64_t byte) {
  const Place place{.file = place_.file(), .byte = static_cast<std::int64_t>(byte)};
  if (name == kEventArrays[0]) throw input_error(place, "traceEvents is not a list");
  if (name == "baseTimeNanoseconds") {
    const DecimalTime base = read_decimal_time(json, kNanosecondDigits);
    if (base.fault != DecimalFault::kNone)
      throw input_error(place, format("baseTimeNanoseconds of {} is not a time", json.substr(0, 40)));
    trace_.base_time = base.nanoseconds;
    return;
  }
  if (name == "distributedInfo") {
    try {
      DistributedInfo info = read_distributed_info(json);
      trace_.rank = info.rank;
      trace_.world_size = info.world_size;
      trace_.groups = std::move(info.groups);
    } catch (const Error& error) {
      throw input_error(place, "distributedInfo: " + error.message());
    }
  }
  const auto same = std::ranges::find(trace_.members, name, &std::pair<std::string, std::string>::first);
  if (same != trace_.members.end()) {
    same->second = std::string(json);
  } else {
    trace_.members.emplace_back(name, json);
  }
  members_memory_ += static_cast<std::int64_t>(2 * sizeof(std::string) + name.size() + json.size());
  allowed_.expect(Bytes{members_memory_}, byte, "what the file says about itself");
}

// Nothing may change before everything that can be wrong with the event was looked at.
void KinetoReader::record(std::size_t /*array*/, JsonObject& record, std::uint64_t byte) {
  place_.enter(byte);
  read_kineto_event(JsonTokens(record, place_), place_, *args_, event_);
  switch (event_.phase) {
    case 'X':
      complete();
      break;
    case 'B':
      begin();
      break;
    case 'E':
      end();
      break;
    case 'M':
      metadata();
      break;
    case 's':
    case 't':
    case 'f':
      ++trace_.counts.flows;
      break;
    case 'i':
    case 'I':
    case 'R':
    case 'C':
      ++trace_.counts.instants;
      break;
    default:
      ++trace_.counts.other;
      break;
  }
  ++trace_.counts.events;
  expect_memory(byte);
  if (options_.progress && trace_.counts.events % kEventsPerReport == 0) options_.progress(byte);
}

Nanoseconds KinetoReader::time(std::string_view token, std::string_view what) const {
  const bool micro = options_.time_unit == KinetoTimeUnit::kMicroseconds;
  const DecimalTime time = read_decimal_time(token, micro ? kMicrosecondDigits : kNanosecondDigits);
  if (time.fault == DecimalFault::kNone) [[likely]]
    return time.nanoseconds;
  while (!token.empty() && is_json_space(token.back())) token.remove_suffix(1);
  if (time.fault == DecimalFault::kNoNumber)
    place_.fail(token.data(), format("{} of {} is not a number", what, token.substr(0, 40)));
  const bool nano = micro && read_decimal_time(token, kNanosecondDigits).fault == DecimalFault::kNone;
  place_.fail(token.data(),
              format("{} of {} {} does not fit 63 bits of nanoseconds", what, token.substr(0, 40),
                     micro ? "microseconds" : "nanoseconds"),
              nano ? "the number looks like nanoseconds: declare that times are in nanoseconds" : "");
}

void KinetoReader::complete() {
  if (event_.duration.empty()) {
    if (!lenient())
      place_.fail(format("the event {} has no duration ('dur')", quote_for_message(event_.name)),
                  "read the file leniently to leave such events out");
    ++trace_.counts.without_duration;
    return;
  }
  if (event_.start.empty())
    place_.fail(format("the event {} has no start ('ts')", quote_for_message(event_.name)));
  const Nanoseconds start = time(event_.start, "a start");
  const Nanoseconds duration = time(event_.duration, "a duration");
  const KinetoCategory category = named_category();
  const bool has_no_times = start == Nanoseconds{} && duration == Nanoseconds{};
  if (duration < Nanoseconds{} || (has_no_times && is_device_work(category))) {
    ++trace_.counts.unfinished;
    return;
  }
  add_row({.name = trace_.events.intern(event_.name), .category = category, .start = start}, duration,
          event_.args);
}

void KinetoReader::begin() {
  if (event_.start.empty())
    place_.fail(format("the event {} has no start ('ts')", quote_for_message(event_.name)));
  const Nanoseconds start = time(event_.start, "a start");
  const LanePlace place = lane_place();
  open_[place].push_back(
      {.row = {.name = trace_.events.intern(event_.name), .category = named_category(), .start = start},
       .args = event_.args});
  open_memory_ += memory_of(open_[place].back());
}

// Ends what has begun last on its lane. Begin and end are two events of the file and one row.
void KinetoReader::end() {
  if (event_.start.empty()) place_.fail("the end of an event has no time ('ts')");
  const Nanoseconds end = time(event_.start, "an end");
  const auto lane = open_.find(lane_place());
  if (lane == open_.end() || lane->second.empty()) {
    ++trace_.counts.other;
    return;
  }
  OpenEvent& open = lane->second.back();
  if (end < open.row.start) place_.fail(event_.start.data(), "an event ends before it starts");
  open_memory_ -= memory_of(open);
  open.args.merge(event_.args);
  add_row(open.row, end - open.row.start, open.args);
  lane->second.pop_back();
}

void KinetoReader::metadata() {
  if (event_.name == "process_name" || event_.name == "thread_name") {
    const LanePlace place = lane_place();
    if (const std::optional<std::string_view> name = args_->find_text("name", event_.args)) {
      if (event_.name == "thread_name") lanes_.name_thread(place, *name);
      if (event_.name == "process_name") lanes_.name_process(place.process, *name);
    }
  }
  ++trace_.counts.metadata;
}

std::size_t KinetoReader::category_of(std::string_view name) {
  if (categories_[last_category_].name == name) return last_category_;
  last_category_ = category_names_.intern(name);
  if (last_category_ == categories_.size()) {
    const KinetoCategory category = kineto_category(name);
    const bool as_usual = to_string(category) == name;
    categories_.push_back(
        {.name = std::string(name), .category = category, .text = as_usual ? 0 : trace_.events.intern(name)});
  }
  return last_category_;
}

// The category of the event; one with a name that to_string() does not give gets that as an attribute.
// What has a device and a stream runs on a device, whatever its category is called. Waits and marks on
// streams of MTIA are events of their own.
KinetoCategory KinetoReader::named_category() {
  const Category& category = categories_[category_of(event_.category)];
  if (category.text == 0) return category.category;
  args_->add_text("cat", category.text, event_.args);
  if (category.category == KinetoCategory::kKernel &&
      (event_.name == "event_wait" || event_.name == "event_record"))
    return KinetoCategory::kSync;
  const bool on_stream = event_.args.device && event_.args.stream;
  return category.category == KinetoCategory::kOther && on_stream ? KinetoCategory::kKernel
                                                                  : category.category;
}

std::int64_t KinetoReader::lane_number(const EventLaneName& name, std::string_view what) {
  if (!name.is_number) return lanes_.number(name.text);
  if (name.text.empty()) return 0;
  const JsonNumber number = read_json_number(name.text);
  if (number.kind == JsonNumber::kInt64 || number.kind == JsonNumber::kUint64)
    return static_cast<std::int64_t>(number.bits);
  place_.fail(name.text.data(), format("{} is neither a whole number nor a text", what));
}

LanePlace KinetoReader::lane_place() {
  const std::int64_t process = lane_number(event_.process, "a process ('pid')");
  return {.process = process, .thread = lane_number(event_.thread, "a thread ('tid')")};
}

void KinetoReader::add_row(const RowStart& row, Nanoseconds duration, const EventArgValues& args) {
  std::int64_t end = 0;
  if (__builtin_add_overflow(row.start.count(), duration.count(), &end))
    place_.fail("the end of an event does not fit 63 bits of nanoseconds");
  const LanePlace place = lane_place();
  const bool on_device = is_device_work(row.category) || row.category == KinetoCategory::kGpuAnnotation;
  const std::uint32_t lane = on_device ? lanes_.stream(args.device.value_or(place.process),
                                                       args.stream.value_or(place.thread), place)
                                       : lanes_.lane(place);
  trace_.events.add(InternedNode{.id = TraceNodeId{trace_.events.size()},
                                 .name = row.name,
                                 .start = row.start,
                                 .duration = duration,
                                 .inputs = args.inputs,
                                 .attributes = args.attributes});
  trace_.category.push_back(row.category);
  trace_.lane.push_back(lane);
  trace_.correlation.push_back(args.correlation);
  trace_.external_id.push_back(args.external_id);
  trace_.record_function.push_back(args.record_function);
}

KinetoTrace KinetoReader::finish(JsonRecordCounts counts) {
  for (const auto& [lane, events] : open_) trace_.counts.other += events.size();
  allowed_.expect(Bytes{lanes_.memory_of_lanes()}, std::nullopt, "the list of lanes");
  trace_.lanes = lanes_.finish();
  trace_.counts.damage = std::move(counts);
  return std::move(trace_);
}

// `size`: of the text, or what it may be.
KinetoTrace read(ChunkedInput& input, const KinetoReadOptions& options, std::uint64_t size) {
  const MemoryAllowance allowed = input.allowance(options.memory);
  KinetoReader reader(allowed, input.name(), options);
  reader.reserve(size);
  JsonRecordCounts counts = read_json_records(
      input,
      {.arrays = kEventArrays,
       .damage = options.damage,
       .longest_record = std::min<std::size_t>(kJsonLongestRecord, allowed.longest_record())},
      reader);
  return reader.finish(std::move(counts));
}

// Damage may hide what the file is, so that JSON of no known kind and text are read to their end.
FileKind expect_kineto(ChunkedInput& input) {
  const FileKind kind = content_kind(input);
  const bool may_be = kind == FileKind::kKineto || kind == FileKind::kJson || kind == FileKind::kJsonLines ||
                      kind == FileKind::kText || kind == FileKind::kUnknown || kind == FileKind::kEmpty;
  if (!may_be) throw WrongFileKind(input.name(), kind, "a Kineto trace");
  return kind;
}

KinetoTrace read_expected(ChunkedInput& input, const KinetoReadOptions& options, std::uint64_t size) {
  const FileKind kind = expect_kineto(input);
  KinetoTrace trace = read(input, options, size);
  if (trace.counts.events > 0 || kind == FileKind::kKineto) return trace;
  throw input_error({.file = trace.file, .byte = 0},
                    "this is not a trace of Kineto or Chrome: it has no traceEvents");
}

}  // namespace

KinetoTrace read_kineto(const std::filesystem::path& path, const KinetoReadOptions& options) {
  ChunkedInput input(path);
  if (content_kind(input) == FileKind::kSqlite)
    return read_kineto(nsys_as_kineto(path, options.memory), path.string(), options);
  return read_expected(input, options, input.remaining().value_or(likely_unpacked_size(path)));
}

KinetoTrace read_kineto(std::string_view json, std::string name, const KinetoReadOptions& options) {
  ChunkedInput input(json, std::move(name));
  return read_expected(input, options, json.size());
}

}  // namespace nadi::inline traces
