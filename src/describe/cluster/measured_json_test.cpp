#include "nadi/cluster/measured_json.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/cluster/cluster.h"

namespace nadi::inline describe {
namespace {

MeasuredOps one_product() {
  return {.between_kernels = Nanoseconds{700},
          .ops = {{.kind = OpKind::kMatmul,
                   .dtype = DType::kF32,
                   .batches = 1,
                   .m = 4,
                   .n = 3,
                   .k = 2,
                   .transpose_b = true,
                   .matrix = Flops{48},
                   .vector = Flops{12},
                   .read = Bytes{56},
                   .written = Bytes{48},
                   .time = Nanoseconds{1234}}},
          .conditions = {.judged = 12, .dropped = 3, .disturbed = 1}};
}

MeasuredCollectives two_sizes() {
  return {.collectives = {{CollectiveType::kAllReduce, 2, Bytes{1024}, Nanoseconds{1000}},
                          {CollectiveType::kAllReduce, 2, Bytes{4096}, Nanoseconds{4000}},
                          {CollectiveType::kAllReduce, 4, Bytes{1024}, Nanoseconds{9000}}},
          .messages = {{Bytes{1024}, Nanoseconds{500}}},
          .skew = {{Nanoseconds{1000}, Nanoseconds{100}}, {Nanoseconds{3000}, Nanoseconds{200}}}};
}

TEST(MeasuredJson, ReadsWhatItWrote) {
  const JsonDocument ops = parse_json(measured_ops_json(one_product()).dump(), "m.json");
  EXPECT_EQ(read_measured_ops(ops.root()), one_product());
  const JsonDocument collectives = parse_json(measured_collectives_json(two_sizes()).dump(), "m.json");
  EXPECT_EQ(read_measured_collectives(collectives.root()), two_sizes());
}

std::string refusal(Json json) {
  const JsonDocument document = parse_json(json.dump(), "m.json");
  try {
    read_measured_ops(document.root());
  } catch (const Error& error) {
    return std::string(error.what()) + " / " + error.hint();
  }
  return "accepted";
}

TEST(MeasuredJson, NamesWhatIsWrong) {
  Json json = measured_ops_json(one_product());
  json["ops"]["rows"][0][0] = "matmull";
  EXPECT_NE(refusal(json).find("did you mean 'matmul'"), std::string::npos) << refusal(json);
  json = measured_ops_json(one_product());
  json["ops"]["rows"][0][12] = -1;
  EXPECT_NE(refusal(json).find("must not be negative"), std::string::npos) << refusal(json);
  json = measured_ops_json(one_product());
  json["ops"]["rows"][0].erase(12);
  EXPECT_NE(refusal(json).find("13 values, this one 12"), std::string::npos) << refusal(json);
  json = measured_ops_json(one_product());
  json["ops"]["columns"][3] = "rows";
  EXPECT_NE(refusal(json).find("measure again"), std::string::npos) << refusal(json);
  json = measured_ops_json(one_product());
  json["opps"] = 1;
  EXPECT_NE(refusal(json).find("did you mean 'ops'"), std::string::npos) << refusal(json);
}

TEST(MeasuredCollectives, RanksWaitForTheLastAsLongAsTheyCameApart) {
  const MeasuredCollectives table = two_sizes();
  EXPECT_EQ(table.wait_after({}), Nanoseconds{});
  EXPECT_EQ(table.wait_after(Nanoseconds{500}), Nanoseconds{50}) << "below the first row in proportion";
  EXPECT_EQ(table.wait_after(Nanoseconds{1000}), Nanoseconds{100});
  EXPECT_EQ(table.wait_after(Nanoseconds{2000}), Nanoseconds{150});
  EXPECT_EQ(table.wait_after(Nanoseconds{9000}), Nanoseconds{200}) << "no more than the last row";
  EXPECT_EQ(MeasuredCollectives{}.wait_after(Nanoseconds{9000}), Nanoseconds{});
}

TEST(MeasuredCollectives, InterpolatesBetweenSizesOfTheSameKindAndNumberOfRanks) {
  const MeasuredCollectives table = two_sizes();
  const auto all_reduce = [&](std::int32_t ranks, std::int64_t bytes) {
    return table.collective(CollectiveType::kAllReduce, ranks, Bytes{bytes});
  };
  EXPECT_EQ(all_reduce(2, 1024), Nanoseconds{1000});
  EXPECT_EQ(all_reduce(2, 4096), Nanoseconds{4000});
  // From 1024 to 4096 time and size both grow fourfold, so twice the size takes twice as long.
  EXPECT_NEAR(static_cast<double>(all_reduce(2, 2048)->count()), 2000, 1);
  EXPECT_EQ(all_reduce(2, 8), Nanoseconds{1000});
  EXPECT_NEAR(static_cast<double>(all_reduce(2, 40960)->count()), 40000, 1);
  EXPECT_EQ(all_reduce(4, 1024), Nanoseconds{9000});
  EXPECT_FALSE(all_reduce(3, 1024).has_value());
  EXPECT_FALSE(table.collective(CollectiveType::kBroadcast, 2, Bytes{8}).has_value());
  EXPECT_NEAR(static_cast<double>(table.message(Bytes{2048})->count()), 1000, 1);
}

TEST(Cluster, AMachineIsDividedAmongItsRanks) {
  Cluster machine;
  machine.devices = {
      {.name = "whole", .product = ""}, {.name = "half", .product = ""}, {.name = "quarter", .product = ""}};
  machine.kinds = {{.name = "1", .device = 0, .devices = 1, .inside = {}},
                   {.name = "2", .device = 1, .devices = 2, .inside = {}},
                   {.name = "4", .device = 2, .devices = 4, .inside = {}}};
  machine.kinds[0].alternatives = {1, 2};
  machine.nodes = {0};
  const auto name = [&](std::int32_t ranks) { return machine.for_ranks(ranks).device(DeviceId{0}).name; };
  EXPECT_EQ(name(1), "whole");
  EXPECT_EQ(name(2), "half");
  EXPECT_EQ(name(3), "quarter");
  EXPECT_EQ(name(9), "quarter");
  EXPECT_EQ(machine.for_ranks(2).device_count(), 2);
  machine.kinds[0].alternatives.clear();
  EXPECT_EQ(name(2), "whole");
}

}  // namespace
}  // namespace nadi::inline describe
