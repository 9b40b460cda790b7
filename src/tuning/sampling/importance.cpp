#include "nadi/sampling/importance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "nadi/sampling/counted_random.h"

namespace nadi::inline tuning {
namespace {

constexpr std::size_t kFewestTrials = 4;
constexpr std::size_t kMostTrials = 1000;
constexpr int kTrees = 32;
constexpr int kDeepest = 32;
constexpr double kNegligible = 1e-12;

struct TreeData {
  std::size_t parameters = 0;
  std::vector<double> units;  // row by row
  std::vector<double> values;

  double unit(std::size_t row, std::size_t parameter) const { return units[row * parameters + parameter]; }
};

// A leaf of a tree: a box of units, and the value on it.
struct LeafBox {
  std::vector<double> low;
  std::vector<double> high;
  double value = 0;

  double volume() const {
    double product = 1;
    for (std::size_t d = 0; d < low.size(); ++d) product *= high[d] - low[d];
    return product;
  }
};

struct Split {
  std::size_t parameter = 0;
  double at = 0;
  double gain = 0;
};

// Grows one tree on a bootstrap sample; each node looks at a random part of the parameters.
class TreeGrower {
 public:
  TreeGrower(const TreeData& data, CountedRandom& random) : data_(data), random_(random) {}

  std::vector<LeafBox> grow() {
    std::vector<std::size_t> rows;
    const auto count = static_cast<std::int64_t>(data_.values.size());
    for (std::int64_t i = 0; i < count; ++i) rows.push_back(static_cast<std::size_t>(random_.below(count)));
    LeafBox root;
    root.low.assign(data_.parameters, 0.0);
    root.high.assign(data_.parameters, 1.0);
    divide(std::move(rows), std::move(root), 0);
    return std::move(leaves_);
  }

 private:
  void divide(std::vector<std::size_t> rows, LeafBox box, int depth) {
    const Split split = depth < kDeepest ? best_split(rows) : Split{};
    if (!(split.gain > kNegligible)) {
      double sum = 0;
      for (const std::size_t row : rows) sum += data_.values[row];
      box.value = sum / static_cast<double>(rows.size());
      leaves_.push_back(std::move(box));
      return;
    }
    const auto middle = std::stable_partition(rows.begin(), rows.end(), [&](std::size_t row) {
      return data_.unit(row, split.parameter) < split.at;
    });
    LeafBox upper = box;
    box.high[split.parameter] = split.at;
    upper.low[split.parameter] = split.at;
    std::vector<std::size_t> right(middle, rows.end());
    rows.erase(middle, rows.end());
    divide(std::move(rows), std::move(box), depth + 1);
    divide(std::move(right), std::move(upper), depth + 1);
  }

  Split best_split(const std::vector<std::size_t>& rows) {
    Split best;
    if (rows.size() < 2) return best;
    // Each parameter is left out with one chance in three: trees differ, and weak parameters get their turn.
    bool any = false;
    for (std::size_t d = 0; d < data_.parameters; ++d) {
      const bool left_out = random_.uniform() < 1.0 / 3;
      if (left_out && (any || d + 1 < data_.parameters)) continue;
      any = true;
      consider(rows, d, best);
    }
    if (!(best.gain > kNegligible))
      for (std::size_t d = 0; d < data_.parameters; ++d) consider(rows, d, best);
    return best;
  }

  // The split that leaves the least variance: gain = sum_left^2 / n_left + sum_right^2 / n_right - sum^2 / n.
  void consider(const std::vector<std::size_t>& rows, std::size_t parameter, Split& best) const {
    std::vector<std::size_t> order = rows;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const double left = data_.unit(a, parameter);
      const double right = data_.unit(b, parameter);
      return left != right ? left < right : a < b;
    });
    double total = 0;
    for (const std::size_t row : order) total += data_.values[row];
    const double count = static_cast<double>(order.size());
    double left = 0;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      left += data_.values[order[i]];
      const double here = data_.unit(order[i], parameter);
      const double next = data_.unit(order[i + 1], parameter);
      if (!(next > here)) continue;
      const double n = static_cast<double>(i + 1);
      const double gain =
          left * left / n + (total - left) * (total - left) / (count - n) - total * total / count;
      if (gain > best.gain) best = {parameter, 0.5 * (here + next), gain};
    }
  }

  const TreeData& data_;
  CountedRandom& random_;
  std::vector<LeafBox> leaves_;
};

