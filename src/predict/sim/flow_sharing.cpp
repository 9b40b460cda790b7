#include "nadi/sim/flow_sharing.h"

#include <algorithm>
#include <limits>

namespace nadi::inline predict {
namespace {

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

// Links are full together when their shares differ by less than arithmetic makes them.
constexpr double kSameShare = 1 + 1e-12;

}  // namespace

void FlowSharing::add(std::int32_t flow, std::span<const std::int32_t> links) {
  if (flows_.size() <= at(flow)) flows_.resize(at(flow) + 1);
  flows_[at(flow)] = {.links = links};
  for (const std::int32_t link : links) {
    users_[at(link)].push_back(flow);
    changed_links_.push_back(link);
  }
}

void FlowSharing::remove(std::int32_t flow) {
  for (const std::int32_t link : flows_[at(flow)].links) {
    std::vector<std::int32_t>& users = users_[at(link)];
    users.erase(std::find(users.begin(), users.end(), flow));
    changed_links_.push_back(link);
  }
  flows_[at(flow)] = {};
}

void FlowSharing::collect() {
  links_.clear();
  members_.clear();
  const auto visit = [&](std::int32_t link) {
    if (seen_link_[at(link)] != 0) return;
    seen_link_[at(link)] = 1;
    links_.push_back(link);
  };
  for (const std::int32_t link : changed_links_) visit(link);
  for (std::size_t next = 0; next < links_.size(); ++next) {
    for (const std::int32_t flow : users_[at(links_[next])]) {
      if (flows_[at(flow)].seen) continue;
      flows_[at(flow)].seen = true;
      members_.push_back(flow);
      for (const std::int32_t link : flows_[at(flow)].links) visit(link);
    }
  }
}

void FlowSharing::fill() {
  for (const std::int32_t link : links_) {
    open_[at(link)] = static_cast<std::int32_t>(users_[at(link)].size());
    left_[at(link)] = capacity_[at(link)];
  }
  std::size_t fixed = 0;
  while (fixed < members_.size()) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t kept = 0;
    for (const std::int32_t link : links_) {  // full links fall out
      if (open_[at(link)] == 0) {
        seen_link_[at(link)] = 0;
        continue;
      }
      links_[kept++] = link;
      least = std::min(least, left_[at(link)] / open_[at(link)]);
    }
    links_.resize(kept);
    // First which links are full at this level, then their flows: fixing a flow changes what others have
    // left.
    for (const std::int32_t link : links_)
      if (left_[at(link)] / open_[at(link)] <= least * kSameShare) full_.push_back(link);
    for (const std::int32_t link : full_) {
      for (const std::int32_t flow : users_[at(link)]) {
        Flow& member = flows_[at(flow)];
        if (member.fixed) continue;
        member.fixed = true;
        member.rate = least;
        ++fixed;
        for (const std::int32_t other : member.links) {
          --open_[at(other)];
          left_[at(other)] = std::max(left_[at(other)] - least, 0.0);
        }
      }
    }
    full_.clear();
  }
  for (const std::int32_t link : links_) seen_link_[at(link)] = 0;
}

std::span<const RateChange> FlowSharing::settle() {
  changes_.clear();
  if (changed_links_.empty()) return changes_;
  collect();
  changed_links_.clear();
  std::sort(members_.begin(), members_.end());
  before_.clear();
  for (const std::int32_t flow : members_) before_.push_back(flows_[at(flow)].rate);
  fill();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Flow& flow = flows_[at(members_[i])];
    if (flow.rate != before_[i]) changes_.push_back({members_[i], flow.rate});
    flow.fixed = flow.seen = false;
  }
  return changes_;
}

}  // namespace nadi::inline predict
