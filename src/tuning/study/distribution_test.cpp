#include "nadi/study/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "nadi/base/error.h"
#include "nadi/study/trial.h"

namespace nadi::inline tuning {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

const double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::string refused(const ParameterDistribution& distribution) {
  try {
    check_distribution(distribution, "x");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message();
  }
  return "taken";
}

TEST(StudyDistribution, RefusesRangesWithoutValues) {
  EXPECT_EQ(refused(FloatDistribution{.low = 0, .high = 0}), "taken");
  EXPECT_THAT(refused(FloatDistribution{.low = 2, .high = 1}), HasSubstr("'x': the range 2 to 1 is empty"));
  EXPECT_THAT(refused(FloatDistribution{.low = 0, .high = 1, .log = true}), HasSubstr("above 0"));
  EXPECT_THAT(refused(FloatDistribution{.low = 1, .high = 2, .log = true, .step = 1}), HasSubstr("no step"));
  EXPECT_THAT(refused(FloatDistribution{.low = 1, .high = 2, .step = 0}), HasSubstr("step"));
  EXPECT_THAT(refused(FloatDistribution{.low = kNotANumber, .high = 2}), HasSubstr("finite"));
  EXPECT_THAT(refused(IntDistribution{.low = 0, .high = 8, .log = true}), HasSubstr("1 or above"));
  EXPECT_THAT(refused(IntDistribution{.low = 1, .high = 8, .log = true, .step = 2}), HasSubstr("no step"));
  EXPECT_THAT(refused(IntDistribution{.low = 1, .high = 8, .step = 0}), HasSubstr("1 or more"));
  EXPECT_THAT(refused(CategoricalDistribution{}), HasSubstr("no choices"));
}

TEST(StudyDistribution, TextIsOptunas) {
  EXPECT_EQ(
      distribution_to_json(FloatDistribution{.low = 0.2, .high = 0.5}),
      R"({"name": "FloatDistribution", "attributes": {"step": null, "low": 0.2, "high": 0.5, "log": false}})");
  EXPECT_EQ(distribution_to_json(IntDistribution{.low = 1, .high = 3}),
            R"({"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 3}})");
  EXPECT_EQ(
      distribution_to_json(CategoricalDistribution{{"a"s, {}, true, std::int64_t{3}, 0.5, OtherJson{"[1]"}}}),
      R"({"name": "CategoricalDistribution", "attributes": {"choices": ["a", null, true, 3, 0.5, [1]]}})");
}

TEST(StudyDistribution, TextIsReadBack) {
  for (const ParameterDistribution& distribution : std::vector<ParameterDistribution>{
           FloatDistribution{.low = -1e-3, .high = 1e30}, FloatDistribution{.low = 1, .high = 2, .log = true},
           FloatDistribution{.low = 0, .high = 0.3, .step = 0.1},
           IntDistribution{.low = -5, .high = 5, .step = 5},
           IntDistribution{.low = 1, .high = 64, .log = true},
           CategoricalDistribution{
               {"é\n"s, kNotANumber, OtherJson{"{\"a\": 1}"}, std::int64_t{1}, 1.0, true}}})
    EXPECT_TRUE(
        same_distribution(distribution_from_json(distribution_to_json(distribution), "f"), distribution))
        << distribution_to_json(distribution);
}

TEST(StudyDistribution, OlderNamesAreRead) {
  const auto read = [](std::string_view text) { return distribution_from_json(text, "f"); };
  EXPECT_EQ(std::get<FloatDistribution>(
                read(R"({"name": "LogUniformDistribution", "attributes": {"low": 1, "high": 2}})")),
            (FloatDistribution{.low = 1, .high = 2, .log = true}));
  EXPECT_EQ(std::get<FloatDistribution>(read(
                R"({"name": "DiscreteUniformDistribution", "attributes": {"low": 1, "high": 2, "q": 0.5}})")),
            (FloatDistribution{.low = 1, .high = 2, .step = 0.5}));
  EXPECT_EQ(std::get<IntDistribution>(read(
                R"({"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 9, "step": 2}})")),
            (IntDistribution{.low = 1, .high = 9, .step = 2}));
  EXPECT_EQ(std::get<IntDistribution>(read(R"({"type": "int", "low": 1, "high": 9, "log": true})")),
            (IntDistribution{.low = 1, .high = 9, .log = true}));
}

TEST(StudyDistribution, DamagedTextIsAnError) {
  for (const std::string_view text :
       {"", "[]", "{}", R"({"name": "Beta", "attributes": {}})", R"({"name": "FloatDistribution"})",
        R"({"name": "FloatDistribution", "attributes": {"low": 1}})",
        R"({"name": "FloatDistribution", "attributes": {"low": 2, "high": 1}})",
        R"({"name": "FloatDistribution", "attributes": {"low": "a", "high": 1}})",
        R"({"name": "IntDistribution", "attributes": {"low": 1.5, "high": 2}})",
        R"({"name": "IntDistribution", "attributes": {"low": 1, "high": 2, "stepp": 1}})",
        R"({"name": "CategoricalDistribution", "attributes": {"choices": []}})",
        R"({"name": "CategoricalDistribution", "attributes": {"choices": 3}})"}) {
    try {
      distribution_from_json(text, "study.db");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(error.place().file, "study.db");
    }
  }
}