// Variance, over one parameter, of the tree's mean over all others.
double single_variance(const std::vector<LeafBox>& leaves, std::size_t parameter) {
  std::vector<double> edges{0.0, 1.0};
  for (const LeafBox& leaf : leaves) {
    edges.push_back(leaf.low[parameter]);
    edges.push_back(leaf.high[parameter]);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  // Differences at the edges, then running sums: each leaf adds its value times its extent in the others.
  std::vector<double> marginal(edges.size(), 0.0);
  const auto index_of = [&](double edge) {
    return static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), edge) - edges.begin());
  };
  for (const LeafBox& leaf : leaves) {
    const double weight = leaf.value * leaf.volume() / (leaf.high[parameter] - leaf.low[parameter]);
    marginal[index_of(leaf.low[parameter])] += weight;
    marginal[index_of(leaf.high[parameter])] -= weight;
  }
  std::partial_sum(marginal.begin(), marginal.end(), marginal.begin());
  double mean = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) mean += (edges[i + 1] - edges[i]) * marginal[i];
  double variance = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    variance += (edges[i + 1] - edges[i]) * (marginal[i] - mean) * (marginal[i] - mean);
  return variance;
}

// Choices have no order of their own: they take that of their mean values, which a tree of any order of
// splits needs least splits for.
void order_choices(const SearchSpace& space, const std::vector<std::vector<double>>& points, TreeData& data) {
  for (std::size_t d = 0; d < space.size(); ++d) {
    const SearchParameter& parameter = space.parameters[d];
    if (parameter.kind != ParameterKind::kChoice) continue;
    const auto choices = static_cast<std::size_t>(*parameter.count());
    std::vector<double> sums(choices, 0.0);
    std::vector<double> counts(choices, 0.0);
    double all = 0;
    for (std::size_t row = 0; row < points.size(); ++row) {
      all += data.values[row];
      if (std::isnan(points[row][d])) continue;
      sums[static_cast<std::size_t>(points[row][d])] += data.values[row];
      counts[static_cast<std::size_t>(points[row][d])] += 1;
    }
    std::vector<std::size_t> order(choices);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto mean = [&](std::size_t choice) {
      return counts[choice] > 0 ? sums[choice] / counts[choice] : all / static_cast<double>(points.size());
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return mean(a) < mean(b); });
    std::vector<double> place(choices);
    for (std::size_t i = 0; i < choices; ++i)
      place[order[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(choices);
    for (std::size_t row = 0; row < points.size(); ++row)
      if (!std::isnan(points[row][d]))
        data.units[row * data.parameters + d] = place[static_cast<std::size_t>(points[row][d])];
  }
}

}  // namespace

std::vector<double> parameter_importance(const SearchSpace& space, const TrialHistory& history,
                                         std::size_t objective) {
  std::vector<std::size_t> complete;
  for (std::size_t i = 0; i < history.trials.size(); ++i) {
    const ObservedTrial& trial = history.trials[i];
    if (trial.outcome == TrialOutcome::kComplete && objective < trial.values.size() &&
        std::isfinite(trial.values[objective]) && trial.point.size() == space.size())
      complete.push_back(i);
  }
  if (complete.size() < kFewestTrials) return {};
  const std::size_t used = std::min(complete.size(), kMostTrials);
  TreeData data;
  data.parameters = space.size();
  std::vector<std::vector<double>> points;
  for (std::size_t i = 0; i < used; ++i) {
    const ObservedTrial& trial = history.trials[complete[i * complete.size() / used]];
    const std::vector<double> units = space.units_of(trial.point);
    data.units.insert(data.units.end(), units.begin(), units.end());
    data.values.push_back(trial.values[objective]);
    points.push_back(trial.point);
  }
  // In units of the deviation, so that sums of squares neither overflow nor vanish.
  const double mean =
      std::accumulate(data.values.begin(), data.values.end(), 0.0) / static_cast<double>(used);
  double largest = 0;
  for (double& value : data.values) largest = std::max(largest, std::abs(value -= mean));
  if (!(largest > 0)) return {};
  for (double& value : data.values) value /= largest;
  order_choices(space, points, data);

  std::vector<double> shares(space.size(), 0.0);
  for (int tree = 0; tree < kTrees; ++tree) {
    CountedRandom random(0, tree, "importance");
    const std::vector<LeafBox> leaves = TreeGrower(data, random).grow();
    for (std::size_t d = 0; d < space.size(); ++d) shares[d] += single_variance(leaves, d);
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(sum > 0)) return {};
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace nadi::inline tuning
