// Cholesky's factor of a symmetric positive definite matrix, and what is solved with it.
//
//   TriangularFactor factor;
//   if (!factor.decompose(matrix, n)) ...        // not positive definite
//   factor.solve(right_side);                    // in place
//
// Matrices are row-major, n x n, doubles. The factor is kept as the upper triangle U with U'U = A: all inner
// loops then run along rows and add multiples, which compilers vectorise without changing the order of sums.
#pragma once

#include <span>
#include <vector>

namespace nadi::inline tuning {

class TriangularFactor {
 public:
  // Reads the upper triangle of `matrix`. False, and no factor, when it is not positive definite.
  bool decompose(std::vector<double> matrix, std::size_t n);

  std::size_t size() const { return n_; }
  double log_determinant() const;

  void solve(std::span<double> vector) const;  // A^-1 v
  std::vector<double> inverse() const;         // both triangles

  // The square root U' of A: draws with covariance A from independent ones, and back.
  void multiply_lower(std::span<double> vector) const;  // U'v
  void solve_lower(std::span<double> vector) const;     // U'^-1 v

 private:
  std::size_t n_ = 0;
  std::vector<double> upper_;
};

}  // namespace nadi::inline tuning
