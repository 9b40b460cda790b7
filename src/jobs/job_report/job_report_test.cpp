// Made-up folders of jobs, whole and cut: a report has all that is still readable, and nothing else.
#include "nadi/job_report/job_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/job_report/folder_report.h"
#include "nadi/job_report/job_report_json.h"
#include "nadi/megatron_log/log_reader.h"
#include "nadi/testing/job_logs.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;
  JobLogsSpec spec;
};

std::vector<Case> cases() {
  return {
      {"TwoNodesOfFour", {.seed = 1}},
      {"EightGpus",
       {.seed = 2, .nodes = 3, .gpus = 8, .tensor = 2, .pipeline = 3, .timers = JobTimers::kAll}},
      {"Calls",
       {.seed = 3,
        .nodes = 2,
        .gpus = 4,
        .pipeline = 4,
        .iterations = 30,
        .timers = JobTimers::kAll,
        .profile = true}},
      {"MaxTimers", {.seed = 4, .timers = JobTimers::kMax, .samples = JobSamples::kGpustatDegrees}},
      {"OwnSamples", {.seed = 24, .samples = JobSamples::kOwn, .missing_samples = 0.1}},
      {"NewerLines",
       {.seed = 5, .newer_lines = true, .samples = JobSamples::kGpustatWithHeader, .missing_samples = 0.2}},
      {"MixedCluster", {.seed = 6, .nodes = 5, .nodes_of_second_job = 2, .tensor = 2, .pipeline = 5}},
      {"MissingNodes", {.seed = 7, .nodes = 4, .missing_nodes = {0, 2}, .pipeline = 4}},
      {"NobodyPrintsIterations", {.seed = 8, .nodes = 2, .missing_nodes = {1}}},
      {"ThreeDigits",
       {.seed = 9,
        .iterations = 1234,
        .all_iterations = 5000,
        .log_interval = 1,
        .timers = JobTimers::kNone}},
      {"NoNumber", {.seed = 10, .nan_from = 60}},
      {"OutOfMemory", {.seed = 11, .nodes = 4, .warnings = 40, .failing_node = 1}},
      {"OtherSettings",
       {.seed = 12,
        .nodes = 3,
        .pipeline = 3,
        .other_settings_node = 1,
        .other_micro_batch_in_effect = true}},
      {"NvidiaSmi", {.seed = 13, .samples = JobSamples::kNvidiaSmi, .missing_samples = 0.1}},
      {"CutLines",
       {.seed = 14,
        .nodes = 2,
        .gpus = 8,
        .iterations = 200,
        .timers = JobTimers::kAll,
        .sample_count = 300,
        .cut_lines = 0.05}},
      {"CutLinesOfExtremes", {.seed = 15, .iterations = 300, .timers = JobTimers::kMinMax, .cut_lines = 0.1}},
      {"CutLinesOfCalls",
       {.seed = 16,
        .pipeline = 4,
        .iterations = 40,
        .timers = JobTimers::kAll,
        .profile = true,
        .cut_lines = 0.02}},
      {"NoSamples", {.seed = 17, .samples = JobSamples::kNone, .arguments = false}},
  };
}

// How much of each file is left, by node; what is not in the map is whole.
using Cuts = std::map<std::pair<std::int64_t, WrittenFileKind>, std::uint64_t>;

enum class Left { kWhole, kWithoutNewline, kGone };

Left left_of(const WrittenPlace& place, WrittenFileKind file, const Cuts& cuts) {
  if (place.cut) return Left::kGone;
  const auto cut = cuts.find({place.node, file});
  if (cut == cuts.end() || place.end <= cut->second) return Left::kWhole;
  return place.end == cut->second + 1 ? Left::kWithoutNewline : Left::kGone;
}

// Compares a report with what was written.
class ReportCheck {
 public:
  ReportCheck(const JobReport& report, const WrittenJob& job, const JobLogsSpec& spec, const Cuts& cuts)
      : report_(report), job_(job), spec_(spec), cuts_(cuts) {}

  void all() {
    settings();
    iterations();
    memory();
    samples();
    messages();
    timers();
  }

