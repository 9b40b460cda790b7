#include "nadi/sim/flow_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/sim/flow_plan.h"
#include "nadi/sim/flow_sharing.h"

namespace nadi::inline predict {
namespace {

std::vector<double> link_capacities(const NetworkTopology& network) {
  std::vector<double> bytes_per_nanosecond;
  for (std::int32_t i = 0; i < network.link_count(); ++i)
    bytes_per_nanosecond.push_back(network.link(LinkId{i}).bandwidth.per_second() * 1e-9);
  return bytes_per_nanosecond;
}

enum class FlowEventKind : std::uint8_t { kBegin, kArrive, kFinish, kComplete };

struct FlowEvent {
  std::int64_t time = 0;
  FlowEventKind kind{};
  std::int32_t id = 0;        // of a flow; kBegin and kComplete: of what was started
  std::uint32_t version = 0;  // kFinish: holds only while the rate is what it was

  bool operator>(const FlowEvent& other) const {
    return std::tie(time, kind, id, version) > std::tie(other.time, other.kind, other.id, other.version);
  }
};

}  // namespace

class FlowNetwork::State {
 public:
  State(const Cluster& cluster, const NetworkOptions& options)
      : model(cluster, options), sharing_(link_capacities(model.topology())) {}

  FlowId start(std::int64_t now, std::shared_ptr<const FlowPlan> plan, double bytes) {
    check(now >= now_, "a flow was started in the past");
    const std::int32_t id = static_cast<std::int32_t>(jobs_.size());
    jobs_.push_back({.plan = std::move(plan), .bytes = bytes});
    push(now + jobs_.back().plan->before, FlowEventKind::kBegin, id);
    return FlowId{id};
  }

  // Something that takes a known time.
  FlowId start_known(std::int64_t now, Nanoseconds time) {
    check(now >= now_, "a flow was started in the past");
    const std::int32_t id = static_cast<std::int32_t>(jobs_.size());
    jobs_.emplace_back();
    push((Nanoseconds{now} + time).count(), FlowEventKind::kComplete, id);
    return FlowId{id};
  }

  std::shared_ptr<const FlowPlan> plan_for(const CollectiveRequest& request, const CollectiveChoice& choice) {
    PlanKey key{
        request.type, choice.algorithm, choice.protocol, {request.members.begin(), request.members.end()}};
    auto [found, fresh] = plans_.try_emplace(std::move(key));
    if (fresh)
      found->second = std::make_shared<const FlowPlan>(
          flow_plan(model.topology(), request.members, {request.type, choice.algorithm, choice.protocol}));
    return found->second;
  }

  std::optional<Nanoseconds> next() {
    while (!events_.empty() && is_stale(events_.top())) events_.pop();
    if (events_.empty()) return std::nullopt;
    return Nanoseconds{events_.top().time};
  }

  void advance(std::int64_t to, std::vector<FlowCompletion>& done) {
    check(to >= now_, "time of the flow model went back");
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(done.size());
    while (const auto time = next()) {
      if (time->count() > to) break;
      now_ = time->count();
      while (!events_.empty() && events_.top().time == now_) {
        const FlowEvent event = events_.top();
        events_.pop();
        handle(event, done);
      }
      settle();
    }
    now_ = to;
    std::sort(done.begin() + first, done.end(), [](const FlowCompletion& a, const FlowCompletion& b) {
      return std::tie(a.at, a.id) < std::tie(b.at, b.id);
    });
  }

  std::int64_t now() const { return now_; }

  NetworkModel model;

 private:
  using PlanKey = std::tuple<CollectiveType, CollectiveAlgorithm, std::string, std::vector<DeviceId>>;

  struct Job {
    std::shared_ptr<const FlowPlan> plan = {};
    double bytes = 0;
    std::vector<std::int32_t> round = {};    // of each member
    std::vector<std::int32_t> waiting = {};  // for so many transfers of its round
    std::vector<std::int32_t> parts = {};    // of each transfer: still to come
    std::int32_t members_left = 0;
  };

  struct Flow {
    std::int32_t job = 0, step = 0, transfer = 0;
    const FlowPart* part = nullptr;
    double left = 0;  // bytes
    double rate = 0;
    std::int64_t since = 0;  // when `left` was right
    std::uint32_t version = 0;
    bool active = false;
  };

