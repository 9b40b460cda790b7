#include "nadi/sim/simulated_traces.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/check/group_members.h"
#include "nadi/sim/replay_classes.h"
#include "nadi/sim/replay_core.h"
#include "nadi/sim/replay_deadlock.h"
#include "nadi/sim/replay_events.h"
#include "nadi/sim/replay_flow.h"
#include "nadi/sim/replay_network.h"
#include "nadi/sim/replay_placement.h"
#include "nadi/trace/rank_files.h"

namespace nadi::inline predict {
namespace {

class TraceSimulation {
 public:
  TraceSimulation(const TraceSet& set, const Cluster& cluster, const SimulationOptions& options,
                  const TraceSimulationOptions& trace_options)
      : set_(set),
        cluster_(cluster),
        options_(options),
        trace_options_(trace_options),
        scaling_(scaling_of(set, trace_options)),
        members_(find_members()),
        placement_(placement_of(world_, cluster, options)),
        factors_(slow_factors(world_, options)),
        network_(cluster, {.algorithm = options.collective, .faults = options.faults}, placement_,
                 options.links) {}

  SimulationResult run() {
    for (const TraceSet::RankTrace& trace : set_.traces()) {
      job_.programs.push_back(trace.replay.replay);
      if (cluster_.astra) communicate_one_at_a_time(job_.programs.back());
    }
    job_.sends_at_once = cluster_.astra.has_value();
    bind();
    network_.settle();
    time_requests();
    expect_sums_to_fit();
    const bool flow = options_.network == NetworkDetail::kFlow && !any_recorded_;
    const bool symmetric = options_.symmetry && options_.jitter.deviation == 0 && !flow;
    const RankClasses classes = find_classes(ranks_, groups_, job_.programs, symmetric);
    job_.jitter = options_.jitter.deviation;
    job_.seed = options_.jitter.seed;
    add_actors(job_, ranks_, groups_, classes);
    for (ReplayActor& actor : job_.actors) actor.rank = rank_of_[static_cast<std::size_t>(actor.rank)];
    const ReplayOptions replay{.keep_times = options_.keep_times};
    ReplayOutcome outcome = flow                  ? replay_flows(replay)
                            : runs_in_order(job_) ? replay_in_order(job_, replay)
                                                  : replay_events(job_, replay, nullptr);
    if (!outcome.stuck.empty())
      throw deadlock_error(job_, outcome.stuck, [&](std::uint32_t actor, std::uint32_t node) {
        const std::uint32_t program = job_.actors[actor].program;
        return set_.traces()[program].replay.names[job_.programs[program].nodes[node].communication];
      });
    return result_of(classes, outcome);
  }

 private:
  using Members = std::map<std::string, std::vector<std::uint32_t>>;

  bool is_expanded() const { return trace_options_.ranks.has_value(); }

  // Replicas of a recorded run, by its degrees; of one trace without any, each rank runs it.
  static std::optional<TraceScaling> scaling_of(const TraceSet& set, const TraceSimulationOptions& options) {
    if (!options.ranks) return std::nullopt;
    const std::optional<TraceDegrees> degrees = options.degrees ? options.degrees : set.degrees();
    if (degrees && degrees->ranks() > 1) return TraceScaling(set, *degrees, *options.ranks);
    if (set.traces().size() < 2) return std::nullopt;
    const std::size_t recorded = set.traces().size();
    throw usage_error(
        format("the traces of {} ranks do not say how their run was split; how it runs on {} "
               "ranks depends on the degrees",
               recorded, *options.ranks),
        format("--degrees dp={0} where each rank is a replica, --degrees tp={0} where all share "
               "each layer, or both and pp",
               recorded));
  }

  // The group of a collective's role, by what runs the trace.
  std::string group_name(std::uint32_t i, std::uint32_t role) const {
    if (scaling_) return scaling_->group_of(rank_of_[i], role).name;
    return set_.traces()[trace_of_[i]].replay.roles[role].group;
  }
  std::int64_t peer_of(std::uint32_t i, std::uint32_t role) const {
    if (scaling_) return scaling_->peer_of(rank_of_[i], role);
    return set_.traces()[trace_of_[i]].replay.roles[role].peer;
  }
  Bytes size_of(std::uint32_t i, const ReplayRequest& request) const {
    const bool collective =
        set_.traces()[trace_of_[i]].replay.roles[request.role].kind == ReplayRoleKind::kCollective;
    if (!scaling_ || !collective) return request.size;
    return scaling_->size_of(request.type, request.size, rank_of_[i], request.role);
  }

