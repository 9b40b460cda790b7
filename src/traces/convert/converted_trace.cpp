#include "nadi/convert/converted_trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_number.h"
#include "nadi/convert/device_contention.h"
#include "nadi/convert/device_streams.h"
#include "nadi/convert/event_lanes.h"
#include "nadi/convert/event_roles.h"
#include "nadi/convert/graph_captures.h"
#include "nadi/convert/host_order.h"
#include "nadi/convert/host_threads.h"
#include "nadi/convert/node_order.h"
#include "nadi/convert/stream_beginnings.h"
#include "nadi/convert/synchronisation.h"
#include "nadi/convert/thread_waits.h"

namespace nadi::inline traces {

namespace {

// Rows of a category by an id of theirs.
template <typename Wanted>
IdTable table_of(const std::vector<std::uint64_t>& ids, const Wanted& is_wanted, bool fill) {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  std::size_t count = 0;
  for (std::uint32_t row = 0; row < ids.size(); ++row) {
    if (ids[row] == 0 || !is_wanted(row)) continue;
    least = std::min(least, ids[row]);
    most = std::max(most, ids[row]);
    ++count;
  }
  IdTable table(least, most, count);
  if (!fill) return table;
  for (std::uint32_t row = 0; row < ids.size(); ++row)
    if (ids[row] != 0 && is_wanted(row)) table.set(ids[row], row);
  table.finish();
  return table;
}

bool is_call(KinetoCategory category) {
  return category == KinetoCategory::kRuntime || category == KinetoCategory::kDriver;
}

// Runs that Nadi recorded: no device, and ops that name themselves.
bool is_own(const KinetoTrace& kineto) {
  bool has_op = false;
  for (std::size_t row = 0; row < kineto.events.size(); ++row) {
    if (is_device_work(kineto.category[row])) return false;
    if (kineto.category[row] != KinetoCategory::kCpuOp || has_op) continue;
    if (!kineto.events.find_attribute(row, "op")) return false;
    has_op = true;
  }
  return has_op;
}

// Which events become nodes, or give nodes their layers.
class Selection {
 public:
  Selection(const KinetoTrace& kineto, const std::optional<std::int64_t>& process, bool own,
            ConversionReport& report)
      : kineto_(kineto), process_(process), own_(own) {
    if (process) find_launches(*process);
    wanted.resize(kineto.events.size());
    for (std::uint32_t row = 0; row < kineto.events.size(); ++row) {
      if (!is_of_process(row)) continue;
      wanted[row] = is_wanted(row);
      const bool becomes_node = wanted[row] && kineto.category[row] != KinetoCategory::kPythonFunction;
      if (!becomes_node) {
        ++report.dropped[static_cast<std::size_t>(kineto.category[row])];
        if (kineto.category[row] == KinetoCategory::kOther) ++report.unknown_categories[named_category(row)];
        continue;
      }
      device_work = device_work || is_device_work(kineto.category[row]);
      const Nanoseconds start = kineto.events.start(row);
      first = is_empty_ ? start : std::min(first, start);
      const Nanoseconds end = start + kineto.events.duration(row);
      last = is_empty_ ? end : std::max(last, end);
      is_empty_ = false;
    }
  }

  std::vector<bool> wanted;  // by row
  bool device_work = false;
  Nanoseconds first;
  Nanoseconds last;

 private:
  // As the file spells it: only what Kineto does not write for GPUs is kept.
  std::string named_category(std::uint32_t row) const {
    const auto text = kineto_.events.find_attribute(row, "cat");
    return std::string(text ? text->string().value_or("") : "");
  }

  void find_launches(std::int64_t process) {
    calls_ = table_of(
        kineto_.correlation,
        [&](std::uint32_t row) {
          return is_call(kineto_.category[row]) && kineto_.lanes[kineto_.lane[row]].process == process;
        },
        /*fill=*/true);
    all_calls_ = table_of(
        kineto_.correlation, [&](std::uint32_t row) { return is_call(kineto_.category[row]); },
        /*fill=*/true);
    std::set<std::int64_t> of_others;
    for (std::uint32_t row = 0; row < kineto_.events.size(); ++row) {
      const KinetoLane& lane = kineto_.lanes[kineto_.lane[row]];
      if (!lane.device || all_calls_.find(kineto_.correlation[row]) == IdTable::kNone) continue;
      const bool own = calls_.find(kineto_.correlation[row]) != IdTable::kNone;
      (own ? devices_ : of_others).insert(lane.process);
    }
    for (const std::int64_t device : of_others) devices_.erase(device);
  }

