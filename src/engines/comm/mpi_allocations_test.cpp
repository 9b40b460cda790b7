// From the second time on, what a step exchanges allocates nothing, on whatever thread. What the MPI library
// itself takes is not counted (allocation_count.h).
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "nadi/comm/mpi_world_for_tests.h"
#include "nadi/comm/single_process.h"
#include "nadi/testing/allocation_count.h"

namespace nadi::inline engines {
namespace {

constexpr std::int64_t kBuckets = 24;
constexpr std::int64_t kMessages = 12;

// Like a training step: buckets of gradients are reduced and gathered, more of them than go on at a time, and
// of several sizes; activations go around; ranks meet in a group of two, too.
class Exchanges {
 public:
  explicit Exchanges(Communicator& world) : world_(world), size_(world.size()) {
    std::vector<Rank> pair;
    const std::int32_t first = to_number(world.rank()) / 2 * 2;
    for (std::int32_t r = first; r < std::min<std::int32_t>(first + 2, static_cast<std::int32_t>(size_)); ++r)
      pair.push_back(Rank{r});
    pair_ = world.add_group(pair);
    for (std::int64_t i = 0; i < kBuckets; ++i) {
      const auto part = static_cast<std::size_t>(1000 + 40'000 * (i % 5));
      parts_.emplace_back(part, 1.0F);
      wholes_.emplace_back(part * static_cast<std::size_t>(size_), 1.0F);
      others_.emplace_back(part * static_cast<std::size_t>(size_), 1.0F);
    }
    requests_.reserve(200);
  }

  void step() {
    const auto bytes = [](std::vector<float>& values) { return std::as_writable_bytes(std::span(values)); };
    for (std::int64_t i = 0; i < kBuckets; ++i) {
      requests_.push_back(
          world_.reduce_scatter(kWorld, {bytes(wholes_[i]), DType::kF32}, bytes(parts_[i]), ReduceOp::kSum));
      requests_.push_back(world_.all_gather(kWorld, bytes(parts_[i]), bytes(others_[i])));
    }
    finish();
    for (std::int64_t i = 0; i < kBuckets; ++i) {
      requests_.push_back(world_.all_reduce(i % 3 == 0 ? pair_ : kWorld, {bytes(others_[i]), DType::kF32},
                                            ReduceOp::kAverage));
      requests_.push_back(world_.reduce(kWorld, {bytes(parts_[i]), DType::kF32}, ReduceOp::kSum, i % size_));
    }
    finish();
    if (size_ == 1) return;
    const std::int64_t own = to_number(world_.rank());
    for (std::int64_t i = 0; i < kMessages; ++i) {
      requests_.push_back(world_.receive(kWorld, (own + size_ - 1) % size_, i % 4, bytes(wholes_[i])));
      requests_.push_back(world_.send(kWorld, (own + 1) % size_, i % 4, bytes(others_[i])));
    }
    for (std::int64_t i = kMessages; i < kBuckets; ++i) {
      requests_.push_back(world_.all_to_all(kWorld, bytes(others_[i]), bytes(wholes_[i])));
      requests_.push_back(world_.broadcast(kWorld, bytes(parts_[i]), i % size_));
    }
    finish();
    world_.barrier(kWorld);
  }

 private:
  void finish() {
    for (const CommRequest request : requests_) {
      world_.stream_wait(kComputeStream, request);
      world_.wait(request);
    }
    requests_.clear();
  }

  Communicator& world_;
  std::int64_t size_;
  CommGroup pair_{};
  std::vector<std::vector<float>> parts_, wholes_, others_;
  std::vector<CommRequest> requests_;
};

// The count itself works: also of other threads, and of memory with an alignment.
TEST(Allocations, are_counted) {
  struct alignas(64) Line {
    std::array<char, 64> bytes;
  };
  std::vector<char> small;
  std::vector<Line> aligned;
  EXPECT_EQ(allocations_in([&] {
              small.resize(1000);
              aligned.resize(10);
            }),
            2);
  EXPECT_EQ(allocations_in([] {}), 0);
}

TEST(Allocations, there_are_none_from_the_second_step_on) {
  Exchanges exchanges(test_world());
  exchanges.step();
  for (int step = 2; step <= 6; ++step)
    EXPECT_EQ(allocations_in([&] { exchanges.step(); }), 0) << "step " << step;
}

TEST(Allocations, there_are_none_in_a_job_of_one_rank) {
  SingleProcess world;
  Exchanges exchanges(world);
  EXPECT_EQ(allocations_in([&] { exchanges.step(); }), 0);
}

}  // namespace
}  // namespace nadi::inline engines
