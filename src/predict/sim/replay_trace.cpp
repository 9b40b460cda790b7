#include "nadi/sim/replay_trace.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nadi/analysis/timeline.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/sim/trace_work.h"
#include "nadi/trace/trace_dependencies.h"

namespace nadi::inline predict {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

class TraceFlattening {
 public:
  TraceFlattening(const Trace& trace, const TraceOrigin& origin)
      : trace_(trace), dependencies_(trace, origin), timeline_(trace, dependencies_), works_(timeline_) {}

  TraceReplay run() {
    out_.has_times = timeline_.clock() != TimelineClock::kNone;
    find_streams();
    std::vector<std::uint32_t> node_of(trace_.size());
    std::vector<const Communication*> communication_of(trace_.size(), nullptr);
    for (const Communication& one : timeline_.communications()) communication_of[one.row] = &one;
    ReplayProgram& replay = out_.replay;
    for (const std::uint32_t row : dependencies_.order()) {
      node_of[row] = static_cast<std::uint32_t>(replay.nodes.size());
      out_.rows.push_back(row);
      ReplayNode node{.phase = phase_of(row)};
      node.stream = stream_of(row);
      if (communication_of[row] != nullptr && is_known(*communication_of[row]))
        node.communication = add_communication(*communication_of[row], node_of[row]);
      else
        node.op = add_op(row);
      parents_.clear();
      for (const std::uint32_t parent : dependencies_.parents(row)) parents_.push_back(node_of[parent]);
      std::ranges::sort(parents_);
      parents_.erase(std::unique(parents_.begin(), parents_.end()), parents_.end());
      replay.parents.insert(replay.parents.end(), parents_.begin(), parents_.end());
      node.parents_end = static_cast<std::uint32_t>(replay.parents.size());
      replay.nodes.push_back(node);
    }
    replay.ops = static_cast<std::uint32_t>(out_.ops.size());
    replay.shares = static_cast<std::uint32_t>(out_.shares.size());
    return std::move(out_);
  }

 private:
  void find_streams() {
    ReplayProgram& replay = out_.replay;
    bool has_host = false;
    for (std::uint32_t row = 0; row < timeline_.size(); ++row)
      has_host |= timeline_.activity(row) == Activity::kHost;
    replay.in_order = timeline_.has_own_ops() && !timeline_.has_streams() && !has_host;
    if (replay.in_order) return;
    // Stream 0 computes where no stream is named; the lanes follow, then one for what is none of them.
    replay.streams = static_cast<std::uint16_t>(1 + timeline_.lanes().size());
    if (timeline_.lanes().size() > kNoStream - 2)
      throw input_error({}, format("{} streams and threads in one trace", timeline_.lanes().size()));
    replay.host_stream.assign(replay.streams, 0);
    for (std::size_t lane = 0; lane < timeline_.lanes().size(); ++lane)
      if (timeline_.lanes()[lane].host) replay.host_stream[1 + lane] = 1;
  }

  std::uint16_t stream_of(std::uint32_t row) const {
    const Activity activity = timeline_.activity(row);
    if (activity == Activity::kNone) return kNoStream;
    const bool computes = activity == Activity::kCompute;
    if (out_.replay.in_order) return computes ? std::uint16_t{0} : kNoStream;
    if (activity == Activity::kHost || timeline_.has_streams())
      return static_cast<std::uint16_t>(1 + timeline_.lane(row));
    return computes ? std::uint16_t{0} : kNoStream;
  }

  std::uint8_t phase_of(std::uint32_t row) const {
    const std::string_view phase = timeline_.text(timeline_.phase(row));
    for (int p = 0; p < kPhaseCount; ++p)
      if (to_string(static_cast<Phase>(p)) == phase) return static_cast<std::uint8_t>(p);
    return static_cast<std::uint8_t>(Phase::kForward);
  }

  std::uint32_t add_op(std::uint32_t row) {
    TraceOp op{.recorded = timeline_.duration(row)};
    const Activity activity = timeline_.activity(row);
    op.counts = is_device(activity);
    if (op.counts)
      if (const OpWork* work = works_.of(row)) {
        const auto [entry, fresh] =
            work_numbers_.try_emplace(work, static_cast<std::int32_t>(out_.works.size()));
        if (fresh) out_.works.push_back(*work);
        op.work = entry->second;
      }
    out_.ops.push_back(op);
    return static_cast<std::uint32_t>(out_.ops.size() - 1);
  }

