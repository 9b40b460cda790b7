#include "nadi/analysis/timeline_extraction.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/communication_kernels.h"

namespace nadi::inline traces {
namespace {

constexpr std::int64_t kNoDevice = -1;  // of a stream whose node does not name a device

// A number, also where it was written as text.
std::optional<std::int64_t> number_of_attribute(const TraceAttribute& attribute) {
  if (const auto integer = attribute.integer()) return integer;
  const std::string_view text = attribute.string().value_or("");
  std::int64_t value = 0;
  if (!read_number(text, value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> count_of(const TraceAttribute& attribute) {
  const auto count = attribute.integer();
  return count && *count >= 0 ? count : std::nullopt;
}

// What a kernel of the device does, by its name.
Activity activity_of_kernel(std::string_view name) {
  if (find_communication_kernel(name)) return Activity::kCommunication;
  if (name.starts_with("Memcpy") || name.starts_with("Memset")) return Activity::kMemory;
  if (name.starts_with("dma_request")) return Activity::kMemory;  // of MTIA
  return Activity::kCompute;
}

bool communicates(NodeType type) {
  return type == NodeType::kCommColl || type == NodeType::kCommSend || type == NodeType::kCommRecv;
}

// Columns that few traces have come into being with the first value.
template <typename T>
void put(std::vector<T>& column, std::uint32_t row, std::uint32_t rows, T value, T nothing) {
  if (column.empty()) column.assign(rows, nothing);
  column[row] = value;
}

}  // namespace

TimelineExtraction::TimelineExtraction(Timeline& timeline, const TimelineOptions& options)
    : timeline_(timeline), trace_(timeline.trace()), options_(options) {
  using Self = TimelineExtraction;
  constexpr Taker kTakeThread = [](Self&, const TraceAttribute& a, NodeFacts& f) {
    f.thread = a.text;
    f.thread_number = a.integer().value_or(0);
  };
  const std::pair<std::string_view, Taker> wanted[] = {
      {attribute_name::kIsCpuOp,
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.is_cpu_op = a.integer().value_or(0) != 0; }},
      {attribute_name::kNumOps,
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.num_ops = count_of(a); }},
      {attribute_name::kTensorSize,
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.tensor_size = count_of(a); }},
      {attribute_name::kCommSize,
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.comm_size = count_of(a); }},
      {attribute_name::kCommType,
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.comm_type = a.integer(); }},
      {attribute_name::kCommSrc,
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.source = a.integer(); }},
      {attribute_name::kCommDst,
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.destination = a.integer(); }},
      {attribute_name::kCommTag, [](Self&, const TraceAttribute& a, NodeFacts& f) { f.tag = a.integer(); }},
      {attribute_name::kProcessGroup,
       [](Self& s, const TraceAttribute& a, NodeFacts& f) { f.group = s.number_of(a.text); }},
      {"pg_size", [](Self&, const TraceAttribute& a, NodeFacts& f) { f.members = number_of_attribute(a); }},
      {"Group size",
       [](Self&, const TraceAttribute& a, NodeFacts& f) { f.members = number_of_attribute(a); }},
      {"step", [](Self&, const TraceAttribute& a, NodeFacts& f) { f.step = number_of_attribute(a); }},
      {"device", [](Self&, const TraceAttribute& a, NodeFacts& f) { f.device = number_of_attribute(a); }},
      {"stream", [](Self&, const TraceAttribute& a, NodeFacts& f) { f.stream = number_of_attribute(a); }},
      {"op", [](Self& s, const TraceAttribute& a, NodeFacts& f) { f.op = s.number_of(a.text); }},
      {"phase", [](Self& s, const TraceAttribute& a, NodeFacts& f) { f.phase = s.number_of(a.text); }},
      {"layer", [](Self& s, const TraceAttribute& a, NodeFacts& f) { f.layer = s.number_of(a.text); }},
      {"category", [](Self&, const TraceAttribute& a, NodeFacts& f) { f.category = a.text; }},
      {"fused_into", [](Self&, const TraceAttribute& a, NodeFacts& f) { f.fused_into = a.integer(); }},
      {"thread", kTakeThread},
      {"tid", kTakeThread},
  };
  for (const auto& [name, taker] : wanted)
    if (const auto number = trace_.text_number(name)) takers_.emplace(trace_.text(*number).data(), taker);
}

std::uint32_t TimelineExtraction::number_of(std::string_view text) const {
  return text.empty() ? 0 : trace_.text_number(text).value_or(0);
}

void TimelineExtraction::read(std::uint32_t row, NodeFacts& facts) {
  // From the last: of two with the same name the first counts.
  for (std::size_t i = trace_.attribute_count(row); i-- > 0;) {
    const TraceAttribute attribute = trace_.attribute(row, i);
    if (const auto taker = takers_.find(attribute.name.data()); taker != takers_.end())
      taker->second(*this, attribute, facts);
  }
}

Activity TimelineExtraction::activity_of(std::uint32_t row, const NodeFacts& facts) {
  const NodeType type = trace_.type(row);
  if (type == NodeType::kMetadata) return Activity::kNone;
  if (communicates(type)) return Activity::kCommunication;
  if (facts.is_cpu_op) return Activity::kHost;
  if (type == NodeType::kMemLoad || type == NodeType::kMemStore) return Activity::kMemory;
  if (facts.category == "gpu_memcpy" || facts.category == "gpu_memset") return Activity::kMemory;
  const auto [entry, is_new] = kernels_.try_emplace(trace_.name_number(row), Activity::kNone);
  if (is_new) entry->second = activity_of_kernel(trace_.name(row));
  return entry->second;
}

