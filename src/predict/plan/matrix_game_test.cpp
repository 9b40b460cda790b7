#include "nadi/plan/matrix_game.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace nadi::inline predict {
namespace {

// Both players are indifferent: 3 p + 1 (1 - p) = 1 p + 2 (1 - p), so p = 1/3 and the value is 5/3.
TEST(MatrixGame, OfTwoByTwoIsMixed) {
  const GameAnswer answer = solve_game({.rows = 2, .columns = 2, .payoffs = {3, 1, 1, 2}});
  EXPECT_NEAR(answer.columns[0], 1.0 / 3, 1e-12);
  EXPECT_NEAR(answer.rows[0], 1.0 / 3, 1e-12);
  EXPECT_NEAR(answer.value, 5.0 / 3, 1e-12);
}

// The first row pays 4 at most, and the second column gives 4 at least.
TEST(MatrixGame, WithASaddleIsPure) {
  const GameAnswer answer = solve_game({.rows = 2, .columns = 2, .payoffs = {2, 4, 1, 5}});
  EXPECT_NEAR(answer.value, 4, 1e-12);
  EXPECT_NEAR(answer.columns[1], 1, 1e-12);
}

// Neither player can do better by another row or column: that is what a solution is.
TEST(MatrixGame, LeavesNothingToGain) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    MatrixGame game{.rows = 1 + random() % 12, .columns = 1 + random() % 20};
    for (std::size_t k = 0; k < game.rows * game.columns; ++k)
      game.payoffs.push_back(static_cast<double>(random() % 10) / 10);  // many are equal
    const GameAnswer answer = solve_game(game);
    for (std::size_t r = 0; r < game.rows; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < game.columns; ++c) sum += answer.columns[c] * game.at(r, c);
      EXPECT_GE(sum, answer.value - 1e-9);
    }
    for (std::size_t c = 0; c < game.columns; ++c) {
      double sum = 0;
      for (std::size_t r = 0; r < game.rows; ++r) sum += answer.rows[r] * game.at(r, c);
      EXPECT_LE(sum, answer.value + 1e-9);
    }
  }
}

}  // namespace
}  // namespace nadi::inline predict
