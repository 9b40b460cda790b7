#include "nadi/calibrate/rank_skew.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nadi::inline runs {

void RankSkew::add(std::span<const ExecutedStep> steps) {
  const auto ranks = static_cast<std::size_t>(world_.size());
  for (const ExecutedStep& step : steps) {
    const std::size_t kernels = step.kernels.size();
    std::vector<float> own, all(ranks * kernels);
    for (const ExecutedKernel& kernel : step.kernels)
      own.push_back(static_cast<float>((kernel.end - kernel.start).count()));
    world_.wait(
        world_.all_gather(kWorld, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all))));
    std::vector<std::vector<double>> times;
    for (std::size_t r = 0; r < ranks; ++r)
      times.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(r * kernels),
                         all.begin() + static_cast<std::ptrdiff_t>((r + 1) * kernels));
    add(times);
  }
}

void RankSkew::add(std::span<const std::vector<double>> ranks) {
  const auto count = static_cast<double>(ranks.size());
  double length = kShortest;
  for (Sums& sums : sums_) {
    std::vector<double> window(ranks.size(), 0.0);
    for (std::size_t k = 0; k < ranks.front().size(); ++k) {
      for (std::size_t r = 0; r < ranks.size(); ++r) window[r] += ranks[r][k];
      const double mean = std::accumulate(window.begin(), window.end(), 0.0) / count;
      if (mean < length) continue;
      // A window that ends with a kernel much longer than the window is one of another length.
      if (mean < 2 * length) {
        const auto [first, last] = std::ranges::minmax(window);
        ++sums.windows;
        sums.late += (last - mean) / mean;
        sums.spread += (last - first) / mean;
      }
      std::ranges::fill(window, 0.0);
    }
    length *= kFactor;
  }
}

std::vector<MeasuredSkew> RankSkew::rows(double alone_speedup) const {
  std::vector<MeasuredSkew> rows;
  if (std::ranges::all_of(sums_, [](const Sums& sums) { return sums.windows == 0; })) return rows;
  const auto ranks = static_cast<double>(world_.size());
  const double beside = ranks < 2 ? 0 : (ranks - 2) / (2 * (ranks - 1));
  const double gained = (1 - beside) * (1 - 1 / alone_speedup);
  double length = kShortest, wait = 0;
  for (const Sums& sums : sums_) {
    // Where none was so long, as much as after the longest that there was.
    if (sums.windows > 0)
      wait = std::max(0.0, sums.late - gained * sums.spread) / static_cast<double>(sums.windows) * length;
    rows.push_back({.after = Nanoseconds{std::llround(length)}, .wait = Nanoseconds{std::llround(wait)}});
    length *= kFactor;
  }
  return rows;
}

}  // namespace nadi::inline runs