  // Communication of recorded times has them; else it flows.
  ReplayOutcome replay_flows(const ReplayOptions& replay) const {
    FlowReplay flows(cluster_, {.algorithm = options_.collective, .faults = options_.faults},
                     [&](const ReplayArrival& one) { return flow_of(one); });
    return replay_events(job_, replay, &flows);
  }

  // Without symmetry, actors are what runs a trace. Of a message the sender asks.
  FlowRequest flow_of(const ReplayArrival& arrival) const {
    const std::uint32_t i = arrival.actor;
    const TraceReplay& trace = set_.traces()[trace_of_[i]].replay;
    const ReplayRequest& request =
        trace.replay.requests[trace.replay.communications[arrival.communication].request];
    const TraceRole& role = trace.roles[request.role];
    FlowRequest flow{.type = request.type, .size = size_of(i, request)};
    flow.message = role.kind != ReplayRoleKind::kCollective;
    if (flow.message) {
      const DeviceId own = placement_[static_cast<std::size_t>(rank_of_[i])];
      const DeviceId peer = placement_[static_cast<std::size_t>(peer_of(i, request.role))];
      const bool sends = role.kind == ReplayRoleKind::kSend;
      flow.devices = {sends ? own : peer, sends ? peer : own};
    } else {
      for (const std::uint32_t member : members_.at(group_name(i, request.role)))
        flow.devices.push_back(placement_[member]);
    }
    return flow;
  }

  // By name of the group, its ranks; and which ranks there are.
  Members find_members() {
    const std::size_t traces = set_.traces().size();
    if (traces == 0) throw usage_error("there is no trace to simulate");
    if (is_expanded()) {
      if (*trace_options_.ranks < 1) throw usage_error("a simulation needs at least one rank");
      world_ = *trace_options_.ranks;
      expect_room();
      for (std::int64_t r = 0; r < world_; ++r) {
        rank_of_.push_back(static_cast<std::int32_t>(r));
        trace_of_.push_back(scaling_ ? scaling_->trace_of(r)
                                     : static_cast<std::uint32_t>(r % static_cast<std::int64_t>(traces)));
      }
    } else {
      for (std::size_t t = 0; t < traces; ++t) {
        const std::int64_t rank = set_.traces()[t].rank;
        if (rank < 0) throw input_error({.file = set_.traces()[t].file}, format("rank {} is negative", rank));
        world_ = std::max(world_, rank + 1);
        expect_room();
        rank_of_.push_back(static_cast<std::int32_t>(rank));
        trace_of_.push_back(static_cast<std::uint32_t>(t));
      }
    }
    Members members;
    if (scaling_) {
      for (std::uint32_t i = 0; i < rank_of_.size(); ++i)
        for (std::uint32_t role = 0; role < set_.traces()[trace_of_[i]].replay.roles.size(); ++role)
          if (set_.traces()[trace_of_[i]].replay.roles[role].kind == ReplayRoleKind::kCollective) {
            TraceScaling::Group group = scaling_->group_of(rank_of_[i], role);
            members.try_emplace(std::move(group.name), std::move(group.members));
          }
      return members;
    }
    for (std::size_t i = 0; i < rank_of_.size(); ++i)
      for (const TraceRole& role : set_.traces()[trace_of_[i]].replay.roles) {
        if (role.kind != ReplayRoleKind::kCollective) continue;
        std::vector<std::uint32_t>& list = members[role.group];
        if (is_expanded() || is_group_of_all(role.group)) {
          list.push_back(static_cast<std::uint32_t>(rank_of_[i]));
          continue;
        }
        const auto said = set_.groups().find(role.group);
        if (said == set_.groups().end()) {
          list.push_back(static_cast<std::uint32_t>(rank_of_[i]));
        } else if (list.empty()) {
          for (const std::int64_t member : said->second) list.push_back(static_cast<std::uint32_t>(member));
        }
      }
    // Where nodes say how many they are and fewer have traces, the others are the ranks that follow.
    if (!is_expanded())
      for (const TraceSet::RankTrace& trace : set_.traces())
        for (const TraceRole& role : trace.replay.roles)
          if (role.kind == ReplayRoleKind::kCollective && role.members)
            fill_up(members[role.group], *role.members);
    for (auto& [name, list] : members)
      for (const std::uint32_t member : list) world_ = std::max(world_, std::int64_t{member} + 1);
    expect_room();
    return members;
  }

