#include "nadi/plan/spread_search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/plan/matrix_game.h"
#include "nadi/plan/pipeline_latency.h"
#include "nadi/plan/plan_space.h"

namespace nadi::inline predict {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

// Paths and partitions that are kept, and partitions that are looked at before a range is halved.
constexpr std::size_t kMostPaths = 96, kMostRows = 64, kMostLooks = 32;

// What is left of a bound in floating point.
constexpr double kBoundRounding = 1e-9;

// A path with what follows it.
struct KnownPath {
  PipelinePath path = {};
  std::size_t updates = 0;  // stage whose update comes last
  std::int64_t used = 0;    // when it last had a weight
  // By order: nanoseconds by stage and layers; empty means not worked out yet. And what comes in any case.
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
  SpreadSearch(const SpreadProblem& problem, const PartitionEffort& effort)
      : problem_(problem),
        effort_(effort),
        plan_(problem.orders.front().tables.plan),
        layers_(problem.orders.front().tables.layers),
        stages_(static_cast<std::size_t>(plan_.pp)),
        row_(static_cast<std::size_t>(layers_ + 1)),
        best_(effort.better_than) {}

  PartitionAnswer run() {
    for (std::size_t order = 0; order < problem_.orders.size(); ++order) {
      find_most_layers(order);
      push({.order = order, .fewest = std::vector<std::int64_t>(stages_), .most = most_layers_[order]});
    }
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
      if (range.most[s] < range.fewest[s]) return;
      fewest += range.fewest[s];
      most += range.most[s];
    }
    if (fewest > layers_ || most < layers_) return;
    // What the others have no room for.
    for (std::size_t s = 0; s < stages_; ++s)
      range.fewest[s] = std::max(range.fewest[s], layers_ - (most - range.most[s]));
    range.number = ranges_++;
    open_.push(std::move(range));
  }

  std::size_t place(std::size_t stage, std::int64_t layers) const {
    return stage * row_ + static_cast<std::size_t>(layers);
  }

  // Forward and backward of one micro-batch in all chunks of a stage.
  std::int64_t both(const PlanTables& tables, std::size_t stage, std::int64_t layers) const {
    std::int64_t sum = 0;
    for_chunks(stage, layers, [&](std::size_t c, std::size_t held) {
      sum += tables.chunks[c].forward[held].run.count() + tables.chunks[c].backward[held].run.count();
    });
    return sum;
  }

  // With more layers, a stage takes too long all by itself.
  void find_most_layers(std::size_t order) {
    const SpreadOrder& one = problem_.orders[order];
    std::vector<std::int64_t>& most = most_layers_.emplace_back(one.most_layers);
    for (std::size_t s = 0; s < stages_; ++s) {
      const auto too_long = [&](std::int64_t layers) {
        return plan_.micro_batches * both(one.tables, s, layers) + tail(order, s, layers) +
                   one.tables.norm.count() + after(order, s, layers).update >=
               best_;
      };
      most[s] = std::min(most[s], layers_);
      while (most[s] >= 0 && too_long(most[s])) --most[s];
    }
  }

