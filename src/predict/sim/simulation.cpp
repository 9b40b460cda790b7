// Programs of a plan as a job: each stage is flattened once, each op timed once per kind of device, each
// communication once per group; then ranks become classes, and the replay runs one of each.
#include "nadi/sim/simulation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/parallel/step_walk.h"
#include "nadi/sim/op_work.h"
#include "nadi/sim/replay_classes.h"
#include "nadi/sim/replay_core.h"
#include "nadi/sim/replay_deadlock.h"
#include "nadi/sim/replay_events.h"
#include "nadi/sim/replay_flow.h"
#include "nadi/sim/replay_memory.h"
#include "nadi/sim/replay_network.h"
#include "nadi/sim/replay_placement.h"
#include "nadi/sim/replay_program.h"
#include "nadi/sim/shared_node.h"

namespace nadi::inline predict {
namespace {

class StepSimulation {
 public:
  StepSimulation(const StagePrograms& programs, const Cluster& cluster, const SimulationOptions& options)
      : programs_(programs),
        plan_(programs.plan()),
        cluster_(cluster),
        options_(options),
        placement_(placement_of(plan_.world_size(), cluster, options)),
        factor_of_(slow_factors(plan_.world_size(), options)),
        network_(cluster, {.algorithm = options.collective, .faults = options.faults}, placement_,
                 options.links) {
    find_kinds();
  }

  SimulationResult run() {
    bind_ranks();
    time_requests();
    // Flows of all ranks share links: one cannot stand for others.
    const bool flow = options_.network == NetworkDetail::kFlow;
    const bool symmetric = options_.symmetry && options_.jitter.deviation == 0 && !flow;
    const RankClasses classes = find_classes(ranks_, network_.groups(), job_.programs, symmetric);
    job_.jitter = options_.jitter.deviation;
    job_.seed = options_.jitter.seed;
    add_actors(job_, ranks_, network_.groups(), classes);
    const ReplayOptions replay{.keep_times = options_.keep_times};
    ReplayOutcome outcome = flow                  ? replay_flows(replay)
                            : runs_in_order(job_) ? replay_in_order(job_, replay)
                                                  : replay_events(job_, replay, nullptr);
    if (!outcome.stuck.empty())
      throw deadlock_error(job_, outcome.stuck,
                           [&](std::uint32_t actor, std::uint32_t node) { return name_of(actor, node); });
    return result_of(classes, outcome);
  }

 private:
  struct Flat {
    std::int64_t stage = 0;
    StageReplay replay;
  };
  struct Timed {
    std::uint32_t durations = 0;
    TimeSourceCounts sources;
  };

  void find_kinds() {
    std::vector<std::uint32_t> by_device;
    for (const std::int32_t kind : cluster_.nodes) {
      const NodeSpec& node = cluster_.kinds[static_cast<std::size_t>(kind)];
      by_device.insert(by_device.end(), static_cast<std::size_t>(node.devices),
                       static_cast<std::uint32_t>(node.device));
    }
    for (const DeviceId device : placement_)
      kind_of_.push_back(by_device[static_cast<std::size_t>(to_number(device))]);
  }

  std::uint32_t flat_of(std::int64_t stage) {
    const auto [entry, fresh] = flat_numbers_.try_emplace(stage, static_cast<std::uint32_t>(flats_.size()));
    if (fresh) {
      flats_.push_back({stage, flatten(programs_.of(stage), plan_, options_.overlap, stage)});
      job_.programs.push_back(std::move(flats_.back().replay.replay));
    }
    return entry->second;
  }

  ReplayOutcome replay_flows(const ReplayOptions& replay) const {
    FlowReplay flows(cluster_, {.algorithm = options_.collective, .faults = options_.faults},
                     [&](const ReplayArrival& one) { return flow_of(one); });
    return replay_events(job_, replay, &flows);
  }

  // A message asks its sender.
  FlowRequest flow_of(const ReplayArrival& arrival) const {
    const ReplayActor& actor = job_.actors[arrival.actor];
    const ReplayProgram& program = job_.programs[actor.program];
    const ReplayRequest& request = program.requests[program.communications[arrival.communication].request];
    const auto rank = static_cast<std::uint32_t>(actor.rank);
    const std::uint32_t partner = ranks_[rank].partners[request.role];
    FlowRequest flow{.type = request.type, .size = request.size};
    flow.message = program.roles[request.role] != ReplayRoleKind::kCollective;
    if (flow.message)
      flow.devices = {placement_[rank], placement_[partner]};
    else
      for (const std::uint32_t member : network_.groups()[partner].members)
        flow.devices.push_back(placement_[member]);
    return flow;
  }

