// NCCL among several ranks, for real. Here they share one GPU: NADI_TEST_NCCL=shared-gpu makes each of them a
// host of its own for NCCL, which then goes over sockets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <numeric>
#include <thread>

#include "nadi/base/format.h"
#include "nadi/comm/comm_record.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/comm/mpi_world_for_tests.h"
#include "nadi/comm/recorded_communicator.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/cuda/device_choice.h"
#include "nadi/cuda/device_values_for_tests.h"
#include "nadi/cuda/nccl_communicator.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::int64_t kElements = 1000;  // of a part

class NcclRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_cuda()) GTEST_SKIP() << reason->reason;
    static const DeviceChoice choice = choose_device(&test_world(), process_environment());
    if (!choice.why_through_host.empty()) GTEST_SKIP() << choice.why_through_host;
    check_cuda(cudaSetDevice(choice.number), "cudaSetDevice");
    std::vector<Rank> all;
    for (std::int64_t rank = 0; rank < ranks(); ++rank) all.push_back(Rank{static_cast<std::int32_t>(rank)});
    record_.add_group(all);
    host_.emplace(test_world(), record_);
    stream_.emplace();
  }
  void TearDown() override {
    world_.reset();
    if (host_) host_->barrier(kWorld);
  }

  void make(const NcclOptions& options = {}) {
    world_.emplace(*host_, 0, options);
    world_->compute_on(stream_->get());
  }
  static std::int64_t ranks() { return test_world().size(); }
  static std::int64_t own() { return to_number(test_world().rank()); }
  static CommLine line(CommGroup group) { return {group, kComputeStream, device_memory(0)}; }
  void settle(CommRequest request) {
    world_->stream_wait(kComputeStream, request);
    world_->wait(request);
  }

  // All ranks, their neighbours (0 and 1, 2 and 3, ...), and every other one.
  CommGroup neighbours() {
    const auto first = static_cast<std::int32_t>(own() / 2 * 2);
    const std::vector<Rank> members{Rank{first}, Rank{first + 1}};
    return world_->add_group(members);
  }
  CommGroup strided() {
    std::vector<Rank> members;
    for (auto rank = static_cast<std::int32_t>(own() % 2); rank < ranks(); rank += 2)
      members.push_back(Rank{rank});
    return world_->add_group(members);
  }

  // Rank r's element i is r + 1 + i % 7: small whole numbers, which every type has.
  static std::vector<double> values_of(std::int64_t rank, std::int64_t count = kElements) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(rank + 1) + static_cast<double>(i % 7);
    return values;
  }
  static std::vector<std::uint8_t> bytes_of(const std::vector<double>& values, DType dtype) {
    const std::vector<std::byte> bytes = encoded(values, dtype);
    std::vector<std::uint8_t> plain(bytes.size());
    std::memcpy(plain.data(), bytes.data(), bytes.size());
    return plain;
  }
  static std::vector<double> read(const OnDevice<std::uint8_t>& array, DType dtype) {
    const std::vector<std::uint8_t> plain = array.read();
    return decoded(std::as_bytes(std::span(plain)), dtype);
  }

  void expect_collectives(CommGroup group, const std::vector<std::int64_t>& members) {
    const auto place = static_cast<std::size_t>(std::ranges::find(members, own()) - members.begin());
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI64}) {
      SCOPED_TRACE(to_string(dtype));
      std::vector<double> sum(kElements, 0), gathered;
      for (const std::int64_t member : members) {
        const std::vector<double> of = values_of(member);
        for (std::size_t i = 0; i < of.size(); ++i) sum[i] += of[i];
        gathered.insert(gathered.end(), of.begin(), of.end());
      }
      const std::vector<std::uint8_t> mine = bytes_of(values_of(own()), dtype);
      OnDevice<std::uint8_t> array(mine);
      settle(world_->all_reduce(line(group), {array.bytes(), dtype}, ReduceOp::kSum));
      EXPECT_EQ(read(array, dtype), sum);

      OnDevice<std::uint8_t> part(mine), whole(std::vector<std::uint8_t>(mine.size() * members.size()));
      settle(world_->all_gather(line(group), part.bytes(), whole.bytes()));
      EXPECT_EQ(read(whole, dtype), gathered);
      // Everybody has the same whole: the sum of a part is that part so many times.
      settle(world_->reduce_scatter(line(group), {whole.bytes(), dtype}, part.bytes(), ReduceOp::kSum));
      std::vector<double> times = values_of(own());
      for (double& value : times) value *= static_cast<double>(members.size());
      EXPECT_EQ(read(part, dtype), times);

      array.write(mine);
      settle(world_->broadcast(line(group), array.bytes(), 1));
      EXPECT_EQ(read(array, dtype), values_of(members[1]));
      array.write(mine);
      settle(world_->reduce(line(group), {array.bytes(), dtype}, ReduceOp::kMaximum, 0));
      if (place == 0) {
        EXPECT_EQ(read(array, dtype), values_of(members.back()));
      }
    }
    // Part j of rank i is of i * 100 + j.
    const std::size_t count = members.size();
    std::vector<float> from(count), to(count), expected(count);
    for (std::size_t j = 0; j < count; ++j) {
      from[j] = static_cast<float>(place * 100 + j);
      expected[j] = static_cast<float>(j * 100 + place);
    }
    OnDevice<float> sends(from), receives(to);
    settle(world_->all_to_all(line(group), sends.bytes(), receives.bytes()));
    EXPECT_EQ(receives.read(), expected);
  }

  std::vector<std::int64_t> all_ranks() const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(ranks()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<std::int64_t> strided_ranks() const {
    std::vector<std::int64_t> members;
    for (std::int64_t rank = own() % 2; rank < ranks(); rank += 2) members.push_back(rank);
    return members;
  }

  CommRecord record_;
  std::optional<RecordedCommunicator> host_;
  std::optional<StreamForTests> stream_;
  std::optional<NcclCommunicator> world_;
};

