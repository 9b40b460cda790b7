// Gives the engine the samples of each step: those of the next while one runs, in the set of inputs that it
// does not read.
//
//   StepFeeder feeder({.options = options, .data = data.train, ...});
//   feeder.add({micro_batches, &program, handle});          // for each batch size that the run has
//   while (...) {
//     const FedStep fed = feeder.take();                    // the step after those that state has
//     engine.run(fed.program->handle, {.inputs = fed.set});
//     state.finish_step(fed.samples);
//     feeder.feed_ahead();
//   }
//
// Bad data count when their step is taken, not before: the step that was fed meanwhile is still to be told
// of.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <optional>

#include "nadi/data/batch_source.h"
#include "nadi/engine/engine.h"
#include "nadi/parallel/plan.h"
#include "nadi/run/agreement.h"
#include "nadi/train/run_state.h"
#include "nadi/train/step_inputs.h"

namespace nadi::inline runs {

// What the steps of a batch size run.
struct StepProgram {
  std::int64_t micro_batches = 1;
  const Program* program = nullptr;
  ProgramHandle handle{};
};

// A step whose inputs are set.
struct FedStep {
  const StepProgram* program = nullptr;
  InputSet set = InputSet::kFirst;
  std::int64_t number = 0;
  std::int64_t size = 0;  // samples of a full step, on all ranks
  StepScalars scalars = {};
  std::int64_t samples = 0, tokens = 0;  // that are no padding, on all ranks
  double seconds = 0;                    // that it took to feed it
};

class StepFeeder {
 public:
  // All of them must outlive the feeder.
  struct Sources {
    const TrainOptions& options;
    BatchSource& data;
    const Plan& plan;
    const Coordinates& place;
    const Agreement& agreement;
    const RunState& state;
    Engine& engine;
  };
  explicit StepFeeder(const Sources& sources) : from_(sources) {}

  void add(const StepProgram& program) { programs_[program.micro_batches] = program; }
  std::int64_t micro_batches_of(std::int64_t batch) const;
  // One rank of those that read the same samples, so that what it counts is counted once.
  bool counts() const { return from_.place.tp == 0 && from_.place.cp == 0 && from_.place.pp == 0; }

  // Whether take() will fail.
  bool failed() const { return failure_ != nullptr; }
  FedStep take();
  // Nothing after the last step.
  void feed_ahead();

 private:
  FedStep feed();

  const Sources from_;
  std::map<std::int64_t, StepProgram> programs_;  // by number of micro-batches
  std::optional<FedStep> fed_;                    // the next step
  std::exception_ptr failure_;
  InputSet next_set_ = InputSet::kFirst;
};

}  // namespace nadi::inline runs
