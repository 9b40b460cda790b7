#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nadi/cli/command.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/cli/version.h"
#include "nadi/cli/wrap.h"
#include "nadi/job/find_program.h"

namespace nadi {
namespace {

using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

// What stands under "examples", without "nadi".
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (inside && line.starts_with("  nadi ")) examples.push_back(line.substr(7));
    if (!line.starts_with(' ')) inside = line == "examples";
  }
  return examples;
}

class CommandHelp : public testing::TestWithParam<CommandEntry> {};

// Examples of the data commands work on what those of the commands before them have written; the first of
// them on a file of the user's.
void prepare_data(const CommandEntry& entry) {
  if (!entry.name.starts_with("data ")) return;
  std::ofstream("arxiv.jsonl") << R"({"text": "Pipelines have bubbles. Schedules hide them."})"
                                  "\n"
                               << R"({"text": "Gradients are summed in buckets. That overlaps."})"
                                  "\n";
  for (const CommandEntry& before : commands()) {
    if (before.name == entry.name) return;
    if (!before.name.starts_with("data ")) continue;
    for (const std::string_view example : before.examples)
      ASSERT_EQ(run(std::string(example.substr(5))).code, 0) << example;
  }
}

// Those of the commands for traces work on traces of PyTorch, and on what `convert` makes of them.
void prepare_traces(const CommandEntry& entry) {
  if (entry.name != "convert" && entry.name != "check" && entry.name != "analyze") return;
  copy_sample_traces(".");
  if (entry.name == "convert") return;
  for (const CommandEntry& command : commands()) {
    if (command.name != "convert") continue;
    for (const std::string_view example : command.examples)
      ASSERT_EQ(run(std::string(example.substr(5))).code, 0) << example;
  }
}

TEST_P(CommandHelp, HasTwoExamplesThatRun) {
  if (GetParam().name == "launch" && !find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const TemporaryFolder folder;
  prepare_data(GetParam());
  prepare_traces(GetParam());
  const CliRun help = run(std::string(GetParam().name) + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  const std::vector<std::string> examples = examples_in(help.out);
  EXPECT_EQ(examples.size(), 2u);
  for (const std::string& example : examples) {
    EXPECT_TRUE(example.starts_with(GetParam().name)) << example;
    const CliRun done = run(example);
    EXPECT_EQ(done.code, 0) << example << "\n" << done.err;
    EXPECT_NE(done.out, "") << example;
  }
}

TEST_P(CommandHelp, ShowsEveryFlagWithItsDefault) {
  Flags flags;
  GetParam().make()->add_flags(flags);
  // Without line breaks, whatever is wrapped is found.
  std::string help;
  for (const std::string& word : words_of(run(std::string(GetParam().name) + " --help").out)) {
    std::string flat = word;
    std::ranges::replace(flat, '\n', ' ');
    for (const std::string& part : words_of(flat)) help += part + " ";
  }
  for (const FlagSpec& spec : flags.specs()) {
    for (const std::string_view name : spec.names) EXPECT_THAT(help, HasSubstr(std::string(name)));
    for (const std::string_view choice : spec.choices) EXPECT_THAT(help, HasSubstr(std::string(choice)));
    if (spec.help.empty()) continue;  // its name has to do
    const std::string fallback =
        spec.fallback == "required" ? "(required)" : "(default: " + spec.fallback + ")";
    EXPECT_THAT(help, HasSubstr(spec.help + " " + fallback));
  }
}

TEST_P(CommandHelp, IsReachedInThreeWaysAndFitsTheTerminal) {
  const std::string name(GetParam().name);
  const CliRun help = run("help " + name);
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(run(name + " -h").out, help.out);
  EXPECT_EQ(run(name + " --bogus --help").out, help.out);
  EXPECT_TRUE(help.out.starts_with("nadi " + name + ": " + std::string(GetParam().summary) + "\n"));
  for (const std::string& line : lines_of(help.out)) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_THAT(run("--help").out, HasSubstr(std::string(GetParam().summary)));
}

INSTANTIATE_TEST_SUITE_P(All, CommandHelp, testing::ValuesIn(commands().begin(), commands().end()),
                         [](const auto& test) {
                           std::string name(test.param.name);
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

TEST(Program, AloneShowsItsHelpAsAMistake) {
  const CliRun alone = run("");
  EXPECT_EQ(alone.code, 2);
  EXPECT_EQ(alone.out, run("--help").out);
  EXPECT_EQ(run("-h").out, alone.out);
  EXPECT_EQ(run("help").out, alone.out);
  EXPECT_EQ(run("help").code, 0);
}

TEST(Program, PrintsItsVersion) {
  EXPECT_EQ(run("--version").out, "nadi " + std::string(version()) + "\n");
  EXPECT_EQ(run("--version").code, 0);
}

TEST(Program, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(run("shwo gpt2").code, 2);
  EXPECT_EQ(
      run("shwo gpt2").err,
      "error: unknown command 'shwo'\n"
      "  hint: did you mean 'show'? known: models, show, trace, trace collective, convert, check, "
      "analyze, data tokenizer, data preprocess, data index, data inspect, train, generate, launch, help\n");
  EXPECT_EQ(run("help shwo").err, run("shwo").err);
  EXPECT_EQ(run("--verison").err,
            "error: unknown flag '--verison'\n"
            "  hint: did you mean '--version'? known: --version, --help, -h\n");
  EXPECT_EQ(run("--version now").err, "error: unexpected argument 'now'\n  hint: see 'nadi --help'\n");
  EXPECT_EQ(run("help show trace").err, "error: unexpected argument 'trace'\n  hint: see 'nadi --help'\n");
  EXPECT_EQ(run("help trace collective now").code, 2);
  EXPECT_EQ(run("trace collective").err,
            "error: KIND is missing\n  hint: see 'nadi trace collective --help'\n");
  EXPECT_EQ(run("models gpt2").err, "error: unexpected argument 'gpt2'\n  hint: see 'nadi models --help'\n");
}

}  // namespace
}  // namespace nadi
