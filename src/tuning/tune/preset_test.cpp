#include "nadi/tune/preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/tune/space_points.h"
#include "nadi/tune/trial_command.h"

namespace nadi::inline tuning {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

TEST(Preset, AllCanBeUsed) {
  EXPECT_THAT(preset_names(), IsSupersetOf({"megatron", "mpi", "nadi-train", "nccl", "openmp"}));
  for (const std::string_view name : preset_names()) {
    SCOPED_TRACE(name);
    const TuneSpace space = preset_space(name);
    space.check();
    EXPECT_FALSE(space.about.empty());
    check_command({.words = {"x"}}, space);  // every parameter is a flag or a variable
    const SpacePoints points(space);
    const std::vector<double> defaults = points.point_of(TuneSetting{});
    EXPECT_EQ(points.violated(defaults), std::nullopt) << "the defaults are allowed";
    for (const TuneParameter& parameter : space.parameters) EXPECT_TRUE(parameter.fallback) << parameter.name;
  }
  EXPECT_THROW(preset_space("megatrom"), Error);
  EXPECT_THAT(tune_space_schema(), HasSubstr("nadi_tune_space"));
}

TEST(Preset, MegatronsKnowsWhatMustDivideWhat) {
  TuneSpace space = preset_space("megatron");
  space.set_constant("gpus", std::int64_t{16});
  space.set_constant("global_batch_size", std::int64_t{128});
  space.set_constant("num_layers", std::int64_t{80});
  const SpacePoints points(space);
  const auto why = [&](const TuneSetting& setting) {
    return points.violated(points.point_of(setting)).value_or("allowed");
  };
  const auto whole = [](std::int64_t value) { return ParameterValue(value); };
  EXPECT_EQ(why({{"tensor", whole(8)}, {"pipeline", whole(2)}}), "allowed");
  EXPECT_THAT(why({{"tensor", whole(8)}, {"pipeline", whole(4)}}), HasSubstr("must divide into copies"));
  EXPECT_THAT(why({{"tensor", whole(1)}, {"pipeline", whole(1)}, {"micro_batch", whole(8)}}), "allowed")
      << "16 * 8 = 128";
  // 80 layers over 16 stages are 5 each; 4 virtual stages do not divide them.
  EXPECT_THAT(why({{"pipeline", whole(16)}, {"virtual_stages", whole(4)}}), HasSubstr("virtual stages"));
  EXPECT_EQ(why({{"pipeline", whole(16)}, {"virtual_stages", whole(5)}}), "allowed");
  EXPECT_THAT(
      why({{"pipeline", whole(16)}, {"recompute", std::string("full")}, {"recompute_layers", whole(6)}}),
      HasSubstr("no more layers"));
  // What is not split has no switch: no sequence parallelism without tensor parallelism.
  EXPECT_FALSE(points.setting_of(points.point_of(TuneSetting{})).contains("sequence_parallel"));
  const TrialCommand command =
      command_for({.words = {"train"}}, space,
                  points.setting_of(points.point_of(
                      {{"tensor", whole(4)}, {"sequence_parallel", true}, {"distributed_optimizer", true}})),
                  {});
  EXPECT_EQ(shell_text(command),
            "train --tensor-model-parallel-size 4 --pipeline-model-parallel-size 1 --context-parallel-size 1 "
            "--micro-batch-size "
            "1 --sequence-parallel --use-distributed-optimizer");
}

}  // namespace
}  // namespace nadi::inline tuning
