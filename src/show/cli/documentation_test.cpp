// The commands of README.md and of the pages in docs/ run and print what is shown there; docs/json.md
// explains keys that are there, docs/megatron.md every flag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <sstream>

#include "nadi/cli/commands.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/command_line/command.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/terminal/wrap.h"
#include "nadi/testing/job_logs.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::IsSupersetOf;

const fs::path kSource = source_folder();

constexpr const char* kTwoDocuments = R"({"text": "Pipelines have bubbles. Schedules hide them."})"
                                      "\n"
                                      R"({"text": "Buckets overlap with the backward pass."})"
                                      "\n";

std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream text(read_text(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// Keys of the tables below the heading "## `command`": first cells in backticks.
std::set<std::string> documented_keys(const std::string& command) {
  std::set<std::string> keys;
  bool inside = false, found = false;
  for (const std::string& line : lines_of(kSource / "docs" / "json.md")) {
    if (line.starts_with("## ")) inside = line == "## `" + command + "`";
    found = found || inside;
    if (!inside || !line.starts_with("| `")) continue;
    EXPECT_TRUE(keys.insert(line.substr(3, line.find('`', 3) - 3)).second) << "twice: " << line;
  }
  EXPECT_TRUE(found) << command;
  return keys;
}

// "models[].name": the path of every value that is neither object nor array.
void collect_keys(const Json& value, const std::string& path, std::set<std::string>& keys) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      collect_keys(member, path.empty() ? key : path + "." + key, keys);
  } else if (value.is_array()) {
    for (const Json& element : value) collect_keys(element, path + "[]", keys);
  } else {
    keys.insert(path);
  }
}

std::set<std::string> printed_keys(const std::string& command_line) {
  std::set<std::string> keys;
  collect_keys(run_json(command_line), "", keys);
  return keys;
}

// Keys of elements of an array that may be empty.
std::set<std::string> without(std::set<std::string> keys, const std::string& array) {
  std::erase_if(keys, [&](const std::string& key) { return key.starts_with(array); });
  return keys;
}