  // The op of an actor's node, with its name.
  std::string name_of(std::uint32_t actor, std::uint32_t node) const {
    const Flat& flat = flats_[job_.actors[actor].program];
    const Program& program = programs_.of(flat.stage);
    std::size_t number = flat.replay.graph_ops[node];
    for (const Graph& graph : program.graphs) {
      if (number < graph.ops().size())
        return format("'{}' ({})", graph.ops()[number].name, to_string(graph.ops()[number].kind));
      number -= graph.ops().size();
    }
    unreachable();
  }

  // Times of a graph's ops on a device, of any position.
  const std::vector<OpTime>& graph_times(std::int64_t stage, std::uint32_t graph_number, std::uint32_t kind) {
    const auto [entry, fresh] = graph_times_.try_emplace({stage, graph_number, kind});
    if (!fresh) return entry->second;
    const Program& program = programs_.of(stage);
    const Graph& graph = program.graphs[graph_number];
    const DeviceModel& model = model_of(kind);
    for (const Op& op : graph.ops()) {
      const bool computes = definition(op.kind).op_class == OpClass::kCompute;
      entry->second.push_back(computes ? model.time_of(op_work(graph, op)) : OpTime{});
    }
    if (options_.retime) options_.retime(stage, program, graph_number, cluster_.devices[kind], entry->second);
    return entry->second;
  }

  const DeviceModel& model_of(std::uint32_t kind) {
    return models_.try_emplace(kind, cluster_.devices[kind]).first->second;
  }

  const Timed& times_of(std::uint32_t flat, std::uint32_t kind, double factor) {
    const auto [entry, fresh] = timed_.try_emplace({flat, kind, factor});
    if (!fresh) return entry->second;
    const Flat& stage = flats_[flat];
    const Program& program = programs_.of(stage.stage);
    ReplayDurations durations;
    bool launches = false;
    for (const StageOp& op : stage.replay.ops) {
      const OpTime time =
          op.position < 0
              ? graph_times(stage.stage, op.graph, kind)[static_cast<std::size_t>(op.op)]
              : model_of(kind).time_of(op_work(program.graphs[op.graph], program.graphs[op.graph].op(op.op),
                                               {.position = op.position}));
      durations.ops.push_back(factor == 1 ? time.time : from_seconds(to_seconds(time.time) * factor));
      durations.issues.push_back(time.issue);
      launches |= time.issue > Nanoseconds{};
      count_source(entry->second.sources, time.source, op.count);
    }
    durations.communication_issue = model_of(kind).communication_issue();
    if (!launches) durations.issues.clear();
    entry->second.durations = static_cast<std::uint32_t>(job_.durations.size());
    job_.durations.push_back(std::move(durations));
    return entry->second;
  }

  static void count_source(TimeSourceCounts& counts, TimeSource source, std::int64_t nodes) {
    switch (source) {
      case TimeSource::kModel:
        counts.model += nodes;
        return;
      case TimeSource::kMeasured:
        counts.measured += nodes;
        return;
      case TimeSource::kInterpolated:
        counts.interpolated += nodes;
        return;
      case TimeSource::kGiven:
        counts.given += nodes;
        return;
    }
    unreachable();
  }

  void bind_ranks() {
    group_of_.assign(kGroupKindCount, std::vector<std::uint32_t>(placement_.size(), kNoGroup));
    const std::int64_t per_stage = plan_.world_size() / plan_.pp;
    for (std::uint32_t r = 0; r < placement_.size(); ++r) {
      const std::uint32_t kind = kind_of_[r];
      const std::uint32_t flat = flat_of(r / per_stage);
      ReplayRank rank{
          .program = flat, .durations = times_of(flat, kind, factor_of_[r]).durations, .device_kind = kind};
      const Fabric& fabric = cluster_.node(network_.node_of(r)).inside;
      rank.compute_share = fabric.compute_share;
      rank.busy_slowdown = fabric.busy_slowdown;
      if (!fabric.measured.skew.empty()) rank.skew = &fabric.measured;
      if (scatters()) group_number(GroupKind::kTensor, r);
      for (const RankBinding& role : flats_[flat].replay.roles) rank.partners.push_back(partner_of(role, r));
      ranks_.push_back(std::move(rank));
    }
    add_messages();
    network_.settle();
  }

  void add_messages() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const ReplayRank& rank = ranks_[r];
      const std::vector<ReplayRoleKind>& roles = job_.programs[rank.program].roles;
      std::vector<std::uint32_t>& messages = message_of_.emplace_back(roles.size(), kNoGroup);
      for (std::uint32_t role = 0; role < roles.size(); ++role) {
        if (roles[role] == ReplayRoleKind::kCollective) continue;
        const bool sends = roles[role] == ReplayRoleKind::kSend;
        messages[role] =
            network_.add_message(sends ? r : rank.partners[role], sends ? rank.partners[role] : r);
      }
    }
  }