std::uint32_t TimelineExtraction::lane_of(Activity activity, const NodeFacts& facts) {
  std::vector<Lane>& lanes = timeline_.lanes_;
  const auto next = static_cast<std::uint32_t>(lanes.size());
  if (activity == Activity::kHost) {
    const auto [entry, is_new] = threads_.try_emplace({std::string(facts.thread), facts.thread_number}, next);
    if (is_new) {
      const bool known = !facts.thread.empty() || facts.thread_number != 0;
      lanes.push_back({.name = !known                 ? "host"
                               : facts.thread.empty() ? format("thread {}", facts.thread_number)
                                                      : format("thread {}", facts.thread),
                       .host = true});
    }
    return entry->second;
  }
  if (facts.stream) {
    const std::int64_t device = facts.device.value_or(kNoDevice);
    const auto [entry, is_new] = streams_.try_emplace({device, *facts.stream}, next);
    if (is_new)
      lanes.push_back({.name = device <= 0 ? format("stream {}", *facts.stream)
                                           : format("device {} stream {}", device, *facts.stream)});
    return entry->second;
  }
  const auto [entry, is_new] = shared_.try_emplace(activity, next);
  if (is_new) {
    timeline_.shared_lanes_.push_back(next);
    lanes.push_back({.name = std::string(to_string(activity))});
  }
  return entry->second;
}

std::int32_t TimelineExtraction::step_number(std::int64_t step) {
  return steps_.try_emplace(step, static_cast<std::int32_t>(steps_.size())).first->second;
}

// An op that ran in the kernel of one before it: its work is the kernel's, which has the time, and it is no
// call of its own. False where that kernel is not there.
bool TimelineExtraction::add_to_kernel(std::uint32_t row, const NodeFacts& facts) {
  if (!facts.fused_into) return false;
  constexpr std::uint32_t kMostOps = 4096;  // of one kernel
  const std::uint32_t last = row > kMostOps ? row - kMostOps : 0;
  std::uint32_t kernel = row;
  while (kernel > last && to_number(trace_.id(kernel)) != static_cast<std::uint64_t>(*facts.fused_into))
    --kernel;
  if (kernel == row || to_number(trace_.id(kernel)) != static_cast<std::uint64_t>(*facts.fused_into))
    return false;
  const auto add_work = [&](std::vector<std::int64_t>& column, const std::optional<std::int64_t>& work) {
    constexpr std::int64_t kNotSaid = -1;
    if (!work || column.empty() || column[kernel] == kNotSaid) return;
    column[kernel] += *work;
  };
  add_work(timeline_.num_ops_, facts.num_ops);
  add_work(timeline_.tensor_size_, facts.tensor_size);
  timeline_.activities_[row] = Activity::kNone;
  return true;
}

void TimelineExtraction::add(std::uint32_t row, const NodeFacts& facts) {
  const std::uint32_t rows = timeline_.size();
  if (facts.step) put(timeline_.step_numbers_, row, rows, step_number(*facts.step), -1);
  timeline_.labels_[row] = facts.op != 0 ? facts.op : trace_.name_number(row);
  if (options_.step && facts.step != options_.step) return;
  if (add_to_kernel(row, facts)) return;
  const Activity activity = activity_of(row, facts);
  timeline_.activities_[row] = activity;
  if (activity == Activity::kNone) return;
  timeline_.has_streams_ = timeline_.has_streams_ || (is_device(activity) && facts.stream);
  timeline_.has_own_ops_ = timeline_.has_own_ops_ || (is_device(activity) && facts.op != 0);
  timeline_.lane_of_[row] = lane_of(activity, facts);
  if (facts.phase != 0) put(timeline_.phases_, row, rows, facts.phase, 0U);
  if (facts.layer != 0) put(timeline_.layers_, row, rows, facts.layer, 0U);
  const bool unknown_work = facts.num_ops == 1 && facts.tensor_size == 1;  // see Timeline::num_ops()
  if (facts.num_ops && !unknown_work) put(timeline_.num_ops_, row, rows, *facts.num_ops, std::int64_t{-1});
  if (facts.tensor_size && !unknown_work)
    put(timeline_.tensor_size_, row, rows, *facts.tensor_size, std::int64_t{-1});
  if (activity != Activity::kCommunication) return;
  Communication call{.row = row, .type = trace_.type(row), .group = facts.group, .members = facts.members};
  if (facts.comm_type) call.collective = collective_type_from_number(*facts.comm_type);
  if (facts.comm_size) call.size = Bytes{*facts.comm_size};
  if (call.type == NodeType::kCommSend) call.peer = facts.destination;
  if (call.type == NodeType::kCommRecv) call.peer = facts.source;
  call.tag = facts.tag;
  timeline_.communications_.push_back(call);
}

void TimelineExtraction::run() {
  for (std::uint32_t row = 0; row < timeline_.size(); ++row) {
    NodeFacts facts;
    read(row, facts);
    add(row, facts);
  }
  // Numbers in the order of the steps.
  std::vector<std::int32_t> places(steps_.size());
  for (const auto& [step, number] : steps_) {
    places[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(timeline_.steps_.size());
    timeline_.steps_.push_back(step);
  }
  for (std::int32_t& number : timeline_.step_numbers_)
    if (number >= 0) number = places[static_cast<std::size_t>(number)];
}

}  // namespace nadi::inline traces
