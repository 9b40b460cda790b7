#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "nadi/base/nearest.h"
#include "nadi/base/version.h"
#include "nadi/cli/commands.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flag_aliases.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/process/find_program.h"
#include "nadi/scheduler/scheduler.h"
#include "nadi/terminal/wrap.h"
#include "nadi/testing/job_logs.h"

namespace nadi::inline show {
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

// What stands under "examples", without "nadi"; lines that end in a backslash go on.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (inside && line.starts_with("      ") && !examples.empty() && examples.back().ends_with('\\'))
      examples.back().replace(examples.back().size() - 1, 1, line.substr(6));
    if (inside && line.starts_with("  nadi ")) examples.push_back(line.substr(7));
    if (!line.starts_with(' ')) inside = line == "examples";
  }
  return examples;
}

// Without line breaks.
std::string flat(const std::string& text) {
  std::string words;
  for (const std::string& line : lines_of(text))
    for (const std::string& word : words_of(line)) words += (words.empty() ? "" : " ") + word;
  return words;
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
  constexpr std::array<std::string_view, 4> kCommands{"convert", "check", "analyze", "timeline"};
  if (std::ranges::find(kCommands, entry.name) == kCommands.end()) return;
  if (entry.name == "timeline") {
    ASSERT_EQ(
        run("train gpt2-tiny --batch-size 1 --max-seq-length 8 --max-steps 3 --skip-eval --enable-tracing")
            .code,
        0);
  }
  copy_sample_traces(".");
  if (entry.name == "convert") return;
  for (const CommandEntry& command : commands()) {
    if (command.name != "convert") continue;
    for (const std::string_view example : command.examples)
      ASSERT_EQ(run(std::string(example.substr(5))).code, 0) << example;
  }
}

// Drawn is what the examples of `trace` write.
void prepare_graphs(const CommandEntry& entry) {
  if (entry.name != "draw") return;
  for (const CommandEntry& command : commands()) {
    if (command.name != "trace") continue;
    for (const std::string_view example : command.examples)
      ASSERT_EQ(run(std::string(example.substr(5))).code, 0) << example;
  }
}

// Compared are the run of an example of `train` and the machine of one of `calibrate`.
void prepare_measured(const CommandEntry& entry) {
  if (entry.name != "compare") return;
  ASSERT_EQ(
      run("train gpt2-tiny --batch-size 1 --max-seq-length 8 --max-steps 3 --skip-eval --enable-tracing")
          .code,
      0);
  ASSERT_EQ(run("calibrate --quick --model gpt2-tiny --ranks 1 -o tiny.json").code, 0);
}

// Checkpoints are those of the first example of `train`.
void prepare_checkpoints(const CommandEntry& entry) {
  const bool evaluates = entry.name == "evaluate";
  if (evaluates) std::ofstream("ids.json") << "[[67, 113, 81], [5, 17, 3, 9]]";
  if (!entry.name.starts_with("checkpoint ") && !evaluates) return;
  for (const CommandEntry& command : commands()) {
    if (command.name != "train") continue;
    ASSERT_EQ(run(std::string(command.examples[0].substr(5))).code, 0);
  }
}

// Jobs of this machine: ended ones, and those to be cancelled. Their ids, in the order of the examples.
std::vector<std::string> prepare_jobs(const CommandEntry& entry) {
  constexpr std::array<std::string_view, 4> kCommands{"job list", "job status", "job cancel", "job resume"};
  if (std::ranges::find(kCommands, entry.name) == kCommands.end()) return {};
  JobFile job{.scheduler = SchedulerKind::kLocal, .outputs = std::filesystem::absolute("jobs")};
  job.run.words = {entry.name == "job cancel" ? "sleep" : "echo", "30"};
  const auto scheduler = make_scheduler(SchedulerKind::kLocal, {.outputs = job.outputs});
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(scheduler->submit(job, {.wait = entry.name != "job cancel"}).id);
  return ids;
}

// An example with the ids of jobs that are there.
std::string with_ids(std::string example, const std::vector<std::string>& ids) {
  constexpr std::array<std::string_view, 3> kExamples{
      "local-20260131-090500-3f2a", "local-20260131-091500-0b7c", "local-20260131-092500-9d01"};
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (const std::size_t at = example.find(kExamples[i]); at != std::string::npos)
      example.replace(at, kExamples[i].size(), ids[i]);
  return example;
}

// Job files are those of the first example of `job init`.
void prepare_job_file(const CommandEntry& entry) {
  if (entry.name != "job submit") return;
  ASSERT_EQ(run("job init --scheduler local -o job.json").code, 0);
}

// Logs of a job that the scripts of the modified Megatron-LM left, in two folders.
void prepare_job_logs(const CommandEntry& entry) {
  if (entry.name != "job watch" && entry.name != "job logs") return;
  write_job_logs("log2", {.nodes = 4, .nodes_of_second_job = 2, .iterations = 100, .all_iterations = 100});
}

