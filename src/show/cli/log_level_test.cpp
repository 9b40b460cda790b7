#include "nadi/terminal/log_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/cli/train_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LogLevel, IsInPythonsWords) {
  for (const char* text : {"DEBUG", "debug", "10", "5"})
    EXPECT_EQ(parse_log_level(text), LogLevel::kDebug) << text;
  for (const char* text : {"", "INFO", "NOTSET", "0", "20"})
    EXPECT_EQ(parse_log_level(text), LogLevel::kInfo) << text;
  for (const char* text : {"WARNING", "warn", "30", "21"})
    EXPECT_EQ(parse_log_level(text), LogLevel::kWarning) << text;
  for (const char* text : {"ERROR", "CRITICAL", "Fatal", "40", "50"})
    EXPECT_EQ(parse_log_level(text), LogLevel::kError) << text;
  for (const char* text : {"LOUD", "-10", "1O", " "}) EXPECT_THROW(parse_log_level(text), Error) << text;
}

std::string err_at(const char* level, const std::string& command) {
  const TemporaryVariable variable("LOGLEVEL", level);
  return run(command).err;
}

TEST(LogLevel, DecidesWhatIsSaid) {
  const WorkingFolder folder;
  const std::string note = "note: gpt2 has 12 layers: 4 of the 16 stages have none\n";
  const std::string noted = "show gpt2 --pp 16 --seq-length 8";
  EXPECT_EQ(err_at("INFO", noted), note);
  EXPECT_EQ(err_at("WARNING", noted), "");
  EXPECT_THAT(err_at("DEBUG", noted), HasSubstr(note));
  EXPECT_TRUE(err_at("DEBUG", noted).starts_with("debug: nadi ")) << err_at("DEBUG", noted);
  EXPECT_THAT(err_at("DEBUG", noted), HasSubstr(": nadi show gpt2 --pp 16 --seq-length 8\n"));
  EXPECT_THAT(err_at("DEBUG", noted), HasSubstr("debug: exit code 0 after 0."));
  EXPECT_THAT(err_at("DEBUG", "shwo"), HasSubstr("debug: exit code 2 after 0."));

  const std::string warned = "data tokenizer --vocab-size 300 -o tok --force";
  EXPECT_THAT(err_at("WARNING", warned), HasSubstr("warning: no --input"));
  EXPECT_EQ(err_at("ERROR", warned), "");
  EXPECT_THAT(err_at("ERROR", "shwo"),
              HasSubstr("error: unknown command 'shwo'\n  hint: did you mean 'show'?"));
  EXPECT_EQ(err_at("LOUD", "models"),
            "error: LOGLEVEL does not take 'LOUD'\n"
            "  hint: known: DEBUG, INFO, WARNING, ERROR, and Python's numbers of them, 10 to 40\n");
}

class LogLevelOfTraining : public TrainFolder {};

TEST_F(LogLevelOfTraining, LeavesResultsAsTheyAre) {
  const std::string line = command({{"--skip-eval", ""}, {"--save-dir", "run"}, {"--logging-steps", "1"}});
  const TemporaryVariable variable("LOGLEVEL", "ERROR");
  const CliRun quiet = run(line);
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_THAT(quiet.out, HasSubstr("step 4/4"));
  EXPECT_EQ(run(line + " --force --json").err, "");
  EXPECT_EQ(run("generate run/checkpoint-4 --num-input-tokens 2 --num-output-tokens 2 --threads 1").err, "");
}

}  // namespace
}  // namespace nadi::inline show
