#include "nadi/plan/spread_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>

#include "nadi/base/error.h"
#include "nadi/plan/matrix_game.h"
#include "nadi/plan/pipeline_latency.h"
#include "nadi/plan/plan_space.h"

namespace nadi {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

// Paths that are kept, and partitions that are looked at before a range is halved.
constexpr std::size_t kMostPaths = 48, kMostRows = 24;

// What is left of a bound in floating point.
constexpr double kRounding = 1e-9;

// A path with what follows it.
struct KnownPath {
  PipelinePath path = {};
  std::size_t ends_in = 0;  // stage whose tail follows
  std::size_t updates = 0;  // stage whose update comes last
  std::int64_t used = 0;    // when it last had a weight
  // By order: nanoseconds by stage and layers; empty: not worked out yet. And what comes in any case.
  std::vector<std::vector<double>> times = {};
  std::vector<double> always = {};
};

// Partitions in one order whose stages have between `fewest` and `most` layers.
struct Range {
  double bound = 0;
  std::int64_t number = 0;
  std::size_t order = 0;
  std::vector<std::int64_t> fewest = {}, most = {};
};

class SpreadSearch {
 public:
  SpreadSearch(const SpreadProblem& problem, const SpreadEffort& effort)
      : problem_(problem),
        effort_(effort),
        plan_(problem.orders.front().tables.plan),
        layers_(problem.orders.front().tables.layers),
        stages_(static_cast<std::size_t>(plan_.pp)),
        row_(static_cast<std::size_t>(layers_ + 1)),
        best_(effort.better_than) {}

  SpreadAnswer run() {
    for (std::size_t order = 0; order < problem_.orders.size(); ++order)
      push({.order = order,
            .fewest = std::vector<std::int64_t>(stages_),
            .most = problem_.orders[order].most_layers});
    while (!open_.empty() && open_.top().bound < static_cast<double>(best_) && !is_spent()) {
      Range range = open_.top();
      open_.pop();
      look_into(range);
      if (range.bound < static_cast<double>(best_)) halve(range);
    }
    answer_.lower_bound = best_;
    if (!open_.empty())
      answer_.lower_bound = std::min(answer_.lower_bound, static_cast<std::int64_t>(open_.top().bound));
    return answer_;
  }

 private:
  bool is_spent() const { return answer_.work >= effort_.work || (effort_.stop && effort_.stop()); }

  void push(Range range) {
    std::int64_t fewest = 0, most = 0;
    for (std::size_t s = 0; s < stages_; ++s) {
      range.most[s] = std::min(range.most[s], layers_);
      if (range.most[s] < range.fewest[s]) return;
      fewest += range.fewest[s];
      most += range.most[s];
    }
    if (fewest > layers_ || most < layers_) return;
    range.number = ranges_++;
    open_.push(std::move(range));
  }

  std::size_t place(std::size_t stage, std::int64_t layers) const {
    return stage * row_ + static_cast<std::size_t>(layers);
  }

  // A layer after the other goes where all micro-batches take the least with it.
  std::vector<std::int64_t> balanced(const Range& range) const {
    const PlanTables& tables = problem_.orders[range.order].tables;
    std::vector<std::int64_t> layers = range.fewest;
    std::int64_t left = layers_;
    for (const std::int64_t count : layers) left -= count;
    const auto both = [&](std::size_t stage, std::int64_t count) {
      std::int64_t sum = 0;
      for_chunks(stage, count, [&](std::size_t c, std::size_t held) {
        sum += tables.chunks[c].forward[held].run.count() + tables.chunks[c].backward[held].run.count();
      });
      return sum;
    };
    for (; left > 0; --left) {
      std::optional<std::size_t> taker;
      std::int64_t least = 0;
      for (std::size_t s = 0; s < stages_; ++s) {
        if (layers[s] == range.most[s]) continue;
        const std::int64_t time = both(s, layers[s] + 1);
        if (taker && time >= least) continue;
        taker = s;
        least = time;
      }
      ++layers[*taker];
    }
    return layers;
  }

  // With the layers of a stage spread over its chunks.
  template <typename Visit>
  void for_chunks(std::size_t stage, std::int64_t layers, Visit&& visit) const {
    for (std::int64_t v = 0; v < plan_.virtual_stages; ++v)
      visit(static_cast<std::size_t>(v) * stages_ + stage,
            static_cast<std::size_t>(layers / plan_.virtual_stages +
                                     (v < layers % plan_.virtual_stages ? 1 : 0)));
  }

  const PartitionCosts& after(std::size_t order, std::size_t stage, std::int64_t layers) const {
    return problem_.orders[order].after[stage][static_cast<std::size_t>(layers)];
  }
  // From the last backward of a stage on; word embeddings that two stages share are reduced over both.
  std::int64_t tail(std::size_t order, std::size_t stage, std::int64_t layers) const {
    const std::int64_t tail = after(order, stage, layers).tail;
    if (stage > 0 && stage + 1 < stages_) return tail;
    return std::max(tail, problem_.orders[order].tables.embedding_reduction.count());
  }

