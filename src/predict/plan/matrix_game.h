// What two players of a matrix game should do, who choose a row and a column at the same time: the one of the
// rows pays the other what stands there.
//
//   const GameAnswer answer = solve_game({.rows = 2, .columns = 2, .payoffs = {3, 1, 1, 2}});
//   answer.columns                             // shares of the columns: at least `value`, whatever the row
//
// Method: the simplex algorithm on a table of rows by columns. For tables of some dozens; nothing depends on
// anything but the table.
#pragma once

#include <vector>

namespace nadi::inline predict {

struct MatrixGame {
  std::size_t rows = 0, columns = 0;
  std::vector<double> payoffs = {};  // row by row

  double at(std::size_t row, std::size_t column) const { return payoffs[row * columns + column]; }
};

struct GameAnswer {
  std::vector<double> rows, columns;  // shares; those of either player add up to 1
  double value = 0;
};

GameAnswer solve_game(const MatrixGame& game);

}  // namespace nadi::inline predict
