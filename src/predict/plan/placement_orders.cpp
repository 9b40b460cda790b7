#include "nadi/plan/placement_orders.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "nadi/base/error.h"

namespace nadi::inline predict {
namespace {

// More mixes of kinds in one stage than these are not looked at one by one: each is a make, and the search
// goes through sequences of makes. A mixed stage is as slow as its slowest device, so it serves to use up
// what is left over.
constexpr std::size_t kMostMixes = 8;
// Steps of a search for one placement that has a make at a place. Placements are found at once unless kinds
// of nodes hold different numbers of stages.
constexpr int kMostSteps = 20'000;
// Steps of going through all of something, which are exponential in the kinds of nodes: a cluster of forty
// kinds of one node each has 2^40 sets of nodes. Real clusters need some hundreds.
constexpr int kMostStepsOfAll = 200'000;

// Devices that each node of a kind gives to a stage that takes several nodes.
std::int32_t devices_given(std::int32_t devices, const StageNeed& need) {
  for (std::int32_t given = devices; given >= 1; --given) {
    const bool holds_groups = need.tp > given ? need.tp % given == 0 : given % need.tp == 0;
    if (need.ranks % given == 0 && holds_groups) return given;
    if (need.all_devices || need.tp > devices) return 0;
  }
  return 0;
}

std::int64_t blocks_of(const StageMake& make, std::span<const std::int32_t> nodes) {
  std::int64_t blocks = std::numeric_limits<std::int32_t>::max();
  for (const NodeRun& run : make.nodes)
    blocks = std::min<std::int64_t>(blocks, nodes[static_cast<std::size_t>(run.kind)] / run.count);
  return blocks;
}

// Ways in which several kinds of nodes give one stage its ranks together.
class StageMixes {
 public:
  StageMixes(const Cluster& cluster, std::span<const std::int32_t> nodes, const StageNeed& need)
      : nodes_(nodes), need_(need) {
    for (std::size_t kind = 0; kind < nodes.size(); ++kind)
      given_.push_back(nodes[kind] > 0 ? devices_given(cluster.kinds[kind].devices, need) : 0);
  }

  // More than `most` are not listed.
  std::vector<StageMake> all(std::size_t most) {
    most_ = most;
    add(0, need_.ranks);
    too_many_ = found_.size() > most || steps_ > kMostStepsOfAll;
    return std::move(found_);
  }

  // After all(): it did not list them all.
  bool too_many() const { return too_many_; }

  // What stages of kind a alone leave over, with nodes of kind b.
  std::vector<StageMake> left_over() const {
    std::vector<StageMake> mixes;
    for (std::size_t a = 0; a < given_.size(); ++a)
      for (std::size_t b = 0; b < given_.size(); ++b) {
        if (a == b || given_[a] == 0 || given_[b] == 0) continue;
        const std::int64_t left = nodes_[a] % (need_.ranks / given_[a]);
        const std::int64_t missing = need_.ranks - left * given_[a];
        if (left == 0 || missing % given_[b] != 0 || missing / given_[b] > nodes_[b]) continue;
        StageMake make{.nodes = {{.kind = static_cast<std::int32_t>(a),
                                  .count = static_cast<std::int32_t>(left),
                                  .devices = given_[a]},
                                 {.kind = static_cast<std::int32_t>(b),
                                  .count = static_cast<std::int32_t>(missing / given_[b]),
                                  .devices = given_[b]}},
                       .blocks = 1};
        std::ranges::sort(make.nodes, {}, &NodeRun::kind);
        make.blocks = blocks_of(make, nodes_);
        const auto same = [&](const StageMake& other) { return other.nodes == make.nodes; };
        if (std::ranges::none_of(mixes, same)) mixes.push_back(std::move(make));
      }
    return mixes;
  }

