// With payoffs turned round so that all are positive and the player of the columns wants little:
//   maximise sum z  with  B z <= 1 for each row, z >= 0
// z divided by its sum are the shares of the columns, and the prices of the constraints those of the rows.
// All slacks are the first basis. The entering variable is the one with the largest gain, or, after many
// steps, the first with any (Bland), which cannot go round in circles.
#include "nadi/plan/matrix_game.h"

#include <algorithm>
#include <numeric>

namespace nadi::inline predict {
namespace {

class Simplex {
 public:
  explicit Simplex(const MatrixGame& game)
      : rows_(game.rows),
        columns_(game.columns),
        width_(game.columns + game.rows + 1),
        table_((game.rows + 1) * width_),
        basis_(game.rows) {
    const auto [least, most] = std::ranges::minmax(game.payoffs);
    // Far enough above that no entry is near zero.
    highest_ = most + std::max(most - least, 1.0);
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t c = 0; c < columns_; ++c) at(r, c) = highest_ - game.at(r, c);
      at(r, columns_ + r) = 1;
      at(r, width_ - 1) = 1;
      basis_[r] = columns_ + r;
    }
    for (std::size_t c = 0; c < columns_; ++c) at(rows_, c) = -1;
  }

  GameAnswer run() {
    constexpr int kSteps = 2000, kBoldSteps = 200;
    for (int step = 0; step < kSteps; ++step) {
      const std::size_t entering = entering_column(step < kBoldSteps);
      const std::size_t leaving = entering == kNone ? kNone : leaving_row(entering);
      if (leaving == kNone) break;
      pivot(leaving, entering);
    }
    GameAnswer answer{.rows = std::vector<double>(rows_), .columns = std::vector<double>(columns_)};
    for (std::size_t r = 0; r < rows_; ++r) {
      if (basis_[r] < columns_) answer.columns[basis_[r]] = std::max(0.0, at(r, width_ - 1));
      answer.rows[r] = std::max(0.0, at(rows_, columns_ + r));
    }
    const auto normalise = [](std::vector<double>& shares) {
      const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
      for (double& share : shares) share /= sum;
      return sum;
    };
    answer.value = highest_ - 1 / normalise(answer.columns);
    normalise(answer.rows);
    return answer;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr double kZero = 1e-11;

  double& at(std::size_t row, std::size_t column) { return table_[row * width_ + column]; }

  std::size_t entering_column(bool bold) {
    std::size_t entering = kNone;
    for (std::size_t c = 0; c + 1 < width_; ++c) {
      if (at(rows_, c) >= -kZero) continue;
      if (entering == kNone || at(rows_, c) < at(rows_, entering)) entering = c;
      if (!bold) break;
    }
    return entering;
  }

  // No sum is unbounded, so there is one but for what rounding leaves.
  std::size_t leaving_row(std::size_t column) {
    std::size_t leaving = kNone;
    double least = 0;
    for (std::size_t r = 0; r < rows_; ++r) {
      if (at(r, column) <= kZero) continue;
      const double ratio = at(r, width_ - 1) / at(r, column);
      if (leaving != kNone && (ratio > least || (ratio == least && basis_[r] > basis_[leaving]))) continue;
      leaving = r;
      least = ratio;
    }
    return leaving;
  }

  void pivot(std::size_t row, std::size_t column) {
    const double by = at(row, column);
    for (std::size_t c = 0; c < width_; ++c) at(row, c) /= by;
    for (std::size_t r = 0; r <= rows_; ++r) {
      const double times = at(r, column);
      if (r == row || times == 0) continue;
      for (std::size_t c = 0; c < width_; ++c) at(r, c) -= times * at(row, c);
    }
    basis_[row] = column;
  }

  const std::size_t rows_, columns_, width_;
  std::vector<double> table_;  // rows, then what is to be gained
  std::vector<std::size_t> basis_;
  double highest_ = 0;
};

}  // namespace

GameAnswer solve_game(const MatrixGame& game) {
  return Simplex(game).run();
}

}  // namespace nadi::inline predict