  void fill_up(std::vector<std::uint32_t>& list, std::int64_t count) const {
    if (count > cluster_.device_count()) count = cluster_.device_count();
    for (std::uint32_t next = 0; static_cast<std::int64_t>(list.size()) < count; ++next)
      if (std::ranges::find(list, next) == list.end()) list.push_back(next);
  }

  void expect_room() const {
    if (world_ > cluster_.device_count())
      throw Error{ErrorKind::kInfeasible,
                  {},
                  format("the traces are of {} ranks; cluster '{}' has {} devices", world_, cluster_.name,
                         cluster_.device_count())};
  }

  void bind() {
    std::map<std::int32_t, std::uint32_t> instance_of;  // by rank
    for (std::uint32_t i = 0; i < rank_of_.size(); ++i) instance_of.emplace(rank_of_[i], i);
    std::map<std::string, std::uint32_t> group_numbers;
    make_lone_roles(instance_of);
    for (std::uint32_t i = 0; i < rank_of_.size(); ++i) {
      const std::uint32_t t = trace_of_[i];
      const TraceReplay& trace = set_.traces()[t].replay;
      const auto rank_number = static_cast<std::uint32_t>(rank_of_[i]);
      const std::uint32_t kind = kind_of(rank_number);
      ReplayRank rank{
          .program = t, .durations = durations_of(t, kind, factors_[rank_number]), .device_kind = kind};
      const Fabric& fabric = cluster_.node(network_.node_of(rank_number)).inside;
      rank.compute_share = fabric.compute_share;
      rank.busy_slowdown = fabric.busy_slowdown;
      if (!fabric.measured.skew.empty()) rank.skew = &fabric.measured;
      std::vector<std::uint32_t>& links = links_.emplace_back();
      for (std::uint32_t role = 0; role < trace.roles.size(); ++role) {
        const TraceRole& said = trace.roles[role];
        if (said.kind == ReplayRoleKind::kCollective) {
          const std::string name = group_name(i, role);
          const auto [entry, fresh] =
              group_numbers.try_emplace(name, static_cast<std::uint32_t>(groups_.size()));
          if (fresh) add_group(members_.at(name), instance_of);
          rank.partners.push_back(entry->second);
          links.push_back(network_groups_[entry->second]);
          continue;
        }
        const auto peer = static_cast<std::uint32_t>(peer_of(i, role));
        const bool sends = said.kind == ReplayRoleKind::kSend;
        links.push_back(network_.add_message(sends ? rank_number : peer, sends ? peer : rank_number));
        if (job_.programs[t].roles[role] != ReplayRoleKind::kCollective) {
          rank.partners.push_back(instance_of.at(static_cast<std::int32_t>(peer)));
          continue;
        }
        rank.partners.push_back(static_cast<std::uint32_t>(groups_.size()));
        groups_.push_back({.tag = static_cast<std::uint32_t>(groups_.size()), .members = {i}});
        network_groups_.push_back(0);
      }
      ranks_.push_back(std::move(rank));
    }
  }

  // Messages whose other end has no trace meet nobody: as a group of one.
  void make_lone_roles(const std::map<std::int32_t, std::uint32_t>& instance_of) {
    for (std::uint32_t t = 0; t < set_.traces().size(); ++t) {
      const TraceSet::RankTrace& trace = set_.traces()[t];
      for (std::uint32_t role = 0; role < trace.replay.roles.size(); ++role) {
        const TraceRole& said = trace.replay.roles[role];
        if (said.kind == ReplayRoleKind::kCollective || scaling_) continue;
        if (is_expanded())
          throw usage_error(
              format("{} has messages between ranks; only traces with nothing but collectives can "
                     "be run by another number of ranks",
                     trace.file.empty() ? "the trace" : trace.file));
        if (said.peer < 0 || said.peer >= world_)
          throw input_error({.file = trace.file},
                            format("a message of rank {} is to or from rank {}; there are {}", trace.rank,
                                   said.peer, world_));
        if (!instance_of.contains(static_cast<std::int32_t>(said.peer))) make_lone(job_.programs[t], role);
      }
    }
  }