 private:
  void add(std::size_t kind, std::int64_t ranks) {
    if (found_.size() > most_ || ++steps_ > kMostStepsOfAll) return;
    if (ranks == 0) {
      if (runs_.size() > 1) {
        found_.push_back({.nodes = runs_});
        found_.back().blocks = blocks_of(found_.back(), nodes_);
      }
      return;
    }
    if (kind == given_.size()) return;
    add(kind + 1, ranks);
    if (given_[kind] == 0) return;
    for (std::int32_t count = 1; count <= nodes_[kind] && count * given_[kind] <= ranks; ++count) {
      runs_.push_back({.kind = static_cast<std::int32_t>(kind), .count = count, .devices = given_[kind]});
      add(kind + 1, ranks - count * given_[kind]);
      runs_.pop_back();
    }
  }

  std::span<const std::int32_t> nodes_;
  const StageNeed& need_;
  std::size_t most_ = 0;
  int steps_ = 0;
  bool too_many_ = false;
  std::vector<std::int32_t> given_;  // by kind; 0 means it cannot take part
  std::vector<NodeRun> runs_;
  std::vector<StageMake> found_;
};

// Whether there are devices for all stages, if every node gave as many as any make takes of it.
bool has_devices(const StageMakes& makes, std::span<const std::int32_t> nodes) {
  std::vector<std::int64_t> given(nodes.size(), 0);
  for (const StageMake& make : makes.makes)
    for (const NodeRun& run : make.nodes) {
      std::int64_t& most = given[static_cast<std::size_t>(run.kind)];
      most = std::max<std::int64_t>(most, run.devices);
    }
  std::int64_t devices = 0;
  for (std::size_t kind = 0; kind < nodes.size(); ++kind) devices += nodes[kind] * given[kind];
  return devices >= makes.need.stages * makes.need.ranks;
}

// Finds placements by trying makes for one block after the other.
class OrderSearch {
 public:
  OrderSearch(const StageMakes& makes, std::span<const std::int32_t> nodes)
      : makes_(makes), left_(nodes.begin(), nodes.end()) {}

  // `wanted` from stage `from` on as long as there are nodes, other makes before it.
  std::vector<std::int32_t> find(std::int32_t wanted, std::int64_t from) {
    order_.clear();
    steps_ = 0;
    return place(wanted, from) ? order_ : std::vector<std::int32_t>{};
  }

 private:
  bool place(std::int32_t wanted, std::int64_t from) {
    const std::int64_t stage = std::ssize(order_);
    if (stage == makes_.need.stages) return true;
    if (++steps_ > kMostSteps) return false;
    // What is wanted here first, then what there is most of.
    struct Choice {
      std::int32_t make = 0;
      bool wanted = false;
      std::int64_t left = 0;
    };
    std::vector<Choice> choices;
    choices.reserve(makes_.makes.size());
    for (std::int32_t make = 0; make < std::ssize(makes_.makes); ++make)
      if (const std::int64_t left = left_blocks(make); left > 0)
        choices.push_back({make, (make == wanted) == (stage >= from), left});
    std::ranges::stable_sort(choices, [](const Choice& a, const Choice& b) {
      return a.wanted != b.wanted ? a.wanted : a.left > b.left;
    });
    for (const auto& [make, is_wanted, left] : choices) {
      if (stage == from && make != wanted) continue;
      const std::int64_t stages =
          std::min(makes_.makes[static_cast<std::size_t>(make)].stages, makes_.need.stages - stage);
      if (stage < from && stage + stages > from) continue;
      take(make, 1);
      order_.insert(order_.end(), static_cast<std::size_t>(stages), make);
      const bool done = place(wanted, from);
      take(make, -1);
      if (done) return true;
      order_.resize(static_cast<std::size_t>(stage));
    }
    return false;
  }

  std::int64_t left_blocks(std::int32_t make) const {
    return blocks_of(makes_.makes[static_cast<std::size_t>(make)], left_);
  }
  void take(std::int32_t make, std::int32_t blocks) {
    for (const NodeRun& run : makes_.makes[static_cast<std::size_t>(make)].nodes)
      left_[static_cast<std::size_t>(run.kind)] -= blocks * run.count;
  }

