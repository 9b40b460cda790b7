#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "nadi/base/json.h"
#include "nadi/cli/run_cli.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

// Four layers, four heads.
constexpr std::string_view kFourLayers = R"({
  "model_type": "gpt2", "vocab_size": 512, "n_positions": 64, "n_embd": 64, "n_layer": 4, "n_head": 4
})";

// Two fast devices and a node with two slow ones, with little memory and with prices.
constexpr std::string_view kTwoKinds = R"({
  "name": "two-kinds",
  "devices": {"small-a10": {"base": "a10", "memory": "1 GiB"}},
  "nodes": [{"name": "fast", "count": 1, "device": "a100-40gb", "devices": 2, "price": "8 $/h",
             "inside": {"kind": "nvlink", "bandwidth": "300 GB/s", "latency": "2 us"}},
            {"name": "slow", "count": 1, "device": "small-a10", "devices": 2, "price": "2 $/h",
             "inside": {"kind": "pcie", "topology": "bus", "bandwidth": "16 GB/s", "latency": "5 us"}}],
  "levels": [{"name": "nodes", "fabric": {"kind": "ethernet", "bandwidth": "10 Gbit/s", "latency": "20 us"}}]
})";

class PlanCommandTest : public testing::Test {
 protected:
  PlanCommandTest() {
    write_text("four.json", kFourLayers);
    write_text("two.json", kTwoKinds);
  }

  static constexpr const char* kQuestion =
      "plan four.json --cluster two.json --global-batch-size 8 --schedule 1f1b ";

  WorkingFolder folder_;
};

std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(PlanCommandTest, ListsTheBestPlans) {
  const CliRun done = run(kQuestion);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, HasSubstr("on two-kinds"));
  EXPECT_THAT(done.out, HasSubstr("Best plans, fastest first\n"));
  EXPECT_THAT(done.out,
              testing::ContainsRegex(
                  "tp +dp +pp +mbs +recompute +ZeRO +partition +placement +step .*memory .*\\$/step"));
  EXPECT_THAT(done.out, HasSubstr("evaluated"));
  EXPECT_THAT(done.out, HasSubstr("Proven: by estimate, no plan of the space"));
}

TEST_F(PlanCommandTest, JsonIsSortedByTheObjective) {
  for (const char* objective : {"time", "cost", "memory"}) {
    const Json answer = run_json(std::string(kQuestion) + "--top 5 --objective " + objective);
    EXPECT_EQ(answer["objective"], objective);
    ASSERT_FALSE(answer["plans"].empty());
    EXPECT_LE(answer["plans"].size(), 5u);
    for (const Json& plan : answer["plans"]) {
      const std::int64_t ranks =
          plan["tp"].get<std::int64_t>() * plan["dp"].get<std::int64_t>() * plan["pp"].get<std::int64_t>();
      EXPECT_LE(ranks, 4);
      EXPECT_EQ(plan["micro_batch_size"].get<std::int64_t>() * plan["micro_batches"].get<std::int64_t>() *
                    plan["dp"].get<std::int64_t>(),
                8);
      std::int64_t layers = 0;
      for (const Json& count : plan["partition"]) layers += count.get<std::int64_t>();
      EXPECT_EQ(layers, 4);
      EXPECT_LE(plan["memory_bytes"].get<double>(), plan["capacity_bytes"].get<double>());
      EXPECT_GT(plan["dollars_per_step"].get<double>(), 0);
    }
  }
}

TEST_F(PlanCommandTest, KeepsToTheSpace) {
  const Json answer =
      run_json(std::string(kQuestion) + "--tp 1 --pp 2,4 --micro-batch-size 1 --recompute none --zero 0");
  ASSERT_FALSE(answer["plans"].empty());
  for (const Json& plan : answer["plans"]) {
    EXPECT_EQ(plan["tp"], 1);
    EXPECT_GE(plan["pp"], 2);
    EXPECT_EQ(plan["micro_batch_size"], 1);
    EXPECT_EQ(plan["recompute"], "none");
    EXPECT_EQ(plan["zero"], 0);
  }
}