  static void make_lone(ReplayProgram& program, std::uint32_t role) {
    program.roles[role] = ReplayRoleKind::kCollective;
    std::uint32_t sequence = 0;
    for (ReplayCommunication& one : program.communications)
      if (one.role == role) one.sequence = sequence++;
  }

  void add_group(const std::vector<std::uint32_t>& members,
                 const std::map<std::int32_t, std::uint32_t>& instance_of) {
    ReplayGroup group{.tag = static_cast<std::uint32_t>(groups_.size())};
    for (const std::uint32_t member : members)
      if (const auto found = instance_of.find(static_cast<std::int32_t>(member)); found != instance_of.end())
        group.members.push_back(found->second);
    network_groups_.push_back(network_.add_group(static_cast<std::uint32_t>(members.size()), members));
    groups_.push_back(std::move(group));
  }

  std::uint32_t kind_of(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(cluster_.node(network_.node_of(rank)).device);
  }

  const DeviceModel& model_of(std::uint32_t kind) {
    return models_.try_emplace(kind, cluster_.devices[kind]).first->second;
  }

  std::uint32_t durations_of(std::uint32_t t, std::uint32_t kind, double factor) {
    const auto [entry, fresh] = timed_.try_emplace({t, kind, factor});
    if (!fresh) return entry->second.first;
    const TraceReplay& trace = set_.traces()[t].replay;
    TimeSourceCounts& sources = entry->second.second;
    ReplayDurations durations;
    std::vector<std::optional<OpTime>> times(trace.works.size());
    // Where the trace has a host of its own, launching is in it.
    bool launches = false;
    const auto time_of = [&](std::int32_t work) -> const OpTime& {
      std::optional<OpTime>& time = times[static_cast<std::size_t>(work)];
      if (!time) time = model_of(kind).time_of(trace.works[static_cast<std::size_t>(work)]);
      return *time;
    };
    for (const TraceOp& op : trace.ops) {
      Nanoseconds time = op.recorded, issue = {};
      if (op.counts) {
        const bool recorded = trace.has_times && trace_options_.durations == TraceDurations::kRecorded;
        if (recorded) {
          ++sources.recorded;
        } else if (op.work >= 0) {
          const OpTime modelled = time_of(op.work);
          time = modelled.time;
          issue = modelled.issue;
          ++(modelled.source == TimeSource::kModel      ? sources.model
             : modelled.source == TimeSource::kMeasured ? sources.measured
                                                        : sources.interpolated);
        } else if (trace.has_times) {
          time = scaled(op.recorded, kind);
          ++(trace_options_.recorded_on != nullptr ? sources.scaled : sources.recorded);
        } else {
          ++sources.unknown;
        }
        if (factor != 1) time = from_seconds(to_seconds(time) * factor);
      }
      durations.ops.push_back(time);
      durations.issues.push_back(issue);
      launches |= issue > Nanoseconds{};
    }
    if (!launches || !trace.replay.in_order) durations.issues.clear();
    durations.communication_issue = model_of(kind).communication_issue();
    entry->second.first = static_cast<std::uint32_t>(job_.durations.size());
    job_.durations.push_back(std::move(durations));
    return entry->second.first;
  }

  // Ops of unknown work are taken to be bound by memory.
  Nanoseconds scaled(Nanoseconds recorded, std::uint32_t kind) const {
    if (trace_options_.recorded_on == nullptr) return recorded;
    const double ratio = trace_options_.recorded_on->memory_bandwidth.per_second() /
                         cluster_.devices[kind].memory_bandwidth.per_second();
    return from_seconds(to_seconds(recorded) * ratio);
  }