  void push(std::int64_t time, FlowEventKind kind, std::int32_t id, std::uint32_t version = 0) {
    events_.push({time, kind, id, version});
  }

  bool is_stale(const FlowEvent& event) const {
    return event.kind == FlowEventKind::kFinish &&
           flows_[static_cast<std::size_t>(event.id)].version != event.version;
  }

  void handle(const FlowEvent& event, std::vector<FlowCompletion>& done) {
    if (is_stale(event)) return;
    switch (event.kind) {
      case FlowEventKind::kBegin:
        begin(event.id);
        break;
      case FlowEventKind::kArrive:
        arrive(event.id);
        break;
      case FlowEventKind::kFinish:
        finish(event.id);
        break;
      case FlowEventKind::kComplete:
        jobs_[static_cast<std::size_t>(event.id)] = {};
        done.push_back({FlowId{event.id}, Nanoseconds{now_}});
        break;
    }
  }

  void begin(std::int32_t id) {
    Job& job = jobs_[static_cast<std::size_t>(id)];
    const std::size_t members = static_cast<std::size_t>(job.plan->members);
    job.round.assign(members, -1);
    job.waiting.assign(members, 0);
    job.members_left = job.plan->members;
    std::size_t transfers = 0;
    for (const FlowStep& step : job.plan->steps) transfers += step.transfers.size();
    job.parts.assign(transfers, 0);
    for (std::int32_t member = 0; member < job.plan->members; ++member) enter(id, member);
  }

  // The step of a round, and where its transfers are counted.
  struct Place {
    const FlowStep* step = nullptr;
    std::int32_t number = 0;
    std::size_t first = 0;
  };
  static Place place_of(const FlowPlan& plan, std::int32_t round) {
    Place place;
    for (const FlowStep& step : plan.steps) {
      if (round < step.repeat) {
        place.step = &step;
        return place;
      }
      round -= step.repeat;
      place.first += step.transfers.size();
      ++place.number;
    }
    return place;
  }

  // A member goes on to its next round in which it has something to do.
  void enter(std::int32_t id, std::int32_t member) {
    Job& job = jobs_[static_cast<std::size_t>(id)];
    const std::size_t m = static_cast<std::size_t>(member);
    for (;;) {
      const std::int32_t round = ++job.round[m];
      const Place place = place_of(*job.plan, round);
      if (place.step == nullptr) {
        if (--job.members_left == 0)
          push(now_ + std::llround(job.plan->after_per_byte * job.bytes), FlowEventKind::kComplete, id);
        return;
      }
      const std::vector<std::int32_t>& mine = place.step->of_member[m];
      if (mine.empty()) continue;
      job.waiting[m] = static_cast<std::int32_t>(mine.size());
      for (const std::int32_t t : mine) {
        const FlowTransfer& transfer = place.step->transfers[static_cast<std::size_t>(t)];
        const std::int32_t other = transfer.from == member ? transfer.to : transfer.from;
        if (job.round[static_cast<std::size_t>(other)] == round) begin_transfer(id, place, t);
      }
      return;
    }
  }

  void begin_transfer(std::int32_t id, const Place& place, std::int32_t number) {
    Job& job = jobs_[static_cast<std::size_t>(id)];
    const FlowTransfer& transfer = place.step->transfers[static_cast<std::size_t>(number)];
    job.parts[place.first + static_cast<std::size_t>(number)] =
        static_cast<std::int32_t>(transfer.parts.size());
    for (const FlowPart& part : transfer.parts) {
      const std::int32_t flow = free_.empty() ? static_cast<std::int32_t>(flows_.size()) : free_.back();
      if (free_.empty())
        flows_.emplace_back();
      else
        free_.pop_back();
      Flow& fresh = flows_[static_cast<std::size_t>(flow)];
      const std::uint32_t version = fresh.version + 1;
      fresh = {.job = id,
               .step = place.number,
               .transfer = number,
               .part = &part,
               .left = part.bytes * job.bytes,
               .since = now_,
               .version = version};
      push(now_ + part.delay, FlowEventKind::kArrive, flow, version);
    }
  }

  void arrive(std::int32_t number) {
    Flow& flow = flows_[static_cast<std::size_t>(number)];
    flow.since = now_;
    if (flow.left <= 0 || flow.part->links.empty()) {
      finish(number);
      return;
    }
    flow.active = true;
    sharing_.add(number, flow.part->links);
  }

