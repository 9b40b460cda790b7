#include "nadi/trace/trace_attribute.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {
namespace {

using Kind = TraceAttributeKind;

TraceAttribute number(Kind kind, std::uint64_t bits) {
  TraceAttribute attribute;
  attribute.kind = kind;
  attribute.bits = bits;
  return attribute;
}

TEST(TraceAttribute, KindsSayWhatTheyHold) {
  EXPECT_FALSE(is_list(Kind::kNone));
  EXPECT_FALSE(is_list(Kind::kInt64));
  EXPECT_TRUE(is_list(Kind::kInt64List));
  EXPECT_TRUE(is_text(Kind::kBytesList));
  EXPECT_FALSE(is_text(Kind::kBoolList));
  EXPECT_EQ(element_kind(Kind::kSfixed32List), Kind::kSfixed32);
  EXPECT_EQ(to_string(Kind::kInt64List), "int64_list");
}

TEST(TraceAttribute, ReadsIntegersOfEveryWidth) {
  EXPECT_EQ(number(Kind::kInt32, number_bits(std::int32_t{-5})).integer(), -5);
  EXPECT_EQ(number(Kind::kUint64, 7).integer(), 7);
  EXPECT_EQ(number(Kind::kBool, 1).integer(), 1);
  EXPECT_EQ(number(Kind::kUint64, std::uint64_t{1} << 63).integer(), std::nullopt);  // 2^63 does not fit
  EXPECT_EQ(number(Kind::kDouble, number_bits(1.5)).integer(), std::nullopt);
  EXPECT_EQ(number(Kind::kDouble, number_bits(1.5)).real(), 1.5);
  EXPECT_EQ(number(Kind::kFloat, number_bits(0.25f)).real(), 0.25);
  EXPECT_EQ(number(Kind::kNone, 0).integer(), std::nullopt);
}

TEST(TraceAttributes, CopiesValuesAndSurvivesMoving) {
  TraceAttributes attributes;
  {
    const std::string text = "a text that is too long for the small-string optimisation";
    const std::array<std::string_view, 2> texts{text, "b"};
    attributes.add_text("t", text);
    attributes.add_text_list("ts", texts);
    attributes.add_int64_list("is", std::array<std::int64_t, 2>{-1, 2});
  }
  const TraceAttributes moved = std::move(attributes);
  EXPECT_EQ(moved.find("t")->string(), "a text that is too long for the small-string optimisation");
  EXPECT_EQ(moved.find("ts")->texts[0], moved.find("t")->text);
  EXPECT_EQ(moved.find("ts")->texts[1], "b");
  EXPECT_EQ(moved.find("is")->numbers[0], std::numeric_limits<std::uint64_t>::max());  // -1, sign-extended
  EXPECT_EQ(moved.find("other"), nullptr);
}

// The kinds that simulators ask for, one by one.
TEST(CommonAttributes, HaveExactlyTheKindsSimulatorsRead) {
  TraceNode node;
  add_is_cpu_op(node, true);
  add_num_ops(node, Flops{12});
  add_tensor_size(node, Bytes{34});
  add_comm_type(node, CollectiveType::kReduceScatter);
  add_comm_size(node, Bytes{56});
  add_comm_src(node, 1);
  add_comm_dst(node, 2);
  add_comm_tag(node, -3);
  add_process_group(node, 5);

  struct Expected {
    std::string_view name;
    Kind kind;
    std::int64_t value;
  };
  const std::array expected{
      Expected{"is_cpu_op", Kind::kBool, 1},      Expected{"num_ops", Kind::kInt64, 12},
      Expected{"tensor_size", Kind::kUint64, 34}, Expected{"comm_type", Kind::kInt64, 7},
      Expected{"comm_size", Kind::kInt64, 56},    Expected{"comm_src", Kind::kInt32, 1},
      Expected{"comm_dst", Kind::kInt32, 2},      Expected{"comm_tag", Kind::kInt32, -3}};
  ASSERT_EQ(node.attributes.size(), expected.size() + 1);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(node.attributes[i].name, expected[i].name);
    EXPECT_EQ(node.attributes[i].kind, expected[i].kind) << expected[i].name;
    EXPECT_EQ(node.attributes[i].integer(), expected[i].value) << expected[i].name;
  }
  EXPECT_EQ(node.attributes.find("pg_name")->kind, Kind::kString);
  EXPECT_EQ(node.attributes.find("pg_name")->string(), "5");
}

}  // namespace
}  // namespace nadi::inline traces