  void time_requests() {
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      const TraceReplay& trace = set_.traces()[trace_of_[i]].replay;
      const bool recorded =
          trace.has_times && trace_options_.durations == TraceDurations::kRecorded && !is_expanded();
      for (std::size_t q = 0; q < trace.replay.requests.size(); ++q) {
        const ReplayRequest& request = trace.replay.requests[q];
        Nanoseconds time = trace.recorded_requests[q];
        if (!(recorded && time > Nanoseconds{}) && trace.sized[q] != 0)
          time = trace.roles[request.role].kind == ReplayRoleKind::kCollective
                     ? network_.collective(links_[i][request.role], request.type, size_of(i, request))
                     : network_.message(links_[i][request.role], request.size);
        ranks_[i].request_times.push_back(time);
        any_recorded_ |= recorded;
      }
    }
    // Recorded times of a collective hold the waiting for its partners: that of the last comer does not.
    job_.shortest = any_recorded_;
  }

  // Then no sum along any path overflows.
  void expect_sums_to_fit() const {
    Nanoseconds sum;
    for (const ReplayRank& rank : ranks_) {
      for (const Nanoseconds time : job_.durations[rank.durations].ops) sum += time * kJitterRoom;
      for (const Nanoseconds time : job_.durations[rank.durations].issues) sum += time;
      for (const Nanoseconds time : rank.request_times) sum += time * kJitterRoom;
    }
  }

  SimulationResult result_of(const RankClasses& classes, ReplayOutcome& outcome) {
    SimulationResult result{.iteration_time = outcome.end,
                            .ranks = static_cast<std::int64_t>(rank_of_.size())};
    result.classes.resize(classes.first.size());
    for (std::uint32_t i = 0; i < ranks_.size(); ++i)
      result.classes[classes.class_of[i]].ranks.push_back(Rank{rank_of_[i]});
    for (std::uint32_t c = 0; c < classes.first.size(); ++c) {
      const std::uint32_t i = classes.first[c];
      const std::uint32_t t = trace_of_[i];
      const TraceReplay& trace = set_.traces()[t].replay;
      ActorOutcome& actor = outcome.actors[c];
      SimulatedClass& one = result.classes[c];
      const auto ranks = static_cast<std::int64_t>(one.ranks.size());
      one.source = static_cast<std::int32_t>(t);
      one.device = network_.device_of(static_cast<std::uint32_t>(rank_of_[i]));
      one.end = actor.end;
      one.breakdown.compute = actor.compute;
      one.breakdown.host = actor.host;
      one.breakdown.bubble = actor.bubble;
      one.breakdown.communication = trace.shares;
      for (std::size_t s = 0; s < actor.shares.size(); ++s) {
        one.breakdown.communication[s].busy = actor.shares[s].busy;
        one.breakdown.communication[s].exposed = actor.shares[s].exposed;
      }
      one.memory.capacity = cluster_.devices[ranks_[i].device_kind].memory;
      one.nodes.resize(actor.nodes.size());
      for (std::size_t n = 0; n < actor.nodes.size(); ++n) one.nodes[trace.rows[n]] = actor.nodes[n];
      result.nodes += static_cast<std::int64_t>(trace.replay.nodes.size()) * ranks;
      result.simulated_nodes += static_cast<std::int64_t>(trace.replay.nodes.size());
      const TimeSourceCounts& sources =
          timed_.at({t, ranks_[i].device_kind, factors_[static_cast<std::size_t>(rank_of_[i])]}).second;
      result.sources.model += sources.model * ranks;
      result.sources.measured += sources.measured * ranks;
      result.sources.interpolated += sources.interpolated * ranks;
      result.sources.recorded += sources.recorded * ranks;
      result.sources.scaled += sources.scaled * ranks;
      result.sources.unknown += sources.unknown * ranks;
    }
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) count_traffic(i);
    result.traffic = network_.traffic();
    result.links = network_.links();
    return result;
  }

  void count_traffic(std::uint32_t i) {
    const TraceReplay& trace = set_.traces()[trace_of_[i]].replay;
    for (std::size_t q = 0; q < trace.replay.requests.size(); ++q) {
      const ReplayRequest& request = trace.replay.requests[q];
      const ReplayRoleKind kind = trace.roles[request.role].kind;
      if (kind == ReplayRoleKind::kCollective) {
        if (groups_[ranks_[i].partners[request.role]].members.front() == i)
          network_.count_collective(links_[i][request.role], request.type, size_of(i, request), 1);
      } else if (kind == ReplayRoleKind::kSend) {
        network_.count_message(links_[i][request.role], request.size, 1);
      }
    }
  }

