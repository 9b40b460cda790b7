// The flow model beside SimGrid on the networks of network_cases.cpp: every message and every collective ends
// at the same time to 0.1%. SimGrid's model CM02 without cross traffic and without TCP's window: a flow waits
// for its latency and then shares links max-min fairly. What happens on the network (which transfers, over
// which links) is given to both; when things happen is up to each.
//
// SimGrid has one simulation per process, so each case runs in a child.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <simgrid/s4u.hpp>

#include <cmath>
#include <iostream>

#include "nadi/sim/flow_network.h"
#include "nadi/sim/flow_plan.h"
#include "network_cases.h"

namespace nadi {
namespace {

namespace sg = simgrid::s4u;

// When messages, then collectives end, in seconds.
std::vector<double> ends_in_nadi(const NetworkCase& test) {
  FlowNetwork network(test.cluster, test.options);
  struct Start {
    Nanoseconds at;
    std::size_t number = 0;
  };
  std::vector<Start> starts;
  for (const CaseMessage& message : test.messages) starts.push_back({message.start, starts.size()});
  for (const CaseCollective& collective : test.collectives)
    starts.push_back({collective.start, starts.size()});
  std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.at < b.at; });
  std::vector<FlowCompletion> done;
  for (const Start& start : starts) {
    network.advance(start.at, done);
    if (start.number < test.messages.size()) {
      const CaseMessage& message = test.messages[start.number];
      network.start_message(start.at, message.size, message.from, message.to);
    } else {
      const CaseCollective& collective = test.collectives[start.number - test.messages.size()];
      network.start_collective(
          start.at, {.type = collective.type, .size = collective.size, .members = collective.members});
    }
  }
  while (const auto next = network.next_event()) network.advance(*next, done);
  std::vector<double> ends(starts.size(), -1);
  for (const FlowCompletion& completion : done)
    ends[starts[static_cast<std::size_t>(completion.id)].number] = to_seconds(completion.at);
  return ends;
}