  // Work that was launched before the profile began is of the process that launched all other work of its
  // device.
  bool is_of_process(std::uint32_t row) const {
    if (!process_) return true;
    const KinetoLane& lane = kineto_.lanes[kineto_.lane[row]];
    if (!lane.device) return lane.process == *process_;
    const std::uint64_t correlation = kineto_.correlation[row];
    if (all_calls_.find(correlation) == IdTable::kNone) return devices_.contains(lane.process);
    return calls_.find(correlation) != IdTable::kNone;
  }

  bool is_wanted(std::uint32_t row) const {
    switch (kineto_.category[row]) {
      case KinetoCategory::kCpuOp:
        return true;
      case KinetoCategory::kUserAnnotation:
        return !own_;
      case KinetoCategory::kRuntime:
      case KinetoCategory::kDriver:
      case KinetoCategory::kKernel:
      case KinetoCategory::kMemcpy:
      case KinetoCategory::kMemset:
        return true;
      case KinetoCategory::kPythonFunction:
        return event_role(kineto_.events.name(row)) == EventRole::kModule;
      case KinetoCategory::kGpuAnnotation:
      case KinetoCategory::kSync:
      case KinetoCategory::kOverhead:
      case KinetoCategory::kSpan:
      case KinetoCategory::kOther:
        return false;
    }
    unreachable();
  }