  static constexpr std::int64_t kJitterRoom = 8;  // more than a jittered op can grow

  const TraceSet& set_;
  const Cluster& cluster_;
  const SimulationOptions& options_;
  const TraceSimulationOptions& trace_options_;
  const std::optional<TraceScaling> scaling_;
  std::int64_t world_ = 0;
  std::vector<std::int32_t> rank_of_;    // of what runs a trace
  std::vector<std::uint32_t> trace_of_;  // and which
  Members members_;
  std::vector<DeviceId> placement_;
  std::vector<double> factors_;  // by rank
  ReplayNetwork network_;
  ReplayJob job_;
  std::vector<ReplayRank> ranks_;
  std::vector<ReplayGroup> groups_;
  std::vector<std::uint32_t> network_groups_;  // by group: its number in the network
  std::vector<std::vector<std::uint32_t>>
      links_;  // by what runs a trace and role: group or message in the network
  std::map<std::uint32_t, DeviceModel> models_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, double>, std::pair<std::uint32_t, TimeSourceCounts>>
      timed_;
  bool any_recorded_ = false;
};

}  // namespace

std::string_view to_string(TraceDurations durations) {
  switch (durations) {
    case TraceDurations::kRecorded:
      return "recorded";
    case TraceDurations::kModel:
      return "model";
  }
  unreachable();
}

void TraceSet::add(const Trace& trace, std::int64_t rank, std::string file) {
  const auto place = std::ranges::lower_bound(traces_, rank, {}, &RankTrace::rank);
  if (place != traces_.end() && place->rank == rank)
    throw usage_error(format("there are two traces of rank {}", rank));
  TraceOrigin origin;
  origin.file = file;
  TraceReplay replay = flatten_trace(trace, origin);
  traces_.insert(place, {.rank = rank, .file = std::move(file), .replay = std::move(replay)});
}

void TraceSet::set_degrees(const std::optional<TraceDegrees>& degrees) {
  if (degrees) degrees_ = degrees;
}

void TraceSet::add_group(std::string name, std::vector<std::int64_t> members) {
  groups_.insert_or_assign(std::move(name), std::move(members));
}

// As plan_metadata() and step_metadata() write them.
std::optional<TraceDegrees> degrees_of(const GlobalMetadata& metadata) {
  TraceDegrees degrees;
  const std::array<std::pair<std::string_view, std::int64_t*>, 4> keys = {
      {{"tp", &degrees.tp}, {"cp", &degrees.cp}, {"dp", &degrees.dp}, {"pp", &degrees.pp}}};
  for (const auto& [key, value] : keys) {
    const TraceAttribute* said = metadata.attributes.find(key);
    if (said == nullptr) {
      if (key == "cp") continue;
      return std::nullopt;
    }
    const std::string_view text = said->text;
    if (!read_number(text, *value) || *value < 1) return std::nullopt;
  }
  return degrees;
}

bool TraceSet::has_times() const {
  return std::ranges::all_of(traces_, [](const RankTrace& trace) { return trace.replay.has_times; });
}

TraceSet read_trace_set(const std::vector<std::filesystem::path>& files, const RunReadingOptions& options) {
  TraceSet set;
  read_run(files, options, [&](const ReadRank& read) {
    set.add(read.trace, read.rank, read.file);
    set.set_degrees(degrees_of(read.trace.metadata));
  });
  for (const std::filesystem::path& file : files) {
    const std::filesystem::path groups = parse_rank_file_name(file).groups_file;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(groups, ignored)) continue;
    for (auto& [name, members] : read_group_members(groups)) set.add_group(name, members);
    break;
  }
  return set;
}

SimulationResult simulate_traces(const TraceSet& set, const Cluster& cluster,
                                 const SimulationOptions& options,
                                 const TraceSimulationOptions& trace_options) {
  return TraceSimulation(set, cluster, options, trace_options).run();
}

}  // namespace nadi::inline predict