TEST(JsonKeys, AreThoseOfTheDocumentation) {
  const WorkingFolder folder;
  write_text("tiny.json", kTinyConfig);
  EXPECT_THAT(printed_keys("models"), IsSupersetOf(documented_keys("nadi models --json")));
  EXPECT_THAT(
      without(without(printed_keys("devices"), "gpus[]"), "libraries[]"),
      IsSupersetOf(without(without(documented_keys("nadi devices --json"), "gpus[]"), "libraries[]")));
  EXPECT_THAT(printed_keys("doctor"), IsSupersetOf(documented_keys("nadi doctor --json")));
  EXPECT_THAT(printed_keys("clusters"), IsSupersetOf(documented_keys("nadi clusters --json")));
  ASSERT_EQ(run("job init --scheduler local -o job.json").code, 0);
  EXPECT_THAT(without(printed_keys("job submit job.json --dry-run"), "job."),
              IsSupersetOf(documented_keys("nadi job submit --dry-run --json")));
  EXPECT_THAT(without(printed_keys("simulate tiny.json --dp 2 --cluster dgx-h100 --measured 1s --what-if "
                                   "link.nvswitch.bandwidth=2x"),
                      "traffic[]"),
              IsSupersetOf(without(documented_keys("nadi simulate --json"), "traffic[]")));
  EXPECT_THAT(
      printed_keys("plan tiny.json --cluster a10-8x4 --global-batch-size 4 --schedule 1f1b --explain 1 "
                   "--pareto plans.html"),
      IsSupersetOf(documented_keys("nadi plan --json")));
  EXPECT_THAT(printed_keys("show tiny.json --tp 2 --pp 2 --device cpu"),
              IsSupersetOf(documented_keys("nadi show MODEL --json")));
  EXPECT_THAT(printed_keys("trace collective broadcast --bytes 1 --ranks 2 -o b"),
              IsSupersetOf(documented_keys("nadi trace collective --json")));
  EXPECT_THAT(printed_keys("data tokenizer --vocab-size 300 -o tok"),
              IsSupersetOf(documented_keys("nadi data tokenizer --json")));
  write_text("arxiv.jsonl", kTwoDocuments);
  EXPECT_THAT(printed_keys("data preprocess --input arxiv.jsonl --output-prefix data/arxiv --tokenizer tok"),
              IsSupersetOf(documented_keys("nadi data preprocess --json")));
  EXPECT_THAT(printed_keys("data index data/arxiv_text_document --num-samples 4 --seq-length 2"),
              IsSupersetOf(documented_keys("nadi data index --json")));
  EXPECT_THAT(printed_keys("data inspect data/arxiv_text_document"),
              IsSupersetOf(documented_keys("nadi data inspect --json")));
  const std::string train = "train gpt2-tiny --max-seq-length 16 --batch-size 1 --tokenizer tok --threads 1 ";
  for (const char* flags : {"--max-steps 1 --skip-eval", "--max-steps 3 --enable-tracing --save-dir run"})
    EXPECT_THAT(printed_keys(train + flags), IsSupersetOf(documented_keys("nadi train --json")));
  EXPECT_THAT(printed_keys(train + "--save-dir new --dry-run"),
              IsSupersetOf(documented_keys("nadi train --dry-run --json")));
  EXPECT_THAT(
      without(
          printed_keys("checkpoint convert --load-dir run/checkpoint-3 --save-dir x --to megatron --dry-run"),
          "notes[]"),
      IsSupersetOf(without(documented_keys("nadi checkpoint convert --json"), "notes[]")));
  EXPECT_THAT(without(printed_keys("checkpoint show run/checkpoint-3 --tensors"), "notes[]"),
              IsSupersetOf(without(documented_keys("nadi checkpoint show --json"), "notes[]")));
  EXPECT_THAT(printed_keys("checkpoint compare run/checkpoint-3 run/checkpoint-3 --weights"),
              IsSupersetOf(without(without(documented_keys("nadi checkpoint compare --json"), "only_a[]"),
                                   "only_b[]")));
  EXPECT_THAT(printed_keys("calibrate --quick --model gpt2-tiny --ranks 1 --threads 1 -o tiny_machine.json"),
              IsSupersetOf(documented_keys("nadi calibrate --json")));
  EXPECT_THAT(printed_keys("compare outputs/gpt2-tiny_trace.et --cluster tiny_machine.json"),
              IsSupersetOf(documented_keys("nadi compare --json")));
  EXPECT_THAT(printed_keys("timeline --pipeline outputs/gpt2-tiny_trace.et -o p.html"),
              IsSupersetOf(documented_keys("nadi timeline --pipeline --json")));
  // Keys of values and parameters are the user's names.
  const auto named = [](std::set<std::string> keys) {
    for (const char* member : {"values.", "parameters.", "trials[].values.", "trials[].parameters."})
      keys = without(std::move(keys), member);
    return keys;
  };
  std::set<std::string> tuned;
  collect_keys(Json::parse(run("tune --json --param n=1..9 --default n=4 --metric 'c=([0-9]+)' --minimize "
                               "--trials 8 --study t.db -- echo c={{n}}")
                               .out),
               "", tuned);
  EXPECT_THAT(named(tuned), IsSupersetOf(named(documented_keys("nadi tune --json"))));
  EXPECT_THAT(named(printed_keys("tune show t.db")),
              IsSupersetOf(named(documented_keys("nadi tune --json"))));
  EXPECT_THAT(named(printed_keys("tune best t.db")),
              IsSupersetOf(named(documented_keys("nadi tune best --json"))));
  EXPECT_THAT(printed_keys("generate tiny.json --num-input-tokens 2 --num-output-tokens 3"),
              IsSupersetOf(documented_keys("nadi generate --json")));
  write_text("ids.json", "[[1, 2, 3]]");
  EXPECT_THAT(printed_keys("evaluate tiny.json --tokens ids.json --gradients"),
              IsSupersetOf(documented_keys("nadi evaluate --json")));
  for (const char* step : {"train", "train --recompute full", "evaluate", "prefill", "decode", "generate"}) {
    const std::string words = step;
    EXPECT_THAT(printed_keys("show tiny.json --device cpu --step " + words),
                IsSupersetOf(without(documented_keys("nadi show MODEL --json"), "communication[]")));
    EXPECT_THAT(printed_keys("trace tiny.json -o a --force --step " + words),
                IsSupersetOf(documented_keys("nadi trace MODEL --json")));
    EXPECT_THAT(without(printed_keys("show a.0.et"), "sections[]"),
                IsSupersetOf(without(documented_keys("nadi show TRACE --json"), "sections[]")));
  }
  EXPECT_THAT(printed_keys("show a.0.et"), IsSupersetOf(documented_keys("nadi show TRACE --json")))
      << "generate has sections";
}

