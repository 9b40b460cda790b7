#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "nadi/graph/gradient.h"
#include "nadi/graph/ops/attention.h"
#include "nadi/graph/ops/copy.h"
#include "nadi/graph/ops/views.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

// Apart, or packed in one tensor: a parameter, a view of one, or what another op computed.
enum class Operands { kApart, kPacked, kViews, kComputed };

struct Case {
  std::string name;
  std::int64_t B, T, S, H, K, D;
  Operands operands = Operands::kApart;
  bool causal = false;
  Doubles positions = {};
  Doubles lengths = {};
  double dropout = 0;
  Doubles head_ids = {};  // of 2 * H heads
  bool zigzag = false;    // queries are the second and the last of four quarters of the keys' tokens
  bool training = true;
  bool accumulate = false;
};

std::vector<Case> cases() {
  constexpr auto kPacked = Operands::kPacked, kViews = Operands::kViews, kComputed = Operands::kComputed;
  return {
      {"one_of_everything", 1, 1, 1, 1, 1, 1},
      {"narrow", 2, 5, 7, 3, 3, 3},
      {"causal", 2, 65, 65, 2, 2, 64, kPacked, true},
      {"several_tiles", 1, 130, 130, 2, 2, 32, kPacked, true},
      {"several_tasks", 1, 300, 300, 1, 1, 16, kPacked, true},
      {"encoder", 2, 70, 70, 2, 2, 64, kPacked},
      {"cross", 2, 33, 129, 2, 2, 80},
      {"wide_heads", 1, 20, 67, 2, 1, 128},
      {"odd_width", 1, 67, 67, 2, 2, 29, kPacked, true},
      {"width_96", 1, 40, 40, 2, 2, 96, kPacked, true},
      {"grouped", 2, 45, 45, 6, 2, 24, kPacked, true},
      {"one_group", 1, 40, 40, 5, 1, 16, kPacked, true},
      {"views", 2, 50, 50, 4, 2, 16, kViews, true},
      {"lengths", 3, 70, 70, 2, 2, 16, kPacked, false, {}, {70, 64, 3}},
      {"causal_lengths", 2, 70, 70, 2, 1, 16, kPacked, true, {}, {65, 1}},
      {"accumulates", 1, 70, 70, 2, 2, 16, kPacked, true, {}, {}, 0, {}, false, true, true},
      {"decode", 3, 1, 200, 2, 2, 64, Operands::kApart, true, {0, 150, 199}, {}, 0, {}, false, false},
      {"decode_grouped", 2, 1, 131, 8, 2, 32, Operands::kApart, true, {100, 7}, {}, 0, {}, false, false},
      {"decode_wide_group", 2, 1, 131, 8, 1, 40, Operands::kApart, true, {100, 7}, {}, 0, {}, false, false},
      {"decode_two", 2, 2, 90, 1, 1, 20, Operands::kApart, true, {88, 3}, {90, 2}, 0, {}, false, false},
      {"decode_short", 2, 1, 330, 8, 2, 64, Operands::kApart, true, {327, 15}, {}, 0, {}, false, false},
      {"decode_long_queries", 1, 2, 900, 8, 2, 64, Operands::kApart, true, {830}, {}, 0, {}, false, false},
      {"decode_wide_heads", 2, 1, 300, 4, 1, 128, Operands::kApart, true, {250, 0}, {}, 0, {}, false, false},
      {"decode_of_parts", 1, 1, 2300, 8, 2, 64, Operands::kApart, true, {2230}, {}, 0, {}, false, false},
      {"decode_several", 1, 3, 700, 6, 2, 40, Operands::kApart, true, {650}, {}, 0, {}, false, false},
      {"prefill", 2, 40, 150, 2, 1, 16, Operands::kApart, true, {0, 110}, {}, 0, {}, false, false},
      {"dropout", 2, 70, 70, 2, 2, 16, kPacked, true, {}, {}, 0.3},
      {"dropout_of_fours", 2, 136, 136, 2, 2, 64, kPacked, true, {}, {}, 0.1},
      {"dropout_of_wide_heads", 1, 72, 72, 4, 2, 128, kPacked, false, {}, {}, 0.1},
      {"dropout_of_few", 1, 2, 9, 2, 2, 16, Operands::kApart, false, {}, {}, 0.5},
      {"dropout_of_heads", 1, 67, 67, 4, 2, 16, kPacked, true, {}, {}, 0.3, {1, 3, 6, 7}},
      {"zigzag", 2, 70, 140, 2, 1, 16, Operands::kApart, true, {}, {}, 0.2, {}, true},
      {"zigzag_of_fours", 1, 96, 192, 4, 2, 64, Operands::kApart, true, {}, {}, 0.2, {}, true},
      {"zigzag_lengths", 2, 70, 140, 2, 2, 16, Operands::kApart, true, {}, {140, 30}, 0, {}, true},
      // Long enough for libraries.
      {"long_grouped", 1, 256, 256, 4, 2, 64, kComputed, true},
      {"long_cross", 1, 130, 260, 2, 2, 40},
      {"long_views", 2, 136, 136, 4, 2, 32, kViews, true},
      {"long_lengths", 3, 200, 200, 2, 2, 64, kComputed, false, {}, {200, 77, 1}},
      {"long_causal_lengths", 2, 130, 130, 2, 1, 16, kComputed, true, {}, {130, 60}},
  };
}