// Reported are folders that scripts for Slurm have left.
void prepare_reported_logs(const CommandEntry& entry) {
  if (entry.name != "job report") return;
  write_job_logs("log2", {.job = 10932251});
  write_job_logs("log2", {.seed = 2, .job = 10932263, .seconds = 1.6});
}

// Studies are that of the first example of `tune`.
void prepare_study(const CommandEntry& entry) {
  if (!entry.name.starts_with("tune ")) return;
  for (const CommandEntry& command : commands()) {
    if (command.name != "tune") continue;
    ASSERT_EQ(run(std::string(command.examples[0].substr(5))).code, 0);
  }
}

TEST_P(CommandHelp, HasTwoExamplesThatRun) {
  if (GetParam().name == "draw" && !find_program("dot")) GTEST_SKIP() << "no dot on PATH";
  if ((GetParam().name == "launch" || GetParam().name == "calibrate") && !find_program("mpirun"))
    GTEST_SKIP() << "no mpirun on PATH";
  const WorkingFolder folder;
  prepare_data(GetParam());
  prepare_traces(GetParam());
  prepare_graphs(GetParam());
  prepare_measured(GetParam());
  prepare_checkpoints(GetParam());
  const std::vector<std::string> ids = prepare_jobs(GetParam());
  prepare_job_file(GetParam());
  prepare_job_logs(GetParam());
  prepare_reported_logs(GetParam());
  prepare_study(GetParam());
  const CliRun help = run(std::string(GetParam().name) + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  const std::vector<std::string> examples = examples_in(help.out);
  EXPECT_EQ(examples.size(), 2u);
  for (const std::string& example : examples) {
    EXPECT_TRUE(example.starts_with(GetParam().name)) << example;
    // It is the one that downloads: download/get_data_test.cpp has programs in place of those that do.
    if (GetParam().name == "data get") continue;
    const CliRun done = run(with_ids(example, ids));
    EXPECT_EQ(done.code, 0) << example << "\n" << done.err;
    EXPECT_NE(done.out, "") << example;
  }
}

TEST_P(CommandHelp, ShowsEveryFlagWithItsDefault) {
  Flags flags;
  GetParam().add_flags(flags);
  // Whatever is wrapped is found.
  std::string pages = run(std::string(GetParam().name) + " --help-all").out;
  if (flags.has_page(HelpPage::kMegatron))
    pages += run(std::string(GetParam().name) + " --help-megatron").out;
  const std::string help = flat(pages);
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
  EXPECT_TRUE(
      flat(help.out).starts_with("nadi " + name + ": " + std::string(GetParam().summary) + " usage: "));
  for (const std::string& line : lines_of(help.out)) EXPECT_LE(line.size(), 100u) << line;
  // The overview has the first part of it, or the name in its group.
  EXPECT_THAT(flat(run("--help-all").out), HasSubstr(std::string(GetParam().summary)));
  EXPECT_THAT(run("--help").out, HasSubstr(name.substr(name.find(' ') + 1)));
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
  for (const char* words : {"-V", "data --version", "data -V", "train --version", "show -V"}) {
    EXPECT_EQ(run(words).out, run("--version").out) << words;
    EXPECT_EQ(run(words).code, 0) << words;
  }
}

TEST(Program, GroupsAnswer) {
  const CliRun help = run("help data");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.out.starts_with("usage: nadi data COMMAND [flags]\n\ncommands\n  data tokenizer"))
      << help.out;
  for (const CommandEntry* entry : commands().group("data"))
    EXPECT_THAT(help.out, HasSubstr(std::string(entry->summary)));
  EXPECT_EQ(examples_in(help.out).size(), commands().group("data").size());
  EXPECT_EQ(run("data --help").out, help.out);
  EXPECT_EQ(run("data --help").code, 0);
  EXPECT_EQ(run("data -h").out, help.out);
  EXPECT_EQ(run("data").out, help.out);
  EXPECT_EQ(run("data").code, 2) << "as the program alone";
  EXPECT_EQ(run("data --jsno").err, "error: unknown flag '--jsno'\n  hint: see 'nadi help data'\n");
  EXPECT_EQ(
      run("data prepocess").err,
      "error: unknown command 'data prepocess'\n"
      "  hint: did you mean 'data preprocess'? known: data tokenizer, data preprocess, data index, data "
      "inspect, data get\n");
  EXPECT_EQ(run("help data prepocess").err, run("data prepocess").err);
  // A command that is a group as well names the others.
  EXPECT_THAT(run("trace --help").out, HasSubstr("\nsee also\n  nadi trace collective: "));
}