// Keys of all of these runs together.
std::set<std::string> keys_of_all(const std::vector<std::string>& command_lines) {
  std::set<std::string> keys;
  for (const std::string& command_line : command_lines) keys.merge(printed_keys(command_line));
  return keys;
}

TEST(JsonKeys, OfTracesAreThoseOfTheDocumentation) {
  const WorkingFolder folder;
  copy_sample_traces(".");
  std::string cut = read_text("run_rank0_device.json");
  write_text("cut.json", cut.substr(0, cut.size() / 2));
  EXPECT_THAT(
      keys_of_all({"convert 'run_rank*_host.json' --device 'run_rank*_device.json' -o run",
                   "convert run.0.et -o run.json --format kineto", "convert cut.json -o cut.0.et --lenient"}),
      IsSupersetOf(documented_keys("nadi convert --json")));
  EXPECT_THAT(printed_keys("draw run.0.et -o g.dot"), IsSupersetOf(documented_keys("nadi draw --json")));
  ASSERT_EQ(run("trace gpt2 --seq-length 8 --batch-size 1 -o dry").code, 0);
  EXPECT_THAT(keys_of_all({"analyze 'run.*.et'", "analyze run.0.et --against run.1.et", "analyze dry.0.et"}),
              IsSupersetOf(documented_keys("nadi analyze --json")));
  EXPECT_THAT(printed_keys("timeline 'run.*.et' -o t.html"),
              IsSupersetOf(documented_keys("nadi timeline --json")));
  EXPECT_THAT(keys_of_all({"check 'run.*.et'", "check dry.0.et"}),
              IsSupersetOf(documented_keys("nadi check --json")));
}

TEST(JsonKeys, CountsAreIntegers) {
  const Json shown = run_json("show gpt2 --seq-length 8");
  const auto check = [](const Json& value, const auto& self) -> void {
    if (value.is_array())
      for (const Json& element : value) self(element, self);
    if (value.is_object())
      for (const auto& [key, member] : value.items()) {
        const bool counts =
            key.ends_with("flops") || key.ends_with("bytes") || key == "ops" || key == "parameters";
        EXPECT_TRUE(!counts || member.is_number_integer()) << key;
        self(member, self);
      }
  };
  check(shown, check);
}

// A command of a code block, with the output that follows it there.
struct Sample {
  std::string command;  // without "nadi"
  std::vector<std::string> output = {};
  bool has_output = false;
  bool times_vary = false;  // from run to run, with rates and shares: everything else is compared
};

// Lines that end in a backslash go on in the next.
std::vector<std::string> joined_lines_of(const fs::path& path) {
  std::vector<std::string> joined;
  bool open = false;
  for (const std::string& line : lines_of(path)) {
    const bool continues = line.ends_with('\\');
    const std::string text = continues ? line.substr(0, line.size() - 1) : line;
    if (open)
      joined.back() += text;
    else
      joined.push_back(text);
    open = continues;
  }
  return joined;
}

// Lines "nadi ..." in any code block, and "$ nadi ..." with output below in console blocks. The times of a
// block that starts with "```console times vary" may differ.
std::vector<Sample> samples_in(const fs::path& path) {
  std::vector<Sample> samples;
  bool inside = false, times_vary = false;
  for (const std::string& line : joined_lines_of(path)) {
    if (line.starts_with("```")) {
      inside = !inside;
      times_vary = line.ends_with(" times vary");
      if (inside) samples.push_back({});  // output of an earlier block ends here
    } else if (inside && (line.starts_with("nadi ") || line.starts_with("$ nadi "))) {
      const std::size_t start = line.find("nadi ") + 5;
      samples.push_back({.command = line.substr(start, line.find(" #") - start),
                         .has_output = line[0] == '$',
                         .times_vary = times_vary});
    } else if (inside && !samples.empty()) {
      samples.back().output.push_back(line);
    }
  }
  std::erase_if(samples, [](const Sample& sample) { return sample.command.empty(); });
  return samples;
}

// What is measured becomes "#": times, rates, shares. Columns lose their width: "rank  0:  71.2 ms, 3%" ->
// "rank 0: #, #".
std::string without_measurements(const std::string& line) {
  static const std::regex kMeasured(
      R"(\(ms\): [0-9.]+|[0-9][0-9.,]*( ?%| ?[num]?s(/step)?| ([kMGT]?B|tokens)/s)(?![A-Za-z/])|[0-9]+:[0-9]+(?= left))");
  static const std::regex kSpaces(" +");
  return std::regex_replace(std::regex_replace(line, kMeasured, "#"), kSpaces, " ");
}

