// Times of ops from records of steps (recording/executed_step.h): one row for all occurrences of ops that
// are the same to the table (cluster/measured_ops.h).
//
//   OpSamples samples;
//   samples.add(program, steps);                   // runs of the same program, warm-up left out
//   device.measured.ops = samples.rows();
//
// The median of each kernel over the runs of a step counts: other processes disturb single runs. Occurrences
// within a step have different caches behind them: of these the mean counts, since sums are to be predicted.
// The first and the last transformer block border on other things than blocks. A sample has few blocks, so in
// the mean those in between weigh as many times as the model has more of them (`inner_weight`).
// Communication is left out. What lies between the kernels of a step counts as part of them, the same of
// each.
//
// A recorded step of a GPU runs alone, at clocks that the GPU does not keep when steps follow one another.
// Where it is known how long such a step takes (`sustained`), the times of its kernels are stretched to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "nadi/cluster/measured_ops.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline runs {

class OpSamples {
 public:
  void add(const Program& program, std::span<const ExecutedStep> steps,
           std::optional<Nanoseconds> sustained = {}, double inner_weight = 1);

  std::vector<MeasuredOp> rows() const;  // ordered by all their columns
  // Kernels as they ran, for what the device reaches: each with the FLOPs of all its ops, and the bytes of
  // those that are one op (of fused ones nobody knows what goes through memory). Rows may be means of ops
  // that ran by themselves and ops that were fused, so that rates of rows can be more than any kernel's.
  const std::vector<MeasuredOp>& kernels() const { return kernels_; }
  // What a step takes besides its kernels, divided by their number, of a GPU from its first kernel on: the
  // median over all steps.
  Nanoseconds between_kernels() const;

 private:
  struct Sum {
    double nanoseconds = 0;
    double weight = 0;
  };
  void add(const MeasuredOp& row, double nanoseconds, double weight);

  std::map<MeasuredOp, Sum> sums_;  // by rows without time
  std::vector<double> gaps_;        // nanoseconds
  std::vector<MeasuredOp> kernels_;
};

double median_of(std::vector<double> values);  // 0 of none
// From runs of one program: the median time of each kernel, in nanoseconds.
std::vector<double> kernel_medians(std::span<const ExecutedStep> steps);

}  // namespace nadi::inline runs
