#include "nadi/sampling/triangular_factor.h"

#include <cmath>

namespace nadi::inline tuning {

bool TriangularFactor::decompose(std::vector<double> matrix, std::size_t n) {
  n_ = n;
  upper_ = std::move(matrix);
  for (std::size_t k = 0; k < n; ++k) {
    double* pivot_row = &upper_[k * n];
    if (!(pivot_row[k] > 1e-14)) return false;
    const double root = std::sqrt(pivot_row[k]);
    const double inverse_root = 1 / root;
    pivot_row[k] = root;
    for (std::size_t j = k + 1; j < n; ++j) pivot_row[j] *= inverse_root;
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = pivot_row[i];
      double* __restrict row = &upper_[i * n];
      for (std::size_t j = i; j < n; ++j) row[j] -= factor * pivot_row[j];
    }
  }
  return true;
}

double TriangularFactor::log_determinant() const {
  double sum = 0;
  for (std::size_t k = 0; k < n_; ++k) sum += std::log(upper_[k * n_ + k]);
  return 2 * sum;
}

void TriangularFactor::solve_lower(std::span<double> vector) const {
  double* __restrict v = vector.data();
  // U'w = v: once w_k is known, its multiple of row k leaves the rest.
  for (std::size_t k = 0; k < n_; ++k) {
    const double* row = &upper_[k * n_];
    v[k] /= row[k];
    const double known = v[k];
    for (std::size_t j = k + 1; j < n_; ++j) v[j] -= known * row[j];
  }
}

void TriangularFactor::multiply_lower(std::span<double> vector) const {
  double* __restrict v = vector.data();
  // From the last entry on: those before it are still as they were.
  for (std::size_t j = n_; j-- > 0;) {
    double sum = 0;
    for (std::size_t k = 0; k <= j; ++k) sum += upper_[k * n_ + j] * v[k];
    v[j] = sum;
  }
}

void TriangularFactor::solve(std::span<double> vector) const {
  solve_lower(vector);
  double* __restrict v = vector.data();
  for (std::size_t k = n_; k-- > 0;) {
    const double* row = &upper_[k * n_];
    double sum = v[k];
    for (std::size_t j = k + 1; j < n_; ++j) sum -= row[j] * v[j];
    v[k] = sum / row[k];
  }
}

std::vector<double> TriangularFactor::inverse() const {
  // W = U^-1, so A^-1 = W W'.
  const std::size_t n = n_;
  // W' solves U' W' = I: rows in order, each of U's rows taken off those below, as in solve().
  std::vector<double> rows(n * n, 0.0);
  for (std::size_t k = 0; k < n; ++k) rows[k * n + k] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    const double* u = &upper_[k * n];
    double* __restrict done = &rows[k * n];
    const double inverse_pivot = 1 / u[k];
    for (std::size_t j = 0; j <= k; ++j) done[j] *= inverse_pivot;
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = u[i];
      double* __restrict row = &rows[i * n];
      for (std::size_t j = 0; j <= k; ++j) row[j] -= factor * done[j];
    }
  }
  // rows = U'^-1 = W' (lower triangle). A^-1 = W W' = rows' rows: entry (i, j) sums rows[k][i] rows[k][j], k
  // >= i, j.
  std::vector<double> result(n * n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    const double* row = &rows[k * n];
    for (std::size_t i = 0; i <= k; ++i) {
      const double factor = row[i];
      double* __restrict out = &result[i * n];
      for (std::size_t j = 0; j <= i; ++j) out[j] += factor * row[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) result[j * n + i] = result[i * n + j];
  return result;
}

}  // namespace nadi::inline tuning
