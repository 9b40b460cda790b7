// Everything that people read fits the terminal: help of every command, and reports, at five widths. No line
// is longer than the terminal is wide, and no word is cut that is not longer than a line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "nadi/base/format.h"
#include "nadi/cli/commands.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrap.h"
#include "nadi/testing/job_logs.h"

namespace nadi::inline show {
namespace {

constexpr std::array<std::size_t, 5> kWidths{40, 60, 80, 100, 140};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Without the punctuation behind them, which goes where what follows is left out; figures may differ between
// two runs.
std::set<std::string> words_in(const std::string& text) {
  std::set<std::string> words;
  for (const std::string& line : lines_of(text)) {
    for (std::string word : words_of(line)) {
      word.erase(word.find_last_not_of(",;:") + 1);
      for (char& letter : word)
        if (letter >= '0' && letter <= '9') letter = '0';
      words.insert(word);
    }
  }
  return words;
}

// The words of a text on a terminal without an end are whole. Parts of a word that is longer than a line are
// not asked for; "a..b" and "word ..." say themselves that something was left out.
void expect_fits(const std::string& command, const std::string& narrow, const std::string& wide,
                 std::size_t width) {
  for (const std::string& line : lines_of(narrow))
    EXPECT_LE(columns_of(line), width) << "nadi " << command << " at " << width << ": " << line;
  const std::set<std::string> whole = words_in(wide);
  const auto is_part_of_long_word = [&](const std::string& word) {
    return std::ranges::any_of(whole, [&](const std::string& long_word) {
      return columns_of(long_word) > width / 2 && long_word.find(word) != std::string::npos;
    });
  };
  for (const std::string& word : words_in(narrow)) {
    const bool is_rule = word.find_first_not_of('-') == std::string::npos;
    const bool says_so = word.find("..") != std::string::npos || word.find("…") != std::string::npos;
    if (word == "\\" || is_rule || says_so || whole.contains(word)) continue;
    EXPECT_TRUE(is_part_of_long_word(word)) << "nadi " << command << " at " << width << " cuts: " << word;
  }
}

TEST(Width, HelpOfEveryCommandFits) {
  std::vector<std::string> commands_with_help{"--help", "--help-all"};
  for (const CommandEntry& entry : commands()) {
    Flags flags;
    entry.add_flags(flags);
    for (const std::string_view word : flags.help_words())
      commands_with_help.push_back(format("{} {}", entry.name, word));
  }
  for (const char* group : {"data", "checkpoint", "job"})
    commands_with_help.push_back(format("{} --help", group));
  for (const std::string& command : commands_with_help) {
    const std::string wide = run(command, {.width = 200}).out;
    for (const std::size_t width : kWidths) {
      const CliRun help = run(command, {.width = width});
      EXPECT_EQ(help.code, 0) << command;
      expect_fits(command, help.out, wide, width);
    }
  }
}

class WidthOfReports : public testing::Test {
 protected:
  // Files that the reports are about.
  static void prepare() {
    copy_sample_traces(".");
    write_job_logs("log2", {.nodes = 4, .nodes_of_second_job = 2, .iterations = 40, .all_iterations = 40});
    for (const char* command :
         {"convert 'run_rank*_host.json' --device 'run_rank*_device.json' -o run",
          "trace gpt2-tiny --batch-size 1 --seq-length 8 --dp 2 -o dry",
          "tune --param alpha=1..3 --param beta=1..3 --param gamma=1..3 --param delta=1..3 --metric "
          "'c=([0-9]+)' "
          "--minimize --trials 8 --study t.db -- echo c={{alpha}}{{beta}}{{gamma}}{{delta}}"})
      ASSERT_EQ(run(command).code, 0) << command << run(command).err;
  }
};

// Tables that leave columns out say where they are; what they say is no part of the wide text.
std::string without_left_out(const std::string& text) {
  std::string kept;
  bool note = false;
  for (const std::string& line : lines_of(text)) {
    note = line.find(" left out; ") != std::string::npos || line.ends_with(" left") ||
           (note && line.starts_with("  "));
    if (!note) kept += line + "\n";
  }
  return kept;
}

TEST_F(WidthOfReports, Fit) {
  const WorkingFolder folder;
  prepare();
  const std::vector<std::string> reports{
      "models",
      "devices",
      "clusters",
      "clusters a10-8x4",
      "doctor",
      "show gpt2 --batch-size 4 --seq-length 512",
      "show llama3.1-70b --dtype bf16 --tp 8 --pp 4 --rank 31",
      "show gpt2-tiny --per-layer",
      "show gpt2-tiny --device cpu",
      "show run.0.et",
      "check 'run.*.et'",
      "analyze 'run.*.et'",
      "analyze 'run.*.et' --all",
      "analyze run.0.et --against run.1.et",
      "simulate gpt2 --dp 8 --cluster dgx-a100 --what-if link.nvswitch.bandwidth=2x",
      "plan gpt2 --cluster a10-8x4 --global-batch-size 32 --tp 1 --schedule 1f1b --explain 1",
      "job watch log2/10932251 --once",
      "job report log2/10932251",
      "job schema --variables",
      "tune show t.db",
      "tune best t.db",
      "convert run.0.et -o again.json --format kineto --force",
      "timeline 'run.*.et' -o t.html --force",
      "checkpoint --help",
  };
  for (const std::string& command : reports) {
    const CliRun wide = run(command, {.width = 4000});
    EXPECT_TRUE(wide.code == 0 || wide.code == 1) << command << "\n" << wide.err;
    for (const std::size_t width : kWidths) {
      const CliRun narrow = run(command, {.width = width});
      expect_fits(command, without_left_out(narrow.out), wide.out, width);
      expect_fits(command, narrow.err, wide.err, width);
    }
  }
}

TEST(Width, ErrorsAndHintsFit) {
  for (const char* command : {"show gtp2", "train gpt2 --no-such-flag", "plan gpt2 --cluster nowhere",
                              "train gpt2-tiny --dtype fp8", "clusters dgx-a100x99999999"}) {
    const CliRun wide = run(command, {.width = 4000});
    EXPECT_NE(wide.code, 0);
    for (const std::size_t width : kWidths)
      expect_fits(command, run(command, {.width = width}).err, wide.err, width);
  }
}

TEST(Width, DevicesAndStudiesChooseColumns) {
  const WorkingFolder folder;
  ASSERT_EQ(
      run("tune --param alpha=1..3 --param beta=1..3 --param gamma=1..3 --metric 'c=([0-9]+)' --minimize "
          "--trials 3 --study t.db -- echo c={{alpha}}{{beta}}{{gamma}}")
          .code,
      0);
  for (const std::string command : {"devices", "tune show t.db"}) {
    const std::string narrow = run(command, {.width = 40}).out;
    EXPECT_THAT(narrow, testing::HasSubstr("left out; --wide")) << narrow;
    const std::string all = run(command + " --wide", {.width = 40}).out;
    EXPECT_THAT(all, testing::Not(testing::HasSubstr("left out")));
    EXPECT_TRUE(std::ranges::any_of(lines_of(all), [](const std::string& line) { return line.size() > 40; }));
  }
  EXPECT_THAT(run("devices --wide", {.width = 40}).out, testing::HasSubstr("$/h"));
  EXPECT_THAT(run("devices", {.width = 40}).out, testing::Not(testing::HasSubstr("$/h")));
}

}  // namespace
}  // namespace nadi::inline show