  const KinetoTrace& kineto_;
  const std::optional<std::int64_t> process_;
  const bool own_;
  IdTable calls_;                   // of the process, by correlation
  IdTable all_calls_;               // of all processes
  std::set<std::int64_t> devices_;  // on which only the process launched work
  bool is_empty_ = true;
};

// The first device that the profile lists: "NVIDIA H100 80GB HBM3"; "" where it lists none.
std::string device_name(const KinetoTrace& kineto) {
  const auto member =
      std::ranges::find(kineto.members, "deviceProperties", &std::pair<std::string, std::string>::first);
  if (member == kineto.members.end()) return "";
  const Json devices = Json::parse(member->second, nullptr, /*allow_exceptions=*/false);
  if (!devices.is_array() || devices.empty() || !devices[0].is_object()) return "";
  const auto name = devices[0].find("name");
  return name != devices[0].end() && name->is_string() ? name->get<std::string>() : "";
}

// "nadi rank 3": how Nadi names the processes of its runs.
std::optional<std::int64_t> rank_in_name(std::string_view name) {
  constexpr std::string_view kBegin = "nadi rank ";
  if (!name.starts_with(kBegin)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  std::int64_t rank = 0;
  if (!read_number(name, rank) || rank < 0) return std::nullopt;
  return rank;
}

}  // namespace

ConvertedTrace::ConvertedTrace(ConversionSource source, GroupNumbers& groups,
                               const ConversionOptions& options)
    : source_(std::move(source)),
      options_(options),
      kineto_(has_profile() ? source_.kineto.get() : &no_profile_) {
  check(has_profile() || source_.host != nullptr, "a conversion needs a profile or a host's trace");
  link(groups);
  count();
  if (!options.num_ops || host_is_device_) return;
  kernel_work_ = KernelWork({.graph = graph_,
                             .kineto = *kineto_,
                             .host = source_.host.get(),
                             .match = match_,
                             .communicates = communicates_});
  report_.with_work = kernel_work_.known();
  report_.without_work = kernel_work_.unknown();
}

void ConvertedTrace::link(GroupNumbers& groups) {
  const KinetoTrace& kineto = *kineto_;
  host_is_device_ = is_own(kineto) && source_.host == nullptr;
  const Selection selection(kineto, source_.process, host_is_device_, report_);
  if (selection.first.count() < 0)
    throw input_error(
        {.file = kineto.file},
        format("an event starts {} ns before time 0, which traces cannot say", -selection.first.count()));
  report_.span = selection.last - selection.first;
  const EventRoles roles(kineto.events);
  const EventLanes lanes(kineto, selection.wanted);
  find_steps(roles);
  const LinkSource link_source{.kineto = kineto,
                               .roles = roles,
                               .lanes = lanes,
                               .first = selection.first,
                               .moved_time = options_.moved_time.value_or(
                                   std::min(kMostMovedTime, Nanoseconds{report_.span.count() / kMovedShare})),
                               .device_work = selection.device_work,
                               .host_is_device = host_is_device_};

  const auto is_launch = [&](std::uint32_t row) {
    return selection.wanted[row] && is_call(kineto.category[row]);
  };
  IdTable launches = table_of(kineto.correlation, is_launch, /*fill=*/false);
  HostThreads threads = link_host_threads(link_source, graph_, launches, report_);
  launches.finish();
  link_thread_waits(link_source, graph_, report_);
  link_device_streams(link_source, launches, GraphCaptures(link_source, graph_), graph_, report_);
  const IdTable recorded_syncs = table_of(
      kineto.correlation, [&](std::uint32_t row) { return kineto.category[row] == KinetoCategory::kSync; },
      /*fill=*/true);
  link_synchronisation(link_source, threads.syncs, recorded_syncs, launches, graph_, report_);
  link_device_contention(link_source, graph_, report_);
  link_stream_beginnings(link_source, graph_, report_);
  if (source_.host != nullptr) {
    match_ = HostMatch(kineto, *source_.host);
    match_.link(graph_, report_);
    if (!has_profile()) link_host_order(*source_.host, graph_);
    for (std::size_t row = 0; row < source_.host->nodes.size(); ++row)
      first_id_ = std::max(first_id_, to_number(source_.host->nodes.id(row)));
    if (first_id_ > std::numeric_limits<std::uint64_t>::max() - graph_.size() - 1)
      throw input_error({.file = source_.host->file},
                        format("node {} leaves no room for the ids of kernels", first_id_));
    ++first_id_;
  }
  const CommunicationSource communication_source{
      .link = link_source,
      .host = source_.host.get(),
      .host_row = [this](std::uint32_t row) { return match_.row_of(row); },
      .rank = source_.rank};
  communication_ = find_communication(communication_source, threads.communication, graph_, groups, report_);
  communicates_.resize(graph_.size());
  for (const CommunicationNode& communication : communication_) communicates_[communication.node] = true;
  layers_ = std::move(threads.layers);
  graph_.sort_waits();
  order_ = order_nodes(kineto, source_.host.get(), graph_, report_);
  positions_.resize(order_.size());
  for (std::uint32_t row = 0; row < order_.size(); ++row) positions_[order_[row]] = row;
}

void ConvertedTrace::find_steps(const EventRoles& roles) {
  for (std::size_t row = 0; row < kineto_->events.size(); ++row) {
    if (kineto_->category[row] != KinetoCategory::kUserAnnotation || roles.of(row) != EventRole::kStep)
      continue;
    if (source_.process && kineto_->lanes[kineto_->lane[row]].process != *source_.process) continue;
    const Nanoseconds start = kineto_->events.start(row);
    const std::int64_t number = step_of(kineto_->events.name(row));
    if (number >= 0)
      steps_.push_back({.start = start, .end = start + kineto_->events.duration(row), .number = number});
  }
  std::ranges::stable_sort(steps_, {}, &Step::start);
}

void ConvertedTrace::count() {
  report_.nodes = order_.size();
  if (const auto cat = kineto_->events.text_number("cat")) {
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.kind[node] != LinkedKind::kDevice) continue;
      const auto text = kineto_->events.find_attribute(graph_.row[node], *cat);
      const std::string name(text ? text->string().value_or("") : "");
      // "Kernel" of 2021 and the like are GPUs' categories, spelt differently.
      if (!name.empty() && kineto_category(name) != KinetoCategory::kOther &&
          device_of_category(name).empty())
        continue;
      if (!name.empty()) ++report_.device_categories[name];
    }
  }
  for (std::uint32_t node = 0; node < graph_.size(); ++node) {
    const std::uint32_t launch = graph_.launch[node];
    const std::uint32_t before = graph_.before[node];
    report_.control_edges += graph_.parent[node] != kNoNode;
    report_.data_edges += launch != kNoNode;
    report_.data_edges += before != kNoNode && before != launch;
    for (const LinkedWait& wait : std::as_const(graph_).waits_of(node))
      report_.data_edges += wait.awaited != launch && wait.awaited != before;
  }
}

