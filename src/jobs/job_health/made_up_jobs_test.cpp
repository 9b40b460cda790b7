// Jobs of four nodes with one trouble each: the rule that names it speaks, and no other; of a good job none does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "nadi/job_health/health_rules.h"
#include "nadi/job_health/job_health_for_tests.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What the logs of a job of four nodes say; each test changes one thing.
struct MadeUpJob {
  int lines = 40;
  std::vector<double> times = {};  // by line, milliseconds; empty means steady
  std::string loss = "9.5";
  int nan_from = 1000;
  int silent_for = 0;  // seconds since the last line
  std::vector<int> clocks = {1710, 1710, 1705, 1710};
  std::vector<int> use = {97, 96, 98, 97};
  std::vector<std::int64_t> memory_step = {0, 0, 0, 0};  // MB from sample to sample
  std::vector<std::string> err = {"", "", "", ""};
  std::vector<double> compute = {};  // by node, milliseconds of a rank
  std::string throttle = "0x0000000000000000";
};

class MadeUpJobs : public JobHealth {
 protected:
  std::vector<std::string> rules_of(const MadeUpJob& job) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> share(0.99, 1.01);
    for (int node = 0; node < 4; ++node) {
      const std::string name = "n06" + std::to_string(node);
      std::string out = "NODE_RANK: " + std::to_string(node) + "\nNNODES: 4\nWORLD_SIZE: 4\n";
      if (node == 3)
        for (int i = 0; i < job.lines; ++i)
          out += log_line(10 * (i + 1),
                          (i < static_cast<int>(job.times.size()) ? job.times[i] : 1000) * share(random),
                          i >= job.nan_from ? "nan" : job.loss, 1000, "", i >= job.nan_from ? 1 : 0);
      write(name + ".out", out, kNow - job.silent_for);
      write(name + ".err", job.err[node], kNow - job.silent_for);
      std::string gpu;
      constexpr int kSamples = 60;
      for (int i = 0; i < kSamples; ++i)
        gpu += "gpu " + std::to_string(kNow - 10 * (kSamples - 1 - i)) + " 0, NVIDIA A10, 62, " +
               std::to_string(job.use[node]) + ", " + std::to_string(9000 + i * job.memory_step[node]) +
               ", 22731, " + job.throttle + ", " + std::to_string(job.clocks[node]) + ", 140.5\n";
      write(name + ".gpu", gpu);
    }
    status_ = running();
    status_->nodes = {"n060", "n061", "n062", "n063"};
    if (!job.compute.empty()) {
      timers_ = LoggedIteration{.iteration = 400};
      LoggedTimer forward{.name = "forward-compute"};
      for (int node = 0; node < 4; ++node)
        forward.ranks.push_back({.rank = node, .time = Nanoseconds{std::llround(job.compute[node] * 1e6)}});
      timers_->timers.push_back(forward);
    }
    log_ = read_job_log({folder_});
    std::vector<std::string> rules;
    for (const HealthFinding& finding : job_findings(
             {.log = log_, .status = status_, .now = sys_seconds{seconds(kNow)}, .timers = timers_})) {
      EXPECT_THAT(finding.evidence, testing::Not(IsEmpty())) << finding.text;
      texts_ += finding.text + "\n";
      nodes_ = finding.nodes;
      rules.emplace_back(to_string(finding.rule));
    }
    return rules;
  }

  std::string texts_;
  std::vector<std::string> nodes_;
};

TEST_F(MadeUpJobs, AGoodOneHasNoFinding) {
  EXPECT_THAT(rules_of({}), IsEmpty()) << texts_;
}

TEST_F(MadeUpJobs, AGoodOneWithEvaluationsHasNone) {
  MadeUpJob job;
  for (int i = 0; i < 40; ++i) job.times.push_back(i % 10 == 9 ? 2600 : 1000);
  EXPECT_THAT(rules_of(job), IsEmpty()) << texts_;
}

TEST_F(MadeUpJobs, TwoRegimes) {
  MadeUpJob job;
  for (int i = 0; i < 40; ++i) job.times.push_back(i < 25 ? 1000 : 1400);
  EXPECT_THAT(rules_of(job), ElementsAre("pace"));
  EXPECT_THAT(texts_, HasSubstr("since iteration 260"));
  EXPECT_THAT(texts_, HasSubstr("1.39 times as long"));
}

TEST_F(MadeUpJobs, ASlowNodeByItsTimers) {
  EXPECT_THAT(rules_of({.compute = {400, 402, 520, 399}}), ElementsAre("slow-node"));
  EXPECT_THAT(nodes_, ElementsAre("n062"));
}

TEST_F(MadeUpJobs, ANodeThatIsALittleSlower) {
  EXPECT_THAT(rules_of({.compute = {400, 402, 445, 399}}), ElementsAre("slow-node"));
  EXPECT_THAT(nodes_, ElementsAre("n062"));
}

TEST_F(MadeUpJobs, NodesThatScatterAreNotSlow) {
  EXPECT_THAT(rules_of({.compute = {400, 430, 445, 410}}), IsEmpty()) << texts_;
}

TEST_F(MadeUpJobs, ASlowNodeByItsClocks) {
  EXPECT_THAT(rules_of({.clocks = {1710, 1335, 1705, 1710}}), ElementsAre("slow-node"));
  EXPECT_THAT(nodes_, ElementsAre("n061"));
}

TEST_F(MadeUpJobs, ALeak) {
  EXPECT_THAT(rules_of({.memory_step = {0, 0, 0, 60}}), ElementsAre("memory-grows"));
  EXPECT_THAT(nodes_, ElementsAre("n063"));
  EXPECT_THAT(texts_, HasSubstr("full in about"));
}

TEST_F(MadeUpJobs, AStall) {
  EXPECT_THAT(rules_of({.silent_for = 1200}), ElementsAre("no-progress"));
}

TEST_F(MadeUpJobs, NotANumber) {
  EXPECT_THAT(rules_of({.nan_from = 30}), ElementsAre("loss"));
}

TEST_F(MadeUpJobs, OneRankOutOfMemory) {
  EXPECT_THAT(rules_of({.err = {"",
                                "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 22.20 "
                                "GiB total capacity)\n",
                                "", ""}}),
              ElementsAre("errors"));
  EXPECT_THAT(nodes_, ElementsAre("n061"));
}

TEST_F(MadeUpJobs, ThermalSlowdownOfAll) {
  EXPECT_THAT(rules_of({.throttle = "0x0000000000000040"}), ElementsAre("throttled-gpu"));
}

TEST_F(MadeUpJobs, IdleWhileItRuns) {
  EXPECT_THAT(rules_of({.silent_for = 700, .use = {0, 0, 0, 0}}), ElementsAre("idle-gpus", "no-progress"));
}

}  // namespace
}  // namespace nadi::inline jobs
