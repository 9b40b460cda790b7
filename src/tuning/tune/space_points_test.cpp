#include "nadi/tune/space_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/base/error.h"

namespace nadi::inline tuning {
namespace {

using testing::HasSubstr;

TuneSpace space_for_points() {
  TuneSpace space = parse_tune_space(R"({
    "constants": {"gpus": 8},
    "parameters": {
      "tensor": {"values": [1, 2, 4], "default": 2},
      "recompute": {"values": ["none", "full"]},
      "layers": {"range": [1, 8], "when": "recompute == 'full'"}
    },
    "derived": {"data": "gpus // tensor", "per_layer": "data * layers"},
    "constraints": [{"expression": "layers <= data", "because": "a reason"}]
  })",
                                     "s.json");
  space.check();
  return space;
}

TEST(SpacePoints, ConditionsAndConstraints) {
  const TuneSpace space = space_for_points();
  const SpacePoints points(space);
  // tensor 4: data is 2.
  EXPECT_EQ(points.text(std::vector<double>{2, 1, 2}), "tensor=4 recompute=full layers=2");
  EXPECT_FALSE(points.violated(std::vector<double>{2, 1, 2}));
  EXPECT_EQ(points.violated(std::vector<double>{2, 1, 3}), "a reason (layers <= data)");
  EXPECT_FALSE(points.violated(std::vector<double>{2, 0, NAN})) << "layers has no value";
  EXPECT_FALSE(points.active(2, std::vector<double>{2, 0}));
  EXPECT_TRUE(points.active(2, std::vector<double>{2, 1}));
  const SearchSpace search = points.search_space();
  EXPECT_FALSE(search.valid(std::vector<double>{2, 1, 3}));
  EXPECT_TRUE(search.valid(std::vector<double>{2, 1, 2}));
  // 3 tensors without layers; with layers 1 to 8 of 8, 4 of 4, 2 of 2.
  EXPECT_EQ(enumerate_points(search, 1000)->size(), 3u + 8 + 4 + 2);
}

TEST(SpacePoints, ListsOfNumbersInOrderAreSearchedAsSuch) {
  TuneSpace space = parse_tune_space(R"({
    "parameters": {
      "rise": {"values": [1, 2, 4, 8.5]},
      "fall": {"values": [0.1, 0.01, 0.001]},
      "mixed": {"values": [1, 8, 2]},
      "twice": {"values": [false, true]},
      "words": {"values": ["1", "2", "3"]},
      "two": {"values": [1, 2]}
    }
  })",
                                     "s.json");
  space.check();
  const SpacePoints points(space);
  const SearchSpace search = points.search_space();
  for (const std::size_t index : {0, 1})
    EXPECT_EQ(search.parameters[index].kind, ParameterKind::kInt) << index;
  for (const std::size_t index : {2, 3, 4, 5})
    EXPECT_EQ(search.parameters[index].kind, ParameterKind::kChoice) << index;
  EXPECT_EQ(search.parameters[0].high, 3);
  EXPECT_EQ(points.text(std::vector<double>{3, 2, 0, 1, 0, 0}),
            "rise=8.5 fall=0.001 mixed=1 twice=true words=1 two=1");
}

TEST(SpacePoints, SettingsHaveConstantsAndWhatFollows) {
  const TuneSpace space = space_for_points();
  const SpacePoints points(space);
  const TuneSetting with = points.setting_of(std::vector<double>{1, 1, 3});
  EXPECT_EQ(to_text(with.at("data")), "4");
  EXPECT_EQ(to_text(with.at("per_layer")), "12");
  EXPECT_EQ(to_text(with.at("gpus")), "8");
  const TuneSetting without = points.setting_of(std::vector<double>{1, 0, NAN});
  EXPECT_FALSE(without.contains("layers"));
  EXPECT_FALSE(without.contains("per_layer"));
}

TEST(SpacePoints, SettingsBecomePoints) {
  const TuneSpace space = space_for_points();
  const SpacePoints points(space);
  const std::vector<double> defaults = points.point_of(TuneSetting{});
  EXPECT_EQ(points.text(defaults), "tensor=2 recompute=none");
  EXPECT_EQ(points.text(points.point_of(TuneSetting{{"recompute", std::string("full")}})),
            "tensor=2 recompute=full layers=1");
  EXPECT_THROW(points.point_of(TuneSetting{{"tensor", std::int64_t{3}}}), Error);
}

TEST(SpacePoints, TrialsOfOtherSpacesAreNoPoints) {
  const TuneSpace space = space_for_points();
  const SpacePoints points(space);
  StudyTrial trial;
  trial.parameters = points.trial_parameters(std::vector<double>{1, 1, 3});
  EXPECT_THAT(*points.point_of(trial), testing::ElementsAre(1, 1, 3));
  // The same values under other indices.
  trial.parameters[0].distribution = std::make_shared<const ParameterDistribution>(
      CategoricalDistribution{{std::int64_t{2}, std::int64_t{4}, std::int64_t{1}}});
  trial.parameters[0].value = 1;
  EXPECT_THAT(*points.point_of(trial), testing::ElementsAre(2, 1, 3));
  trial.parameters[0].distribution = std::make_shared<const ParameterDistribution>(
      CategoricalDistribution{{std::int64_t{2}, std::int64_t{16}}});
  EXPECT_FALSE(points.point_of(trial)) << "16 is not in the space";
  trial.parameters.erase(trial.parameters.begin());
  EXPECT_FALSE(points.point_of(trial));
}

}  // namespace
}  // namespace nadi::inline tuning