TEST_F(PlanCommandTest, TheFlagsOfAPlanAreThoseOfSimulate) {
  const Json answer = run_json(std::string(kQuestion) + "--top 3 --no-unused --pp 1");
  for (const Json& plan : answer["plans"]) {
    const CliRun simulated =
        run("simulate four.json --cluster two.json " + plan["flags"].get<std::string>() + " --json");
    EXPECT_EQ(simulated.code, 0) << simulated.err;
  }
}

TEST_F(PlanCommandTest, TheSameOnAnyNumberOfThreads) {
  EXPECT_EQ(run(std::string(kQuestion) + "--json --threads 1").out,
            run(std::string(kQuestion) + "--json --threads 3").out);
}

TEST_F(PlanCommandTest, ExplainsAPlan) {
  const CliRun done = run(std::string(kQuestion) + "--explain 1");
  EXPECT_EQ(done.code, 0) << done.err;
  for (const char* text : {"Why plan 1\n", "slowest stage", "memory ", "network ", "next best ", "Stages  ",
                           "Megatron-LM\n", "partition   ["})
    EXPECT_THAT(done.out, HasSubstr(text));
  const Json why = run_json(std::string(kQuestion) + "--explain 1")["explanations"][0];
  EXPECT_EQ(why["place"], 1);
  // Computation, waiting and idle time of a stage add up to at most the step: to its own end.
  for (const Json& stage : why["stages"]) {
    const double sum = stage["compute_ns"].get<double>() + stage["optimizer_ns"].get<double>() +
                       stage["exposed_ns"].get<double>() + stage["bubble_ns"].get<double>();
    EXPECT_LE(sum, why["simulated_s"].get<double>() * 1e9 + 2);
    EXPECT_GT(sum, why["simulated_s"].get<double>() * 0.9e9);
  }
  // What is chosen otherwise differs from the plan.
  const Json plan = run_json(std::string(kQuestion) + "--explain 1")["plans"][0];
  for (const Json& other : why["alternatives"])
    if (other["fits"].get<bool>() && other["knob"] == "recompute") {
      EXPECT_NE(other["choice"], plan["recompute"]);
    }
}

TEST_F(PlanCommandTest, WritesAPlanThatSimulateTakes) {
  const CliRun done = run(std::string(kQuestion) + "--emit plan.json --emit-rank 2");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "plan: plan.json\n");
  EXPECT_EQ(Json::parse(read_text("plan.json"))["nadi_plan"], 1);
  EXPECT_EQ(run(std::string(kQuestion) + "--emit plan.json").code, 2) << "it exists";
  EXPECT_EQ(run(std::string(kQuestion) + "--emit plan.json --force").code, 0);
}

TEST_F(PlanCommandTest, WritesEveryPlan) {
  const CliRun done = run(std::string(kQuestion) + "--all plans.csv --json");
  EXPECT_EQ(done.code, 0) << done.err;
  const std::vector<std::string> lines = text_lines(read_text("plans.csv"));
  EXPECT_EQ(lines[0].substr(0, 9), "tp,dp,pp,");
  EXPECT_EQ(static_cast<std::int64_t>(lines.size()) - 1, Json::parse(done.out)["search"]["evaluated"]);
  const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
  for (const std::string& line : lines) EXPECT_EQ(commas(line), commas(lines[0])) << line;
  EXPECT_EQ(run(std::string(kQuestion) + "--all plans.csv").code, 2) << "it exists";
}

