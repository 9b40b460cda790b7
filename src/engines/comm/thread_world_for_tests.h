// For tests: the ranks of a job as threads of one process.
//
//   ThreadWorld world(4);
//   const auto errors = world.run([&](Communicator& rank) { save(rank); });    // one thread per rank
//   const auto same = world.run([&](Communicator& rank) { load(rank); });
//
// Nothing is fast here, and everything is plain: sends leave a copy of their message, and collectives a copy
// of what a member gives, from which every member computes its result when it waits. What waits for longer
// than ten seconds for the others becomes an Error (environment), so that a test fails instead of hanging.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/comm/communicator.h"

namespace nadi::inline engines {

class ThreadWorld {
 public:
  explicit ThreadWorld(std::int64_t ranks) {
    for (std::int64_t r = 0; r < ranks; ++r)
      ranks_.push_back(std::make_unique<Member>(shared_, Rank{static_cast<std::int32_t>(r)}, ranks));
  }

  Communicator& rank(std::int64_t number) { return *ranks_[number]; }

  // The Error that each rank's call ended with, nothing where it returned.
  std::vector<std::optional<Error>> run(const std::function<void(Communicator&)>& body) {
    std::vector<std::optional<Error>> errors(ranks_.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      threads.emplace_back([&, r] {
        try {
          body(*ranks_[r]);
        } catch (const Error& error) {
          errors[r] = error;
        }
      });
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

 private:
  using Message = std::vector<std::byte>;
  using Members = std::vector<Rank>;

  // What the members of a group gave to one collective.
  struct Meeting {
    std::vector<Message> given;
    std::size_t came = 0;
    std::size_t left = 0;
  };

  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<Members, std::int64_t>, Meeting> meetings;  // by group and number
    std::map<std::tuple<Members, Rank, Rank, std::int64_t>, std::deque<Message>> messages;
  };

  class Member : public Communicator {
   public:
    Member(Shared& shared, Rank rank, std::int64_t ranks) : shared_(shared), rank_(rank) {
      Members all;
      for (std::int64_t r = 0; r < ranks; ++r) all.push_back(Rank{static_cast<std::int32_t>(r)});
      add_group(all);
    }

    Rank rank() const override { return rank_; }
    std::int64_t size() const override { return static_cast<std::int64_t>(groups_[0].members.size()); }

    bool can_move(CommMemory memory) const override { return memory == CommMemory::kHost; }
    CommGroup add_group(std::span<const Rank> members) override {
      const auto own = std::ranges::find(members, rank_);
      check(own != members.end(), "a rank adds a group that it is not in");
      groups_.push_back({Members(members.begin(), members.end()), own - members.begin()});
      return CommGroup{static_cast<std::uint32_t>(groups_.size() - 1)};
    }

    CommRequest all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) override {
      return meet(line, buffer.bytes, [=](const std::vector<Message>& given) {
        combine(given, buffer.dtype, op, 0, buffer.bytes);
      });
    }
    CommRequest reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) override {
      const bool own = place(line) == root;
      return meet(line, buffer.bytes, [=](const std::vector<Message>& given) {
        if (own) combine(given, buffer.dtype, op, 0, buffer.bytes);
      });
    }
    CommRequest all_gather(CommLine line, std::span<const std::byte> part,
                           std::span<std::byte> whole) override {
      return meet(line, part, [=](const std::vector<Message>& given) {
        for (std::size_t i = 0; i < given.size(); ++i)
          std::ranges::copy(given[i], whole.begin() + static_cast<std::ptrdiff_t>(i * given[i].size()));
      });
    }
    CommRequest reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                               ReduceOp op) override {
      const std::size_t start = static_cast<std::size_t>(place(line)) * part.size();
      return meet(line, whole.bytes,
                  [=](const std::vector<Message>& given) { combine(given, whole.dtype, op, start, part); });
    }
    CommRequest broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) override {
      return meet(line, bytes,
                  [=](const std::vector<Message>& given) { std::ranges::copy(given[root], bytes.begin()); });
    }
    CommRequest all_to_all(CommLine line, std::span<const std::byte> from, std::span<std::byte> to) override {
      const std::int64_t own = place(line);
      return meet(line, from, [=](const std::vector<Message>& given) {
        const auto part = static_cast<std::ptrdiff_t>(to.size() / given.size());
        for (std::size_t i = 0; i < given.size(); ++i)
          std::copy_n(given[i].begin() + own * part, part,
                      to.begin() + static_cast<std::ptrdiff_t>(i) * part);
      });
    }

    CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                     std::span<const std::byte> bytes) override {
      const Members& members = members_of(line);
      const std::lock_guard lock(shared_.mutex);
      shared_.messages[{members, rank_, members[peer], tag}].emplace_back(bytes.begin(), bytes.end());
      shared_.changed.notify_all();
      return start([] { return true; });
    }
    // Requests of one group, peer and tag are waited for in the order in which they were started.
    CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                        std::span<std::byte> bytes) override {
      const Members& members = members_of(line);
      return start([this, bytes, key = std::tuple(members, members[peer], rank_, tag)] {
        std::deque<Message>& queue = shared_.messages[key];
        if (queue.empty()) return false;
        check(queue.front().size() == bytes.size(), "a message of another size than was expected");
        std::ranges::copy(queue.front(), bytes.begin());
        queue.pop_front();
        return true;
      });
    }

    // Its work is done then; who asks for it again finds that.
    void stream_wait(StreamId /*stream*/, CommRequest request) override {
      wait(request);
      const std::lock_guard lock(shared_.mutex);
      requests_[static_cast<std::uint64_t>(request)] = [] { return true; };
    }
    std::optional<Nanoseconds> test(CommRequest request) override {
      const std::lock_guard lock(shared_.mutex);
      return finish(request) ? std::optional(now()) : std::nullopt;
    }
    Nanoseconds wait(CommRequest request) override {
      constexpr std::chrono::seconds kTooLong{10};
      std::unique_lock lock(shared_.mutex);
      if (!shared_.changed.wait_for(lock, kTooLong, [&] { return finish(request); }))
        throw environment_error("a rank waited for the others in vain");
      return now();
    }
    void barrier(CommGroup group) override {
      wait(meet(group, {}, [](const std::vector<Message>&) {}));
    }

   private:
    struct Group {
      Members members;
      std::int64_t place = 0;
      std::int64_t meetings = 0;
    };

    static Nanoseconds now() {
      using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
      return Nanoseconds{duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count()};
    }

    std::int64_t place(const CommLine& line) const {
      return groups_[static_cast<std::size_t>(line.group)].place;
    }
    const Members& members_of(const CommLine& line) const {
      check(can_move(line.memory), "this communicator moves memory of the host only");
      return groups_[static_cast<std::size_t>(line.group)].members;
    }

    // `done` is called with the lock held, until it says that it has done its work.
    CommRequest start(std::function<bool()> done) {
      requests_[++started_] = std::move(done);
      return CommRequest{started_};
    }
    bool finish(CommRequest request) {
      const auto found = requests_.find(static_cast<std::uint64_t>(request));
      check(found != requests_.end(), "a request that was never started, or is done");
      if (!found->second()) return false;
      requests_.erase(found);
      return true;
    }

    CommRequest meet(const CommLine& line, std::span<const std::byte> bytes,
                     std::function<void(const std::vector<Message>&)> take) {
      check(can_move(line.memory), "this communicator moves memory of the host only");
      Group& own = groups_[static_cast<std::size_t>(line.group)];
      const std::pair key(own.members, own.meetings++);
      const std::lock_guard lock(shared_.mutex);
      Meeting& meeting = shared_.meetings[key];
      meeting.given.resize(own.members.size());
      meeting.given[own.place].assign(bytes.begin(), bytes.end());
      ++meeting.came;
      shared_.changed.notify_all();
      return start([this, key, take = std::move(take)] {
        const auto found = shared_.meetings.find(key);
        Meeting& at = found->second;
        if (at.came < at.given.size()) return false;
        take(at.given);
        if (++at.left == at.given.size()) shared_.meetings.erase(found);
        return true;
      });
    }

    // Bytes [start, start + out.size()) of the combination.
    static void combine(const std::vector<Message>& given, DType dtype, ReduceOp op, std::size_t start,
                        std::span<std::byte> out) {
      if (dtype == DType::kF32) return combine_as<float>(given, op, start, out);
      if (dtype == DType::kI64) return combine_as<std::int64_t>(given, op, start, out);
      check(false, "these ranks combine f32 and i64 only");
    }
    template <class T>
    static void combine_as(const std::vector<Message>& given, ReduceOp op, std::size_t start,
                           std::span<std::byte> out) {
      for (std::size_t at = 0; at < out.size(); at += sizeof(T)) {
        T sum{};
        for (std::size_t i = 0; i < given.size(); ++i) {
          T value;
          std::memcpy(&value, given[i].data() + start + at, sizeof(T));
          sum = i == 0 ? value : combined(sum, value, op);
        }
        if (op == ReduceOp::kAverage) sum /= static_cast<T>(given.size());
        std::memcpy(out.data() + at, &sum, sizeof(T));
      }
    }
    template <class T>
    static T combined(T a, T b, ReduceOp op) {
      switch (op) {
        case ReduceOp::kSum:
        case ReduceOp::kAverage:
          return a + b;
        case ReduceOp::kMinimum:
          return std::min(a, b);
        case ReduceOp::kMaximum:
          return std::max(a, b);
        case ReduceOp::kProduct:
          return a * b;
      }
      unreachable();
    }

    Shared& shared_;
    Rank rank_;
    std::vector<Group> groups_;
    std::uint64_t started_ = 0;
    std::map<std::uint64_t, std::function<bool()>> requests_;
  };

  Shared shared_;
  std::vector<std::unique_ptr<Member>> ranks_;
};

}  // namespace nadi::inline engines