  // The longest path of a partition.
  KnownPath path_of(std::size_t order, std::span<const std::int64_t> layers) {
    const PlanTables& tables = problem_.orders[order].tables;
    forward_.resize(tables.chunks.size());
    backward_.resize(tables.chunks.size());
    for (std::size_t s = 0; s < stages_; ++s)
      for_chunks(s, layers[s], [&](std::size_t c, std::size_t held) {
        forward_[c] = tables.chunks[c].forward[held];
        backward_[c] = tables.chunks[c].backward[held];
      });
    const PipelineTimes times{.schedule = plan_.schedule,
                              .stages = plan_.pp,
                              .virtual_stages = plan_.virtual_stages,
                              .micro_batches = plan_.micro_batches,
                              .forward = forward_,
                              .backward = backward_,
                              .activations = tables.activations,
                              .gradients = tables.gradients};
    const PipelineLatency::Ends ends = latency_.of(times);
    KnownPath path{.times = std::vector<std::vector<double>>(problem_.orders.size()),
                   .always = std::vector<double>(problem_.orders.size())};
    std::int64_t latest = -1, longest = -1;
    for (std::size_t s = 0; s < stages_; ++s) {
      std::int64_t end = tail(order, s, layers[s]);
      for (std::size_t c = s; c < tables.chunks.size(); c += stages_)
        end = std::max(end, ends.backward[c] + tail(order, s, layers[s]));
      if (end > latest) {
        latest = end;
        path.ends_in = s;
      }
      const std::int64_t update = after(order, s, layers[s]).update;
      if (update <= longest) continue;
      longest = update;
      path.updates = s;
    }
    path.path = latency_.longest_path(times, static_cast<std::int64_t>(path.ends_in));
    return path;
  }

  // Where a chunk is empty in which the path turns, it is none: then it counts for nothing altogether.
  const std::vector<double>& times_of(KnownPath& known, std::size_t order) const {
    std::vector<double>& times = known.times[order];
    if (!times.empty()) return times;
    const PlanTables& tables = problem_.orders[order].tables;
    times.resize(stages_ * row_);
    std::vector<std::size_t> broken;
    double most = 0;
    for (std::size_t s = 0; s < stages_; ++s) {
      double most_of_stage = 0;
      for (std::int64_t l = 0; l <= std::min(layers_, problem_.orders[order].most_layers[s]); ++l) {
        double sum = 0;
        bool breaks = false;
        for_chunks(s, l, [&](std::size_t c, std::size_t held) {
          const PipelinePath::Chunk& count = known.path.chunks[c];
          const PassTimes &forward = tables.chunks[c].forward[held],
                          &backward = tables.chunks[c].backward[held];
          const auto add = [&](std::int32_t times, Nanoseconds time) {
            sum += static_cast<double>(times) * static_cast<double>(time.count());
          };
          if (!forward.empty) {
            add(count.forward_run, forward.run);
            add(count.forward_after, forward.after_input);
          }
          if (!backward.empty) {
            add(count.backward_run, backward.run);
            add(count.backward_after, backward.after_input);
          }
          breaks = breaks || (count.turns && (forward.empty || backward.empty));
        });
        if (s == known.ends_in) sum += static_cast<double>(tail(order, s, l));
        if (s == known.updates) sum += static_cast<double>(after(order, s, l).update);
        times[place(s, l)] = sum;
        most_of_stage = std::max(most_of_stage, sum);
        if (breaks) broken.push_back(place(s, l));
      }
      most += most_of_stage;
    }
    double& always = known.always[order];
    always = static_cast<double>(tables.norm.count());
    for (std::size_t c = 0; c < tables.activations.size(); ++c)
      always +=
          static_cast<double>(known.path.activations[c]) *
              static_cast<double>(tables.activations[c].count()) +
          static_cast<double>(known.path.gradients[c]) * static_cast<double>(tables.gradients[c].count());
    for (const std::size_t at : broken) times[at] = -(most + always);
    return times;
  }

  double time_of(KnownPath& known, std::size_t order, std::span<const std::int64_t> layers) const {
    const std::vector<double>& times = times_of(known, order);
    double sum = known.always[order];
    for (std::size_t s = 0; s < stages_; ++s) sum += times[place(s, layers[s])];
    return sum;
  }

  // Makes room by leaving out those without a weight for the longest time.
  void add_path(KnownPath path) {
    if (std::ranges::any_of(paths_, [&](const KnownPath& known) {
          return known.ends_in == path.ends_in && known.updates == path.updates && known.path == path.path;
        }))
      return;
    path.used = ++clock_;
    if (paths_.size() >= kMostPaths) paths_.erase(std::ranges::min_element(paths_, {}, &KnownPath::used));
    paths_.push_back(std::move(path));
  }

  struct Least {
    double time = kNoTime;
    std::vector<std::int64_t> layers = {};
  };

