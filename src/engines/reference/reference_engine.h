// The plain implementation of Engine: programs run op by op with the reference kernels, in double precision.
// It is the oracle that other engines are held against over whole runs of training, and shows what the
// interface asks for without a device.
//
//   ReferenceEngine engine({.groups = &groups});
//
// Nothing is rounded: variables are doubles whatever their element type, and are converted where they are
// read or written from outside. So fp16 does not overflow, and a checkpoint holds less than the engine does.
// Values of a micro-batch are kept until its last instruction has run. Everything is done when run() returns.
// It allocates as it likes, while a program runs, too. Several ranks: see meetings.h.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nadi/engine/engine.h"
#include "nadi/engine/engine_options.h"
#include "nadi/graph/shard.h"
#include "nadi/recording/executed_step.h"
#include "nadi/reference/meetings.h"
#include "nadi/reference/reference_store.h"

namespace nadi::inline engines {

struct KernelPlan;

// One kernel for each op, without workspace.
KernelPlan plan_reference_kernels(const Program& program);

class ReferenceEngine : public Engine {
 public:
  explicit ReferenceEngine(const EngineOptions& options);
  ~ReferenceEngine() override;

  ProgramHandle load(const Program& program) override;
  void bind() override;

  std::vector<const Tensor*> variables() const override;
  const Tensor* find_variable(std::string_view name) const override;
  void read(std::string_view variable, std::int64_t first, std::span<std::byte> into) const override;
  void write(std::string_view variable, std::int64_t first, std::span<const std::byte> from) override;
  void initialize(std::uint64_t seed) override;

  bool has_input(ProgramHandle program, std::string_view name) const override;
  Ticket run(ProgramHandle program, const RunRequest& request) override;
  void wait(Ticket) override {}
  double scalar(Ticket ticket, std::string_view variable) override;

  Bytes allocated() const override;
  Bytes held(Role role) const override;
  Bytes sent() const override { return meetings_.sent(); }
  int threads() const override { return 1; }

 protected:
  void set_input_bytes(ProgramHandle program, InputSet set, std::string_view name,
                       std::span<const std::byte> values, std::optional<std::int64_t> micro_batch) override;

 private:
  struct LoadedProgram;
  struct Finished {  // the scalars of a run
    Ticket ticket{};
    std::map<std::string, double, std::less<>> scalars = {};
  };

  LoadedProgram& program_of(ProgramHandle handle) const;
  void run_instructions(LoadedProgram& program, const RunRequest& request, std::size_t end);
  const Tensor& variable(std::string_view name, std::int64_t first, std::size_t bytes) const;
  void slow_down(Nanoseconds computed) const;
  void keep_scalars(Ticket ticket);

  double slowdown_;
  bool connected_;  // to other ranks
  bool bound_ = false;
  std::optional<std::uint64_t> seed_;  // of the first values, once they were given
  PlaceInGroup place_;
  Meetings meetings_;
  OverlapStreams streams_;
  std::vector<std::unique_ptr<LoadedProgram>> programs_;
  std::vector<const Tensor*> variables_;  // in the order in which programs brought them
  std::map<std::string_view, std::size_t> by_name_;
  ReferenceStore store_;  // a variable is there once it has a value
  std::array<Finished, kTicketsKept> finished_;
  std::uint64_t runs_ = 0;
};

}  // namespace nadi::inline engines