// Token numbers of the quarters with these numbers, one after the other.
Doubles tokens_of(std::int64_t tokens, const std::vector<int>& quarters) {
  Doubles numbers;
  for (const int quarter : quarters)
    for (std::int64_t i = 0; i < tokens / 4; ++i)
      numbers.push_back(static_cast<double>(quarter * (tokens / 4) + i));
  return numbers;
}

void build(Problem& p, const Case& c, DType dtype) {
  AttentionArgs args{
      .heads = c.H, .kv_heads = c.K, .causal = c.causal, .dropout = c.dropout, .training = c.training};
  if (c.operands == Operands::kApart) {
    args.q = p.parameter("q", Shape{c.B, c.T, c.H * c.D}, dtype);
    args.k = p.parameter("k", Shape{c.B, c.S, c.K * c.D}, dtype);
    args.v = p.parameter("v", Shape{c.B, c.S, c.K * c.D}, dtype);
  } else {
    args.q = p.parameter("qkv", Shape{c.B, c.T, (c.H + 2 * c.K) * c.D}, dtype);
  }
  if (c.operands == Operands::kComputed) args.q = copy(p.builder, args.q);
  if (c.operands == Operands::kViews) {
    const std::vector<TensorId> parts =
        split(p.builder, args.q, 2, std::vector<std::int64_t>{c.H * c.D, c.K * c.D, c.K * c.D});
    args.q = parts[0];
    args.k = parts[1];
    args.v = parts[2];
  }
  if (!c.positions.empty()) args.positions = p.integers("positions", Shape{c.B}, c.positions);
  if (!c.lengths.empty()) args.lengths = p.integers("lengths", Shape{c.B}, c.lengths);
  if (c.dropout > 0) args.random = p.random(5);
  if (!c.head_ids.empty()) {
    args.head_ids = p.integers("head_ids", Shape{c.H}, c.head_ids);
    args.whole_heads = 2 * c.H;
  }
  if (c.zigzag) {
    args.query_positions = p.integers("query_positions", Shape{c.T}, tokens_of(c.S, {1, 3}));
    args.key_positions = p.integers("key_positions", Shape{c.S}, tokens_of(c.S, {0, 3, 1, 2}));
  }
  const TensorId y = fused_attention(p.builder, args);
  p.output(y);
  if (!c.training) return;
  const Shape shape = p.builder.shape(y);
  p.store.set("dy", normal_values("dy", shape.elements()));
  // What accumulating adds to.
  for (const char* name : {"q", "k", "v", "qkv"})
    if (const auto id = p.builder.graph().find_tensor(name))
      p.store.set(std::string(name) + ".grad", normal_values("before", p.builder.shape(*id).elements()));
  const TensorId dy = p.builder.input("dy", shape, dtype);
  add_backward(p.builder, {.seeds = {{y, dy}}, .accumulate = c.accumulate});
}

class AttentionCases : public testing::TestWithParam<Case> {};

TEST_P(AttentionCases, EqualTheReference) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(std::string(to_string(dtype)));
    Problem p;
    build(p, GetParam(), dtype);
    expect_same_as_reference(p);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttentionCases, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Outputs: the result, the statistics and the gradient of packed causal attention.
void build_with_gradient(Problem& p, std::int64_t T, std::int64_t heads, TensorId lengths) {
  const TensorId qkv = p.parameter("qkv", Shape{1, T, 3 * heads * 16});
  const TensorId y = fused_attention(
      p.builder, {.q = qkv, .heads = heads, .kv_heads = heads, .causal = true, .lengths = lengths});
  p.output(y);
  p.output(*p.builder.graph().find_tensor("attention:1"));
  const Backward backward =
      add_backward(p.builder, {.seeds = {{y, p.normal_input("dy", p.builder.shape(y))}}});
  p.output(backward.parameters[0].gradient);
}

TEST(AttentionKernels, GiveZerosWhereNoKeyIsSeen) {
  for (const std::int64_t T : {1, 9}) {
    Problem p;
    build_with_gradient(p, T, 1, p.integers("lengths", Shape{1}, {0}));
    const auto outputs = run_kernels(p, 1);
    EXPECT_THAT(floats(outputs[0]), testing::Each(0.0F));
    EXPECT_THAT(floats(outputs[1]), testing::Each(-std::numeric_limits<float>::infinity()));
    EXPECT_THAT(floats(outputs[2]), testing::Each(0.0F));
  }
}

// The forward pass gives the same bits with any number of threads, the gradient with the same number; heads
// that threads share are where it could differ.
TEST(AttentionKernels, RepeatToTheBit) {
  Problem p;
  build_with_gradient(p, 200, 3, kNoTensor);
  const auto first = run_kernels(p, 2);
  for (const int threads : {1, 3}) EXPECT_EQ(run_kernels(p, threads)[0], first[0]) << threads << " threads";
  for (int again = 0; again < 3; ++again) EXPECT_EQ(run_kernels(p, 2), first);
}

}  // namespace
}  // namespace nadi::inline engines
