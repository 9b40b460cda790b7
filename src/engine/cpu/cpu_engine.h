// Runs step programs on this machine's cores.
//
//   CpuEngine engine({.threads = 2});
//   LoadedProgram& step = engine.load(program);    // memory laid out and touched, kernels chosen
//   engine.initialize(seed);                             // or write to engine.variable(name) first
//   engine.set_input<std::int32_t>(step, "input_ids", ids);
//   ...
//   engine.run(step);
//   engine.scalar("loss")
//
// Variables (parameters, gradients, optimizer state, caches, metrics) are shared by name among all programs
// that are loaded, and so is the arena, since programs run one after the other. Nothing is allocated while a
// program runs. Training repeats to the bit for the same number of threads.
//
// Several ranks: each has an engine with its places in the groups of the plan, and loads the program of its
// stage. Communication goes on while kernels run (comm_ops.h); run() returns when all of it is done.
//
// One engine per process at a time uses the thread pool; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/tensor.h"
#include "nadi/parallel/program.h"

namespace nadi {

struct ExecutedStep;
class PlanGroups;

struct CpuEngineOptions {
  int threads = 0;                     // 0: one per core that the process may run on
  const PlanGroups* groups = nullptr;  // of this rank; nullptr: there are no others
  // Every kernel takes that many times as long, by sleeping: a slower device, for experiments.
  double slowdown = 1;
};

// A variable in memory, as bytes of its element type.
struct VariableView {
  const Tensor* tensor = nullptr;
  std::span<std::byte> bytes = {};

  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

class LoadedProgram;

class CpuEngine {
 public:
  // Error (environment) when the machine lacks instructions that the kernels were compiled for.
  explicit CpuEngine(CpuEngineOptions options = {});
  virtual ~CpuEngine();
  CpuEngine(const CpuEngine&) = delete;
  CpuEngine& operator=(const CpuEngine&) = delete;

  int threads() const;

  // The program must outlive the engine. Error (environment) when there is not enough memory, or when the
  // program does something that cannot be done here: fp8, or communication without other ranks.
  LoadedProgram& load(const Program& program);
  // Forgets a program, which may be destroyed or replaced then. Its variables stay, and so does the arena.
  void unload(LoadedProgram& program);

  // Gives every variable that has no value yet its first one: as the reference engine's initialize() does,
  // to the bit in fp32. Variables count as having a value once they were initialised or marked.
  void initialize(std::uint64_t seed);

  // In the order in which programs brought them.
  std::vector<VariableView> variables() const;
  // nullopt when no loaded program has it.
  std::optional<VariableView> variable(std::string_view name) const;
  // After writing to a variable's memory: initialize() leaves it alone, and copies of it (masters) that are
  // not marked themselves take its value.
  void mark_initialized(std::string_view name);
  float scalar(std::string_view name) const;  // of an fp32 variable of one element

  // Sets an input of the program; what was set stays until it is set again. With several micro-batches each
  // has its own, unless `micro_batch` is left out: then all get the same. It is a bug to give another number
  // of elements or another type than the input has, or to run with an input that was never set.
  template <class T>
  void set_input(LoadedProgram& program, std::string_view name, std::span<const T> values,
                 std::optional<std::int64_t> micro_batch = {}) {
    set_input_bytes(program, name, std::as_bytes(values), micro_batch);
  }
  static bool has_input(const LoadedProgram& program, std::string_view name);

  // All instructions, or those in [first, end): in order, each after the ones before. With `record`, every
  // kernel call is noted there at its entry.
  void run(LoadedProgram& program, ExecutedStep* record = nullptr);
  void run(LoadedProgram& program, std::size_t first, std::size_t end, ExecutedStep* record = nullptr);

  // What the engine has taken from the system for variables, inputs, values and workspace.
  Bytes allocated() const;
  // Of which for variables with this role: parameters, gradients, optimizer state.
  Bytes held(Role role) const;
  // What this rank has handed to collectives and sent to others so far, as the graph counts it.
  Bytes sent() const;

 protected:
  // Runs one op; what an engine for tests overrides to do something wrong.
  virtual void run_op(const LoadedProgram& program, std::size_t graph, std::size_t op);

 private:
  void set_input_bytes(LoadedProgram& program, std::string_view name, std::span<const std::byte> values,
                       std::optional<std::int64_t> micro_batch);

  void throttle(std::int64_t nanoseconds);

  class State;
  std::unique_ptr<State> state_;
  ExecutedStep* record_ = nullptr;  // of the call of run() under way
  std::uint32_t instruction_ = 0;
};

}  // namespace nadi