  std::uint32_t partner_of(const RankBinding& role, std::uint32_t rank) {
    const std::uint32_t group = group_number(role.group, rank);
    return role.kind == RankBinding::Kind::kCollective
               ? group
               : network_.groups()[group].members[static_cast<std::size_t>(role.peer)];
  }

  std::uint32_t group_number(GroupKind kind, std::uint32_t rank) {
    std::vector<std::uint32_t>& numbers = group_of_[static_cast<std::size_t>(kind)];
    if (numbers[rank] != kNoGroup) return numbers[rank];
    std::vector<std::uint32_t> members;
    for (const Rank member : group_members(plan_, kind, Rank{static_cast<std::int32_t>(rank)}))
      members.push_back(static_cast<std::uint32_t>(to_number(member)));
    const std::uint32_t number = network_.add_group(static_cast<std::uint32_t>(kind), members);
    for (const std::uint32_t member : members) numbers[member] = number;
    return number;
  }

  void time_requests() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      ReplayRank& rank = ranks_[r];
      const ReplayProgram& program = job_.programs[rank.program];
      for (const ReplayRequest& request : program.requests)
        rank.request_times.push_back(
            program.roles[request.role] == ReplayRoleKind::kCollective
                ? network_.collective(rank.partners[request.role], request.type, request.size)
                : message_time(r, request));
    }
  }

  bool scatters() const {
    return options_.overlap.scattered_messages && plan_.tp > 1 && !plan_.sequence_parallel;
  }

  Nanoseconds message_time(std::uint32_t r, const ReplayRequest& request) {
    const std::uint32_t message = message_of_[r][request.role];
    if (!scatters()) return network_.message(message, request.size);
    const Bytes part{(request.size.count() + plan_.tp - 1) / plan_.tp};
    const bool sends = job_.programs[ranks_[r].program].roles[request.role] == ReplayRoleKind::kSend;
    const std::uint32_t receiver = sends ? ranks_[r].partners[request.role] : r;
    return network_.message(message, part) +
           network_.collective(group_of_[static_cast<std::size_t>(GroupKind::kTensor)][receiver],
                               CollectiveType::kAllGather, part);
  }

  SimulationResult result_of(const RankClasses& classes, ReplayOutcome& outcome) {
    SimulationResult result{.iteration_time = outcome.end, .ranks = plan_.world_size()};
    result.classes.resize(classes.first.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
      result.classes[classes.class_of[r]].ranks.push_back(Rank{static_cast<std::int32_t>(r)});
    for (std::uint32_t c = 0; c < classes.first.size(); ++c) {
      const ReplayRank& rank = ranks_[classes.first[c]];
      const Flat& flat = flats_[rank.program];
      ActorOutcome& actor = outcome.actors[c];
      SimulatedClass& one = result.classes[c];
      const auto ranks = static_cast<std::int64_t>(one.ranks.size());
      const auto nodes = static_cast<std::int64_t>(job_.programs[rank.program].nodes.size());
      one.source = static_cast<std::int32_t>(flat.stage);
      one.device = placement_[classes.first[c]];
      one.end = actor.end;
      one.breakdown.compute = actor.compute;
      one.breakdown.host = actor.host;
      one.breakdown.bubble = actor.bubble;
      one.breakdown.communication = flat.replay.shares;
      for (std::size_t s = 0; s < actor.shares.size(); ++s) {
        one.breakdown.communication[s].busy = actor.shares[s].busy;
        one.breakdown.communication[s].exposed = actor.shares[s].exposed;
      }
      const Bytes capacity = cluster_.devices[rank.device_kind].memory;
      const ReplayedMemory& memory =
          memories_.try_emplace(flat.stage, programs_.of(flat.stage)).first->second;
      one.memory = options_.keep_times ? memory.over_time(flat.replay, actor.nodes, capacity, true)
                                       : memory.in_order(capacity);
      one.nodes = in_order_of_steps(flat.replay.steps, std::move(actor.nodes));
      count_traffic(classes.first[c], one.ranks);
      result.nodes += nodes * ranks;
      result.simulated_nodes += nodes;
      add_sources(result.sources,
                  timed_.at({rank.program, rank.device_kind, factor_of_[classes.first[c]]}).sources, ranks);
    }
    result.traffic = network_.traffic();
    result.links = network_.links();
    return result;
  }

  // A collective is counted by its first member, a message by its sender.
  void count_traffic(std::uint32_t first, const std::vector<Rank>& ranks) {
    const ReplayProgram& program = job_.programs[ranks_[first].program];
    std::vector<std::int64_t> times(program.requests.size());
    for (const ReplayCommunication& one : program.communications) ++times[one.request];
    for (const Rank rank : ranks) {
      const auto r = static_cast<std::uint32_t>(to_number(rank));
      for (std::size_t i = 0; i < times.size(); ++i) {
        const ReplayRequest& request = program.requests[i];
        if (program.roles[request.role] == ReplayRoleKind::kCollective) {
          const std::uint32_t group = ranks_[r].partners[request.role];
          if (network_.groups()[group].members.front() == r)
            network_.count_collective(group, request.type, request.size, times[i]);
        } else if (program.roles[request.role] == ReplayRoleKind::kSend) {
          network_.count_message(message_of_[r][request.role], request.size, times[i]);
        }
      }
    }
  }

  static std::vector<NodeTime> in_order_of_steps(const std::vector<std::uint32_t>& steps,
                                                 std::vector<NodeTime> nodes) {
    if (steps.empty() || nodes.empty()) return nodes;
    std::vector<NodeTime> sorted(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) sorted[steps[i]] = nodes[i];
    return sorted;
  }

  static void add_sources(TimeSourceCounts& sum, const TimeSourceCounts& more, std::int64_t ranks) {
    sum.model += more.model * ranks;
    sum.measured += more.measured * ranks;
    sum.interpolated += more.interpolated * ranks;
    sum.given += more.given * ranks;
  }

  static constexpr std::uint32_t kNoGroup = 0xFFFF'FFFF;

  const StagePrograms& programs_;
  const Plan& plan_;
  const Cluster& cluster_;
  const SimulationOptions& options_;
  std::vector<DeviceId> placement_;
  std::vector<double> factor_of_;  // by rank
  ReplayNetwork network_;
  std::vector<std::uint32_t> kind_of_;                // by rank: of its device
  std::vector<std::vector<std::uint32_t>> group_of_;  // by kind of group and rank
  ReplayJob job_;
  std::vector<Flat> flats_;                             // as job_.programs
  std::map<std::int64_t, std::uint32_t> flat_numbers_;  // by stage
  std::map<std::int64_t, ReplayedMemory> memories_;     // by stage
  std::map<std::uint32_t, DeviceModel> models_;
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, std::vector<OpTime>> graph_times_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, double>, Timed> timed_;
  std::vector<ReplayRank> ranks_;
  std::vector<std::vector<std::uint32_t>> message_of_;  // by rank and role
};

}  // namespace