  // Of all partitions of a range, under a mean of paths.
  Least least_of(const Range& range, std::span<const double> shares) {
    mean_.assign(stages_ * row_, 0);
    double always = 0;
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      if (shares[p] <= 0) continue;
      const std::vector<double>& times = times_of(paths_[p], range.order);
      always += shares[p] * paths_[p].always[range.order];
      for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] += shares[p] * times[i];
    }
    sums_.assign((stages_ + 1) * row_, kNoTime);
    taken_.assign((stages_ + 1) * row_, 0);
    sums_[0] = 0;
    for (std::size_t s = 0; s < stages_; ++s)
      for (std::int64_t before = 0; before <= layers_; ++before) {
        const double sum = sums_[place(s, before)];
        if (sum == kNoTime) continue;
        for (std::int64_t l = range.fewest[s]; l <= std::min(range.most[s], layers_ - before); ++l) {
          const std::size_t to = place(s + 1, before + l);
          const double with = sum + mean_[place(s, l)];
          if (with >= sums_[to]) continue;
          sums_[to] = with;
          taken_[to] = l;
        }
      }
    Least least{.time = sums_[place(stages_, layers_)] + always,
                .layers = std::vector<std::int64_t>(stages_)};
    for (std::int64_t left = layers_, s = plan_.pp; s > 0; --s) {
      const std::int64_t l = taken_[place(static_cast<std::size_t>(s), left)];
      least.layers[static_cast<std::size_t>(s - 1)] = l;
      left -= l;
    }
    return least;
  }

  void evaluate(std::size_t order, const std::vector<std::int64_t>& layers) {
    ++answer_.evaluated;
    const std::int64_t time = problem_.exact(order, layers);
    if (time >= best_) return;
    best_ = answer_.nanoseconds = time;
    answer_.order = order;
    answer_.layers = layers;
  }

  // Raises the bound of a range, and finds out where its stages should be parted.
  void look_into(Range& range) {
    std::vector<std::vector<std::int64_t>> rows;
    std::vector<std::int64_t> layers = balanced(range);
    while (true) {
      rows.push_back(layers);
      evaluate(range.order, layers);
      add_path(path_of(range.order, layers));
      MatrixGame game{.rows = rows.size(), .columns = paths_.size()};
      for (const std::vector<std::int64_t>& row : rows)
        for (KnownPath& path : paths_) game.payoffs.push_back(std::max(0.0, time_of(path, range.order, row)));
      const double longest = std::ranges::max(game.payoffs);
      for (double& time : game.payoffs) time /= longest;
      const GameAnswer answer = solve_game(game);
      for (std::size_t p = 0; p < paths_.size(); ++p)
        if (answer.columns[p] > 0) paths_[p].used = ++clock_;
      Least least = least_of(range, answer.columns);
      range.bound = std::max(range.bound, least.time * (1 - kRounding));
      answer_.work += 2 * plan_.micro_batches * std::ssize(forward_) + layers_ * layers_ * plan_.pp / 2 +
                      std::ssize(paths_) * std::ssize(mean_) / 8;
      split_at_.assign(stages_, 0);
      spread_.assign(stages_, 0);
      for (std::size_t s = 0; s < stages_; ++s) {
        for (std::size_t r = 0; r < rows.size(); ++r)
          split_at_[s] += answer.rows[r] * static_cast<double>(rows[r][s]);
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const double apart = static_cast<double>(rows[r][s]) - split_at_[s];
          spread_[s] += answer.rows[r] * apart * apart;
        }
      }
      if (range.bound >= static_cast<double>(best_) || rows.size() >= kMostRows || is_spent() ||
          std::ranges::find(rows, least.layers) != rows.end())
        return;
      layers = std::move(least.layers);
    }
  }

  void halve(const Range& range) {
    std::optional<std::size_t> widest;
    for (std::size_t s = 0; s < stages_; ++s)
      if (range.most[s] > range.fewest[s] && (!widest || spread_[s] > spread_[*widest])) widest = s;
    if (!widest) return;  // one partition, and it was evaluated
    const std::int64_t middle = std::clamp(static_cast<std::int64_t>(split_at_[*widest]),
                                           range.fewest[*widest], range.most[*widest] - 1);
    Range low = range, high = range;
    low.most[*widest] = middle;
    high.fewest[*widest] = middle + 1;
    push(std::move(low));
    push(std::move(high));
  }

  struct Later {
    bool operator()(const Range& a, const Range& b) const {
      return a.bound != b.bound ? a.bound > b.bound : a.number > b.number;
    }
  };

  const SpreadProblem& problem_;
  const SpreadEffort& effort_;
  const Plan& plan_;
  const std::int64_t layers_;
  const std::size_t stages_, row_;
  std::int64_t best_;
  SpreadAnswer answer_;
  std::priority_queue<Range, std::vector<Range>, Later> open_;
  std::int64_t ranges_ = 0, clock_ = 0;
  std::vector<KnownPath> paths_;
  PipelineLatency latency_;
  std::vector<PassTimes> forward_, backward_;
  std::vector<double> mean_, sums_;
  std::vector<std::int64_t> taken_;
  std::vector<double> split_at_, spread_;  // by stage: layers in the mean of the last game, and how far apart
};

}  // namespace

SpreadAnswer search_spread(const SpreadProblem& problem, const SpreadEffort& effort) {
  check(!problem.orders.empty(), "stages stand in some order");
  return SpreadSearch(problem, effort).run();
}

}  // namespace nadi
