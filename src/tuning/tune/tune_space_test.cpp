#include "nadi/tune/tune_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline tuning {
namespace {

using testing::HasSubstr;

std::string shown(const std::string& text) {
  try {
    const TuneParameter parameter = parameter_of_text(text);
    return parameter.name + ": " + values_text(*parameter.distribution) +
           (parameter.environment.empty() ? "" : ", variable " + parameter.environment) +
           (parameter.flag.empty() ? "" : ", flag " + parameter.flag);
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(ParameterText, HasThreeForms) {
  EXPECT_EQ(shown("micro_batch=1,2,4,8"), "micro_batch: 1, 2, 4, 8");
  EXPECT_EQ(shown("layers=0..80"), "layers: 0 to 80");
  EXPECT_EQ(shown("layers=0..80:step=8"), "layers: 0 to 80 in steps of 8");
  EXPECT_EQ(shown("layers=0..83:step=8"), "layers: 0 to 80 in steps of 8");
  EXPECT_EQ(shown("lr=1e-5..1e-2:log"), "lr: 1e-05 to 0.01, logarithmic");
  EXPECT_EQ(shown("env.NCCL_ALGO=Ring,Tree"), "env.NCCL_ALGO: Ring, Tree, variable NCCL_ALGO");
  EXPECT_EQ(shown("flag.micro-batch-size=1,2"), "flag.micro_batch_size: 1, 2, flag --micro-batch-size");
  EXPECT_EQ(shown("on=true,false"), "on: true, false");
}

TEST(ParameterText, MistakesAreNamed) {
  EXPECT_EQ(shown("micro_batch"), "parameter 'micro_batch': '=' is missing");
  EXPECT_EQ(shown("a="), "parameter 'a=': it has no values");
  EXPECT_EQ(shown("a=1,,2"), "parameter 'a=1,,2': a value is empty");
  EXPECT_EQ(shown("a=1,2,1"), "parameter 'a=1,2,1': 1 is there twice");
  EXPECT_EQ(shown("a=x..y"), "parameter 'a=x..y': a range needs two numbers");
  EXPECT_EQ(shown("a=1..2:lg"), "parameter 'a=1..2:lg': unknown property 'lg'; there are log and step=N");
  EXPECT_THAT(shown("a=0..1.0:log"), HasSubstr("log"));
  EXPECT_THAT(shown("a=5..1"), HasSubstr("a"));
  EXPECT_THAT(shown("2a=1"), HasSubstr("begins with a letter"));
}

constexpr std::string_view kSpace = R"({
  "nadi_tune_space": 1,
  "constants": {"gpus": 8},
  "parameters": {
    "tensor": {"values": [1, 2, 4], "default": 2, "flag": "--tp"},
    "recompute": {"values": ["none", "full"], "words": {"full": ["--recompute", "--all"]}},
    "layers": {"range": [1, 8], "when": "recompute == 'full'"},
    "rate": {"range": [0.0, 1.0], "step": 0.25, "environment": "RATE", "omit": [0.5]}
  },
  "derived": {"data": "gpus // tensor"},
  "constraints": ["gpus % tensor == 0", {"expression": "layers <= data", "because": "so it is"}]
})";

std::string refusal_of(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "no such text";
  text.replace(at, from.size(), to);
  try {
    parse_tune_space(text, "s.json").check();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(TuneSpace, IsReadAndWrittenAgain) {
  const TuneSpace space = parse_tune_space(std::string(kSpace), "s.json");
  space.check();
  EXPECT_EQ(space.parameters.size(), 4u);
  EXPECT_EQ(space.find("layers")->when->text(), "recompute == 'full'");
  EXPECT_EQ(to_text(*space.find("tensor")->fallback), "2");
  EXPECT_EQ(values_text(*space.find("rate")->distribution), "0 to 1 in steps of 0.25");
  const std::string written = tune_space_json(space);
  const TuneSpace again = parse_tune_space(written, "again");
  again.check();
  EXPECT_EQ(tune_space_json(again), written);
  EXPECT_EQ(again.constraints[1].because, "so it is");
}

TEST(TuneSpace, MistakesAreNamedWithTheirPlace) {
  const std::string text(kSpace);
  EXPECT_EQ(refusal_of(text, "", ""), "none");
  EXPECT_THAT(refusal_of(text, "\"flag\"", "\"flog\""), HasSubstr("s.json:5:51: unknown key 'flog'"));
  EXPECT_THAT(refusal_of(text, "\"default\": 2", "\"default\": 3"), HasSubstr("is none of its values"));
  EXPECT_THAT(refusal_of(text, "[1, 2, 4]", "[1, 2, 2]"), HasSubstr("the value is there twice"));
  EXPECT_THAT(refusal_of(text, "[1, 2, 4]", "[]"), HasSubstr("there are no values"));
  EXPECT_THAT(refusal_of(text, "\"range\": [1, 8]", "\"range\": [8, 1]"), HasSubstr("layers"));
  EXPECT_THAT(refusal_of(text, "\"range\": [1, 8]", "\"range\": [8]"), HasSubstr("a range has two numbers"));
  EXPECT_THAT(refusal_of(text, "recompute == 'full'", "rate == 0.5"), HasSubstr("unknown name 'rate'"))
      << "a condition is over parameters before its own";
  EXPECT_THAT(refusal_of(text, "gpus % tensor == 0", "gpus % tensor"),
              HasSubstr("is neither true nor false"));
  EXPECT_THAT(refusal_of(text, "gpus % tensor == 0", "gpu % tensor == 0"),
              testing::AllOf(HasSubstr("s.json: constraint 1"), HasSubstr("unknown name 'gpu'")));
  EXPECT_THAT(refusal_of(text, "\"nadi_tune_space\": 1", "\"nadi_tune_space\": 2"),
              HasSubstr("version 2 of the format"));
  EXPECT_THAT(refusal_of(text, "\"tensor\": {", "\"ten sor\": {"), HasSubstr("is no name for a value"));
  EXPECT_THAT(refusal_of(text, "{\"full\": [", "{\"fall\": ["),
              HasSubstr("'fall' is none of the values of 'recompute'"));
  EXPECT_THAT(refusal_of(text, "\"derived\"", "\"plan\": {\"tp\": \"tenso\"}, \"derived\""),
              HasSubstr("no parameter and no constant 'tenso'"));
  EXPECT_THAT(refusal_of(text, "\"data\":", "\"tensor\":"), HasSubstr("the space has 'tensor' twice"));
  EXPECT_THAT(refusal_of(text, "\"values\": [1, 2, 4]", "\"range\": [1, 4], \"values\": [1, 2, 4]"),
              HasSubstr("needs either \"values\" or \"range\""));
}

TEST(TuneSpace, WhatIsGivenLaterReplacesValuesAndKeepsHowTheyArePassed) {
  TuneSpace space = parse_tune_space(std::string(kSpace), "s.json");
  space.add(parameter_of_text("tensor=1,8"));
  space.add(parameter_of_text("recompute=none,selective,full"));
  EXPECT_THAT(space.find("recompute")->words.at("full"), testing::ElementsAre("--recompute", "--all"));
  space.add(parameter_of_text("recompute=none,selective"));
  EXPECT_TRUE(space.find("recompute")->words.empty()) << "'full' is none of its values any more";
  space.add(parameter_of_text("recompute=none,full"));
  space.set_constant("gpus", std::int64_t{16});
  space.check();
  EXPECT_EQ(values_text(*space.find("tensor")->distribution), "1, 8");
  EXPECT_EQ(space.find("tensor")->flag, "--tp");
  EXPECT_FALSE(space.find("tensor")->fallback) << "2 is none of its values any more";
  space.set_fallback("tensor", std::int64_t{8});
  EXPECT_THROW(space.set_fallback("tensor", std::int64_t{3}), Error);
  EXPECT_THROW(space.set_fallback("tenzor", std::int64_t{1}), Error);
}

}  // namespace
}  // namespace nadi::inline tuning
