#include "nadi/tune/trial_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline tuning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TuneSpace space_of_commands() {
  TuneSpace space = parse_tune_space(R"({
    "parameters": {
      "batch": {"values": [1, 2]},
      "overlap": {"values": [false, true], "flag": "--overlap"},
      "fused": {"values": [false, true], "flag": "--fused", "flag_off": "--no-fused"},
      "algo": {"values": ["default", "Ring"], "environment": "NCCL_ALGO", "omit": ["default"]},
      "tp": {"values": [1, 2], "flag": "--tp", "omit": [1]},
      "layers": {"range": [1, 4], "when": "tp == 2"}
    },
    "derived": {"double": "batch * 2"}
  })",
                                     "s.json");
  space.check();
  return space;
}

TEST(TrialCommand, ParametersGoIntoWordsFlagsVariablesAndFiles) {
  const TuneSpace space = space_of_commands();
  const SpacePoints points(space);
  const CommandTemplate command{
      .words = {"run", "--b={{batch}}/{{double}}", "{{layers|none}}", "{{trial}}-{{repeat}}"},
      .environment = {{"DIR", "{{folder}}"}},
      .templates = {{.path = "conf/a.json", .text = "{\"b\": {{batch}}}"}}};
  check_command(command, space);
  EXPECT_TRUE(needs_folder(command));
  const TrialPlace place{.number = 7, .repeat = 1, .folder = "t/7"};
  const TrialCommand all =
      command_for(command, space, points.setting_of(std::vector<double>{1, 1, 0, 1, 1, 3}), place);
  EXPECT_THAT(all.words, ElementsAre("run", "--b=2/4", "3", "7-1", "--overlap", "--no-fused", "--tp", "2"));
  EXPECT_THAT(all.environment, ElementsAre(Pair("DIR", "t/7"), Pair("NCCL_ALGO", "Ring")));
  EXPECT_EQ(all.files[0].path, "t/7/a.json");
  EXPECT_EQ(all.files[0].text, "{\"b\": 2}");
  const TrialCommand few =
      command_for(command, space, points.setting_of(std::vector<double>{0, 0, 1, 0, 0, std::nan("")}), place);
  EXPECT_THAT(few.words, ElementsAre("run", "--b=1/2", "none", "7-1", "--fused"));
  EXPECT_THAT(few.environment, ElementsAre(Pair("DIR", "t/7")));
}

TEST(TrialCommand, FlagsMayHaveAPlace) {
  const TuneSpace space = space_of_commands();
  const SpacePoints points(space);
  const CommandTemplate command{.words = {"sh", "run.sh", "{{flags}}", "--", "{{batch}}", "{{layers|0}}"}};
  const TrialCommand made =
      command_for(command, space, points.setting_of(std::vector<double>{0, 1, 0, 0, 1, 1}), {});
  EXPECT_THAT(made.words,
              ElementsAre("sh", "run.sh", "--overlap", "--no-fused", "--tp", "2", "--", "1", "1"));
}

TEST(TrialCommand, AValueMayBeSeveralWords) {
  const TuneSpace space = parse_tune_space(
      R"({"parameters": {"mode": {"values": ["plain", "fast"], "words": {"fast": ["--a", "4"]}},
                         "n": {"values": [1], "flag": "--n"}}})",
      "s.json");
  const CommandTemplate command{.words = {"run"}};
  check_command(command, space);
  const SpacePoints points(space);
  const auto words = [&](double mode) {
    return command_for(command, space, points.setting_of(std::vector<double>{mode, 0}), {}).words;
  };
  EXPECT_THAT(words(0), ElementsAre("run", "--n", "1"));
  EXPECT_THAT(words(1), ElementsAre("run", "--a", "4", "--n", "1"));
}

std::string refusal_of_command(std::vector<std::string> words) {
  try {
    check_command({.words = std::move(words)}, space_of_commands());
  } catch (const Error& error) {
    return error.message();
  }
  return "none";
}

TEST(TrialCommand, EveryParameterArrivesAndEveryPlaceholderIsKnown) {
  EXPECT_EQ(refusal_of_command({"x", "{{batch}}", "{{layers|0}}"}), "none");
  EXPECT_EQ(refusal_of_command({"x", "{{double}}", "{{layers|0}}"}), "none") << "batch is in it";
  EXPECT_THAT(refusal_of_command({"x", "{{layers|0}}"}), HasSubstr("does not get the parameter 'batch'"));
  EXPECT_THAT(refusal_of_command({"x", "{{batsh}}"}), HasSubstr("the space has no 'batsh'"));
  EXPECT_THAT(refusal_of_command({"x", "{{batch}}", "{{layers}}"}),
              HasSubstr("does not have a value in every trial"));
  EXPECT_THAT(refusal_of_command({"x", "{{batch"}), HasSubstr("without '}}'"));
}

TEST(TrialCommand, IsReadyToPaste) {
  EXPECT_EQ(
      shell_text({.words = {"./a b.sh", "--x=1", "it's", ""}, .environment = {{"A", "1 2"}}, .files = {}}),
      "A='1 2' './a b.sh' --x=1 'it'\\''s' ''");
  EXPECT_EQ(shell_text({.words = {"A=1"}, .environment = {}, .files = {}}), "'A=1'") << "no assignment";
  EXPECT_EQ(shell_word("$(rm)"), "'$(rm)'");
}

}  // namespace
}  // namespace nadi::inline tuning
