// What a reference kernel works with, and the table of kernels. A kernel is a function from the inputs of an
// op to its outputs, all contiguous arrays of doubles; views, too, are copies here. The definition of the op
// (graph/ops/) says what it must compute; each family of ops has one file of kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/random.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/matmul.h"
#include "nadi/reference/reference_store.h"

namespace nadi::inline engines {

class KernelCall {
 public:
  explicit KernelCall(const OpView& op);
  void set_input(std::size_t i, std::span<const double> values) { inputs_[i] = values; }
  std::vector<Doubles> take_outputs() { return std::move(outputs_); }

  const OpView& op() const { return op_; }
  const Attributes& attributes() const { return op_.attributes(); }
  bool has(std::size_t i) const { return op_.has(i); }
  const Shape& shape(std::size_t i) const { return op_.in(i); }  // of input i

  std::span<const double> in(std::size_t i) const { return inputs_[i]; }
  std::span<double> out(std::size_t i) { return outputs_[i]; }  // zeros before the kernel runs
  std::size_t output_count() const { return outputs_.size(); }

  double scalar(std::size_t i) const { return inputs_[i][0]; }
  double scalar_or(std::size_t i, double fallback) const { return has(i) ? scalar(i) : fallback; }
  std::int64_t integer(std::size_t i, std::int64_t element) const {
    return static_cast<std::int64_t>(inputs_[i][element]);
  }
  // Copies input i to output k.
  void pass(std::size_t i, std::size_t k);

 private:
  OpView op_;
  std::vector<std::span<const double>> inputs_;
  std::vector<Doubles> outputs_;
};

using Kernel = void (*)(KernelCall&);
Kernel kernel(OpKind kind);

// Which elements dropout keeps, from the input {seed, step, number of the first sample}.
class DropoutMask {
 public:
  DropoutMask(std::span<const double> random, double rate, std::int64_t site);
  // What an element is multiplied by. Elements count from the batch's first sample, in the whole tensor where
  // this is part of one.
  double factor(std::int64_t element, std::int64_t elements_per_sample) const;

 private:
  RandomKey key_;
  double rate_;
  std::int64_t first_sample_;
};

// A tensor seen as [outer, extent, inner] around one of its axes.
struct AxisView {
  std::int64_t outer, extent, inner;
};
AxisView around_axis(const Shape& shape, int axis);

double gelu_value(Activation form, double x);
double gelu_slope(Activation form, double x);  // derivative of gelu_value

// The kernels, one for each op.
#define NADI_OP(kind, name) void name##_kernel(KernelCall& call);
#include "nadi/graph/op_list.h"

}  // namespace nadi::inline engines