TEST_F(PlanCommandTest, DrawsTheFrontOfTimeAndMoney) {
  const CliRun done = run(std::string(kQuestion) + "--pareto pareto.html --json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "pareto: pareto.html\n");
  const Json answer = Json::parse(done.out);
  ASSERT_FALSE(answer["front"].empty());
  for (std::size_t i = 1; i < answer["front"].size(); ++i) {
    EXPECT_GT(answer["front"][i]["simulated_s"], answer["front"][i - 1]["simulated_s"]);
    EXPECT_LT(answer["front"][i]["dollars_per_step"], answer["front"][i - 1]["dollars_per_step"]);
  }
  // The fastest and the cheapest plan are its ends: a search for time alone never meets the latter.
  const Json cheapest = run_json(std::string(kQuestion) + "--objective cost --top 1")["plans"][0];
  const Json fastest = run_json(std::string(kQuestion) + "--top 1")["plans"][0];
  EXPECT_NEAR(answer["front"].front()["simulated_s"].get<double>(), fastest["simulated_s"].get<double>(),
              1e-6);
  EXPECT_NEAR(answer["front"].back()["dollars_per_step"].get<double>(),
              cheapest["dollars_per_step"].get<double>(), 1e-9);
  EXPECT_THAT(read_text("pareto.html"), HasSubstr("data-block=\"plans\""));
  EXPECT_THAT(run(std::string(kQuestion) + "--pareto p2.html").out, HasSubstr("Pareto front"));
  EXPECT_EQ(run(std::string(kQuestion) + "--pareto p.svg").code, 2);
}

TEST_F(PlanCommandTest, FindsHowManyNodesToRent) {
  write_text("fleet.json",
             R"({"cluster": "two.json", "nodes": {"fast": {"most": 2}, "slow": {"fewest": 1, "most": 2}}})");
  const std::string fleet = "plan four.json --fleet fleet.json --global-batch-size 8 --schedule 1f1b ";
  const CliRun done = run(fleet + "--pareto fleet.html --emit plan.json --all plans.csv --json");
  EXPECT_EQ(done.code, 0) << done.err;
  const Json answer = Json::parse(done.out);
  EXPECT_EQ(answer["search"]["subclusters"], 6) << "0, 1 or 2 times 1 or 2";
  ASSERT_FALSE(answer["front"].empty());
  for (std::size_t i = 1; i < answer["front"].size(); ++i)
    EXPECT_LT(answer["front"][i]["dollars_per_step"], answer["front"][i - 1]["dollars_per_step"]);
  EXPECT_EQ(static_cast<std::int64_t>(text_lines(read_text("plans.csv")).size()) - 1,
            answer["search"]["evaluated"]);
  // The plan names the cluster that was written beside it.
  const CliRun simulated = run("simulate --plan plan.json --json");
  EXPECT_EQ(simulated.code, 0) << simulated.err;
  EXPECT_THAT(run(fleet).out, HasSubstr("mixes of nodes"));
  EXPECT_THAT(run(fleet + "--effort 0").out, HasSubstr("is faster."));
  EXPECT_EQ(run(fleet + "--threads 1 --json").out, run(fleet + "--threads 3 --json").out);
  EXPECT_THAT(run(fleet + "--all all.csv").out, HasSubstr("Not every mix"));
  EXPECT_EQ(run(fleet + "--cluster two.json").code, 2);
  write_text("fleet.json", R"({"cluster": "two.json", "nodes": {"fsat": {"most": 2}}})");
  EXPECT_EQ(run(fleet).code, 3);
  EXPECT_THAT(run(fleet).err, HasSubstr("did you mean 'fast'?"));
}

TEST_F(PlanCommandTest, SaysByHowMuchNothingFits) {
  const CliRun money = run_words({"plan", "four.json", "--cluster", "two.json", "--global-batch-size", "8",
                                  "--budget", "0.0000001 $/1M tokens", "--schedule", "1f1b"});
  EXPECT_EQ(money.code, 5);
  EXPECT_THAT(money.err, testing::ContainsRegex("the nearest plan .* needs .* \\$ more per million tokens"));
  EXPECT_THAT(money.err, HasSubstr("--budget"));
  const CliRun time = run(std::string(kQuestion) + "--deadline 1ns");
  EXPECT_EQ(time.code, 5);
  EXPECT_THAT(time.err, HasSubstr("more per step"));
  const CliRun memory =
      run("plan gpt3-175b --cluster two.json --global-batch-size 8 --tp 1,2 --threads 1 --schedule 1f1b");
  EXPECT_EQ(memory.code, 5);
  EXPECT_THAT(memory.err, testing::ContainsRegex("needs .*iB more memory on its fullest device"));
}

TEST_F(PlanCommandTest, SaysWhyThereIsNoSuchPlan) {
  const CliRun heads = run(std::string(kQuestion) + "--tp 3");
  EXPECT_NE(heads.code, 0);
  EXPECT_THAT(heads.err, HasSubstr("3"));
  const CliRun none = run(std::string(kQuestion) + "--dp 3");
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("no plan of "));
}