  void finish(std::int32_t number) {
    Flow& flow = flows_[static_cast<std::size_t>(number)];
    if (flow.active) sharing_.remove(number);
    flow.active = false;
    ++flow.version;
    free_.push_back(number);
    const std::int32_t id = flow.job;
    Job& job = jobs_[static_cast<std::size_t>(id)];
    std::size_t first = 0;
    for (std::int32_t step = 0; step < flow.step; ++step)
      first += job.plan->steps[static_cast<std::size_t>(step)].transfers.size();
    const std::size_t t = static_cast<std::size_t>(flow.transfer);
    if (--job.parts[first + t] > 0) return;
    const FlowTransfer& transfer = job.plan->steps[static_cast<std::size_t>(flow.step)].transfers[t];
    for (const std::int32_t member : {transfer.from, transfer.to})
      if (--job.waiting[static_cast<std::size_t>(member)] == 0) enter(id, member);
  }

  void settle() {
    for (const RateChange& change : sharing_.settle()) {
      Flow& flow = flows_[static_cast<std::size_t>(change.flow)];
      flow.left = std::max(flow.left - flow.rate * static_cast<double>(now_ - flow.since), 0.0);
      flow.since = now_;
      flow.rate = change.rate;
      ++flow.version;
      const Nanoseconds more = whole_nanoseconds(flow.left / flow.rate);
      push((Nanoseconds{now_} + more).count(), FlowEventKind::kFinish, change.flow, flow.version);
    }
  }

  FlowSharing sharing_;
  std::vector<Job> jobs_;
  std::vector<Flow> flows_;
  std::vector<std::int32_t> free_;
  std::priority_queue<FlowEvent, std::vector<FlowEvent>, std::greater<>> events_;
  std::map<PlanKey, std::shared_ptr<const FlowPlan>> plans_;
  std::int64_t now_ = 0;
};

FlowNetwork::FlowNetwork(const Cluster& cluster, const NetworkOptions& options)
    : state_(std::make_unique<State>(cluster, options)) {}
FlowNetwork::~FlowNetwork() = default;

FlowId FlowNetwork::start_message(Nanoseconds now, Bytes size, DeviceId from, DeviceId to) {
  if (from == to) return state_->start_known(now.count(), {});
  const NetworkTopology& network = state_->model.topology();
  const CollectiveChoice choice = state_->model.message_choice(size, from, to);
  if (choice.measured) return state_->start_known(now.count(), choice.time);
  const std::string& protocol = choice.protocol;
  FlowPlan plan{.members = 2, .steps = {}};
  const Fabric& fabric = network.fabric_between(from, to);
  plan.before = protocol_of(fabric, protocol).overhead.count();
  FlowPart part;
  for (const LinkId link : network.path(from, to).links)
    part.links.push_back(static_cast<std::int32_t>(link));
  part.delay = std::llround(transfer_latency(network, from, to, protocol));
  part.bytes = 1 / protocol_of(fabric, protocol).share;
  plan.steps = {{.repeat = 1, .transfers = {{0, 1, {std::move(part)}}}, .of_member = {{0}, {0}}}};
  return state_->start(now.count(), std::make_shared<const FlowPlan>(std::move(plan)),
                       static_cast<double>(size.count()));
}

FlowId FlowNetwork::start_collective(Nanoseconds now, const CollectiveRequest& request) {
  if (request.members.size() < 2) return state_->start_known(now.count(), {});
  const CollectiveChoice choice =
      state_->model.choice(request.type, request.size, state_->model.group_of(request.members));
  if (choice.measured) return state_->start_known(now.count(), choice.time);
  return state_->start(now.count(), state_->plan_for(request, choice),
                       static_cast<double>(request.size.count()));
}

std::optional<Nanoseconds> FlowNetwork::next_event() const {
  return state_->next();
}
void FlowNetwork::advance(Nanoseconds to, std::vector<FlowCompletion>& done) {
  state_->advance(to.count(), done);
}
Nanoseconds FlowNetwork::now() const {
  return Nanoseconds{state_->now()};
}
const NetworkModel& FlowNetwork::model() const {
  return state_->model;
}

}  // namespace nadi::inline predict
