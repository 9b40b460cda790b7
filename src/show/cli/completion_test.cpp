#include "nadi/command_line/completion.h"
#include "nadi/cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nadi/cli/completion_values.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline show {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> texts(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const Candidate& candidate : complete(commands(), words, completion_values()).candidates)
    found.push_back(candidate.text);
  return found;
}

PathKind paths(const std::vector<std::string>& words) {
  return complete(commands(), words, completion_values()).paths;
}

TEST(Completion, OfCommands) {
  EXPECT_THAT(texts({""}), IsSupersetOf({"models", "show", "trace", "data", "train", "help"}));
  EXPECT_THAT(texts({"mo"}), ElementsAre("models"));
  EXPECT_THAT(texts({"dat"}), ElementsAre("data"));
  EXPECT_THAT(texts({"data", ""}), ElementsAre("tokenizer", "preprocess", "index", "inspect", "get"));
  EXPECT_THAT(texts({"data", "in"}), ElementsAre("index", "inspect"));
  EXPECT_THAT(texts({"help", "data", "t"}), ElementsAre("tokenizer"));
  EXPECT_THAT(texts({"help", "g"}), ElementsAre("generate"));
  EXPECT_THAT(texts({"man", "data", "t"}), ElementsAre("tokenizer"));
  EXPECT_THAT(texts({"trace", "coll"}), ElementsAre("collective"));
  EXPECT_THAT(texts({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(texts({"nonsense", ""}), IsEmpty());
  EXPECT_THAT(texts({}), IsEmpty());
}

TEST(Completion, OfFlags) {
  EXPECT_THAT(texts({"show", "gpt2", "--js"}), ElementsAre("--json"));
  EXPECT_THAT(texts({"show", "gpt2", ""}), Contains("--json")) << "nothing else can follow";
  EXPECT_THAT(texts({"generate", "--tensor"}), ElementsAre("--tensor-model-parallel-size"));
  // Megatron's are hundreds: they come when a word has begun.
  EXPECT_THAT(texts({"train", "gpt2", "--"}), Not(Contains("--transformer-impl")));
  EXPECT_THAT(texts({"train", "gpt2", "--transf"}), ElementsAre("--transformer-impl"));
  EXPECT_THAT(texts({"train", "gpt2", "--help"}), ElementsAre("--help", "--help-all", "--help-megatron"));
  EXPECT_THAT(texts({"convert", "--", "--js"}), IsEmpty()) << "a word that looks like a flag";
}

TEST(Completion, OfValues) {
  EXPECT_THAT(texts({"train", "gpt2", "--dtype", ""}), ElementsAre("fp32", "bf16", "fp16"));
  EXPECT_THAT(texts({"train", "gpt2", "--dtype", "b"}), ElementsAre("bf16"));
  EXPECT_THAT(texts({"train", "gpt2", "--dtype=b"}), ElementsAre("--dtype=bf16"));
  EXPECT_THAT(texts({"show", "gpt2", "--batch-size", ""}), IsEmpty());
  EXPECT_THAT(texts({"train", "--model-name", "gpt2-t"}), ElementsAre("gpt2-tiny"));
  EXPECT_THAT(texts({"trace", "collective", "all-"}), ElementsAre("all-reduce", "all-gather", "all-to-all"));
  EXPECT_THAT(texts({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
}

TEST(Completion, OfModelsAndFiles) {
  EXPECT_THAT(texts({"show", "gpt3-1"}), IsSupersetOf({"gpt3-125m", "gpt3-175b"}));
  EXPECT_EQ(paths({"show", ""}), PathKind::kFiles);
  EXPECT_EQ(paths({"show", "gpt2", ""}), PathKind::kNone) << "one is enough";
  EXPECT_EQ(paths({"show", "--batch-size", "4", ""}), PathKind::kFiles) << "4 is a value";
  EXPECT_EQ(paths({"check", "a.et", ""}), PathKind::kFiles) << "as many as there are";
  EXPECT_EQ(paths({"train", "gpt2", "--data", ""}), PathKind::kFiles);
  EXPECT_EQ(paths({"train", "gpt2", "--data="}), PathKind::kFiles);
  EXPECT_EQ(paths({"train", "gpt2", "--save-dir", ""}), PathKind::kFolders);
  EXPECT_EQ(paths({"convert", "--host", "a.json", ""}), PathKind::kFiles) << "a flag that takes many";
  EXPECT_EQ(paths({"train", "gpt2", "--dtype", ""}), PathKind::kNone);
}

TEST(Completion, OfClustersDevicesAndTables) {
  EXPECT_THAT(texts({"plan", "gpt2", "--cluster", "dgx-a"}), Contains("dgx-a100"));
  EXPECT_THAT(texts({"plan", "gpt2", "--cluster", "h20"}), Contains("h200"))
      << "a device is a cluster of one";
  EXPECT_THAT(texts({"clusters", "dgx-h1"}), Contains("dgx-h100"));
  EXPECT_EQ(paths({"clusters", ""}), PathKind::kFiles);
  EXPECT_THAT(texts({"simulate", "a.et", "--recorded-on", "h20"}), ElementsAre("h200"));
  EXPECT_THAT(texts({"analyze", "a.et", "--table", "critical"}), Contains("critical-path"));
  EXPECT_THAT(texts({"analyze", "a.et", "--table=critical"}), Contains("--table=critical-path"));
}

TEST(Completion, OfJobs) {
  const WorkingFolder folder;
  JobFile job{.scheduler = SchedulerKind::kLocal, .outputs = std::filesystem::absolute("jobs")};
  job.run.words = {"true"};
  const std::string id =
      make_scheduler(SchedulerKind::kLocal, {.outputs = job.outputs})->submit(job, {.wait = true}).id;
  EXPECT_THAT(texts({"job", "status", ""}), Contains(id));
  EXPECT_THAT(texts({"job", "watch", id.substr(0, 6)}), Contains(id));
  EXPECT_EQ(paths({"job", "logs", ""}), PathKind::kFolders);
}

TEST(Completion, OfACommandThatIsLaunched) {
  EXPECT_THAT(texts({"launch", "-n", "2", "tra"}), ElementsAre("trace", "train"));
  EXPECT_THAT(texts({"launch", "-n", "2", "train", "gpt2", "--dtype", "f"}), ElementsAre("fp32", "fp16"));
  EXPECT_THAT(texts({"launch", "--no"}), ElementsAre("--no-prefix", "--node-rank"));
}

// A new name for a value is sorted into paths or others when it comes.
TEST(Completion, KnowsEveryNameOfAValue) {
  const std::set<std::string_view> others{"KEY=VALUE",   "STEPS",
                                          "A,B,C",       "A-B-C",
                                          "COMMAND",     "FORMAT",
                                          "HOW",         "KEY",
                                          "KEY ...",     "KIND",
                                          "LANGUAGE",    "LIST",
                                          "N",           "N...",
                                          "NAME",        "NAME...",
                                          "NS",          "OP",
                                          "P",           "CHANGE",
                                          "DEVICE",      "LINK",
                                          "PRICE",       "RANGE",
                                          "RANKS",       "RATE",
                                          "SHARE",       "SHELL",
                                          "SIZE",        "STAGE",
                                          "T",           "TEXT",
                                          "TIME",        "TYPE",
                                          "UNIT",        "WEIGHTS",
                                          "WHAT",        "JOB",
                                          "NODE",        "WHERE",
                                          "WHICH",       "WHOM",
                                          "WHOSE",       "X",
                                          "X...",        "START INCREMENT SAMPLES",
                                          "NAME=VALUES", "NAME=VALUE",
                                          "EXPRESSION",  "SOURCE",
                                          "[NAME]",      "PERCENT",
                                          "CELSIUS",     "DATA",
                                          "TABLE",       "K",
                                          "HOST",        "PORT",
                                          "SECONDS",     "IDS",
                                          "S:P,..."};
  for (const CommandEntry& entry : commands()) {
    Flags flags;
    entry.add_flags(flags);
    std::vector<std::string_view> names;
    for (const FlagSpec& spec : flags.specs())
      if (!spec.value.empty() && spec.choices.empty() && spec.page == HelpPage::kMain)
        names.push_back(spec.value);
    if (const auto& positional = flags.positional_spec()) names.push_back(positional->name);
    for (const std::string_view name : names)
      EXPECT_TRUE(paths_of_value(name) != PathKind::kNone || others.contains(name))
          << entry.name << " " << name;
  }
}

TEST(Completion, CandidatesFitALine) {
  for (const CommandEntry& entry : commands()) {
    std::vector<std::string> words;
    words.emplace_back(entry.name.substr(0, entry.name.find(' ')));
    if (entry.name.find(' ') != std::string_view::npos)
      words.emplace_back(entry.name.substr(entry.name.find(' ') + 1));
    words.emplace_back("-");
    for (const Candidate& candidate : complete(commands(), words).candidates) {
      EXPECT_LE(candidate.about.size(), 75u) << entry.name << " " << candidate.text;
      EXPECT_EQ((candidate.text + candidate.about).find_first_of("\t\n"), std::string::npos)
          << candidate.about;
    }
  }
}

TEST(Completion, IsAnsweredToScripts) {
  EXPECT_EQ(run_words({"__complete", "zsh", "train", "gpt2", "--dtype=b"}).out, "--dtype=bf16\t\n");
  EXPECT_EQ(run_words({"__complete", "bash", "train", "gpt2", "--dtype", "=", "b"}).out, "bf16\t\n");
  EXPECT_EQ(run_words({"__complete", "bash", "train", "gpt2", "--dtype", "="}).out,
            "fp32\t\nbf16\t\nfp16\t\n");
  EXPECT_EQ(run_words({"__complete", "fish", "train", "gpt2", "--data", ""}).out, ":files\n");
  EXPECT_EQ(run_words({"__complete"}).code, 0);
}

TEST(CompletionCommand, PrintsAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(run(std::string("completion ") + shell).out,
                testing::HasSubstr("__complete " + std::string(shell)));
  }
  EXPECT_EQ(run("completion csh").err,
            "error: no completion for 'csh'\n  hint: did you mean 'zsh'? known: bash, zsh, fish\n");
  EXPECT_EQ(run("completion").code, 2);
}

}  // namespace
}  // namespace nadi::inline show