TEST(Program, MegatronsFlagsHaveAPageOfTheirOwn) {
  const std::string main = run("train --help").out, megatron = run("train --help-megatron").out;
  EXPECT_THAT(main, HasSubstr("--help-megatron lists them"));
  EXPECT_THAT(main, testing::Not(HasSubstr("--lr-warmup-fraction")));
  EXPECT_THAT(main, testing::Not(HasSubstr("--transformer-impl")));
  EXPECT_THAT(megatron, HasSubstr("--lr-warmup-fraction"));
  EXPECT_THAT(megatron, HasSubstr("--transformer-impl"));
  EXPECT_THAT(megatron, testing::Not(HasSubstr("--save-total-limit")));
  EXPECT_EQ(run("launch -n 2 train --help-megatron").out, megatron);
  EXPECT_EQ(run("show --help-megatron").code, 2);
  for (const std::string& line : lines_of(megatron)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Program, HelpIsShort) {
  EXPECT_LE(lines_of(run("--help").out).size(), 45u);
  EXPECT_LE(lines_of(run("--help", {.width = 80}).out).size(), 45u);
  for (const CommandEntry& entry : commands())
    EXPECT_LE(lines_of(run(std::string(entry.name) + " --help").out).size(), 60u) << entry.name;
}

TEST(Program, HelpHasTheFlagsThatPeopleUseAndHelpAllTheRest) {
  const std::string help = run("train --help").out, all = run("train --help-all").out;
  EXPECT_THAT(help, HasSubstr("--max-steps N"));
  EXPECT_THAT(help, testing::Not(HasSubstr("--save-total-limit")));
  EXPECT_THAT(help, HasSubstr("more: 'nadi train --help-all'"));
  const auto at = [&](const char* text) { return all.find(text); };
  EXPECT_LT(at("\nflags that people use\n"), at("--max-steps N"));
  EXPECT_LT(at("--max-steps N"), at("\nmodel and data\n"));
  EXPECT_EQ(all.find("--max-steps N", at("--max-steps N") + 1), std::string::npos) << "not twice";
  EXPECT_THAT(all, HasSubstr("--save-total-limit"));
  EXPECT_EQ(run("launch -n 2 train --help-all").out, all);
  EXPECT_THAT(run("--help-all").out, HasSubstr("LOGLEVEL"));
  for (const char* words : {"--help", "--help-all", "train --help", "train --help-megatron", "data --help"})
    EXPECT_THAT(run(words).out, HasSubstr("\nexit codes: 0 done, 1 failed, 2 usage, 3 bad input,")) << words;
}

// What is a name of a flag in one command is one in every command that has the flag.
TEST(Program, AliasesAreTheSameEverywhere) {
  for (const CommandEntry& entry : commands()) {
    Flags flags;
    entry.add_flags(flags);
    for (const std::vector<std::string_view>& group : flag_aliases())
      for (const std::string_view name : group)
        EXPECT_EQ(flags.find(name), flags.find(group[0])) << entry.name << " " << name;
    for (const MegatronFlag& flag : megatron_flags()) {
      if (flag.same_as.empty() || flags.find(flag.same_as) == nullptr) continue;
      EXPECT_NE(flags.find(flag.spec.names[0]), nullptr) << entry.name << " " << flag.spec.names[0];
    }
  }
}

TEST(Program, SaysWhichOfSeveralValuesCounts) {
  const CliRun done = run("show gpt2 --batch-size 2 --seq-length 8 --batch-size 3 --seq-length 8");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "note: --batch-size was given 2 times; the last counts: 3\n");
  EXPECT_THAT(done.out, HasSubstr("given       --batch-size 3 --seq-length 8\n"));
}

TEST(Program, NamesWhatItDoesNotKnow) {
  std::vector<std::string> known;
  for (const CommandEntry& entry : commands()) known.emplace_back(entry.name);
  known.emplace_back("help");
  EXPECT_EQ(run("shwo gpt2").code, 2);
  EXPECT_EQ(run("shwo gpt2").err,
            "error: unknown command 'shwo'\n  hint: " + did_you_mean("shwo", known) + "\n");
  EXPECT_THAT(run("shwo gpt2").err, HasSubstr("did you mean 'show'? known: models, devices, "));
  EXPECT_EQ(run("help shwo").err, run("shwo").err);
  EXPECT_EQ(run("--verison").err,
            "error: unknown flag '--verison'\n"
            "  hint: did you mean '--version'? known: --version, -V, --help, -h, --help-all\n");
  EXPECT_EQ(run("--version now").err, "error: unexpected argument 'now'\n  hint: see 'nadi --help'\n");
  EXPECT_EQ(run("help show trace").err, "error: unexpected argument 'trace'\n  hint: see 'nadi --help'\n");
  EXPECT_EQ(run("help trace collective now").code, 2);
  EXPECT_EQ(
      run("trace collective").err,
      "error: KIND is missing\n  hint: for example: nadi trace collective all-reduce --op prod --bytes 1MB "
      "--ranks 8 -o out/ar\n");
  EXPECT_EQ(run("models gpt2").err, "error: unexpected argument 'gpt2'\n  hint: see 'nadi models --help'\n");
}

}  // namespace
}  // namespace nadi::inline show