 private:
  void settings() {
    // Name as printed and value by node.
    std::set<std::tuple<std::string, std::string, std::string>> must, may, found;
    for (const WrittenSetting& setting : job_.settings) {
      const std::tuple entry{job_.nodes[setting.place.node].name, setting.name, setting.value};
      const Left left = left_of(setting.place, WrittenFileKind::kOut, cuts_);
      if (left == Left::kWhole) must.insert(entry);
      if (left != Left::kGone) may.insert(entry);
    }
    for (const SettingRow& row : report_.settings)
      for (const SettingRow::Value& value : row.in_effect)
        for (const std::string& node : value.nodes) found.emplace(node, value.printed_as, value.text);
    for (const auto& entry : must) EXPECT_TRUE(found.contains(entry)) << "lost: " << std::get<1>(entry);
    for (const auto& entry : found)
      EXPECT_TRUE(may.contains(entry)) << "invented: " << std::get<1>(entry) << " = " << std::get<2>(entry);
  }

  void iterations() {
    std::map<std::int64_t, const IterationPoint*> found;
    for (const IterationPoint& point : report_.points) {
      EXPECT_EQ(point.lines, 1);
      found[point.last] = &point;
    }
    std::size_t matched = 0;
    for (const WrittenIteration& written : job_.iterations) {
      const Left left = left_of(written.place, WrittenFileKind::kOut, cuts_);
      const auto point = found.find(written.iteration);
      if (point == found.end()) {
        EXPECT_NE(left, Left::kWhole) << "lost: iteration " << written.iteration;
        continue;
      }
      // A line that was cut lacks figures; those that are there are the ones that were written.
      const bool cut = left == Left::kGone;
      ++matched;
      EXPECT_EQ(point->second->mean(), Nanoseconds{std::llround(written.milliseconds * 1e6)});
      EXPECT_EQ(point->second->iterations, spec_.all_iterations);
      if (!cut || point->second->global_batch != 0) {
        EXPECT_EQ(point->second->global_batch, job_.global_batch);
      }
      if (!cut || point->second->tflops_per_rank) {
        EXPECT_EQ(point->second->tflops_per_rank, written.tflops);
      }
      if (!cut || point->second->learning_rate) {
        EXPECT_EQ(point->second->learning_rate, written.learning_rate);
      }
      if (cut && !point->second->loss) continue;
      ASSERT_TRUE(point->second->loss.has_value());
      if (written.loss)
        EXPECT_EQ(point->second->loss, written.loss);
      else
        EXPECT_TRUE(std::isnan(*point->second->loss));
    }
    EXPECT_EQ(matched, found.size()) << "iterations that nobody wrote";
  }

  void memory() {
    std::size_t matched = 0;
    for (const WrittenMemory& written : job_.memory) {
      const Left left = left_of(written.place, WrittenFileKind::kOut, cuts_);
      const auto found = std::ranges::find(report_.memory, written.rank,
                                           [](const ReportedMemory& each) { return each.line.rank; });
      if (found == report_.memory.end()) {
        EXPECT_NE(left, Left::kWhole) << "lost: memory of rank " << written.rank;
        continue;
      }
      EXPECT_NE(left, Left::kGone) << "invented: memory of rank " << written.rank;
      ++matched;
      const auto bytes = [](double megabytes) { return megabytes * 1024 * 1024; };
      EXPECT_NEAR(static_cast<double>(found->line.allocated.count()), bytes(written.allocated), 1);
      EXPECT_NEAR(static_cast<double>(found->line.most_reserved.count()), bytes(written.most_reserved), 1);
      EXPECT_EQ(found->node, job_.nodes[written.place.node].name);
    }
    EXPECT_EQ(matched, report_.memory.size());
  }