// Counts are equal. Losses and the like are sums, which other processors add up in another order; sizes of
// files that hold times depend on the digits of these.
bool same_number(const std::string& a, const std::string& b, const std::string& behind) {
  if (a.find('.') == std::string::npos && b.find('.') == std::string::npos && !behind.starts_with(" KiB"))
    return a == b;
  const double x = std::stod(a), y = std::stod(b);
  const double tolerance = behind.starts_with(" KiB") ? 0.03 : 1e-3;
  return std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
}

bool same_but_for_measurements(const std::string& a, const std::string& b) {
  static const std::regex kNumber(R"([0-9]+(\.[0-9]+)?([eE][+-][0-9]+)?)");
  const std::string x = without_measurements(a), y = without_measurements(b);
  std::sregex_iterator in_x(x.begin(), x.end(), kNumber), in_y(y.begin(), y.end(), kNumber);
  std::string rest_x = x, rest_y = y;
  for (const std::sregex_iterator end; in_x != end && in_y != end; ++in_x, ++in_y) {
    if (in_x->prefix().str() != in_y->prefix().str()) return false;
    if (!same_number(in_x->str(), in_y->str(), in_x->suffix().str())) return false;
    rest_x = in_x->suffix().str();
    rest_y = in_y->suffix().str();
  }
  return rest_x == rest_y;
}

// "..." stands for any number of lines.
void expect_output(const Sample& sample, const std::string& out) {
  std::istringstream text(out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto same = [&](const std::string& line, const std::string& expected) {
    return sample.times_vary ? same_but_for_measurements(line, expected) : line == expected;
  };
  std::size_t at = 0;
  bool skipping = false;
  for (const std::string& expected : sample.output) {
    if (expected == "...") {
      skipping = true;
      continue;
    }
    while (skipping && at < lines.size() && !same(lines[at], expected)) ++at;
    skipping = false;
    ASSERT_LT(at, lines.size()) << sample.command << ": no line '" << expected << "' in\n" << out;
    EXPECT_TRUE(same(lines[at], expected)) << sample.command << "\n"
                                           << lines[at] << "\nis not what is shown:\n"
                                           << expected;
    ++at;
  }
  EXPECT_TRUE(skipping || at == lines.size()) << sample.command << ": more lines than shown";
}

// Rows "| `nadi show` | `nadi/step/step_answer.h` | `RankQuestion` | `describe_step()` | `StepAnswer` |".
TEST(LibraryPage, NamesWhatHeadersHave) {
  static const std::regex kRow(
      R"(\| .* \| `nadi/([a-z_]+)/([a-z_]+\.h)` \| `(\w+)` \| `(\w+)\(\)` \| `(\w+)` \|)");
  int rows = 0;
  for (const std::string& line : lines_of(kSource / "docs" / "library.md")) {
    std::smatch row;
    if (!std::regex_match(line, row, kRow)) continue;
    const std::string header = read_text(kSource / "src" / "ask" / row[1].str() / row[2].str());
    EXPECT_THAT(header, testing::HasSubstr("struct " + row[3].str() + " {")) << line;
    EXPECT_THAT(header, testing::HasSubstr(row[4].str() + "(")) << line;
    EXPECT_THAT(header, testing::HasSubstr(row[5].str() + " ")) << line;
    ++rows;
  }
  EXPECT_GE(rows, 14);
}

TEST(JsonPage, ListsKeysOfReports) {
  const WorkingFolder folder;
  write_job_logs("log2", {.nodes = 3,
                          .missing_nodes = {1},
                          .pipeline = 3,
                          .newer_lines = true,
                          .timers = JobTimers::kAll,
                          .samples = JobSamples::kOwn,
                          .failing_node = 0,
                          .other_settings_node = 2});
  write_job_logs("log2", {.job = 7, .nodes = 3, .pipeline = 3, .micro_batch = 4});
  write_text("log2/10932251/slurm.txt", "said\n");
  fs::remove("log2/10932251/n060.gpu");
  write_text("plan.json", R"({"nadi_plan": 1, "model": "gpt2-tiny",
      "step": {"seq_length": 256, "global_batch_size": 24, "micro_batch_size": 2, "dtype": "fp32"},
      "plan": {"tp": 1, "dp": 4, "pp": 3}, "cluster": "dgx-a100x2"})");
  std::set<std::string> printed;
  const std::string command = "job report log2/10932251 --compare log2/7 --plan plan.json";
  for (std::string key : printed_keys(command)) {
    for (const std::string part : {"comparison.steady.", "comparison.points."})
      if (key.starts_with(part)) key = part + "KEY" + (part.ends_with("points.") ? "[]" : "");
    printed.insert(key);
  }
  // What this job does not have.
  printed.insert({"nodes[].problems[]", "scheduler.facts.NAME", "validations[].iteration",
                  "validations[].loss", "timeline.notes[]", "notes[]"});
  EXPECT_THAT(printed, IsSupersetOf(documented_keys("nadi job report --json")));
}

