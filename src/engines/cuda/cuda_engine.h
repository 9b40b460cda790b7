// Runs step programs on one NVIDIA GPU (engine.h says how an engine is used).
//
// The first run of a program enqueues its kernels one by one, so that each can make what it needs once. Later
// runs of the same instructions on the same inputs replay a CUDA graph that the second run has captured:
// launching a step takes the host some microseconds, whatever it does. run() returns at once; results are
// waited for where they are read.
//
// Variables, values and inputs are in memory of the GPU. Nothing that a step decides is decided by the host:
// learning rate, clipping, loss scale and skipped updates are on the GPU, too.
#pragma once

#include <memory>

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline engines {

class Engine;
struct EngineOptions;
struct KernelPlan;

// Error (environment) where CUDA cannot be used, saying why.
std::unique_ptr<Engine> make_cuda_engine(const EngineOptions& options);

}  // namespace nadi::inline engines
