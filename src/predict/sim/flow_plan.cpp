#include "nadi/sim/flow_plan.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline predict {
namespace {

// Each takes about 150 bytes.
constexpr std::size_t kMostPlannedTransfers = 4'000'000;

class FlowPlanner {
 public:
  FlowPlanner(const NetworkTopology& network, const NetworkGroup& group, const std::string& protocol)
      : network_(network), group_(group), protocol_(protocol) {}

  FlowStep step_of(const ScheduleStep& step) {
    FlowStep result{.repeat = step.repeat, .transfers = {}, .of_member = {}};
    std::vector<double> delays;
    if (step.order == TransferOrder::kPipelined)
      delays = pipelined_latencies(network_, group_, step, protocol_);
    for (std::size_t i = 0; i < step.transfers.size(); ++i)
      result.transfers.push_back(transfer_of(step, step.transfers[i], delays.empty() ? nullptr : &delays[i]));
    for (const auto& members : step.all_pairs)
      for (const std::int32_t from : members)
        for (const std::int32_t to : members)
          if (from != to) result.transfers.push_back(transfer_of(step, {from, to, step.pair_share}, nullptr));
    result.of_member.resize(group_.members.size());
    for (std::size_t i = 0; i < result.transfers.size(); ++i)
      for (const std::int32_t member : {result.transfers[i].from, result.transfers[i].to})
        result.of_member[static_cast<std::size_t>(member)].push_back(static_cast<std::int32_t>(i));
    return result;
  }

 private:
  FlowTransfer transfer_of(const ScheduleStep& step, const ScheduledTransfer& transfer, const double* delay) {
    if (++planned_ > kMostPlannedTransfers)
      throw Error{ErrorKind::kInfeasible,
                  {},
                  format("a collective of {} members has too many transfers for the flow model",
                         group_.members.size()),
                  "take the analytical network, or another algorithm with --collective"};
    FlowTransfer result{.from = transfer.from, .to = transfer.to, .parts = {}};
    transfers_on_network(network_, group_, step, transfer, parts_);
    for (const DeviceTransfer& part : parts_) {
      network_.path(part.from, part.to, path_);
      FlowPart flow{.from = part.from, .to = part.to, .links = {}};
      for (const LinkId link : path_.links) flow.links.push_back(static_cast<std::int32_t>(link));
      flow.delay =
          std::llround(delay != nullptr ? *delay : transfer_latency(network_, part.from, part.to, protocol_));
      flow.bytes = part.share / protocol_of(network_.fabric_between(part.from, part.to), protocol_).share;
      result.parts.push_back(std::move(flow));
    }
    return result;
  }

  const NetworkTopology& network_;
  const NetworkGroup& group_;
  const std::string& protocol_;
  std::size_t planned_ = 0;
  std::vector<DeviceTransfer> parts_;
  NetworkPath path_;
};

}  // namespace

FlowPlan flow_plan(const NetworkTopology& network, std::span<const DeviceId> members,
                   const FormRequest& request) {
  const NetworkGroup group = network_group(network, members);
  FlowPlan plan{.members = group.layout.members, .steps = {}};
  FlowPlanner planner(network, group, request.protocol);
  for (const ScheduleStep& step : schedule_of(request.type, request.algorithm, group.layout).steps)
    plan.steps.push_back(planner.step_of(step));
  for (const Fabric* fabric : group.fabrics)
    plan.before = std::max(plan.before, protocol_of(*fabric, request.protocol).overhead.count());
  for (const CollectiveForm::Term& term : closed_form(network, group, request).terms)
    plan.after_per_byte += term.per_byte(1) - term.without_local();
  return plan;
}

}  // namespace nadi::inline predict