TEST(JsonPage, ListsKeysOfWatchedJobs) {
  const WorkingFolder folder;
  write_job_logs("log2", {.iterations = 50, .failing_node = 1, .other_settings_node = 0});
  const CliRun ill = run("job watch log2/10932251 --once --json");
  EXPECT_EQ(ill.code, 1);
  std::set<std::string> keys;
  collect_keys(Json::parse(ill.out), "", keys);
  EXPECT_THAT(keys, IsSupersetOf(documented_keys("nadi job watch --json")));
}

// README.md and the pages of docs/ that have commands, by their path in the project.
std::vector<std::string> pages_with_commands() {
  std::vector<std::string> pages{"README.md"};
  for (const auto& entry : fs::directory_iterator(kSource / "docs")) {
    const std::string name = entry.path().filename().string();
    // megatron.md has a test of its own, with more documents.
    if (name.ends_with(".md") && name != "megatron.md" && !samples_in(entry.path()).empty())
      pages.push_back("docs/" + name);
  }
  std::ranges::sort(pages);
  return pages;
}

class PageWithCommands : public testing::TestWithParam<std::string> {};

TEST_P(PageWithCommands, RunsAndPrintsWhatItSays) {
  const WorkingFolder folder;
  write_text("path/to/config.json", kTinyConfig);
  write_text("arxiv.jsonl", kTwoDocuments);
  fs::copy(kSource / "examples", "examples", fs::copy_options::recursive);
  for (const Sample& sample : samples_in(kSource / GetParam())) {
    const CliRun done = run(sample.command);
    EXPECT_EQ(done.code, 0) << sample.command << "\n" << done.err;
    if (sample.has_output) expect_output(sample, done.out);
  }
}

INSTANTIATE_TEST_SUITE_P(Documentation, PageWithCommands, testing::ValuesIn(pages_with_commands()),
                         [](const testing::TestParamInfo<std::string>& page) {
                           return std::regex_replace(page.param, std::regex("[^A-Za-z0-9]"), "_");
                         });

TEST(Documentation, RunsCommandsOfReadmeAndCommandsPage) {
  EXPECT_GE(samples_in(kSource / "README.md").size(), 6u);
  EXPECT_THAT(pages_with_commands(), testing::IsSupersetOf({"README.md", "docs/commands.md"}));
}

TEST(Documentation, ComparesAllButTimesThatVary) {
  EXPECT_EQ(without_measurements("lr 3.000e-03,  1421 tokens/s, 0.2 s/step, 0:07 left"),
            "lr 3.000e-03, #, #, # left");
  EXPECT_EQ(without_measurements("   0  71.2 ms   100.0%  32.2 us"), " 0 # # #");
  EXPECT_EQ(without_measurements("elapsed time per iteration (ms): 217.5 | 2 stages, 4 steps"),
            "elapsed time per iteration # | 2 stages, 4 steps");
  const std::string line = "step 1/20: loss 8.3442, grad norm 3.189, 0.397 s/step; 722 tokens, 1.70 KiB";
  EXPECT_TRUE(same_but_for_measurements(
      line, "step 1/20: loss 8.3441, grad norm 3.189,   2.1 s/step; 722 tokens, 1.72 KiB"));
  for (const char* other : {"step 2/20: loss 8.3442, grad norm 3.189, 0.397 s/step; 722 tokens, 1.70 KiB",
                            "step 1/20: loss 8.1442, grad norm 3.189, 0.397 s/step; 722 tokens, 1.70 KiB",
                            "step 1/20: loss 8.3442, grad norm 3.289, 0.397 s/step; 722 tokens, 1.70 KiB",
                            "step 1/20: loss 8.3442, grad norm 3.189, 0.397 s/step; 622 tokens, 1.70 KiB",
                            "step 1/20: loss 8.3442, grad norm 3.189, 0.397 s/step; 722 tokens, 1.40 KiB",
                            "step 1/20: loss 8.3442, grad norm 3.189, 0.397 s/step; 722 tokens"})
    EXPECT_FALSE(same_but_for_measurements(line, other)) << other;
}

