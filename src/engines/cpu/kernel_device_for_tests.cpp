#include "nadi/reference/kernel_tests/kernel_device_for_tests.h"

#include <gtest/gtest.h>

#include <cstring>

#include "nadi/base/format.h"
#include "nadi/cpu/prepared_graph.h"

namespace nadi::inline engines {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xa5};

// Aligned as the arena is, with guard bytes behind. Begins as NaN, so that reading what nobody wrote shows.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::int64_t size)
      : size_(static_cast<std::size_t>(size)), bytes_(size_ + 2 * kGuard, kGuardByte) {
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(bytes_.data()) % kGuard;
    offset_ = misaligned == 0 ? 0 : kGuard - misaligned;
    std::memset(data(), 0xff, size_);
  }
  std::byte* data() { return bytes_.data() + offset_; }
  std::span<std::byte> span() { return {data(), size_}; }
  bool guards_intact() const {
    for (std::size_t i = offset_ + size_; i < bytes_.size(); ++i)
      if (bytes_[i] != kGuardByte) return false;
    return true;
  }

 private:
  std::size_t size_;
  std::vector<std::byte> bytes_;
  std::size_t offset_ = 0;
};

}  // namespace

std::string KernelRun::to_string() const {
  return format("{} threads", threads);
}

std::vector<KernelRun> kernel_runs(const Graph& /*graph*/, std::span<const int> threads,
                                   std::span<const VariableBucket> /*buckets*/) {
  std::vector<KernelRun> runs;
  for (const int n : threads) runs.push_back({.threads = n});
  return runs;
}

double kernel_tolerance(DType least_exact) {
  return least_exact == DType::kF32 ? 1e-10 : 5e-5;
}

TensorBytes run_on_device(const Graph& graph, const TensorBytes& given, const KernelRun& run) {
  std::vector<GuardedMemory> memory;
  std::vector<std::byte*> addresses;
  for (std::size_t t = 0; t < given.size(); ++t) {
    GuardedMemory& tensor = memory.emplace_back(graph.tensors()[t].size().count());
    if (!given[t].empty()) std::memcpy(tensor.data(), given[t].data(), given[t].size());
  }
  for (GuardedMemory& tensor : memory) addresses.push_back(tensor.data());

  const cpu::PreparedGraph prepared(graph, {.threads = run.threads});
  GuardedMemory workspace(prepared.workspace());
  cpu::KernelRunner runner(prepared, run.threads, workspace.span());
  for (std::size_t k = 0; k < prepared.kernels().size(); ++k) runner.run(k, addresses);

  EXPECT_TRUE(workspace.guards_intact()) << "a kernel wrote behind its workspace";
  TensorBytes results(memory.size());
  for (std::size_t t = 0; t < memory.size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    EXPECT_TRUE(memory[t].guards_intact()) << tensor.name << ": a kernel wrote behind it";
    const bool view =
        tensor.producer != kNoOp && definition(graph.op(tensor.producer).kind).op_class == OpClass::kView;
    if (!view) results[t].assign(memory[t].data(), memory[t].data() + memory[t].span().size());
  }
  return results;
}

}  // namespace nadi::inline engines