  // A layer after the other goes where all micro-batches take the least with it.
  std::vector<std::int64_t> balanced(const Range& range) const {
    const PlanTables& tables = problem_.orders[range.order].tables;
    std::vector<std::int64_t> layers = range.fewest;
    std::int64_t left = layers_;
    for (const std::int64_t count : layers) left -= count;
    for (; left > 0; --left) {
      std::optional<std::size_t> taker;
      std::int64_t least = 0;
      for (std::size_t s = 0; s < stages_; ++s) {
        if (layers[s] == range.most[s]) continue;
        const std::int64_t time = both(tables, s, layers[s] + 1);
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
            static_cast<std::size_t>(layers_of_chunk(layers, v, plan_.virtual_stages)));
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

  // Adds the longest paths of a partition that turn anywhere, that turn in no chunk which is empty somewhere in
  // the range, and that turn in the first chunks of stages alone. The last ones take less here, but they are
  // paths where others are not.
  void add_paths(const Range& range, std::span<const std::int64_t> layers) {
    const PlanTables& tables = problem_.orders[range.order].tables;
    const std::size_t chunks = tables.chunks.size();
    forward_.resize(chunks);
    backward_.resize(chunks);
    std::vector<std::int64_t> tails(stages_);
    std::size_t updates = 0;
    const auto update = [&](std::size_t s) { return after(range.order, s, layers[s]).update; };
    for (std::size_t s = 0; s < stages_; ++s) {
      for_chunks(s, layers[s], [&](std::size_t c, std::size_t held) {
        forward_[c] = tables.chunks[c].forward[held];
        backward_[c] = tables.chunks[c].backward[held];
      });
      tails[s] = tail(range.order, s, layers[s]);
      if (update(s) > update(updates)) updates = s;
    }
    std::vector<char> anywhere(chunks, 1), never_empty(chunks), first_chunks(chunks);
    for (std::size_t c = 0; c < chunks; ++c) {
      const bool is_end = c == 0 || c + 1 == chunks;
      never_empty[c] = is_end || range.fewest[c % stages_] > static_cast<std::int64_t>(c / stages_);
      first_chunks[c] = is_end || c < stages_;
    }
    for (const std::vector<char>* turns : {&anywhere, &never_empty, &first_chunks}) {
      KnownPath known{.path = latency_.longest_path({.schedule = plan_.schedule,
                                                     .stages = plan_.pp,
                                                     .virtual_stages = plan_.virtual_stages,
                                                     .micro_batches = plan_.micro_batches,
                                                     .forward = forward_,
                                                     .backward = backward_,
                                                     .activations = tables.activations,
                                                     .gradients = tables.gradients},
                                                    {.turns = *turns, .tails = tails}),
                      .updates = updates,
                      .times = std::vector<std::vector<double>>(problem_.orders.size()),
                      .always = std::vector<double>(problem_.orders.size())};
      add_path(std::move(known));
    }
  }

  // By stage and layers, of one piece without messages.
  std::vector<double> piece_times(const PlanTables& tables, std::span<const std::int64_t> most_layers,
                                  const PipelinePath::Piece& piece) const {
    std::vector<double> times(stages_ * row_);
    for (std::size_t s = 0; s < stages_; ++s)
      for (std::int64_t l = 0; l <= most_layers[s]; ++l)
        for_chunks(s, l, [&](std::size_t c, std::size_t held) {
          const PipelinePath::Chunk& count = piece.chunks[c];
          const PassTimes &forward = tables.chunks[c].forward[held],
                          &backward = tables.chunks[c].backward[held];
          const auto add = [&](std::int32_t passes, Nanoseconds time) {
            times[place(s, l)] += static_cast<double>(passes) * static_cast<double>(time.count());
          };
          if (!forward.empty) {
            add(count.forward_run, forward.run);
            add(count.forward_after, forward.after_input);
          }
          if (!backward.empty) {
            add(count.backward_run, backward.run);
            add(count.backward_after, backward.after_input);
          }
        });
    return times;
  }

  static double messages_of(const PlanTables& tables, const PipelinePath::Piece& piece) {
    double sum = 0;
    for (std::size_t c = 0; c < tables.activations.size(); ++c)
      sum += static_cast<double>(piece.activations[c]) * static_cast<double>(tables.activations[c].count()) +
             static_cast<double>(piece.gradients[c]) * static_cast<double>(tables.gradients[c].count());
    return sum;
  }

  // A piece of a path in one order of stages.
  struct PieceTimes {
    std::vector<double> times;          // by stage and layers
    std::vector<double> most_of_stage;  // of these, by stage
    double most = 0;                    // that the whole piece may take, with messages
  };

  PieceTimes bounded_piece(const KnownPath& known, std::size_t order, std::size_t number) const {
    const PlanTables& tables = problem_.orders[order].tables;
    const PipelinePath::Piece& piece = known.path.pieces[number];
    PieceTimes bounded{.times = piece_times(tables, most_layers_[order], piece),
                       .most_of_stage = std::vector<double>(stages_),
                       .most = messages_of(tables, piece)};
    for (std::size_t s = 0; s < stages_; ++s) {
      for (std::int64_t l = 0; l <= most_layers_[order][s]; ++l) {
        double& time = bounded.times[place(s, l)];
        if (number == 0 && std::cmp_equal(s, known.path.stage))
          time += static_cast<double>(tail(order, s, l));
        bounded.most_of_stage[s] = std::max(bounded.most_of_stage[s], time);
      }
      bounded.most += bounded.most_of_stage[s];
    }
    return bounded;
  }

  // What a path loses at most where a stage has so many layers: all but the longest run of pieces between
  // turns in empty chunks. Several such stages lose no more than the sum: what all of them leave is in one
  // run.
  double lost(const KnownPath& known, const PlanTables& tables, std::span<const PieceTimes> pieces,
              std::size_t stage, std::int64_t layers) const {
    double all = 0, run = 0, longest_run = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const double most =
          pieces[i].most - pieces[i].most_of_stage[stage] + pieces[i].times[place(stage, layers)];
      all += most;
      run += most;
      longest_run = std::max(longest_run, run);
      if (i == known.path.turns.size()) break;
      const auto turn = static_cast<std::size_t>(known.path.turns[i]);
      if (turn % stages_ != stage) continue;
      for_chunks(stage, layers, [&](std::size_t c, std::size_t held) {
        if (c == turn && (tables.chunks[c].forward[held].empty || tables.chunks[c].backward[held].empty))
          run = 0;
      });
    }
    return all - longest_run;
  }

  const std::vector<double>& times_of(KnownPath& known, std::size_t order) const {
    std::vector<double>& times = known.times[order];
    if (!times.empty()) return times;
    const PlanTables& tables = problem_.orders[order].tables;
    times.resize(stages_ * row_);
    double& always = known.always[order];
    always = static_cast<double>(tables.norm.count());
    std::vector<PieceTimes> pieces;
    for (std::size_t i = 0; i < known.path.pieces.size(); ++i) {
      pieces.push_back(bounded_piece(known, order, i));
      always += messages_of(tables, known.path.pieces[i]);
      for (std::size_t at = 0; at < times.size(); ++at) times[at] += pieces.back().times[at];
    }
    for (std::size_t s = 0; s < stages_; ++s)
      for (std::int64_t l = 0; l <= most_layers_[order][s]; ++l) {
        times[place(s, l)] -= lost(known, tables, pieces, s, l);
        if (s == known.updates) times[place(s, l)] += static_cast<double>(after(order, s, l).update);
      }
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
          return known.updates == path.updates && known.path == path.path;
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

  // The least of all partitions of a range, under a mean of paths.
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
    const std::vector<std::int32_t>& kinds = problem_.orders[order].kinds;
    const std::int64_t time = problem_.exact(kinds, layers);
    if (time >= best_) return;
    best_ = answer_.nanoseconds = time;
    answer_.kinds = kinds;
    answer_.layers = layers;
  }

  bool is_within(const Range& range, const std::vector<std::int64_t>& layers) const {
    for (std::size_t s = 0; s < stages_; ++s)
      if (layers[s] < range.fewest[s] || layers[s] > range.most[s]) return false;
    return true;
  }

  // Weights of paths with which the least time of these partitions is highest.
  GameAnswer play(std::size_t order, std::span<const std::vector<std::int64_t>> rows) {
    MatrixGame game{.rows = rows.size(), .columns = paths_.size()};
    for (const std::vector<std::int64_t>& row : rows)
      for (KnownPath& path : paths_) game.payoffs.push_back(std::max(0.0, time_of(path, order, row)));
    const double longest = std::ranges::max(game.payoffs);
    for (double& time : game.payoffs) time /= longest;
    GameAnswer answer = solve_game(game);
    shares_ = answer.columns;
    for (std::size_t p = 0; p < paths_.size(); ++p)
      if (shares_[p] > 0) paths_[p].used = ++clock_;
    return answer;
  }

  // Raises the bound of a range, and finds out where its stages should be parted. What was found in others
  // comes first: their paths, with the last weights, and those of their partitions that belong to this one,
  // too.
  void look_into(Range& range) {
    std::vector<std::vector<std::int64_t>> rows;
    for (const std::vector<std::int64_t>& row : rows_)
      if (is_within(range, row)) rows.push_back(row);
    std::vector<std::int64_t> layers = balanced(range);
    if (!paths_.empty()) {
      shares_.resize(paths_.size());
      Least least = least_of(range, shares_);
      range.bound = std::max(range.bound, least.time * (1 - kBoundRounding));
      if (range.bound >= static_cast<double>(best_)) return;
      if (!rows.empty()) layers = std::move(least.layers);
    }
    for (std::size_t looked_at = 1;; ++looked_at) {
      evaluate(range.order, layers);
      add_paths(range, layers);
      rows.push_back(layers);
      rows_.push_back(std::move(layers));
      if (rows_.size() > kMostRows) rows_.pop_front();
      const GameAnswer answer = play(range.order, rows);
      Least least = least_of(range, answer.columns);
      range.bound = std::max(range.bound, least.time * (1 - kBoundRounding));
      answer_.work += 8 * plan_.micro_batches * std::ssize(forward_) + layers_ * layers_ * plan_.pp / 2 +
                      std::ssize(paths_) * std::ssize(mean_) / 8;
      if (range.bound >= static_cast<double>(best_)) return;
      if (looked_at >= kMostLooks || is_spent() || std::ranges::find(rows, least.layers) != rows.end())
        return find_split(rows, answer.rows);
      layers = std::move(least.layers);
    }
  }

  // Where the partitions of the last game part ways.
  void find_split(std::span<const std::vector<std::int64_t>> rows, std::span<const double> shares) {
    split_at_.assign(stages_, 0);
    spread_.assign(stages_, 0);
    for (std::size_t s = 0; s < stages_; ++s) {
      for (std::size_t r = 0; r < rows.size(); ++r)
        split_at_[s] += shares[r] * static_cast<double>(rows[r][s]);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const double apart = static_cast<double>(rows[r][s]) - split_at_[s];
        spread_[s] += shares[r] * apart * apart;
      }
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
  const PartitionEffort& effort_;
  const Plan& plan_;
  const std::int64_t layers_;
  const std::size_t stages_, row_;
  std::int64_t best_;
  PartitionAnswer answer_;
  std::priority_queue<Range, std::vector<Range>, Later> open_;
  std::int64_t ranges_ = 0, clock_ = 0;
  std::vector<std::vector<std::int64_t>> most_layers_;  // by order and stage
  std::vector<KnownPath> paths_;
  std::vector<double> shares_;                  // weights of the last game, by path
  std::deque<std::vector<std::int64_t>> rows_;  // partitions that were looked at last
  PipelineLatency latency_;
  std::vector<PassTimes> forward_, backward_;
  std::vector<double> mean_, sums_;
  std::vector<std::int64_t> taken_;
  std::vector<double> split_at_, spread_;  // by stage: layers in the mean of the last game, and how far apart
};

}  // namespace

PartitionAnswer SpreadProblem::solve(const PartitionEffort& effort) const {
  check(!orders.empty(), "stages stand in some order");
  return SpreadSearch(*this, effort).run();
}

}  // namespace nadi::inline predict