  // By node and device. A line without its newline may count or not.
  void samples() {
    struct Expected {
      std::int64_t least = 0, most = 0, known = 0;
      double utilisation = 0;
      std::optional<double> heat;
      bool exact = true;
    };
    std::map<std::pair<std::string, std::int64_t>, Expected> expected;
    for (const WrittenSample& written : job_.samples) {
      const Left left = left_of(written.place, WrittenFileKind::kGpu, cuts_);
      if (left == Left::kGone) continue;
      Expected& each = expected[{job_.nodes[written.place.node].name, written.gpu}];
      ++each.most;
      if (left == Left::kWithoutNewline) {
        each.exact = false;
        continue;
      }
      ++each.least;
      if (written.percent) {
        each.utilisation += static_cast<double>(*written.percent);
        ++each.known;
      }
      if (written.celsius)
        each.heat = std::max(each.heat.value_or(-1e9), static_cast<double>(*written.celsius));
    }
    for (const GridDevice& device : report_.devices.devices) {
      const auto found = expected.find({device.node_name, device.index});
      ASSERT_NE(found, expected.end()) << "invented: GPU " << device.index << " of " << device.node_name;
      EXPECT_GE(device.samples, found->second.least) << device.node_name;
      EXPECT_LE(device.samples, found->second.most) << device.node_name;
      EXPECT_EQ(device.name, spec_.gpu);
      EXPECT_EQ(device.memory_total, Bytes{spec_.gpu_megabytes} * (1 << 20));
      if (found->second.exact && found->second.known > 0) {
        EXPECT_NEAR(device.mean_utilisation.value_or(-1),
                    found->second.utilisation / static_cast<double>(found->second.known), 1e-3);
        EXPECT_EQ(device.most_temperature, found->second.heat);
      }
      expected.erase(found);
    }
    for (const auto& [device, each] : expected)
      EXPECT_EQ(each.least, 0) << "lost: samples of " << device.first;
  }

  void messages() {
    std::int64_t least_errors = 0, most_errors = 0, errors = 0, least_warnings = 0, most_warnings = 0;
    for (const WrittenMessage& written : job_.messages) {
      const Left left = left_of(written.place, WrittenFileKind::kErr, cuts_);
      (written.error ? least_errors : least_warnings) += left == Left::kWhole ? 1 : 0;
      // What is left of a cut line may still be told for what it is.
      (written.error ? most_errors : most_warnings) += 1;
    }
    for (const ErrorGroup& group : report_.errors) {
      errors += group.count;
      EXPECT_FALSE(group.nodes.empty());
    }
    EXPECT_GE(errors, least_errors) << "errors are lost";
    EXPECT_LE(errors, most_errors + (cuts_.empty() ? 0 : 1)) << "warnings are taken for errors";
    EXPECT_GE(report_.warnings, least_warnings);
  }

  void timers() {
    const std::int64_t iteration = report_.timed_iteration.iteration;
    std::size_t matched = 0;
    for (const LoggedTimer& timer : report_.timed_iteration.timers) {
      const auto written = std::ranges::find_if(job_.timers, [&](const WrittenTimer& each) {
        return each.iteration == iteration && each.name == timer.name;
      });
      ASSERT_NE(written, job_.timers.end()) << "invented: " << timer.name;
      ++matched;
      const auto time = [](double milliseconds) { return Nanoseconds{std::llround(milliseconds * 1e6)}; };
      if (spec_.timers == JobTimers::kMax) {
        EXPECT_EQ(timer.most, time(written->milliseconds[0])) << timer.name;
      }
      if (spec_.timers == JobTimers::kMinMax) {
        EXPECT_EQ(timer.least, time(written->milliseconds[0])) << timer.name;
        EXPECT_EQ(timer.most, time(written->milliseconds[1])) << timer.name;
      }
      for (const LoggedRank& rank : timer.ranks) {
        ASSERT_LT(rank.rank, job_.ranks);
        EXPECT_EQ(rank.time, time(written->milliseconds[rank.rank]))
            << "invented: " << timer.name << " of rank " << rank.rank;
      }
      const bool whole = left_of(written->place, WrittenFileKind::kOut, cuts_) == Left::kWhole;
      if (whole && spec_.timers == JobTimers::kAll) {
        EXPECT_EQ(static_cast<std::int64_t>(timer.ranks.size()), job_.ranks)
            << "lost: ranks of " << timer.name;
        if (spec_.profile)
          for (const LoggedRank& rank : timer.ranks) {
            EXPECT_EQ(static_cast<std::int64_t>(rank.starts.size()), written->calls) << timer.name;
          }
      }
    }
    for (const WrittenTimer& written : job_.timers)
      if (written.iteration == iteration &&
          left_of(written.place, WrittenFileKind::kOut, cuts_) == Left::kWhole) {
        EXPECT_NE(report_.timed_iteration.find(written.name), nullptr) << "lost: " << written.name;
      }
    const bool any_whole = std::ranges::any_of(job_.timers, [&](const WrittenTimer& written) {
      return left_of(written.place, WrittenFileKind::kOut, cuts_) == Left::kWhole;
    });
    if (any_whole && spec_.cut_lines == 0 && cuts_.empty()) {
      EXPECT_GT(matched, 0u);
    }
  }