  // Kernels of which the trace says neither which collective they are nor to whom they send only take time.
  static bool is_known(const Communication& one) {
    return one.type == NodeType::kCommColl ? one.collective.has_value() : one.peer.has_value();
  }

  std::uint32_t add_communication(const Communication& one, std::uint32_t node) {
    ReplayProgram& replay = out_.replay;
    const bool collective = one.type == NodeType::kCommColl;
    const std::string group(one.group == 0 ? std::string_view{} : timeline_.text(one.group));
    TraceRole role{.kind = collective                        ? ReplayRoleKind::kCollective
                           : one.type == NodeType::kCommSend ? ReplayRoleKind::kSend
                                                             : ReplayRoleKind::kReceive};
    if (collective) {
      role.group = group;
      role.members = one.members;
    } else {
      role.peer = *one.peer;
    }
    const std::uint32_t number = role_number(role);
    replay.requests.push_back({.role = number,
                               .type = one.collective.value_or(CollectiveType{}),
                               .size = one.size.value_or(Bytes{})});
    const bool barrier = one.collective == CollectiveType::kBarrier;
    out_.sized.push_back(one.size || barrier ? 1 : 0);
    out_.recorded_requests.push_back(timeline_.duration(one.row));
    const std::uint32_t share = share_number(collective ? group : "", lower_case(kind_of(one)));
    ++out_.shares[share].count;
    out_.shares[share].bytes += one.size.value_or(Bytes{});
    out_.names.push_back(format("'{}' ({})", trace_.name(one.row), kind_of(one)));
    replay.communications.push_back({.node = node,
                                     .role = number,
                                     .request = static_cast<std::uint32_t>(replay.requests.size() - 1),
                                     .share = share,
                                     .sequence = collective ? sequence_[number]++ : 0,
                                     .tag = static_cast<std::int32_t>(one.tag.value_or(0))});
    return static_cast<std::uint32_t>(replay.communications.size() - 1);
  }

  std::uint32_t role_number(const TraceRole& role) {
    const auto key = std::tuple(role.kind, role.group, role.peer);
    const auto [entry, fresh] = role_numbers_.try_emplace(key, static_cast<std::uint32_t>(out_.roles.size()));
    if (fresh) {
      out_.roles.push_back(role);
      out_.replay.roles.push_back(role.kind);
      sequence_.push_back(0);
    }
    return entry->second;
  }

  std::uint32_t share_number(const std::string& group, const std::string& op) {
    for (std::uint32_t s = 0; s < out_.shares.size(); ++s)
      if (out_.shares[s].group == group && out_.shares[s].op == op) return s;
    out_.shares.push_back({.group = group, .op = op});
    return static_cast<std::uint32_t>(out_.shares.size() - 1);
  }

  const Trace& trace_;
  TraceDependencies dependencies_;
  Timeline timeline_;
  TraceWorks works_;
  TraceReplay out_;
  std::vector<std::uint32_t> parents_;
  std::map<const OpWork*, std::int32_t> work_numbers_;
  std::map<std::tuple<ReplayRoleKind, std::string, std::int64_t>, std::uint32_t> role_numbers_;
  std::vector<std::uint32_t> sequence_;  // by role: collectives so far
};

}  // namespace

void communicate_one_at_a_time(ReplayProgram& program) {
  program.in_order = false;
  program.first_of_program = true;
  const std::uint16_t stream = program.streams++;
  program.host_stream.resize(program.streams, 0);
  for (ReplayNode& node : program.nodes) {
    if (node.communication == kNoCommunication || node.stream != kNoStream) continue;
    const ReplayRoleKind kind = program.roles[program.communications[node.communication].role];
    if (kind != ReplayRoleKind::kReceive) node.stream = stream;
  }
}

TraceReplay flatten_trace(const Trace& trace, const TraceOrigin& origin) {
  return TraceFlattening(trace, origin).run();
}

}  // namespace nadi::inline predict
