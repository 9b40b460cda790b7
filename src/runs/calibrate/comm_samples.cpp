#include "nadi/calibrate/comm_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/rates.h"
#include "nadi/calibrate/op_samples.h"
#include "nadi/calibrate/quiet_windows.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline runs {
namespace {

constexpr std::int64_t kSmallestMessage = 1024;

constexpr std::array kSampledTypes{CollectiveType::kAllReduce, CollectiveType::kReduce,
                                   CollectiveType::kAllGather, CollectiveType::kBroadcast,
                                   CollectiveType::kAllToAll,  CollectiveType::kReduceScatter};

std::vector<std::int64_t> sampled_sizes(const CommSampleOptions& options) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = kSmallestMessage; size < options.largest.count(); size *= options.factor)
    sizes.push_back(size);
  sizes.push_back(options.largest.count());
  return sizes;
}

// Sizes of groups that divide the ranks evenly.
std::vector<std::int64_t> sampled_groups(std::int64_t ranks) {
  std::vector<std::int64_t> groups;
  for (std::int64_t members = 2; members <= ranks; ++members)
    if (ranks % members == 0) groups.push_back(members);
  return groups;
}

class CommSampler {
 public:
  CommSampler(Communicator& world, const CommSampleOptions& options) : world_(world), options_(options) {
    const auto bytes = static_cast<std::size_t>(options.largest.count());
    a_.assign(bytes, std::byte{0});
    b_.assign(bytes, std::byte{0});
  }

  // `group` has as many members; `size` is that of the member's input, rounded to whole parts.
  Nanoseconds collective(CollectiveType type, CommGroup group, std::int64_t members, std::int64_t size) {
    return median([&] {
      switch (type) {
        case CollectiveType::kAllReduce:
          return world_.all_reduce(group, {span_of(a_, size), DType::kF32}, ReduceOp::kSum);
        case CollectiveType::kReduce:
          return world_.reduce(group, {span_of(a_, size), DType::kF32}, ReduceOp::kSum, 0);
        case CollectiveType::kAllGather:
          return world_.all_gather(group, span_of(a_, size / members), span_of(b_, size / members * members));
        case CollectiveType::kReduceScatter:
          return world_.reduce_scatter(group, {span_of(a_, size / members * members), DType::kF32},
                                       span_of(b_, size / members), ReduceOp::kSum);
        case CollectiveType::kBroadcast:
          return world_.broadcast(group, span_of(a_, size), 0);
        case CollectiveType::kAllToAll:
          return world_.all_to_all(group, span_of(a_, size / members * members),
                                   span_of(b_, size / members * members));
        case CollectiveType::kGather:
        case CollectiveType::kScatter:
        case CollectiveType::kReduceScatterBlock:
        case CollectiveType::kBarrier:
          break;
      }
      check(false, "this collective is not sampled");
      unreachable();
    });
  }

  // There and back between each two neighbours.
  Nanoseconds message(std::int64_t size) {
    const std::int64_t own = to_number(world_.rank()), peer = own ^ 1;
    const Nanoseconds both = median([&] {
      if (peer >= world_.size()) return world_.broadcast(alone(), span_of(a_, 0), 0);
      if (own % 2 == 0) {
        world_.wait(world_.send(kWorld, peer, 1, span_of(a_, size)));
        return world_.receive(kWorld, peer, 2, span_of(b_, size));
      }
      world_.wait(world_.receive(kWorld, peer, 1, span_of(b_, size)));
      return world_.send(kWorld, peer, 2, span_of(a_, size));
    });
    return Nanoseconds{(both.count() + 1) / 2};
  }

 private:
  static std::span<std::byte> span_of(std::vector<std::byte>& bytes, std::int64_t size) {
    return std::span(bytes).first(static_cast<std::size_t>(size));
  }

  CommGroup alone() {
    const std::array own{world_.rank()};
    return world_.add_group(own);
  }

  template <typename Start>
  Nanoseconds median(const Start& start) {
    std::vector<double> times;
    for (std::int64_t i = 0; i <= options_.repetitions; ++i) {
      world_.barrier(kWorld);
      const Nanoseconds begin = steady_time();
      const CommRequest request = start();
      world_.wait(request);
      // Until this rank knows that it is done: what a step waits for.
      const double time = static_cast<double>((steady_time() - begin).count());
      if (i > 0) times.push_back(largest_over_ranks(world_, time));  // the first finds cold memory
    }
    return Nanoseconds{std::llround(median_of(times))};
  }

  Communicator& world_;
  const CommSampleOptions& options_;
  std::vector<std::byte> a_, b_;
};

}  // namespace

std::int64_t comm_sample_count(std::int64_t ranks, const CommSampleOptions& options) {
  if (ranks < 2) return 0;
  const auto sizes = static_cast<std::int64_t>(sampled_sizes(options).size());
  const auto groups = static_cast<std::int64_t>(sampled_groups(ranks).size());
  return sizes * (1 + groups * static_cast<std::int64_t>(kSampledTypes.size()));
}

MeasuredCollectives sample_communication(Communicator& world, const CommSampleOptions& options,
                                         QuietWindows& quiet) {
  MeasuredCollectives table;
  if (world.size() < 2) return table;
  CommSampler sampler(world, options);
  const std::vector<std::int64_t> sizes = sampled_sizes(options);
  // In the order of the table: by type, number of members, size.
  std::vector<std::function<void()>> samples;
  for (const CollectiveType type : kSampledTypes)
    for (const std::int64_t members : sampled_groups(world.size())) {
      const std::int64_t first = to_number(world.rank()) / members * members;
      std::vector<Rank> ranks;
      for (std::int64_t i = 0; i < members; ++i) ranks.push_back(Rank{static_cast<std::int32_t>(first + i)});
      const CommGroup group = members == world.size() ? kWorld : world.add_group(ranks);
      for (const std::int64_t size : sizes) {
        const bool sized_by_part = type == CollectiveType::kAllGather;
        table.collectives.push_back({.type = type,
                                     .ranks = static_cast<std::int32_t>(members),
                                     .size = Bytes{sized_by_part ? size / members : size}});
        samples.emplace_back([&, type, members, group, size, row = table.collectives.size() - 1] {
          table.collectives[row].time = sampler.collective(type, group, members, size);
        });
      }
    }
  for (const std::int64_t size : sizes) {
    table.messages.push_back({.size = Bytes{size}});
    samples.emplace_back(
        [&, size, row = table.messages.size() - 1] { table.messages[row].time = sampler.message(size); });
  }

  std::size_t reached = 0;
  for (std::size_t first = 0, next = 0; first < samples.size();) {
    double seconds = 0;
    quiet.begin();
    for (next = first; next < samples.size() && (next == first || quiet.wants_more(seconds)); ++next) {
      next < reached ? options.at_again() : options.at_each();
      reached = std::max(reached, next + 1);
      const Nanoseconds begin = steady_time();
      samples[next]();
      seconds += largest_over_ranks(world, to_seconds(steady_time() - begin));
    }
    if (quiet.end(seconds)) first = next;
  }
  return table;
}

}  // namespace nadi::inline runs
