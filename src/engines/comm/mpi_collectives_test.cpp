// Every collective against sums done here for all members. Member r has at element i the number
// 1 + (7 i + 3 r) mod 3, which is 1, 2 or 3: sums of eight are exact in every type, and products of eight, up
// to 6561, are not in bf16, where the expectation is rounded once.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "nadi/comm/mpi_world_for_tests.h"

namespace nadi::inline engines {
namespace {

std::int64_t members() {
  return test_world().size();
}
std::int64_t own() {
  return to_number(test_world().rank());
}

double value(std::int64_t member, std::int64_t i) {
  return 1 + static_cast<double>((7 * i + 3 * member + i / 5) % 3);
}

std::vector<double> values_of(std::int64_t member, std::int64_t count, std::int64_t first = 0) {
  std::vector<double> values(count);
  for (std::int64_t i = 0; i < count; ++i) values[i] = value(member, first + i);
  return values;
}

double combined(ReduceOp op, double a, double b) {
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
  return 0;
}

// Over all members, rounded to the type.
std::vector<double> expected(ReduceOp op, DType dtype, std::int64_t count) {
  std::vector<double> result = values_of(0, count);
  for (std::int64_t member = 1; member < members(); ++member)
    for (std::int64_t i = 0; i < count; ++i) result[i] = combined(op, result[i], value(member, i));
  if (op == ReduceOp::kAverage)
    for (double& number : result) number /= static_cast<double>(members());
  return decoded(encoded(result, dtype), dtype);
}

struct Case {
  DType dtype;
  ReduceOp op;
};

class Reductions : public testing::TestWithParam<Case> {
 protected:
  DType dtype() const { return GetParam().dtype; }
  ReduceOp op() const { return GetParam().op; }
  // One element; a part for one member only; a part for each, which do not divide evenly.
  static constexpr std::int64_t kCounts[] = {0, 1, 1000, 20'011};
};

TEST_P(Reductions, all_reduce) {
  for (const std::int64_t count : kCounts) {
    std::vector<std::byte> buffer = encoded(values_of(own(), count), dtype());
    test_world().wait(test_world().all_reduce(kWorld, {buffer, dtype()}, op()));
    EXPECT_EQ(decoded(buffer, dtype()), expected(op(), dtype(), count)) << count << " elements";
  }
}

TEST_P(Reductions, reduce_to_any_member) {
  for (const std::int64_t count : kCounts)
    for (std::int64_t root = 0; root < members(); ++root) {
      std::vector<std::byte> buffer = encoded(values_of(own(), count), dtype());
      test_world().wait(test_world().reduce(kWorld, {buffer, dtype()}, op(), root));
      if (root != own()) continue;
      EXPECT_EQ(decoded(buffer, dtype()), expected(op(), dtype(), count)) << count << " elements";
    }
}

TEST_P(Reductions, reduce_scatter) {
  for (const std::int64_t part_count : {0, 1, 999, 9'001}) {
    const std::int64_t count = part_count * members();
    const std::size_t part_bytes = part_count * size_of(dtype());
    std::vector<double> wanted = expected(op(), dtype(), count);
    wanted = {wanted.begin() + own() * part_count, wanted.begin() + (own() + 1) * part_count};

    std::vector<std::byte> whole = encoded(values_of(own(), count), dtype());
    std::vector<std::byte> part(part_bytes);
    test_world().wait(test_world().reduce_scatter(kWorld, {whole, dtype()}, part, op()));
    EXPECT_EQ(decoded(part, dtype()), wanted) << part_count << " elements";

    whole = encoded(values_of(own(), count), dtype());
    const std::span<std::byte> place = std::span(whole).subspan(own() * part_bytes, part_bytes);
    test_world().wait(test_world().reduce_scatter(kWorld, {whole, dtype()}, place, op()));
    EXPECT_EQ(decoded(place, dtype()), wanted) << part_count << " elements, in place";
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64})
    for (const ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMinimum, ReduceOp::kMaximum, ReduceOp::kProduct})
      if (op != ReduceOp::kAverage || is_floating(dtype)) cases.push_back({dtype, op});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(of, Reductions, testing::ValuesIn(all_cases()), [](const auto& of) {
  return std::string(to_string(of.param.dtype)) + "_" + std::string(to_string(of.param.op));
});

// 300,000 numbers are 1.2 MB: with 2 members each owns 600 KB, three pieces.
TEST(LargeArrays, all_reduce_in_pieces) {
  constexpr std::int64_t kCount = 300'000;
  std::vector<std::byte> buffer = encoded(values_of(own(), kCount), DType::kF32);
  test_world().wait(test_world().all_reduce(kWorld, {buffer, DType::kF32}, ReduceOp::kSum));
  EXPECT_EQ(decoded(buffer, DType::kF32), expected(ReduceOp::kSum, DType::kF32, kCount));
}

TEST(LargeArrays, broadcast_in_pieces) {
  constexpr std::int64_t kCount = 300'000;
  const std::int64_t root = members() - 1;
  std::vector<std::byte> buffer = encoded(values_of(own(), kCount), DType::kF32);
  test_world().wait(test_world().broadcast(kWorld, buffer, root));
  EXPECT_EQ(decoded(buffer, DType::kF32), values_of(root, kCount));
}

// Sums of thirds and sevenths are not exact: in the order of members, whatever the sizes.
TEST(Order, sums_go_by_places) {
  const auto number = [](std::int64_t member, std::int64_t i) {
    return static_cast<float>(member * member + 1) / static_cast<float>(3 + 4 * (i % 2));
  };
  for (const std::int64_t count : {1, 77, 30'000}) {
    std::vector<float> buffer(count), wanted(count);
    for (std::int64_t i = 0; i < count; ++i) {
      buffer[i] = number(own(), i);
      wanted[i] = number(0, i);
      for (std::int64_t member = 1; member < members(); ++member) wanted[i] += number(member, i);
    }
    test_world().wait(test_world().all_reduce(
        kWorld, {std::as_writable_bytes(std::span(buffer)), DType::kF32}, ReduceOp::kSum));
    EXPECT_EQ(buffer, wanted);
  }
}

TEST(Gathering, all_gather) {
  for (const std::int64_t count : {0, 1, 5'000}) {
    std::vector<double> wanted;
    for (std::int64_t member = 0; member < members(); ++member)
      for (const double number : values_of(member, count)) wanted.push_back(number);
    const std::vector<std::byte> part = encoded(values_of(own(), count), DType::kI64);
    std::vector<std::byte> whole(part.size() * members());
    test_world().wait(test_world().all_gather(kWorld, part, whole));
    EXPECT_EQ(decoded(whole, DType::kI64), wanted);

    std::ranges::fill(whole, std::byte{0});
    const std::span<std::byte> place = std::span(whole).subspan(own() * part.size(), part.size());
    std::ranges::copy(part, place.begin());
    test_world().wait(test_world().all_gather(kWorld, place, whole));
    EXPECT_EQ(decoded(whole, DType::kI64), wanted) << "in place";
  }
}

TEST(Gathering, broadcast_from_any_member) {
  for (const std::int64_t count : {0, 1, 77, 20'000})
    for (std::int64_t root = 0; root < members(); ++root) {
      std::vector<std::byte> buffer = encoded(values_of(own(), count), DType::kI32);
      test_world().wait(test_world().broadcast(kWorld, buffer, root));
      EXPECT_EQ(decoded(buffer, DType::kI32), values_of(root, count)) << "from " << root;
    }
}

// Member r's part j is 100 r + j, so it arrives at member j in place r.
TEST(Gathering, all_to_all) {
  for (const std::int64_t count : {1, 3'000}) {
    std::vector<std::int64_t> from, wanted;
    for (std::int64_t other = 0; other < members(); ++other) {
      from.insert(from.end(), count, 100 * own() + other);
      wanted.insert(wanted.end(), count, 100 * other + own());
    }
    std::vector<std::int64_t> to(from.size());
    test_world().wait(test_world().all_to_all(kWorld, std::as_bytes(std::span(from)),
                                              std::as_writable_bytes(std::span(to))));
    EXPECT_EQ(to, wanted);
  }
}

TEST(Gathering, barrier_waits_for_the_last) {
  for (std::int64_t last = 0; last < members(); ++last) test_world().barrier(kWorld);
}

// Pairs that differ in the last bit of the rank and pairs that differ in the highest: every rank is in two
// groups. 40 requests in each, waited for from the last to the first.
TEST(Groups, many_requests_in_groups_that_overlap) {
  if (members() % 2 != 0) GTEST_SKIP() << "an odd number of ranks";
  const std::int64_t far = members() / 2;
  const auto pair = [&](std::int64_t distance) {
    std::vector<Rank> ranks{test_world().rank(), Rank{static_cast<std::int32_t>(own() ^ distance)}};
    std::ranges::sort(ranks);
    return ranks;
  };
  const CommGroup near_group = test_world().add_group(pair(1));
  const CommGroup far_group = test_world().add_group(pair(far));
  constexpr int kRequests = 40;
  std::vector<std::vector<std::int64_t>> near(kRequests), distant(kRequests);
  std::vector<CommRequest> requests;
  for (int i = 0; i < kRequests; ++i) {
    near[i].assign(1 + 500 * i, own() + i);
    distant[i].assign(1 + 300 * i, 10 * own() + i);
    requests.push_back(test_world().all_reduce(
        near_group, {std::as_writable_bytes(std::span(near[i])), DType::kI64}, ReduceOp::kSum));
    requests.push_back(test_world().all_reduce(
        far_group, {std::as_writable_bytes(std::span(distant[i])), DType::kI64}, ReduceOp::kSum));
  }
  for (auto request = requests.rbegin(); request != requests.rend(); ++request) test_world().wait(*request);
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_EQ(near[i], std::vector<std::int64_t>(1 + 500 * i, own() + (own() ^ 1) + 2 * i));
    EXPECT_EQ(distant[i], std::vector<std::int64_t>(1 + 300 * i, 10 * (own() + (own() ^ far)) + 2 * i));
  }
}

// Places are those in the list, here from the highest rank down.
TEST(Groups, places_follow_the_list) {
  std::vector<Rank> ranks;
  for (std::int64_t rank = members() - 1; rank >= 0; --rank)
    ranks.push_back(Rank{static_cast<std::int32_t>(rank)});
  const CommGroup group = test_world().add_group(ranks);
  const std::int64_t number = own();
  std::vector<std::int64_t> whole(members());
  test_world().wait(test_world().all_gather(group, std::as_bytes(std::span(&number, 1)),
                                            std::as_writable_bytes(std::span(whole))));
  std::vector<std::int64_t> wanted(members());
  std::iota(wanted.rbegin(), wanted.rend(), 0);
  EXPECT_EQ(whole, wanted);
}

TEST(Groups, alone) {
  const Rank self[] = {test_world().rank()};
  const CommGroup group = test_world().add_group(self);
  EXPECT_EQ(sum_over(group, 7), 7);
  const std::int64_t number = own();
  std::int64_t gathered = -1;
  test_world().wait(test_world().all_gather(group, std::as_bytes(std::span(&number, 1)),
                                            std::as_writable_bytes(std::span(&gathered, 1))));
  EXPECT_EQ(gathered, number);
}

}  // namespace
}  // namespace nadi::inline engines
