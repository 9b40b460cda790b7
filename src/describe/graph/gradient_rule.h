// What an op's gradient rule works with. For an op y = f(a, b) the rule reads the gradient of y, and of a, b
// and y those that the op's definition declared as saved, and emits ops whose outputs are the gradients of
// a and b:
//
//   void gelu_gradient(GradientRule& rule) {
//     rule.emit({.kind = OpKind::kGeluGrad, .inputs = {rule.input(0), rule.gradient(0)}}, {0});
//   }
//
// Where the input is a parameter, the emitted op writes the parameter's gradient variable; where it is a
// value with several uses, the contributions are summed.
#pragma once

#include <initializer_list>
#include <vector>

#include "nadi/graph/builder.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {

class BackwardPass;

class GradientRule {
 public:
  // The op itself, for shapes and attributes.
  const OpView& op() const { return view_; }
  const Shape& input_shape(int i) const { return view_.in(i); }
  const Attributes& attributes() const { return view_.op.attributes; }
  bool has(int i) const { return view_.has(i); }

  // Whether anybody needs the gradient of input i.
  bool wants(int i) const;

  // A saved input or output, recomputed where that was chosen; kNoTensor for an absent optional input.
  TensorId input(int i);
  TensorId output(int i);

  // The gradient of output i; kNoTensor when none reaches it.
  TensorId gradient(int i) const;

  // Adds an op whose output k is the gradient of input of[k], or of nothing where of[k] is -1.
  std::vector<TensorId> emit(NewOp op, std::initializer_list<int> of);

  // The gradient of input i is this tensor, which exists already.
  void pass(int i, TensorId gradient);

  // Adds an op that is only a step on the way; its first output, or all of them.
  TensorId step(NewOp op) { return steps(std::move(op)).front(); }
  std::vector<TensorId> steps(NewOp op);

 private:
  friend class BackwardPass;
  GradientRule(BackwardPass& pass, const OpView& view, OpId id) : pass_(pass), view_(view), id_(id) {}
  BackwardPass& pass_;
  const OpView& view_;
  OpId id_;
};

}  // namespace nadi::inline describe