std::string_view to_string(NetworkDetail detail) {
  switch (detail) {
    case NetworkDetail::kAnalytical:
      return "analytical";
    case NetworkDetail::kFlow:
      return "flow";
  }
  unreachable();
}

Nanoseconds RankBreakdown::computed() const {
  Nanoseconds sum;
  for (const Nanoseconds time : compute) sum += time;
  return sum;
}

Nanoseconds RankBreakdown::exposed() const {
  Nanoseconds sum;
  for (const CommunicationShare& share : communication) sum += share.exposed;
  return sum;
}

const SimulatedClass& SimulationResult::class_of(Rank rank) const {
  for (const SimulatedClass& one : classes)
    if (std::ranges::binary_search(one.ranks, rank)) return one;
  check(false, "a rank outside of the simulation");
  return classes.front();
}

SimulationResult simulate_step(const StagePrograms& programs, const Cluster& cluster,
                               const SimulationOptions& options) {
  const Simulate simulate = [&](const SimulationOptions& chosen) {
    return StepSimulation(programs, cluster, chosen).run();
  };
  if (!has_shared_nodes(cluster)) return simulate(options);
  SimulationOptions with_times = options;
  with_times.keep_times = true;
  std::map<std::int32_t, std::vector<bool>> computes;  // by stage and StepOpId
  const ComputationOf computation = [&](const SimulationResult& result, Rank rank) {
    const SimulatedClass& one = result.class_of(rank);
    std::vector<bool>& computing = computes[one.source];
    if (computing.empty()) {
      StepWalk walk(programs.of(one.source), {.dependencies = false, .costs = false});
      for (StepOp at; walk.next(at);) computing.push_back(!meets_others(*at.op));
    }
    std::vector<NodeTime> spans;
    for (std::size_t i = 0; i < one.nodes.size() && i < computing.size(); ++i)
      if (computing[i]) spans.push_back(one.nodes[i]);
    return spans;
  };
  return with_shared_nodes(simulate(with_times), cluster, with_times, computation, simulate);
}

}  // namespace nadi::inline predict
