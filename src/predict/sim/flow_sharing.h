// Rates of flows on links, max-min fair: no flow can have more without taking from one that has no more than
// it.
//
//   FlowSharing sharing(capacities);
//   sharing.add(flow, links);
//   sharing.remove(other);
//   for (const RateChange& change : sharing.settle()) ...        // whose rate is another one now
//
// Found by filling: all rates grow together until a link is full; its flows keep what they have, the others
// go on. Only flows that share a link with what changed, directly or through others, are looked at again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nadi::inline predict {

struct RateChange {
  std::int32_t flow = 0;
  double rate = 0;
};

class FlowSharing {
 public:
  explicit FlowSharing(std::vector<double> capacities)
      : capacity_(std::move(capacities)),
        users_(capacity_.size()),
        seen_link_(capacity_.size()),
        open_(capacity_.size()),
        left_(capacity_.size()) {}

  // `flow` is any small number that is not in use; it has at least one link, none twice. The span must stay
  // valid until the flow is removed.
  void add(std::int32_t flow, std::span<const std::int32_t> links);
  void remove(std::int32_t flow);

  // The changes since the last call, flows ascending. Valid until the next call.
  std::span<const RateChange> settle();

 private:
  struct Flow {
    std::span<const std::int32_t> links = {};
    double rate = 0;
    bool fixed = false;
    bool seen = false;
  };
  void collect();
  void fill();

  std::vector<double> capacity_;
  std::vector<std::vector<std::int32_t>> users_;  // of each link
  std::vector<Flow> flows_;
  std::vector<std::int32_t> changed_links_;

  // Room of settle(): the links and flows that hang together with what changed.
  std::vector<char> seen_link_;
  std::vector<std::int32_t> open_;  // flows of a link whose rate is not fixed yet
  std::vector<double> left_;        // what is left of its capacity
  std::vector<std::int32_t> links_, members_, full_;
  std::vector<double> before_;
  std::vector<RateChange> changes_;
};

}  // namespace nadi::inline predict