TEST(StudyDistribution, HighEndIsOnAStep) {
  // 0, 0.3, 0.6, 0.9: 1.0 is not reached.
  EXPECT_EQ(std::get<FloatDistribution>(adjusted(FloatDistribution{.low = 0, .high = 1, .step = 0.3})).high,
            0.9);
  // 0.1 * 3 is 0.30000000000000004 in binary; the end stays as it was written.
  EXPECT_EQ(std::get<FloatDistribution>(adjusted(FloatDistribution{.low = 0, .high = 0.3, .step = 0.1})).high,
            0.3);
  EXPECT_EQ(
      std::get<FloatDistribution>(adjusted(FloatDistribution{.low = 1e-3, .high = 1, .step = 2e-3})).high,
      0.999);
  EXPECT_EQ(std::get<IntDistribution>(adjusted(IntDistribution{.low = 1, .high = 8, .step = 3})).high, 7);
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  const auto highest = std::numeric_limits<std::int64_t>::max();
  // 2^64 - 1 = 3 * 6148914691236517205: the whole range is divisible.
  EXPECT_EQ(
      std::get<IntDistribution>(adjusted(IntDistribution{.low = lowest, .high = highest, .step = 3})).high,
      highest);
}

TEST(StudyDistribution, ValuesBetweenBothSides) {
  const ParameterDistribution choices =
      CategoricalDistribution{{"a"s, true, std::int64_t{1}, kNotANumber, {}}};
  EXPECT_EQ(internal_value(choices, ParameterValue{std::int64_t{1}}), 2.0);  // not true, which comes first
  EXPECT_EQ(internal_value(choices, ParameterValue{1.0}), 1.0);  // no double: the first that equals it
  EXPECT_EQ(internal_value(choices, ParameterValue{kNotANumber}), 3.0);
  EXPECT_EQ(internal_value(choices, ParameterValue{}), 4.0);
  EXPECT_EQ(internal_value(choices, ParameterValue{"b"s}), std::nullopt);
  EXPECT_TRUE(external_value(choices, 0.0) == ParameterValue{"a"s});
  EXPECT_FALSE(external_value(choices, 5.0).has_value());
  EXPECT_FALSE(external_value(choices, -1.0).has_value());
  EXPECT_FALSE(external_value(choices, kNotANumber).has_value());
  const ParameterDistribution range = IntDistribution{.low = 1, .high = 9, .step = 4};
  EXPECT_TRUE(external_value(range, 5.0) == ParameterValue{std::int64_t{5}});
  EXPECT_FALSE(external_value(range, 1e19).has_value());
  EXPECT_TRUE(contains(range, 5.0));
  EXPECT_FALSE(contains(range, 6.0));
  EXPECT_FALSE(internal_value(range, ParameterValue{1.5}).has_value());
  EXPECT_TRUE(is_single(IntDistribution{.low = 1, .high = 4, .step = 4}));
  EXPECT_FALSE(is_single(IntDistribution{.low = 1, .high = 5, .step = 4}));
}

TEST(StudyDistribution, OneNameHasOneKind) {
  EXPECT_TRUE(are_compatible(FloatDistribution{.low = 0, .high = 1}, FloatDistribution{.low = 5, .high = 6}));
  EXPECT_FALSE(are_compatible(FloatDistribution{.low = 1, .high = 2},
                              FloatDistribution{.low = 1, .high = 2, .log = true}));
  EXPECT_FALSE(are_compatible(FloatDistribution{.low = 1, .high = 2}, IntDistribution{.low = 1, .high = 2}));
  EXPECT_FALSE(are_compatible(CategoricalDistribution{{"a"s}}, CategoricalDistribution{{"a"s, "b"s}}));
  EXPECT_TRUE(are_compatible(CategoricalDistribution{{kNotANumber, true}},
                             CategoricalDistribution{{kNotANumber, 1.0}}));
}

TEST(StudyDistribution, FixedParametersOfATrial) {
  StudyTrial trial;
  EXPECT_TRUE(fixed_parameters(trial).empty());
  trial.system_attributes["fixed_params"] = R"({"x": 0.5, "kind": "ring", "n": 3})";
  const auto fixed = fixed_parameters(trial);
  EXPECT_EQ(fixed.size(), 3u);
  EXPECT_TRUE(fixed.at("kind") == ParameterValue{"ring"s});
  trial.system_attributes["fixed_params"] = "3";
  EXPECT_THROW(fixed_parameters(trial), Error);
}

}  // namespace
}  // namespace nadi::inline tuning
