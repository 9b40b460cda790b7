#include "nadi/sim/trace_scaling.h"

#include <algorithm>
#include <array>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_number.h"
#include "nadi/check/group_members.h"
#include "nadi/sim/simulated_traces.h"

namespace nadi::inline predict {
namespace {

constexpr std::int64_t kMostDegree = 10'000'000;

std::vector<std::int64_t> sorted(const std::set<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TraceDegrees parse_trace_degrees(std::string_view text, std::int64_t ranks) {
  static constexpr std::array<std::string_view, 5> kNames = {"tp", "cp", "dp", "pp", "ep"};
  TraceDegrees degrees;
  const std::array<std::int64_t*, 5> values = {&degrees.tp, &degrees.cp, &degrees.dp, &degrees.pp,
                                               &degrees.ep};
  degrees.dp = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::size_t equals = std::min(item.find('='), item.size());
    const auto* name = std::ranges::find(kNames, item.substr(0, equals));
    if (name == kNames.end())
      throw usage_error(format("unknown degree '{}'", item), did_you_mean(item.substr(0, equals), kNames));
    std::int64_t& value = *values[static_cast<std::size_t>(name - kNames.begin())];
    const std::string_view digits = item.substr(std::min(equals + 1, item.size()));
    if (!read_number(digits, value) || value < 1 || value > kMostDegree)
      throw usage_error(format("'{}' is no degree", item), "for example tp=2,pp=4");
    begin = end + 1;
  }
  const std::int64_t others = degrees.tp * degrees.cp * degrees.pp;
  if (degrees.dp == 0) {
    if (ranks % others != 0)
      throw usage_error(format("{} recorded ranks do not divide by tp {} x cp {} x pp {}", ranks, degrees.tp,
                               degrees.cp, degrees.pp));
    degrees.dp = ranks / others;
  }
  if (degrees.ep > 0 && degrees.dp % degrees.ep != 0)
    throw usage_error(format("ep {} does not divide dp {}", degrees.ep, degrees.dp));
  return degrees;
}

TraceScaling::TraceScaling(const TraceSet& set, const TraceDegrees& recorded, std::int64_t ranks)
    : set_(set), recorded_(recorded), ranks_(ranks) {
  const std::int64_t inner = recorded.tp * recorded.cp;
  const std::int64_t replica = inner * recorded.pp;
  if (ranks < replica || ranks % replica != 0)
    throw usage_error(
        format("a replica of the recorded run has {} ranks (tp {} x cp {} x pp {}), and {} ranks "
               "are no whole number of replicas",
               replica, recorded.tp, recorded.cp, recorded.pp, ranks),
        format("for example {}", replica * std::max<std::int64_t>(1, ranks / replica)));
  data_ = ranks / replica;
  traces_.resize(static_cast<std::size_t>(replica));
  for (std::uint32_t t = 0; t < set.traces().size(); ++t) {
    const std::int64_t rank = set.traces()[t].rank;
    if (rank >= recorded.ranks())
      throw input_error(
          {.file = set.traces()[t].file},
          format("the trace is of rank {}, and the recorded run has {}", rank, recorded.ranks()));
    const Place place = place_of(rank, recorded.dp);
    traces_[static_cast<std::size_t>(place.stage * inner + place.inner)].push_back(t);
  }
  for (std::size_t place = 0; place < traces_.size(); ++place)
    if (traces_[place].empty())
      throw input_error(
          {},
          format("no trace is of place {} of tensor and context ranks in stage {}",
                 static_cast<std::int64_t>(place) % inner, static_cast<std::int64_t>(place) / inner),
          "give the traces of one replica at least");
  bool grows = false;
  for (std::uint32_t t = 0; t < set.traces().size(); ++t)
    for (std::uint32_t role = 0; role < set.traces()[t].replay.roles.size(); ++role) {
      if (set.traces()[t].replay.roles[role].kind != ReplayRoleKind::kCollective) {
        const Place here = place_of(set.traces()[t].rank, recorded.dp);
        const std::int64_t peer = set.traces()[t].replay.roles[role].peer;
        if (peer < 0 || peer >= recorded.ranks() || place_of(peer, recorded.dp).data != here.data)
          throw input_error(
              {.file = set.traces()[t].file},
              format("a message between rank {} and rank {}, which are of different replicas: how "
                     "it scales is not known",
                     set.traces()[t].rank, peer));
        continue;
      }
      const Shape shape = shape_of(t, role);
      grows |= shape.data == DataShape::kAll || shape.data == DataShape::kStride;
      shapes_.emplace(std::pair(t, role), shape);
    }
  if (!grows && data_ > recorded.dp)
    throw input_error({},
                      "the traces show no communication between replicas: what more of them would "
                      "exchange is not known",
                      "record two replicas at least");
}

TraceScaling::Place TraceScaling::place_of(std::int64_t rank, std::int64_t data_degree) const {
  const std::int64_t inner = recorded_.tp * recorded_.cp;
  return {.inner = rank % inner, .data = rank / inner % data_degree, .stage = rank / inner / data_degree};
}

std::int64_t TraceScaling::rank_at(const Place& place) const {
  return place.inner + recorded_.tp * recorded_.cp * (place.data + data_ * place.stage);
}

std::uint32_t TraceScaling::trace_of(std::int64_t rank) const {
  const Place place = place_of(rank, data_);
  const auto& traces =
      traces_[static_cast<std::size_t>(place.stage * recorded_.tp * recorded_.cp + place.inner)];
  return traces[static_cast<std::size_t>(place.data) % traces.size()];
}

std::vector<std::int64_t> TraceScaling::recorded_members(std::uint32_t trace, std::uint32_t role) const {
  const TraceSet::RankTrace& one = set_.traces()[trace];
  const TraceRole& said = one.replay.roles[role];
  std::vector<std::int64_t> members;
  const auto known = set_.groups().find(said.group);
  if (is_group_of_all(said.group)) {
    for (std::int64_t rank = 0; rank < recorded_.ranks(); ++rank) members.push_back(rank);
  } else if (known != set_.groups().end()) {
    members = known->second;
  } else {
    // Where all ranks have traces, those that name the group.
    for (const TraceSet::RankTrace& other : set_.traces())
      if (std::ranges::any_of(other.replay.roles, [&](const TraceRole& any) {
            return any.kind == ReplayRoleKind::kCollective && any.group == said.group;
          }))
        members.push_back(other.rank);
    if (static_cast<std::int64_t>(set_.traces().size()) != recorded_.ranks())
      throw input_error({.file = one.file}, format("the members of group '{}' are not known", said.group),
                        "put the file of process groups beside the traces: PREFIX.groups.json");
  }
  std::ranges::sort(members);
  for (const std::int64_t member : members)
    if (member < 0 || member >= recorded_.ranks())
      throw input_error({.file = one.file},
                        format("group '{}' has rank {}, and the recorded run has {} ranks", said.group,
                               member, recorded_.ranks()));
  return members;
}

TraceScaling::Shape TraceScaling::shape_of(std::uint32_t trace, std::uint32_t role) const {
  const TraceSet::RankTrace& one = set_.traces()[trace];
  const std::vector<std::int64_t> members = recorded_members(trace, role);
  std::set<std::int64_t> inner, data, stages;
  for (const std::int64_t member : members) {
    const Place place = place_of(member, recorded_.dp);
    inner.insert(place.inner);
    data.insert(place.data);
    stages.insert(place.stage);
  }
  Shape shape{.inner = sorted(inner), .stages = sorted(stages)};
  const std::vector<std::int64_t> replicas = sorted(data);
  const auto count = static_cast<std::int64_t>(replicas.size());
  const auto refuse = [&] {
    return input_error({.file = one.file},
                       format("group '{}' of {} ranks is none of tensor, context, data or pipeline ranks "
                              "(tp {}, cp {}, dp {}, pp {}): how it scales is not known",
                              one.replay.roles[role].group, members.size(), recorded_.tp, recorded_.cp,
                              recorded_.dp, recorded_.pp),
                       "say the degrees of the recorded run: --degrees tp=2,pp=2");
  };
  if (members.size() != inner.size() * data.size() * stages.size()) throw refuse();
  const std::int64_t distance = count > 1 ? replicas[1] - replicas[0] : 1;
  for (std::int64_t i = 1; i < count; ++i)
    if (replicas[static_cast<std::size_t>(i)] - replicas[static_cast<std::size_t>(i - 1)] != distance)
      throw refuse();
  const std::int64_t dp = recorded_.dp;
  std::int64_t now = 1;
  if (count == 1 && (dp > 1 || recorded_.ep == 1)) {
    shape.data = DataShape::kOne;
  } else if (count == dp && !(recorded_.ep == dp && dp > 1)) {
    // A replica alone: groups of tensor ranks and stages are groups of one replica.
    shape.data = dp == 1 && (inner.size() > 1 || stages.size() > 1) ? DataShape::kOne : DataShape::kAll;
    now = shape.data == DataShape::kAll ? data_ : 1;
  } else if (distance == 1 && replicas[0] % count == 0 && dp % count == 0) {
    shape.data = DataShape::kBlock;
    shape.block = count;
    now = count;
    if (data_ % count != 0)
      throw usage_error(format("{} replicas do not divide into groups of {}, as '{}' has", data_, count,
                               one.replay.roles[role].group));
  } else if (distance * count == dp && replicas[0] < distance) {
    shape.data = DataShape::kStride;
    shape.block = distance;
    now = data_ / distance;
    if (data_ % distance != 0)
      throw usage_error(format("{} replicas do not divide into blocks of {}, as '{}' has", data_, distance,
                               one.replay.roles[role].group));
  } else {
    throw refuse();
  }
  shape.growth = static_cast<double>(now) / static_cast<double>(count);
  return shape;
}

TraceScaling::Group TraceScaling::group_of(std::int64_t rank, std::uint32_t role) const {
  const std::uint32_t trace = trace_of(rank);
  const Shape& shape = shapes_.at({trace, role});
  const Place here = place_of(rank, data_);
  std::int64_t first = here.data, count = 1, distance = 1;
  switch (shape.data) {
    case DataShape::kOne:
      break;
    case DataShape::kAll:
      first = 0;
      count = data_;
      break;
    case DataShape::kBlock:
      first = here.data / shape.block * shape.block;
      count = shape.block;
      break;
    case DataShape::kStride:
      first = here.data % shape.block;
      count = data_ / shape.block;
      distance = shape.block;
      break;
  }
  Group group;
  for (const std::int64_t stage : shape.stages)
    for (std::int64_t i = 0; i < count; ++i)
      for (const std::int64_t inner : shape.inner)
        group.members.push_back(static_cast<std::uint32_t>(
            rank_at({.inner = inner, .data = first + i * distance, .stage = stage})));
  std::ranges::sort(group.members);
  // Two groups of the same ranks stay two. Numbers of groups differ from replica to replica, their order on a
  // rank does not.
  std::int64_t place = 0;
  for (std::uint32_t other = 0; other < role; ++other)
    if (const auto found = shapes_.find({trace, other});
        found != shapes_.end() && found->second.inner == shape.inner &&
        found->second.stages == shape.stages && found->second.data == shape.data &&
        found->second.block == shape.block)
      ++place;
  group.name = format("{} {} {} {}", group.members.front(), group.members.size(), distance, place);
  for (const std::int64_t inner : shape.inner) group.name += format(" {}", inner);
  for (const std::int64_t stage : shape.stages) group.name += format(".{}", stage);
  return group;
}

std::int64_t TraceScaling::peer_of(std::int64_t rank, std::uint32_t role) const {
  const std::int64_t peer = set_.traces()[trace_of(rank)].replay.roles[role].peer;
  Place there = place_of(peer, recorded_.dp);
  there.data = place_of(rank, data_).data;
  return rank_at(there);
}

Bytes TraceScaling::size_of(CollectiveType type, Bytes size, std::int64_t rank, std::uint32_t role) const {
  if (type != CollectiveType::kAllGather) return size;
  const double growth = shapes_.at({trace_of(rank), role}).growth;
  return Bytes{static_cast<std::int64_t>(static_cast<double>(size.count()) / growth + 0.5)};
}

}  // namespace nadi::inline predict