TEST_F(PlanCommandTest, RefusesWhatMakesNoSense) {
  const auto refused = [&](const std::string& words, const char* message) {
    const CliRun done = run(std::string(kQuestion) + words);
    EXPECT_EQ(done.code, 2) << words << done.err;
    EXPECT_THAT(done.err, HasSubstr(message)) << words;
  };
  refused("--tp 1,x", "--tp takes numbers from 1 on");
  refused("--tp 0", "--tp takes numbers from 1 on");
  refused("--tp ,", "--tp takes numbers from 1 on");
  refused("--tp 99999999999999999999", "--tp takes numbers from 1 on");
  refused("--zero 3", "there is no ZeRO stage 3");
  refused("--recompute ful", "did you mean 'full'?");
  refused("--sequence-parallel yes", "--sequence-parallel: unknown value 'yes'");
  refused("--schedule 1f1", "did you mean '1f1b'?");
  refused("--partition 2-x", "--partition takes the layers of each stage");
  refused("--partition 2-2 --even", "contradict");
  refused("--memory-share 2", "a memory share of 2");
  refused("--memory-share 0", "a memory share of 0");
  refused("--budget 5", "the budget '5' is no price");
  refused("--deadline soon", "the deadline 'soon'");
  refused("--explain 11", "10 plans are listed");
  refused("--explain 3 --top 2", "2 plans are listed");
  refused("--emit-rank 1", "--emit-rank needs --emit");
  refused("--force", "--force needs --emit, --all, --pareto or --html");
  refused("--top 100000", "the limit is");
  refused("--effort -1", "--effort takes a whole number of at least 0");
  refused("--effort 1000001", "--effort 0 goes on until all is proven");
  refused("--seq-length 100", "100");
  EXPECT_EQ(run("plan four.json --cluster two.json").code, 2);
  EXPECT_THAT(run("plan four.json --cluster two.json").err, HasSubstr("--global-batch-size"));
  EXPECT_THAT(run("plan four.json --global-batch-size 8").err, HasSubstr("--cluster"));
  EXPECT_EQ(run("plan four.json --cluster two.json --global-batch-size 9223372036854775807").code, 5);
  EXPECT_EQ(run(std::string(kQuestion) + "--layer-times two.json").code, 3);
}

// Ctrl-C before the first plan: nothing is printed. A search that has something prints it; both end with 130.
TEST_F(PlanCommandTest, EndsOnCtrlC) {
  std::ostringstream out, err;
  Interruption interruption;
  Console console{.out = out, .err = err, .interruption = &interruption};
  interruption.ask();
  const std::vector<std::string> words{"plan", "four.json", "--cluster", "two.json", "--global-batch-size",
                                       "8",    "--all",     "plans.csv"};
  EXPECT_EQ(run_cli(words, console), 130);
  EXPECT_TRUE(std::filesystem::exists("plans.csv")) << "as far as it came";
}

}  // namespace
}  // namespace nadi::inline show
