// NCCL on one GPU: a job of one rank. What several ranks would exchange is not tested here: NCCL takes one
// rank per GPU.

#include "nadi/cuda/nccl_communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "nadi/comm/single_process.h"
#include "nadi/cuda/device_values_for_tests.h"

namespace nadi::inline engines::cuda {
namespace {

class NcclOnOneRank : public testing::Test {
 protected:
  void SetUp() override {
    if (nccl_library() == nullptr) GTEST_SKIP() << why_no_nccl();
    world_.emplace(host_, 0);
    world_->compute_on(stream_.get());
  }

  static CommLine line() { return {kWorld, kComputeStream, device_memory(0)}; }
  void settle(CommRequest request) {
    world_->stream_wait(kComputeStream, request);
    world_->wait(request);
  }

  template <class T>
  void expect_unchanged_by_reductions(DType dtype) {
    OnDevice<T> values({1, 2, 3, 5, 8});
    const std::vector<T> before = values.read();
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMinimum, ReduceOp::kMaximum, ReduceOp::kProduct}) {
      settle(world_->all_reduce(line(), {values.bytes(), dtype}, op));
      settle(world_->reduce(line(), {values.bytes(), dtype}, op, 0));
    }
    if (is_floating(dtype)) settle(world_->all_reduce(line(), {values.bytes(), dtype}, ReduceOp::kAverage));
    EXPECT_EQ(values.read(), before) << to_string(dtype);
  }

  SingleProcess host_;
  StreamForTests stream_;
  std::optional<NcclCommunicator> world_;
};

TEST_F(NcclOnOneRank, moves_memory_of_its_device) {
  EXPECT_TRUE(world_->can_move(device_memory(0)));
  EXPECT_FALSE(world_->can_move(CommMemory::kHost));
  EXPECT_EQ(world_->size(), 1);
}

// On one rank, every combination is what the rank has. 16-bit patterns are small positive numbers.
TEST_F(NcclOnOneRank, reduces_all_types) {
  expect_unchanged_by_reductions<float>(DType::kF32);
  expect_unchanged_by_reductions<std::int32_t>(DType::kI32);
  expect_unchanged_by_reductions<std::int64_t>(DType::kI64);
  OnDevice<std::uint16_t> half({0x3c00, 0x4000, 0x4200});
  settle(world_->all_reduce(line(), {half.bytes(), DType::kF16}, ReduceOp::kSum));
  EXPECT_EQ(half.read(), (std::vector<std::uint16_t>{0x3c00, 0x4000, 0x4200}));
  OnDevice<std::uint16_t> brain({0x3f80, 0x4000, 0x4040});
  settle(world_->all_reduce(line(), {brain.bytes(), DType::kBF16}, ReduceOp::kAverage));
  EXPECT_EQ(brain.read(), (std::vector<std::uint16_t>{0x3f80, 0x4000, 0x4040}));
}

TEST_F(NcclOnOneRank, copies_from_part_to_whole_and_back) {
  OnDevice<float> part({1, 2, 3}), whole({0, 0, 0}), back({0, 0, 0}), exchanged({0, 0, 0});
  settle(world_->all_gather(line(), part.bytes(), whole.bytes()));
  EXPECT_EQ(whole.read(), (std::vector<float>{1, 2, 3}));
  settle(world_->reduce_scatter(line(), {whole.bytes(), DType::kF32}, back.bytes(), ReduceOp::kSum));
  EXPECT_EQ(back.read(), (std::vector<float>{1, 2, 3}));
  settle(world_->all_to_all(line(), part.bytes(), exchanged.bytes()));
  EXPECT_EQ(exchanged.read(), (std::vector<float>{1, 2, 3}));
  settle(world_->broadcast(line(), back.bytes(), 0));
  EXPECT_EQ(back.read(), (std::vector<float>{1, 2, 3}));
  const std::vector<Rank> alone{Rank{0}};
  const CommLine group(world_->add_group(alone), kComputeStream, device_memory(0));
  settle(world_->all_gather(group, whole.bytes(), exchanged.bytes()));
  world_->barrier(kWorld);
}

// A request begins after what the compute stream was given, and what that is given after stream_wait() comes
// later; several are under way.
TEST_F(NcclOnOneRank, is_ordered_with_the_compute_stream) {
  constexpr std::size_t kElements = std::size_t{1} << 22;
  const auto all_are = [](const OnDevice<float>& values, float expected) {
    return std::ranges::all_of(values.read(), [expected](float value) { return value == expected; });
  };
  OnDevice<float> from(std::vector<float>(kElements, 0)), to(std::vector<float>(kElements, 0)),
      other(std::vector<float>(kElements, 0));
  for (int round = 0; round < 5; ++round) {
    // 0x01010101 and so on: any pattern that is the same for all elements.
    check_cuda(cudaMemsetAsync(from.data(), round + 1, from.bytes().size(), stream_.get()), "cudaMemset");
    const CommRequest first = world_->all_gather(line(), from.bytes(), to.bytes());
    const CommRequest second = world_->all_gather(line(), from.bytes(), other.bytes());
    world_->stream_wait(kComputeStream, first);
    check_cuda(
        cudaMemcpyAsync(from.data(), to.data(), from.bytes().size(), cudaMemcpyDeviceToDevice, stream_.get()),
        "cudaMemcpyAsync");
    world_->stream_wait(kComputeStream, second);
    world_->forget(first);
    world_->forget(second);
    std::uint32_t pattern = 0x01010101U * static_cast<std::uint32_t>(round + 1);
    float expected = 0;
    std::memcpy(&expected, &pattern, sizeof(expected));
    EXPECT_TRUE(all_are(to, expected)) << "round " << round;
    EXPECT_TRUE(all_are(other, expected)) << "round " << round;
  }
}

TEST_F(NcclOnOneRank, is_captured_in_a_graph) {
  OnDevice<float> from({1, 2, 3}), to({0, 0, 0});
  // The first use makes the communicator.
  settle(world_->all_gather(line(), from.bytes(), to.bytes()));
  check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  check_cuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  const CommRequest request = world_->all_gather(line(), from.bytes(), to.bytes());
  world_->stream_wait(kComputeStream, request);
  world_->forget(request);
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (float value = 10; value < 13; ++value) {
    from.write({value, value, value});
    check_cuda(cudaGraphLaunch(executable, stream_.get()), "cudaGraphLaunch");
    EXPECT_EQ(to.read(), std::vector<float>(3, value));
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  // And outside of a graph again.
  from.write({4, 5, 6});
  settle(world_->all_gather(line(), from.bytes(), to.bytes()));
  EXPECT_EQ(to.read(), (std::vector<float>{4, 5, 6}));
}

TEST_F(NcclOnOneRank, tests_until_it_is_done) {
  OnDevice<float> values({1, 2});
  const CommRequest request = world_->all_reduce(line(), {values.bytes(), DType::kF32}, ReduceOp::kSum);
  while (!world_->test(request)) {
  }
  EXPECT_EQ(values.read(), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace nadi::inline engines::cuda
