// What the engines of all devices share that run a program's kernels one by one on memory laid out before
// anything runs: a CPU's and a GPU's. A device gives its memory, says which kernels a program takes, and runs
// one; everything else is here: loading and binding, variables, inputs, the order of instructions, tickets.
//
// What a new device overrides is in the protected part, in the order in which it is called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "nadi/engine/bound_program.h"
#include "nadi/engine/device_memory.h"
#include "nadi/engine/engine.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/engine/variable_store.h"

namespace nadi::inline engines {

class DeviceEngine : public Engine {
 public:
  ProgramHandle load(const Program& program) final;
  void bind() final;

  std::vector<const Tensor*> variables() const final;
  const Tensor* find_variable(std::string_view name) const final;
  void read(std::string_view variable, std::int64_t first, std::span<std::byte> into) const final;
  void write(std::string_view variable, std::int64_t first, std::span<const std::byte> from) final;
  void initialize(std::uint64_t seed) final;

  bool has_input(ProgramHandle program, std::string_view name) const final;
  Ticket run(ProgramHandle program, const RunRequest& request) final;
  void wait(Ticket ticket) final;
  double scalar(Ticket ticket, std::string_view variable) final;

  Bytes held(Role role) const final;
  int threads() const final { return threads_; }

 protected:
  // `memory` must outlive the engine's programs: it is a member of the device's engine, or a base of it.
  DeviceEngine(DeviceMemory& memory, PlaceInGroup place, int threads);

  // A call of a kernel: of `program`, kernel number `kernel` of graph number `graph`, on these addresses.
  struct KernelCallSite {
    const BoundProgram& program;
    std::size_t number;  // of the program, in the order of load()
    std::uint32_t instruction;
    std::size_t graph;
    std::size_t kernel;
    std::span<std::byte* const> addresses;
    ExecutedStep* record;

    const PlannedKernel& planned() const { return program.kernels().graphs[graph][kernel]; }
  };

  // Chooses the kernels of a program; called by load(), once for each program, in order.
  virtual KernelPlan prepare(const Program& program) = 0;
  // Refuses numbers of an input with which kernels cannot compute, where these cannot say so themselves.
  virtual void check_input(std::size_t /*number*/, std::string_view /*name*/,
                           std::span<const std::byte> /*values*/) const {}
  // Takes what all programs share besides variables and values: so much for workspaces and for messages.
  virtual void reserve(Bytes workspace, Bytes staging) = 0;
  // Does what an earlier run of the same instructions on the same inputs has left to be done again, in place
  // of everything up to end_run(); false means there is no such.
  virtual bool replay(std::size_t /*number*/, BoundProgram&, const RunRequest&) { return false; }
  // Around the kernels of a run; `number` is that of the program, in the order of load().
  virtual void begin_run(std::size_t number, const BoundProgram& program, const RunRequest& request) = 0;
  virtual void run_kernel(const KernelCallSite& call) = 0;
  // May return before the kernels are done.
  virtual void end_run(const RunRequest& request) = 0;
  // Brings the scalars to the host, behind the kernels of run number `run`; may return before.
  virtual void copy_scalars(std::uint64_t run, const std::byte* from, std::span<std::byte> into) = 0;
  // Until that run and all before it are done, and their scalars are there.
  virtual void wait_for(std::uint64_t run) const = 0;

  void set_input_bytes(ProgramHandle program, InputSet set, std::string_view name,
                       std::span<const std::byte> values, std::optional<std::int64_t> micro_batch) final;

 private:
  BoundProgram& program_of(ProgramHandle handle) const;
  void wait_for_all() const;

  DeviceMemory& memory_;
  const PlaceInGroup place_;
  const int threads_;
  VariableStore variables_;
  std::vector<std::unique_ptr<BoundProgram>> programs_;
  bool bound_ = false;
  std::uint64_t runs_ = 0;
  std::array<std::uint64_t, kInputSets> runs_of_set_{};       // so many runs were there when it was last read
  std::array<std::vector<std::byte>, kTicketsKept> scalars_;  // of run n at n % kTicketsKept
};

}  // namespace nadi::inline engines