  const StageMakes& makes_;
  std::vector<std::int32_t> left_;
  std::vector<std::int32_t> order_;
  int steps_ = 0;
};

}  // namespace

StageMakes stage_makes(const Cluster& cluster, std::span<const std::int32_t> nodes, const StageNeed& need) {
  StageMakes result{.need = need, .makes = {}};
  bool spans_nodes = false;
  for (std::int32_t kind = 0; kind < std::ssize(nodes); ++kind) {
    const std::int32_t devices = cluster.kinds[static_cast<std::size_t>(kind)].devices;
    const std::int32_t count = nodes[static_cast<std::size_t>(kind)];
    if (count == 0) continue;
    StageMake make;
    if (need.ranks <= devices) {
      make.stages = devices / need.ranks;
      if (need.all_devices && make.stages * need.ranks != devices) continue;
      make.nodes = {
          {.kind = kind, .count = 1, .devices = static_cast<std::int32_t>(make.stages * need.ranks)}};
    } else {
      spans_nodes = true;
      const std::int32_t given = devices_given(devices, need);
      if (given == 0 || need.ranks / given > count) continue;
      make.nodes = {{.kind = kind, .count = static_cast<std::int32_t>(need.ranks / given), .devices = given}};
    }
    make.blocks = blocks_of(make, nodes);
    result.makes.push_back(std::move(make));
  }
  if (!spans_nodes) return result;
  StageMixes search(cluster, nodes, need);
  std::vector<StageMake> mixes = search.all(kMostMixes);
  if (search.too_many()) {
    result.mixes_left_out = true;
    mixes = search.left_over();
  }
  result.makes.insert(result.makes.end(), mixes.begin(), mixes.end());
  return result;
}

std::vector<NodeRun> runs_of(const StageMakes& makes, std::span<const std::int32_t> make_of_stage) {
  std::vector<NodeRun> runs;
  const auto stages = std::ssize(make_of_stage);
  for (std::int64_t stage = 0; stage < stages;) {
    const StageMake& make =
        makes.makes[static_cast<std::size_t>(make_of_stage[static_cast<std::size_t>(stage)])];
    const std::int64_t held = std::min(make.stages, stages - stage);
    for (NodeRun run : make.nodes) {
      if (held < make.stages) run.devices = static_cast<std::int32_t>(held * makes.need.ranks);
      if (!runs.empty() && runs.back().kind == run.kind && runs.back().devices == run.devices)
        runs.back().count += run.count;
      else
        runs.push_back(run);
    }
    stage += held;
  }
  return runs;
}

std::vector<std::vector<std::int32_t>> covering_orders(const StageMakes& makes,
                                                       std::span<const std::int32_t> nodes,
                                                       const std::function<bool()>& stop) {
  const std::int64_t stages = makes.need.stages;
  const auto count = makes.makes.size();
  if (!has_devices(makes, nodes)) return {};
  std::vector<bool> covered(static_cast<std::size_t>(stages) * count);
  std::vector<std::vector<std::int32_t>> orders;
  OrderSearch search(makes, nodes);
  for (std::int32_t make = 0; make < static_cast<std::int32_t>(count); ++make)
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      if (covered[static_cast<std::size_t>(stage) * count + static_cast<std::size_t>(make)]) continue;
      if (stop && stop()) return {};
      std::vector<std::int32_t> order = search.find(make, stage);
      if (order.empty()) continue;
      for (std::size_t s = 0; s < order.size(); ++s)
        covered[s * count + static_cast<std::size_t>(order[s])] = true;
      orders.push_back(std::move(order));
    }
  return orders;
}

std::vector<std::vector<std::int32_t>> all_orders(const StageMakes& makes,
                                                  std::span<const std::int32_t> nodes, std::size_t most) {
  std::vector<std::vector<std::int32_t>> orders;
  std::vector<std::int32_t> order, used(nodes.size());
  const auto stages = static_cast<std::size_t>(makes.need.stages);
  int steps = 0;
  const std::function<void()> extend = [&] {
    if (orders.size() > most || ++steps > kMostStepsOfAll) return;
    if (order.size() >= stages) {
      orders.emplace_back(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(stages));
      return;
    }
    for (std::size_t i = 0; i < makes.makes.size(); ++i) {
      const StageMake& make = makes.makes[i];
      bool enough = true;
      for (const NodeRun& run : make.nodes) {
        const auto kind = static_cast<std::size_t>(run.kind);
        used[kind] += run.count;
        enough = enough && used[kind] <= nodes[kind];
      }
      if (enough) {
        order.insert(order.end(), static_cast<std::size_t>(make.stages), static_cast<std::int32_t>(i));
        extend();
        order.resize(order.size() - static_cast<std::size_t>(make.stages));
      }
      for (const NodeRun& run : make.nodes) used[static_cast<std::size_t>(run.kind)] -= run.count;
    }
  };
  extend();
  if (orders.size() > most || steps > kMostStepsOfAll) orders.clear();
  return orders;
}

