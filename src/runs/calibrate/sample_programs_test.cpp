#include "nadi/calibrate/sample_programs.h"

#include <gtest/gtest.h>

#include <set>

#include "nadi/cluster/measured_ops.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline runs {
namespace {

MeasuringOptions of_gpt2(std::int64_t ranks) {
  return {.models = {*find_built_in_model("gpt2")}, .ranks = ranks};
}

std::set<OpKind> kinds_of(const std::vector<SampleProgram>& samples) {
  std::set<OpKind> kinds;
  for (const SampleProgram& sample : samples) {
    const Program program = build_step(sample.config, sample.request, sample.plan, 0);
    for (const Graph& graph : program.graphs)
      for (const Op& op : graph.ops()) kinds.insert(op.kind);
  }
  return kinds;
}

bool is_of_experts(OpKind kind) {
  return kind >= OpKind::kRoute && kind <= OpKind::kPlaceReceived;
}

// Every op that computes in fp32 on one rank: neither those of fp16's loss scale nor those of groups. Those of experts are
// measured where a model has them.
TEST(SamplePrograms, HaveEveryKindOfOpThatOneRankRuns) {
  const std::set<OpKind> kinds = kinds_of(sample_programs(of_gpt2(1)));
  const std::set<OpKind> absent{OpKind::kQuantizeFp8,  OpKind::kUpdateLossScale, OpKind::kCast,
                                OpKind::kVocabMax,     OpKind::kVocabSums,       OpKind::kShardedCrossEntropy,
                                OpKind::kGelu,         OpKind::kConcat,          OpKind::kTakeTokens,
                                OpKind::kAllReduceGrad};
  for (int i = 0; i < kOpKindCount; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (definition(kind).op_class != OpClass::kCompute || absent.contains(kind) || is_of_experts(kind))
      continue;
    EXPECT_TRUE(kinds.contains(kind)) << to_string(kind);
  }
}

TEST(SamplePrograms, HaveTheOpsOfExpertsWhereAModelHasThem) {
  const std::set<OpKind> kinds =
      kinds_of(sample_programs({.models = {*find_built_in_model("qwen2-moe-tiny")}, .ranks = 1}));
  for (const OpKind kind :
       {OpKind::kRoute, OpKind::kRouteGrad, OpKind::kPermuteTokens, OpKind::kGroupedMatmul,
        OpKind::kGroupedMatmulGrad, OpKind::kSigmoidGate, OpKind::kBalanceLoss})
    EXPECT_TRUE(kinds.contains(kind)) << to_string(kind);
}

TEST(SamplePrograms, HaveTheShapesOfAStepOfTheModel) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> shapes;
  const auto collect = [&](const Program& program) {
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> found;
    for (const Graph& graph : program.graphs)
      for (const Op& op : graph.ops())
        if (op.kind == OpKind::kMatmul) {
          const MeasuredOp row = op_to_measure(graph, op);
          found.insert({row.m, row.n, row.k});
        }
    return found;
  };
  for (const SampleProgram& sample : sample_programs(of_gpt2(1)))
    shapes.merge(collect(build_step(sample.config, sample.request, sample.plan, 0)));
  const ModelConfig gpt2 = *find_built_in_model("gpt2");
  for (const auto& shape : collect(build_step(gpt2, {.batch_size = 4, .seq_length = 256})))
    EXPECT_TRUE(shapes.contains(shape)) << std::get<0>(shape) << " " << std::get<1>(shape);
}

TEST(SamplePrograms, OfAGpuHaveThousandsOfTokensWithAndWithoutDropout) {
  MeasuringOptions options = of_gpt2(1);
  options.gpu = true;
  std::int64_t most = 0;
  bool with = false, without = false;
  for (const SampleProgram& sample : sample_programs(options)) {
    EXPECT_LE(sample.request.seq_length, sample.config.positions) << sample.name;
    if (sample.request.kind != StepKind::kTrain || sample.config.width != 768) continue;
    most = std::max(most, sample.request.batch_size * sample.request.seq_length);
    (sample.config.attention_dropout > 0 ? with : without) = true;
  }
  EXPECT_EQ(most, 16 * 1024);
  EXPECT_TRUE(with);
  EXPECT_TRUE(without);
}

TEST(SamplePrograms, OfSeveralRanksAreThoseOfTheirPlans) {
  bool tensor = false, data = false;
  for (const SampleProgram& sample : sample_programs(of_gpt2(2))) {
    EXPECT_EQ(sample.plan.world_size(), 2) << sample.name;
    tensor = tensor || sample.plan.tp == 2;
    data = data || sample.plan.dp == 2;
  }
  EXPECT_TRUE(tensor);
  EXPECT_TRUE(data);
  // 12 heads do not divide over 5 ranks.
  for (const SampleProgram& sample : sample_programs(of_gpt2(5))) EXPECT_EQ(sample.plan.tp, 1);
}

TEST(SamplePrograms, OfGivenSizesAreTrainingWithThese) {
  MeasuringOptions options = of_gpt2(2);
  options.sizes = {{.batch = 4, .tokens = 256}};
  bool tensor = false, accumulates = false, whole = false;
  for (const SampleProgram& sample : sample_programs(options)) {
    EXPECT_EQ(sample.request.kind, StepKind::kTrain) << sample.name;
    EXPECT_EQ(sample.request.seq_length, 256) << sample.name;
    EXPECT_EQ(sample.request.batch_size, 4 * sample.plan.micro_batches) << sample.name;
    tensor = tensor || sample.plan.tp == 2;
    accumulates = accumulates || sample.plan.micro_batches > 1;
    whole = whole || (sample.plan.dp == 2 && sample.config.vocabulary == options.models[0].vocabulary);
  }
  EXPECT_TRUE(tensor);
  EXPECT_TRUE(accumulates);
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace nadi::inline runs
