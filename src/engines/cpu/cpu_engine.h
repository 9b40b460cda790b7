// Runs step programs on this machine's cores (engine.h says how an engine is used).
//
// Communication goes on while kernels run (comm/op_transfers.h). run() returns when all of it is done.
// Training repeats to the bit for the same number of threads.
#pragma once

#include <memory>

#include "nadi/engine/device_engine.h"
#include "nadi/engine/engine_options.h"

namespace nadi::inline engines {

// What the engine holds, made before the part of it that every engine has.
class CpuEngineState;
struct CpuEngineStateOwner {
  explicit CpuEngineStateOwner(const EngineOptions& options);
  ~CpuEngineStateOwner();
  std::unique_ptr<CpuEngineState> state_;
};

class CpuEngine : private CpuEngineStateOwner, public DeviceEngine {
 public:
  // Error (environment) when the machine lacks instructions that the kernels were compiled for.
  explicit CpuEngine(const EngineOptions& options = {});
  ~CpuEngine() override;

  Bytes allocated() const override;
  Bytes sent() const override;

 protected:
  KernelPlan prepare(const Program& program) override;
  void reserve(Bytes workspace, Bytes staging) override;
  void begin_run(std::size_t number, const BoundProgram& program, const RunRequest& request) override;
  // What an engine for tests overrides to do something wrong.
  void run_kernel(const KernelCallSite& call) override;
  void end_run(const RunRequest& request) override;
  void copy_scalars(std::uint64_t run, const std::byte* from, std::span<std::byte> into) override;
  void wait_for(std::uint64_t) const override {}

 private:
  void record_entry(const KernelCallSite& call, Nanoseconds start);
  void throttle(std::int64_t nanoseconds);
};

// The kernels that the CPU takes for a program: what load() decides, without an engine. `connected`: to other
// ranks.
KernelPlan plan_cpu_kernels(const Program& program, int threads, bool connected);

}  // namespace nadi::inline engines
