#include "nadi/comm/through_host.h"

#include <gtest/gtest.h>

#include <cstring>
#include <list>

#include "nadi/comm/thread_world_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr CommMemory kDevice = device_memory(2);

// A device that does nothing until it must: copies to it wait in a queue, as those of a stream do.
class LazyCopies : public HostCopies {
 public:
  std::span<std::byte> take(std::size_t size) override {
    for (Buffer& buffer : buffers_) {
      if (buffer.used || buffer.bytes.size() < size) continue;
      flush();
      std::ranges::fill(buffer.bytes, std::byte{0xee});
      buffer.used = true;
      return std::span(buffer.bytes).first(size);
    }
    buffers_.push_back({std::vector<std::byte>(size), true});
    return buffers_.back().bytes;
  }
  void give_back(std::span<std::byte> given) override {
    const auto found =
        std::ranges::find_if(buffers_, [&](const Buffer& b) { return b.bytes.data() == given.data(); });
    ASSERT_TRUE(found != buffers_.end() && found->used);
    found->used = false;
  }
  void to_host(std::span<const std::byte> from, std::byte* to) override {
    flush();
    std::ranges::copy(from, to);
  }
  void to_device(std::span<const std::byte> from, std::byte* to) override { queue_.push_back({from, to}); }

  void flush() {
    for (const Copy& copy : queue_) std::ranges::copy(copy.from, copy.to);
    queue_.clear();
  }
  std::size_t buffers() const { return buffers_.size(); }
  bool all_given_back() const { return std::ranges::none_of(buffers_, &Buffer::used); }

 private:
  struct Buffer {
    std::vector<std::byte> bytes;
    bool used = false;
  };
  struct Copy {
    std::span<const std::byte> from;
    std::byte* to;
  };
  std::list<Buffer> buffers_;
  std::vector<Copy> queue_;
};

using Floats = std::vector<float>;

CommBuffer buffer_of(Floats& values) {
  return {std::as_writable_bytes(std::span(values)), DType::kF32};
}
std::span<std::byte> bytes_of_floats(Floats& values) {
  return std::as_writable_bytes(std::span(values));
}

// Three ranks, each with its number r and a communicator through the host.
class ThroughHostTest : public testing::Test {
 protected:
  struct Side {
    ThroughHost& comm;
    LazyCopies& copies;
    float r;

    void settle(CommRequest request) {
      comm.stream_wait(kComputeStream, request);
      comm.wait(request);
      copies.flush();
    }
  };

  static void run(const std::function<void(Side&)>& body) {
    ThreadWorld world(3);
    for (const auto& error : world.run([&](Communicator& rank) {
           LazyCopies copies;
           ThroughHost comm(rank, kDevice, copies);
           Side side{comm, copies, static_cast<float>(to_number(rank.rank()))};
           body(side);
           EXPECT_TRUE(copies.all_given_back());
         }))
      EXPECT_FALSE(error) << error->what();
  }
  static CommLine line() { return {kWorld, kComputeStream, kDevice}; }
};

TEST_F(ThroughHostTest, moves_memory_of_its_device) {
  run([](Side& side) {
    EXPECT_TRUE(side.comm.can_move(kDevice));
    EXPECT_FALSE(side.comm.can_move(CommMemory::kHost));
    EXPECT_FALSE(side.comm.can_move(device_memory(0)));
    EXPECT_EQ(side.comm.size(), 3);
  });
}

// Ranks have (r, 10 r): sums (3, 30), means (1, 10).
TEST_F(ThroughHostTest, reductions) {
  run([](Side& side) {
    Floats sum{side.r, 10 * side.r}, mean = sum, rooted = sum;
    side.settle(side.comm.all_reduce(line(), buffer_of(sum), ReduceOp::kSum));
    EXPECT_EQ(sum, (Floats{3, 30}));
    side.settle(side.comm.all_reduce(line(), buffer_of(mean), ReduceOp::kAverage));
    EXPECT_EQ(mean, (Floats{1, 10}));
    side.settle(side.comm.reduce(line(), buffer_of(rooted), ReduceOp::kMaximum, 1));
    if (side.r == 1) {
      EXPECT_EQ(rooted, (Floats{2, 20}));
    }
    // Wholes (r, r + 1, r + 2): sums (3, 6, 9).
    Floats whole{side.r, side.r + 1, side.r + 2}, part{-1};
    side.settle(side.comm.reduce_scatter(line(), buffer_of(whole), bytes_of_floats(part), ReduceOp::kSum));
    EXPECT_EQ(part, (Floats{3 * (side.r + 1)}));
  });
}

TEST_F(ThroughHostTest, gathers_and_exchanges) {
  run([](Side& side) {
    Floats part{side.r}, whole(3);
    side.settle(side.comm.all_gather(line(), bytes_of_floats(part), bytes_of_floats(whole)));
    EXPECT_EQ(whole, (Floats{0, 1, 2}));
    Floats told{side.r};
    side.settle(side.comm.broadcast(line(), bytes_of_floats(told), 2));
    EXPECT_EQ(told, (Floats{2}));
    Floats from{10 * side.r, 10 * side.r + 1, 10 * side.r + 2}, to(3);
    side.settle(side.comm.all_to_all(line(), bytes_of_floats(from), bytes_of_floats(to)));
    EXPECT_EQ(to, (Floats{side.r, 10 + side.r, 20 + side.r}));
  });
}

// Several under way, waited for in another order; a buffer is not written while it is still copied from.
TEST_F(ThroughHostTest, several_messages_under_way) {
  run([](Side& side) {
    const std::int64_t own = static_cast<std::int64_t>(side.r), next = (own + 1) % 3, last = (own + 2) % 3;
    for (int round = 0; round < 3; ++round) {
      const float mark = 100.0F * static_cast<float>(round);
      Floats first{mark + side.r}, second{mark + side.r + 50}, got_first(1), got_second(1);
      const CommRequest one = side.comm.send(line(), next, 1, bytes_of_floats(first));
      const CommRequest two = side.comm.send(line(), next, 2, bytes_of_floats(second));
      // What was sent may be written at once: there is a copy.
      first = {-1};
      second = {-1};
      const CommRequest got_one = side.comm.receive(line(), last, 1, bytes_of_floats(got_first));
      const CommRequest got_two = side.comm.receive(line(), last, 2, bytes_of_floats(got_second));
      side.comm.stream_wait(kComputeStream, got_two);
      side.comm.stream_wait(kComputeStream, got_one);
      for (const CommRequest request : {one, two, got_one, got_two}) side.comm.wait(request);
      side.copies.flush();
      EXPECT_EQ(got_first, (Floats{mark + static_cast<float>(last)}));
      EXPECT_EQ(got_second, (Floats{mark + static_cast<float>(last) + 50}));
    }
    EXPECT_EQ(side.copies.buffers(), 4U) << "those of the first round are used again";
  });
}

TEST_F(ThroughHostTest, a_test_that_finds_it_done_delivers_it) {
  run([](Side& side) {
    Floats sum{side.r};
    const CommRequest request = side.comm.all_reduce(line(), buffer_of(sum), ReduceOp::kSum);
    while (!side.comm.test(request)) {
    }
    side.copies.flush();
    EXPECT_EQ(sum, (Floats{3}));
  });
}

}  // namespace
}  // namespace nadi::inline engines