TEST(Documentation, LinksPointToFiles) {
  std::vector<fs::path> pages{"README.md", "CONTRIBUTING.md", "src/README.md"};
  for (const auto& entry : fs::directory_iterator(kSource / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(fs::path("docs") / entry.path().filename());
  const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  for (const fs::path& page : pages) {
    const std::string text = read_text(kSource / page);
    for (auto at = std::sregex_iterator(text.begin(), text.end(), link); at != std::sregex_iterator(); ++at) {
      const std::string target = (*at)[1];
      EXPECT_TRUE(fs::exists(kSource / page.parent_path() / target)) << page << ": " << target;
    }
  }
}

TEST(Documentation, ShowsEveryCommand) {
  std::set<const CommandEntry*> shown;
  for (const Sample& sample : samples_in(kSource / "docs" / "commands.md"))
    shown.insert(commands().find(words_of(sample.command)));
  // One downloads, and is shown where it is not run: docs/training.md.
  for (const CommandEntry& entry : commands())
    EXPECT_TRUE(shown.contains(&entry) || entry.name == "data get") << entry.name;
}

// The text below a heading, up to the next.
std::string section_of(const fs::path& path, const std::string& heading) {
  std::string text;
  bool inside = false;
  for (const std::string& line : lines_of(path)) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (inside) text += line + "\n";
  }
  return text;
}

TEST(MegatronPage, ListsEveryFlagWithWhatBecomesOfIt) {
  const fs::path page = kSource / "docs" / "megatron.md";
  const std::string acts = section_of(page, "Flags that act");
  const std::string inert = section_of(page, "Flags without effect");
  const std::string refused = section_of(page, "Flags that are refused");
  std::set<std::string_view> reasons;
  for (const MegatronFlag& flag : megatron_flags()) {
    const std::string name = "`" + std::string(flag.spec.names[0]) + "`";
    const auto is_in = [&](const std::string& text) { return text.find(name) != std::string::npos; };
    EXPECT_EQ(is_in(acts), flag.effect == MegatronEffect::kActs) << name;
    EXPECT_EQ(is_in(inert), flag.effect == MegatronEffect::kNone) << name;
    EXPECT_EQ(is_in(refused), flag.effect == MegatronEffect::kRefused) << name;
    reasons.insert(flag.reason);
  }
  // Each is the start of a list, with a capital letter.
  for (const std::string_view reason : reasons)
    if (!reason.empty()) {
      EXPECT_NE((inert + refused).find(std::string(reason.substr(1)) + ":"), std::string::npos) << reason;
    }
}

TEST(MegatronPage, ItsScriptRuns) {
  const WorkingFolder folder;
  std::string documents;
  for (int i = 0; i < 20; ++i)
    documents += R"({"text": "Document )" + std::to_string(i) +
                 R"( has a few words, then some more of them, and in the end a number: )" +
                 std::to_string(i * i) + "\"}\n";
  write_text("documents.jsonl", documents);
  const std::vector<Sample> samples = samples_in(kSource / "docs" / "megatron.md");
  EXPECT_EQ(samples.size(), 3u);
  for (const Sample& sample : samples) {
    const CliRun done = run(sample.command);
    EXPECT_EQ(done.code, 0) << sample.command << "\n" << done.err;
    if (!sample.command.starts_with("train")) continue;
    EXPECT_THAT(done.out, testing::ContainsRegex("iteration +4/ +4 \\| consumed samples: +16 \\|"));
    EXPECT_THAT(done.out, testing::HasSubstr("[Rank 0] (after 1 iterations) memory (MB) | allocated: "));
    EXPECT_THAT(done.err,
                testing::HasSubstr("note: no effect here: --use-mcore-models, --overlap-grad-reduce\n"));
    EXPECT_TRUE(fs::exists("out/llama/checkpoint-4/config.json"));
  }
}

}  // namespace
}  // namespace nadi::inline show