class SimGridRun {
 public:
  explicit SimGridRun(const NetworkCase& test) : test_(test), model_(test.cluster, test.options) {
    int count = 1;
    char name[] = "simgrid";
    char* arguments[] = {name, nullptr};
    engine_ = std::make_unique<sg::Engine>(&count, arguments);
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0", "network/bandwidth-factor:1",
          "network/latency-factor:1", "network/weight-S:0"})
      sg::Engine::set_config(setting);
    describe();
  }

  std::vector<double> ends() {
    ends_.assign(test_.messages.size() + test_.collectives.size(), -1);
    for (std::size_t i = 0; i < test_.messages.size(); ++i) {
      const CaseMessage& message = test_.messages[i];
      const std::string box = "message" + std::to_string(i);
      sg::Actor::create(box, host(message.from), [this, &message, box] {
        sg::this_actor::sleep_until(to_seconds(message.start));
        sg::Mailbox::by_name(box)->put(&payload_, static_cast<std::uint64_t>(message.size.count()));
      });
      sg::Actor::create(box, host(message.to), [this, box, i] {
        sg::Mailbox::by_name(box)->get<int>();
        ends_[i] = sg::Engine::get_clock();
      });
    }
    for (std::size_t i = 0; i < test_.collectives.size(); ++i) start_collective(i);
    engine_->run();
    return ends_;
  }

 private:
  sg::Host* host(DeviceId device) const { return hosts_[static_cast<std::size_t>(to_number(device))]; }

  void describe() {
    const NetworkTopology& network = model_.topology();
    auto* zone = sg::create_full_zone("cluster");
    for (std::int32_t i = 0; i < network.device_count(); ++i)
      hosts_.push_back(zone->create_host("device" + std::to_string(i), 1e9)->seal());
    std::vector<const sg::Link*> links;
    for (std::int32_t i = 0; i < network.link_count(); ++i) {
      const NetworkLink& link = network.link(LinkId{i});
      const bool works = link.bandwidth.per_second() > 0;
      links.push_back(zone->create_link("link" + std::to_string(i), works ? link.bandwidth.per_second() : 1)
                          ->set_latency(to_seconds(link.latency))
                          ->seal());
    }
    for (std::int32_t a = 0; a < network.device_count(); ++a) {
      for (std::int32_t b = 0; b < network.device_count(); ++b) {
        if (a == b) continue;
        std::vector<sg::LinkInRoute> route;
        for (const LinkId link : network.path(DeviceId{a}, DeviceId{b}).links)
          route.emplace_back(links[to_index(link)]);
        zone->add_route(host(DeviceId{a})->get_netpoint(), host(DeviceId{b})->get_netpoint(), nullptr,
                        nullptr, route, false);
      }
    }
    zone->seal();
  }

  // One actor per member, round by round: all transfers of the round at once, then wait for all. A transfer
  // begins when both its ends are there, as messages through a mailbox do.
  void start_collective(std::size_t number) {
    const CaseCollective& collective = test_.collectives[number];
    const CollectiveChoice choice =
        model_.choice(collective.type, collective.size, model_.group_of(collective.members));
    plans_.push_back(std::make_unique<FlowPlan>(flow_plan(
        model_.topology(), collective.members, {collective.type, choice.algorithm, choice.protocol})));
    const FlowPlan* plan = plans_.back().get();
    std::vector<DeviceId> devices = collective.members;
    std::sort(devices.begin(), devices.end());
    for (std::int32_t member = 0; member < plan->members; ++member) {
      const std::string name = "collective" + std::to_string(number);
      sg::Actor::create(name, host(devices[static_cast<std::size_t>(member)]),
                        [this, &collective, plan, member, name, number] {
                          sg::this_actor::sleep_until(to_seconds(collective.start));
                          run_member(*plan, collective, member, name);
                          double& end = ends_[test_.messages.size() + number];
                          end = std::max(end, sg::Engine::get_clock());
                        });
    }
  }

  void run_member(const FlowPlan& plan, const CaseCollective& collective, std::int32_t member,
                  const std::string& name) {
    std::int32_t round = 0;
    for (const FlowStep& step : plan.steps) {
      for (std::int32_t repeat = 0; repeat < step.repeat; ++repeat, ++round) {
        const sg::SemaphorePtr done = sg::Semaphore::create(0);
        std::int32_t parts = 0;
        for (const std::int32_t t : step.of_member[static_cast<std::size_t>(member)]) {
          const FlowTransfer& transfer = step.transfers[static_cast<std::size_t>(t)];
          for (const FlowPart& part : transfer.parts) {
            const std::string box = name + "." + std::to_string(round) + "." + std::to_string(t) + "." +
                                    std::to_string(&part - transfer.parts.data());
            const auto bytes = static_cast<std::uint64_t>(
                std::llround(part.bytes * static_cast<double>(collective.size.count())));
            ++parts;
            if (transfer.from == member)
              sg::Actor::create(box, host(part.from), [this, box, bytes, done] {
                sg::Mailbox::by_name(box)->put(&payload_, bytes);
                done->release();
              });
            else
              sg::Actor::create(box, host(part.to), [box, done] {
                sg::Mailbox::by_name(box)->get<int>();
                done->release();
              });
          }
        }
        for (; parts > 0; --parts) done->acquire();
      }
    }
  }

  const NetworkCase& test_;
  NetworkModel model_;
  std::unique_ptr<sg::Engine> engine_;
  std::vector<sg::Host*> hosts_;
  std::vector<std::unique_ptr<FlowPlan>> plans_;
  std::vector<double> ends_;
  int payload_ = 0;
};

// Runs in a child; empty where that failed.
std::vector<double> ends_in_simgrid(const NetworkCase& test) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child < 0) return {};
  if (child == 0) {
    const std::vector<double> times = SimGridRun(test).ends();
    const ssize_t size = static_cast<ssize_t>(times.size() * sizeof(double));
    _exit(write(ends[1], times.data(), static_cast<std::size_t>(size)) == size ? 0 : 1);
  }
  close(ends[1]);
  std::vector<double> times;
  double time = 0;
  while (read(ends[0], &time, sizeof time) == static_cast<ssize_t>(sizeof time)) times.push_back(time);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return {};
  return times;
}

class SimGridFlow : public testing::TestWithParam<NetworkCase> {};

TEST_P(SimGridFlow, EndsAtTheSameTimes) {
  const std::vector<double> ours = ends_in_nadi(GetParam()), theirs = ends_in_simgrid(GetParam());
  ASSERT_EQ(ours.size(), theirs.size());
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], theirs[i], 0.001 * theirs[i]) << i;
    worst = std::max(worst, std::abs(ours[i] / theirs[i] - 1));
  }
  std::cout << GetParam().name << ": " << ours.size() << " ends, largest difference " << worst * 100 << "%\n";
}

INSTANTIATE_TEST_SUITE_P(Networks, SimGridFlow, testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace nadi
