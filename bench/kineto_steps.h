// A made-up training run, as PyTorch's profiler would see it: two host threads, two streams of one GPU, step
// after step. What kineto_gen writes.
//
//   KinetoSteps run;
//   for (int i = 0; i < steps; ++i) print(run.next());
//
// Forward ops run on the main thread, backward ops with an all-reduce per layer on the autograd thread; each
// launch has its GPU op, which starts when it was launched and the stream is free; the step ends with a
// synchronisation. About the mix of a real file of GPT-2. The same calls give the same steps.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace nadi::bench {

constexpr int kMainThread = 402;
constexpr int kAutogradThread = 451;
constexpr int kComputeStream = 7;
constexpr int kCommunicationStream = 20;

// How a host op starts work on the GPU, if it does.
enum class Launch : std::uint8_t { kNone, kKernel, kDriverKernel, kMemset, kMemcpy, kAllReduce };

// An op of a template: ops follow in pre-order, each with its depth.
struct OpTemplate {
  std::string_view name;
  int depth;
  Launch launch = Launch::kNone;
  bool annotation = false;  // cat user_annotation instead of cpu_op
};

struct HostOp {
  const OpTemplate* op;
  int variant;  // which shapes it has: below kVariants
  int thread;
  std::int64_t start;  // ns
  std::int64_t end;
  std::uint64_t external_id;
  std::uint64_t record_function;
  std::uint64_t sequence;     // of forward and backward ops that belong together; 0 without
  std::uint64_t event_index;  // "Ev Idx"
};

struct DeviceOp {
  Launch launch;  // kNone: a call without work on the GPU
  std::string_view call;
  int kernel;  // number of its name
  int thread;
  int stream;
  std::int64_t call_start;
  std::int64_t call_end;
  std::int64_t start;
  std::int64_t end;
  std::uint64_t external_id;
  std::uint64_t correlation;
};

struct Step {
  int number;
  std::int64_t start;
  std::int64_t end;
  std::uint64_t external_id;
  std::uint64_t record_function;
  std::vector<HostOp> host;      // by thread, then in the order of their starts
  std::vector<DeviceOp> device;  // in the order of their calls
};

constexpr int kVariants = 4;
constexpr int kKernels = 72;

class KinetoSteps {
 public:
  const Step& next();

 private:
  struct Cursor {
    int thread;
    std::int64_t now;
  };
  std::int64_t between(std::int64_t low, std::int64_t high);
  void run_group(const std::vector<OpTemplate>& group, Cursor& cursor, int variant, bool differentiable);
  void launch(const HostOp& op, Cursor& cursor);
  void call(std::string_view name, Cursor& cursor, std::int64_t end);

  std::mt19937_64 random_{1};
  Step step_{};
  int steps_ = 0;
  std::int64_t now_ = 3'847'891'397'011'950;  // as in a file of 2026, relative to its base time
  std::int64_t compute_free_ = 0;
  std::int64_t communication_free_ = 0;
  std::uint64_t external_id_ = 1;
  std::uint64_t sequence_ = 1;
  std::uint64_t correlation_ = 20'000;
  std::uint64_t event_index_ = 0;
};

}  // namespace nadi::bench
