// For tests: a graph under construction together with the values of its parameters and inputs.
//
//   Problem p;
//   const TensorId x = p.input("x", Shape{3}, {1, 2, 3});
//   p.output(add(p.builder, x, p.parameter("w", Shape{3})));
//   p.run()  // by position, the values of what output() named
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nadi/graph/builder.h"
#include "nadi/reference/run_reference.h"

namespace nadi::inline engines {

class Problem {
 public:
  explicit Problem(int rank = 0, int ranks = 1) : rank_(rank), ranks_(ranks) {}
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Standard normal values that depend on the name, and on the rank unless the parameter is shared.
  TensorId parameter(const std::string& name, const Shape& shape, DType dtype = DType::kF32);
  TensorId shared_parameter(const std::string& name, const Shape& shape);
  TensorId input(const std::string& name, const Shape& shape, Doubles values);
  TensorId normal_input(const std::string& name, const Shape& shape);
  TensorId integers(const std::string& name, const Shape& shape, Doubles values);
  TensorId scalar(const std::string& name, double value) { return input(name, Shape{}, {value}); }
  TensorId random(double first_sample = 0);  // the key that dropout takes

  void output(TensorId value) { outputs_.push_back(value); }
  const std::vector<TensorId>& outputs() const { return outputs_; }
  const std::set<TensorId>& shared() const { return shared_; }

  // Runs what was built so far on the store.
  std::vector<Doubles> run();
  // The value of an output after a run.
  const Doubles& value(const ReferenceSlot& slot, TensorId id) const;

  GraphBuilder builder;
  ReferenceStore store;

 private:
  int rank_;
  int ranks_;
  std::vector<TensorId> outputs_;
  std::set<TensorId> shared_;
};

// Standard normal numbers that depend on the name and the stream.
Doubles normal_values(const std::string& name, std::int64_t count, std::uint64_t stream = 0);

}  // namespace nadi::inline engines