TEST_F(NcclRanks, collectives_of_all_types_and_groups) {
  make();
  const CommGroup pairs = neighbours(), every_other = strided();
  std::vector<CommGroup> groups{kWorld, pairs};
  if (ranks() > 2) groups.push_back(every_other);
  world_->connect(groups, {});
  expect_collectives(kWorld, all_ranks());
  expect_collectives(pairs, {own() / 2 * 2, own() / 2 * 2 + 1});
  if (ranks() > 2) expect_collectives(every_other, strided_ranks());
  if (own() == 0) std::cout << "[ " << ranks() << " ranks ] " << to_string(world_->setup()) << "\n";
}

// NCCL before 2.18 cannot split.
TEST_F(NcclRanks, communicators_that_are_made_one_by_one_do_the_same) {
  make({.split = false});
  const CommGroup pairs = neighbours();
  world_->connect(std::vector<CommGroup>{kWorld, pairs}, {});
  expect_collectives(kWorld, all_ranks());
  expect_collectives(pairs, {own() / 2 * 2, own() / 2 * 2 + 1});
  if (own() == 0)
    std::cout << "[ " << ranks() << " ranks ] " << to_string(world_->setup()) << ", without splits\n";
}

// The world is one call, groups without common ranks one more, and what is there is not made again.
TEST_F(NcclRanks, makes_communicators_in_few_calls) {
  make();
  const CommGroup pairs = neighbours(), every_other = strided();
  world_->connect({}, {});
  EXPECT_EQ(world_->setup().calls, 0);
  world_->connect(std::vector<CommGroup>{kWorld}, {});
  EXPECT_EQ(world_->setup().calls, 1);
  EXPECT_EQ(world_->setup().communicators, 1);
  world_->connect(std::vector<CommGroup>{kWorld, pairs}, {});
  EXPECT_EQ(world_->setup().calls, 2);
  EXPECT_EQ(world_->setup().communicators, 2);
  world_->connect(std::vector<CommGroup>{kWorld, pairs}, {});
  EXPECT_EQ(world_->setup().calls, 2);
  if (ranks() <= 2) return;
  world_->connect(std::vector<CommGroup>{every_other}, {});
  EXPECT_EQ(world_->setup().calls, 3);
}