std::vector<std::vector<std::int32_t>> orders_of_runs(const StageMakes& makes,
                                                      std::span<const std::int32_t> nodes, std::size_t most) {
  const auto stages = static_cast<std::size_t>(makes.need.stages);
  std::vector<std::vector<std::int32_t>> orders;
  // So many blocks of one make, then all of another that there are nodes for, then the first again.
  const auto add = [&](std::int32_t outer, std::int32_t inner, std::int64_t before) {
    std::vector<std::int32_t> left(nodes.begin(), nodes.end()), order;
    const auto put = [&](std::int32_t make, std::int64_t blocks) {
      const StageMake& made = makes.makes[static_cast<std::size_t>(make)];
      blocks = std::min(blocks, blocks_of(made, left));
      for (; blocks > 0 && order.size() < stages; --blocks) {
        order.insert(order.end(), static_cast<std::size_t>(made.stages), make);
        for (const NodeRun& run : made.nodes) left[static_cast<std::size_t>(run.kind)] -= run.count;
      }
    };
    put(outer, before);
    put(inner, makes.makes[static_cast<std::size_t>(inner)].blocks);
    put(outer, makes.makes[static_cast<std::size_t>(outer)].blocks);
    if (order.size() < stages) return;
    order.resize(stages);
    if (std::ranges::find(orders, order) == orders.end()) orders.push_back(std::move(order));
  };
  const auto pairs = [&](auto visit) {
    for (std::int32_t outer = 0; outer < std::ssize(makes.makes); ++outer)
      for (std::int32_t inner = 0; inner < std::ssize(makes.makes); ++inner)
        if (outer != inner || makes.makes.size() == 1) visit(outer, inner);
  };
  // Two runs first.
  pairs([&](std::int32_t outer, std::int32_t inner) { add(outer, inner, 0); });
  pairs([&](std::int32_t outer, std::int32_t inner) {
    const std::int64_t blocks = makes.makes[static_cast<std::size_t>(outer)].blocks;
    for (std::int64_t before = 1; before < blocks && orders.size() < most; ++before)
      add(outer, inner, before);
  });
  if (orders.size() > most) orders.resize(most);
  return orders;
}

std::vector<std::vector<std::int32_t>> node_counts(const StageMakes& makes,
                                                   std::span<const std::int32_t> nodes) {
  std::set<std::vector<std::int32_t>> found;
  std::vector<std::int32_t> used(nodes.size());
  int steps = 0;
  const std::function<void(std::size_t, std::int64_t)> choose = [&](std::size_t from, std::int64_t stages) {
    if (++steps > kMostStepsOfAll) return;
    if (stages <= 0) {
      found.insert(used);
      return;
    }
    for (std::size_t i = from; i < makes.makes.size(); ++i) {
      const StageMake& make = makes.makes[i];
      bool enough = true;
      for (const NodeRun& run : make.nodes) {
        const auto kind = static_cast<std::size_t>(run.kind);
        used[kind] += run.count;
        enough = enough && used[kind] <= nodes[kind];
      }
      if (enough) choose(i, stages - make.stages);
      for (const NodeRun& run : make.nodes) used[static_cast<std::size_t>(run.kind)] -= run.count;
    }
  };
  choose(0, makes.need.stages);
  if (steps > kMostStepsOfAll) found.emplace(nodes.begin(), nodes.end());
  return {found.begin(), found.end()};
}

}  // namespace nadi::inline predict