GlobalMetadata ConvertedTrace::metadata() const {
  GlobalMetadata metadata;
  metadata.attributes.add_text("source", source_.host == nullptr ? "kineto"
                                         : has_profile()         ? "pytorch and kineto"
                                                                 : "pytorch");
  if (source_.host != nullptr) metadata.attributes.add_text("pytorch_schema", source_.host->schema);
  if (has_profile()) metadata.attributes.add_int64("base_time_ns", kineto_->base_time.count());
  if (kineto_->world_size) metadata.attributes.add_int64("world_size", *kineto_->world_size);
  // What inclusive_ns would tell of each of them (nadi check asks for it).
  if (options_.simulate_only && has_profile() && !host_is_device_)
    metadata.attributes.add_text("host_durations", "exclusive");
  metadata.attributes.add_int64("rank", source_.rank);
  for (const auto& [category, count] : report_.device_categories)
    if (const std::string_view kind = device_of_category(category);
        !kind.empty() && metadata.attributes.find("device_kind") == nullptr)
      metadata.attributes.add_text("device_kind", kind);
  if (const std::string name = device_name(*kineto_); !name.empty())
    metadata.attributes.add_text("device_name", name);
  add_process(metadata);
  return metadata;
}

Trace to_trace(const ConvertedTrace& converted) {
  Trace trace;
  trace.metadata = converted.metadata();
  trace.reserve(converted.size());
  TraceNode node;
  for (std::size_t row = 0; row < converted.size(); ++row) {
    converted.get(row, node);
    trace.add(node);
  }
  return trace;
}

// What the host's process and its threads are called, for timelines.
void ConvertedTrace::add_process(GlobalMetadata& metadata) const {
  const KinetoLane* process = nullptr;
  Json threads = Json::object();
  for (const KinetoLane& lane : kineto_->lanes) {
    // Kineto's own window has a text in the place of a process.
    if (lane.device || lane.process < 0 || (source_.process && lane.process != *source_.process)) continue;
    if (process == nullptr) process = &lane;
    if (lane.process == process->process && !lane.name.empty())
      threads[format("{}", lane.thread)] = lane.name;
  }
  if (process == nullptr || process->process == 0) return;
  metadata.attributes.add_int64("process", process->process);
  if (!process->process_name.empty()) metadata.attributes.add_text("process_name", process->process_name);
  if (!threads.empty())
    metadata.attributes.add_text("thread_names", threads.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::vector<ProfiledRank> profiled_ranks(const KinetoTrace& kineto) {
  std::set<std::int64_t> processes;
  std::map<std::int64_t, std::int64_t> named;  // ranks by process
  for (std::size_t row = 0; row < kineto.events.size(); ++row) {
    if (kineto.category[row] != KinetoCategory::kCpuOp) continue;
    const KinetoLane& lane = kineto.lanes[kineto.lane[row]];
    if (!processes.insert(lane.process).second) continue;
    if (const auto rank = rank_in_name(lane.process_name)) named.emplace(lane.process, *rank);
  }
  if (processes.size() < 2) return {{.rank = kineto.rank}};
  std::vector<ProfiledRank> ranks;
  std::set<std::int64_t> distinct;
  for (const auto& [process, rank] : named) distinct.insert(rank);
  if (distinct.size() == processes.size()) {
    for (const auto& [process, rank] : named) ranks.push_back({.rank = rank, .process = process});
    std::ranges::sort(ranks, {}, [](const ProfiledRank& one) { return *one.rank; });
    return ranks;
  }
  const std::int64_t world = kineto.world_size.value_or(static_cast<std::int64_t>(processes.size()));
  const bool numbered = *processes.begin() >= 0 && *processes.rbegin() < world;
  for (const std::int64_t process : processes)
    ranks.push_back({.rank = numbered ? std::optional(process) : std::nullopt, .process = process});
  return ranks;
}

}  // namespace nadi::inline traces