  const JobReport& report_;
  const WrittenJob& job_;
  const JobLogsSpec& spec_;
  const Cuts& cuts_;
};

JobReport report_of(const WrittenJob& job) {
  const JobLog log = read_job_log(job.folders);
  return make_job_report({.log = &log});
}

class GeneratedJob : public testing::TestWithParam<Case> {};

TEST_P(GeneratedJob, IsReportedWhole) {
  const TemporaryFolder folder;
  const WrittenJob job = write_job_logs(folder.path(), GetParam().spec);
  const JobReport report = report_of(job);
  ReportCheck(report, job, GetParam().spec, {}).all();
  // Found, not typed.
  EXPECT_EQ(report.split.world_size, job.ranks);
  EXPECT_EQ(report.split.data, job.data);
  EXPECT_EQ(report.split.pipeline, GetParam().spec.pipeline);
  EXPECT_EQ(report.split.nodes, GetParam().spec.nodes);
  EXPECT_EQ(report.missing_node_ranks, GetParam().spec.missing_nodes);
  EXPECT_TRUE(Json::parse(job_report_json(report)).is_object());
}

// At random bytes of random files, nothing is lost that is still there, and nothing is invented.
TEST_P(GeneratedJob, IsReportedAfterCuts) {
  std::mt19937_64 random(GetParam().spec.seed);
  for (int round = 0; round < 12; ++round) {
    const TemporaryFolder folder;
    const WrittenJob job = write_job_logs(folder.path(), GetParam().spec);
    Cuts cuts;
    for (std::size_t node = 0; node < job.nodes.size(); ++node)
      for (const WrittenFileKind file :
           {WrittenFileKind::kOut, WrittenFileKind::kErr, WrittenFileKind::kGpu}) {
        const fs::path& path = file == WrittenFileKind::kOut   ? job.nodes[node].out
                               : file == WrittenFileKind::kErr ? job.nodes[node].err
                                                               : job.nodes[node].gpu;
        if (!fs::exists(path) || random() % 2 == 0) continue;
        const std::uint64_t left = random() % (fs::file_size(path) + 1);
        fs::resize_file(path, left);
        cuts[{static_cast<std::int64_t>(node), file}] = left;
      }
    SCOPED_TRACE(format("round {}", round));
    ReportCheck(report_of(job), job, GetParam().spec, cuts).all();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GeneratedJob, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(JobReport, TellsWarmUpFromSteady) {
  const TemporaryFolder folder;
  // 10 lines; the first 3.24 times as long as 1.40 s, the others exactly 1.40 s.
  const JobReport report = report_of(write_job_logs(folder.path(), {.noise = 0}));
  EXPECT_EQ(report.steady.warm_up_mean, Nanoseconds{4'536'000'000});
  EXPECT_EQ(report.steady.mean, Nanoseconds{1'400'000'000});
  EXPECT_EQ(report.steady.deviation, Nanoseconds{0});
  EXPECT_EQ(report.steady.lines, 9);
  // 8 ranks / 2 stages = 4 replicas, 4 * 2 * 4 = 32 samples of 1024 tokens in 1.4 s.
  EXPECT_DOUBLE_EQ(*report.samples_per_second, 32 / 1.4);
  EXPECT_DOUBLE_EQ(*report.tokens_per_second, 32 * 1024 / 1.4);
  EXPECT_EQ(report.split.micro_batches, 4);
}

TEST(JobReport, MarksSettingsThatContradictEachOther) {
  const TemporaryFolder folder;
  const JobReport report = report_of(write_job_logs(
      folder.path(), {.nodes = 4, .other_settings_node = 2, .other_micro_batch_in_effect = true}));
  std::vector<std::string> differing;
  for (const SettingRow& row : report.settings)
    if (row.differs) differing.push_back(row.name);
  EXPECT_THAT(differing, testing::UnorderedElementsAre("GLOBAL_BATCH_SIZE", "MICRO_BATCH_SIZE"));
  EXPECT_EQ(report.split.micro_batch, 4) << "what the program says counts";
}

TEST(JobReport, TimersOfStages) {
  const TemporaryFolder folder;
  const JobReport report = report_of(
      write_job_logs(folder.path(), {.nodes = 2, .gpus = 4, .pipeline = 4, .timers = JobTimers::kAll}));
  ASSERT_EQ(report.timers.stages.size(), 4u);
  EXPECT_EQ(report.timers.stages[0].ranks, 2);
  // 4 micro-batches on 4 stages: 4 of 7 slots are work, so 3 / 7 of the pass is waiting, within the noise of
  // 2 %.
  for (const TimerStage& stage : report.timers.stages) EXPECT_NEAR(*stage.waiting_share, 3.0 / 7, 0.03);
}

// A job of `nadi train --plan`: its log has times and losses, its plan all else.
TEST(JobReport, PredictionAgainstPlan) {
  const TemporaryFolder folder;
  const std::string step =
      ", epoch 1: loss 8.2713, lr 4.667e-05, grad norm 2.791, 0.5 s/step, 2769 tokens/s, 0:13 left\n";
  write_text(folder / "1" / "vm.out",
             "NODE_RANK: 0\nNNODES: 1\nWORLD_SIZE: 2\nstep 5/20" + step + "step 10/20" + step);
  const auto plan = [](std::string_view cluster, std::int64_t data) {
    return format(R"({{"nadi_plan": 1, "model": "gpt2-tiny",
      "step": {{"seq_length": 256, "global_batch_size": 8, "micro_batch_size": 2, "dtype": "fp32"}},
      "plan": {{"tp": 1, "dp": {}, "pp": 1}}{},
      "predicted": {{"step_time": "250 ms"}}}})",
                  data, cluster.empty() ? "" : format(", \"cluster\": \"{}\"", cluster));
  };
  // No cluster: what the file says is all that is predicted.
  write_text(folder / "1" / "plan.json", plan("", 2));
  JobReport report =
      report_of_folders({folder / "1"}, {.now = std::chrono::sys_seconds{std::chrono::seconds(1)}});
  ASSERT_TRUE(report.prediction);
  EXPECT_EQ(report.prediction->step(), Nanoseconds{250'000'000});
  EXPECT_EQ(report.steady.mean, Nanoseconds{500'000'000});
  EXPECT_EQ(Json::parse(job_report_json(report)).at("prediction").at("measured_over_predicted"), 2.0);
  EXPECT_EQ(report.prediction->problem, "the plan names no cluster");
  EXPECT_THAT(plan_differences(report), testing::IsEmpty());
  EXPECT_EQ(report.title, "gpt2-tiny on 1 node");
  EXPECT_EQ(report.split.micro_batches, 2) << "8 samples by 2 ranks in micro-batches of 2";
  EXPECT_EQ(report.samples_per_second, 16.0) << "8 in half a second";
  EXPECT_EQ(report.timed_iteration.timers.size(), 0u);
  for (const std::string& note : report.notes) EXPECT_EQ(note.find("not read"), std::string::npos) << note;
  // On a cluster it is simulated, with times of stages.
  write_text(folder / "1" / "plan.json", plan("dgx-a100", 2));
  report = report_of_folders({folder / "1"}, {.now = std::chrono::sys_seconds{std::chrono::seconds(1)}});
  EXPECT_EQ(report.prediction->problem, "");
  ASSERT_TRUE(report.prediction->simulated);
  EXPECT_EQ(report.prediction->step(), report.prediction->simulated);
  ASSERT_EQ(report.prediction->stages.size(), 1u);
  EXPECT_GT(report.prediction->stages[0].backward, report.prediction->stages[0].forward);
  // A plan for other ranks is not the one that the job follows.
  write_text(folder / "1" / "plan.json", plan("", 4));
  report = report_of_folders({folder / "1"}, {.now = std::chrono::sys_seconds{std::chrono::seconds(1)}});
  EXPECT_EQ(report.split.global_batch, std::nullopt);
  EXPECT_THAT(plan_differences(report), testing::ElementsAre("ranks: 4 in the plan, 2 in the job"));
}

// Four ranks of which the log says nothing else are the four stages of the plan, not four replicas.
TEST(JobReport, DegreesOfAPlanCountBeforeAnythingIsDerived) {
  const TemporaryFolder folder;
  write_text(folder / "1" / "vm.out", "NODE_RANK: 0\nNNODES: 1\nWORLD_SIZE: 4\n");
  const auto report_now = [&] {
    return report_of_folders({folder / "1"}, {.now = std::chrono::sys_seconds{std::chrono::seconds(1)}});
  };
  EXPECT_EQ(report_now().split.data, std::nullopt) << "nobody said how they are split";
  write_text(folder / "1" / "plan.json", R"({"nadi_plan": 1, "model": "gpt2-tiny",
    "step": {"seq_length": 32, "global_batch_size": 4, "micro_batch_size": 1}, "plan": {"pp": 4}})");
  const JobReport report = report_now();
  EXPECT_EQ(report.split.data, 1);
  EXPECT_EQ(report.split.pipeline, 4);
  EXPECT_EQ(report.split.micro_batches, 4) << "4 samples by 1 replica in micro-batches of 1";
  EXPECT_THAT(plan_differences(report), testing::IsEmpty());
}

TEST(JobReport, SettingsFileOfOldScripts) {
  const TemporaryFolder folder;
  const WrittenJob job = write_job_logs(folder.path(), {});
  write_text(
      folder / "_00_conf.sh",
      "#!/bin/bash\nMODEL=gpt2xl\nNNODES=2\nNPROC_PER_NODE=4\nGLOBAL_BATCH_SIZE=32\nMICRO_BATCH_SIZE=4\n");
  const JobReport report = report_of_folders(job.folders, {.old_settings = folder / "_00_conf.sh"});
  std::vector<std::string> differ;
  for (const SettingRow& row : report.settings) {
    if (row.differs) differ.push_back(format("{} {} {}", row.name, row.asked.value_or("-"), row.where));
    if (row.name == "WORLD_SIZE") {
      EXPECT_EQ(row.asked, "8");
      EXPECT_FALSE(row.differs);
    }
  }
  EXPECT_THAT(differ, testing::ElementsAre("MICRO_BATCH_SIZE 4 _00_conf.sh:6"));
  EXPECT_TRUE(std::ranges::any_of(report.findings, [](const ReportedFinding& finding) {
    return finding.rule == "settings" && finding.text.starts_with("MICRO_BATCH_SIZE: asked for 4, n060");
  }));
}

TEST(JobReport, OfAFolderAsksTheRules) {
  const TemporaryFolder folder;
  const WrittenJob job = write_job_logs(folder.path(), {.nodes = 2, .nan_from = 50, .failing_node = 1});
  const JobReport report =
      report_of_folders(job.folders, {.now = std::chrono::sys_seconds(std::chrono::seconds(2'000'000'000))});
  EXPECT_TRUE(report.rules_asked);
  std::set<std::string> rules;
  for (const ReportedFinding& finding : report.findings) rules.insert(finding.rule);
  EXPECT_TRUE(rules.contains("loss")) << rules.size();
  EXPECT_TRUE(rules.contains("errors"));
}

TEST(JobReport, JsonHasNoNumberAsText) {
  const TemporaryFolder folder;
  const JobReport report = report_of(write_job_logs(folder.path(), {.nan_from = 50}));
  const Json json = Json::parse(job_report_json(report));
  EXPECT_EQ(json["last_loss"], "nan");
  EXPECT_EQ(json["points"]["loss"].back(), "nan");
  EXPECT_EQ(json["steady"]["warm_up_lines"], 1);
  EXPECT_EQ(json["split"]["world_size"], 8);
}

}  // namespace
}  // namespace nadi::inline jobs