// Around a ring, both ways at once, two tags each: a message waits for nobody but its receiver.
TEST_F(NcclRanks, messages_of_several_tags) {
  make();
  const std::int64_t next = (own() + 1) % ranks(), before = (own() + ranks() - 1) % ranks();
  std::vector<MessageLine> lines;
  for (const std::int64_t tag : {0, 1}) {
    lines.push_back({kWorld, next, tag, true, Rank{static_cast<std::int32_t>(next)}});
    lines.push_back({kWorld, before, tag, false, Rank{static_cast<std::int32_t>(before)}});
  }
  world_->connect({}, lines);
  OnDevice<float> own_value({static_cast<float>(own())}), first({-1}), second({-1});
  const CommRequest later = world_->receive(line(kWorld), before, 1, second.bytes());
  const CommRequest sooner = world_->receive(line(kWorld), before, 0, first.bytes());
  settle(world_->send(line(kWorld), next, 0, own_value.bytes()));
  settle(sooner);
  settle(world_->send(line(kWorld), next, 1, first.bytes()));
  settle(later);
  EXPECT_EQ(first.read(), std::vector<float>{static_cast<float>(before)});
  EXPECT_EQ(second.read(), std::vector<float>{static_cast<float>((own() + 2 * ranks() - 2) % ranks())});
}

TEST_F(NcclRanks, is_captured_in_a_graph) {
  make();
  world_->connect(std::vector<CommGroup>{kWorld}, {});
  OnDevice<float> values(std::vector<float>(kElements, 1));
  const auto sum = [&] {
    const CommRequest request =
        world_->all_reduce(line(kWorld), {values.bytes(), DType::kF32}, ReduceOp::kSum);
    world_->stream_wait(kComputeStream, request);
    world_->forget(request);
  };
  sum();
  wait_for(stream_->get());
  check_cuda(cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  sum();
  sum();
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream_->get(), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  float factor = 1;
  for (int i = 0; i < 2; ++i) factor *= static_cast<float>(ranks());
  for (const float value : {1.F, 2.F, 3.F}) {
    values.write(std::vector<float>(kElements, value));
    check_cuda(cudaGraphLaunch(executable, stream_->get()), "cudaGraphLaunch");
    wait_for(stream_->get());
    EXPECT_EQ(values.read(), std::vector<float>(kElements, value * factor));
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

// Rank 0 comes two seconds before the others.
TEST_F(NcclRanks, the_record_tells_that_the_gpu_is_waited_for) {
  make();
  world_->connect(std::vector<CommGroup>{kWorld}, {});
  OnDevice<float> values(std::vector<float>(kElements, 1));
  test_world().barrier(kWorld);
  if (own() != 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  const CommRequest late = world_->all_reduce(line(kWorld), {values.bytes(), DType::kF32}, ReduceOp::kSum);
  std::atomic<bool> told = false, done = false;
  std::thread watch([&] {
    while (!done) {
      const CommRecord::Snapshot seen = record_.read();
      if (seen.waits && seen.waits->request.op == CommOp::kDevice) told = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  const std::uint64_t before = record_.moves();
  settle(late);
  done = true;
  watch.join();
  if (own() == 0) {
    EXPECT_TRUE(told);
  }
  EXPECT_FALSE(record_.waits());
  EXPECT_GT(record_.moves(), before);
}

// What is under way is ended without the others, and the streams are free.
TEST_F(NcclRanks, is_aborted_while_it_waits_for_others) {
  make();
  world_->connect(std::vector<CommGroup>{kWorld}, {});
  OnDevice<float> values(std::vector<float>(kElements, 1));
  settle(world_->all_reduce(line(kWorld), {values.bytes(), DType::kF32}, ReduceOp::kSum));
  test_world().barrier(kWorld);
  if (own() == 0) {
    const CommRequest never = world_->all_reduce(line(kWorld), {values.bytes(), DType::kF32}, ReduceOp::kSum);
    world_->stream_wait(kComputeStream, never);
    const auto begin = std::chrono::steady_clock::now();
    world_->abort();
    check_cuda(cudaStreamSynchronize(stream_->get()), "cudaStreamSynchronize");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
  test_world().barrier(kWorld);
  world_->abort();
}

}  // namespace
}  // namespace nadi::inline engines::cuda
