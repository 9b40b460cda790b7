#include "nadi/job_files/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/job_files/job_comments.h"
#include "nadi/job_files/job_keys.h"
#include "nadi/job_files/job_time.h"
#include "nadi/job_files/job_variables.h"
#include "nadi/shell/hostile_texts_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSmallJob = R"({"nadi_job": 1, "run": {"command": ["true"]}})";

JobFile parsed(const std::string& text, std::vector<std::string> set = {}) {
  return parse_job_file(text, "/home/me/job.json", {.set = std::move(set)});
}

// "message | hint" with the place in front.
std::string job_error(const std::string& text, std::vector<std::string> set = {}) {
  try {
    parsed(text, std::move(set));
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return "no error";
}

// The small job with more members.
std::string job_with(const std::string& members) {
  return R"({"nadi_job": 1, "run": {"command": ["true"]}, )" + members + "}";
}

TEST(JobFile, DefaultsAreThoseOfTheType) {
  JobFile expected;
  expected.run = {.kind = JobRunKind::kCommand, .words = {"true"}};
  expected.outputs = "/home/me/jobs";
  EXPECT_EQ(parsed(kSmallJob), expected);
}

TEST(JobFile, CommentsMayStandAnywhereButInTexts) {
  const JobFile job = parsed(
      "// a job\n{\"nadi_job\": 1, /* version\n of the format */ \"run\": {\"command\": [\"echo\", "
      "\"// no comment /* \\\" */\"]}} // end");
  EXPECT_THAT(job.run.words, ElementsAre("echo", "// no comment /* \" */"));
  EXPECT_THAT(job_error("{ /* "), HasSubstr("job.json:1:3: this comment has no end"));
  // The place of a mistake counts the comments in front of it.
  EXPECT_THAT(job_error("// one\n{\"nadi_job\": 1, /* two */ \"rum\": 1}"),
              HasSubstr("job.json:2:27: unknown key"));
}

TEST(JobFile, EveryKeyIsReadAndWrittenBack) {
  const JobFile job = parsed(R"({
    "nadi_job": 1, "name": "a \"quoted\" name", "scheduler": "slurm",
    "run": {"megatron": ["pretrain_gpt.py", "--a", "${RANK}$${x", "line\nbreak"], "program": "/opt/python", "folder": "src",
            "setup": ["module load cuda"]},
    "groups": [{"kind": "a100", "nodes": 1, "ranks_per_node": 8, "gpus_per_node": 8, "gpu_type": "a100",
                "cpus_per_rank": 4, "memory": "64 GiB", "partition": "a,b", "constraint": "ib&fast",
                "exclude": ["n1", "n[3-4]"], "nodelist": ["n9"]},
               {"nodes": 2, "ranks_per_node": 4}],
    "processes": "ranks", "mixing": "one-job", "mpi": "pmi2", "account": "me", "qos": "high",
    "reservation": "r", "dependency": "afterok:12", "time": "1-12:30:00", "exclusive": true,
    "options": ["--mail-type=END"],
    "container": {"kind": "pyxis", "image": "nvcr.io/x:1", "mounts": ["/d:/d:ro"], "folder": "/w"},
    "environment": {"inherit": false, "pass": ["HF_TOKEN"], "set": {"A": "x y"}},
    "profile": {"nsys": {"steps": "10-12", "ranks": "0-2,5"}},
    "requeue": {"before_end": "2 min", "signal": "USR2", "max_restarts": 3, "on_failure": true,
                "exclude_failed_nodes": true},
    "sample_every": "5 s", "comm_timeout": "30 min", "outputs": "out"})");
  EXPECT_EQ(job.comm_timeout, std::chrono::minutes(30));
  EXPECT_EQ(job.run.folder, "/home/me/src");
  EXPECT_EQ(job.outputs, "/home/me/out");
  EXPECT_EQ(job.time, std::chrono::seconds(131400));  // 36 h 30 min
  EXPECT_EQ(job.requeue.before_end, std::chrono::seconds(120));
  EXPECT_EQ(job.groups[0].memory, Bytes(std::int64_t{64} << 30));
  EXPECT_THAT(job.groups[0].partitions, ElementsAre("a", "b"));
  EXPECT_THAT(job.profile.nsys->ranks, ElementsAre(0, 1, 2, 5));
  EXPECT_EQ(job.ranks(), 16);  // 1 x 8 + 2 x 4
  EXPECT_EQ(parse_job_file(job_file_text(job), "/elsewhere/job.json"), job);
}

TEST(JobFile, GroupsTakeWhatTheyLeaveOutFromTheJob) {
  const JobFile job = parsed(job_with(
      R"("partition": "all", "cpus_per_rank": 3, "groups": [{"nodes": 2}, {"constraint": "slow", "cpus_per_rank": 1}])"));
  ASSERT_EQ(job.groups.size(), 2U);
  EXPECT_THAT(job.groups[0].partitions, ElementsAre("all"));
  EXPECT_EQ(job.groups[0].cpus_per_rank, 3);
  EXPECT_EQ(job.groups[1].cpus_per_rank, 1);
  EXPECT_EQ(job.groups[1].constraint, "slow");
}

TEST(JobFile, WrongFilesAreRefusedWithAPlace) {
  EXPECT_THAT(job_error("[]"), HasSubstr("a job is a JSON object"));
  EXPECT_THAT(job_error("{}"), HasSubstr("key 'nadi_job' is missing"));
  EXPECT_THAT(job_error(R"({"nadi_job": 2, "run": {}})"), HasSubstr("version 2 of the format"));
  EXPECT_THAT(job_error(job_with(R"("node": 3)")), HasSubstr("did you mean 'nodes'?"));
  EXPECT_THAT(job_error(job_with(R"("nodes": 0)")), HasSubstr("nodes"));
  EXPECT_THAT(job_error(job_with(R"("nodes": "3")")), HasSubstr("nodes"));
  EXPECT_THAT(job_error(R"({"nadi_job": 1, "run": {}})"),
              HasSubstr("exactly one of train, megatron and command"));
  EXPECT_THAT(job_error(R"({"nadi_job": 1, "run": {"train": ["a"], "command": ["b"]}})"),
              HasSubstr("'run' has 'train' and 'command'"));
  EXPECT_THAT(job_error(R"({"nadi_job": 1, "run": {"command": []}})"), HasSubstr("has no words"));
  EXPECT_THAT(job_error(job_with(R"("name": "a\nb")")), HasSubstr("control characters"));
  EXPECT_THAT(job_error(job_with(R"("partition": "a,,b")")), HasSubstr("an empty name"));
  EXPECT_THAT(job_error(job_with(R"("time": "2 hours")")), HasSubstr("not a time"));
  EXPECT_THAT(job_error(job_with(R"("container": {"kind": "podman"})")), HasSubstr("does not take 'podman'"));
  EXPECT_THAT(job_error(job_with(R"("container": {"kind": "docker"})")), HasSubstr("has no image"));
  EXPECT_THAT(job_error(job_with(R"("environment": {"set": {"RANK": "3"}})")),
              HasSubstr("set by the job itself"));
  EXPECT_THAT(job_error(job_with(R"("environment": {"set": {"A-B": "3"}})")),
              HasSubstr("no name of a variable"));
  EXPECT_THAT(job_error(job_with(R"("profile": {"trace": {"steps": "1"}})")), HasSubstr("can be traced"));
  EXPECT_THAT(job_error(job_with(R"("profile": {"nsys": {"steps": "3-2"}})")),
              HasSubstr("not a range of steps"));
  EXPECT_THAT(job_error(job_with(R"("profile": {"nsys": {"ranks": "1"}})")),
              HasSubstr("the job has 1 ranks"));
  EXPECT_THAT(job_error(job_with(R"("requeue": {"before_end": "60 s"})")), HasSubstr("without 'time'"));
  EXPECT_THAT(job_error(job_with(R"("time": "1", "requeue": {"before_end": "60 s"})")),
              HasSubstr("the whole time 60 s"));
  EXPECT_THAT(job_error(job_with(R"("requeue": {"before_end": "60"})")), HasSubstr("not a duration"));
  EXPECT_THAT(job_error(job_with(R"("sweep": {"values": {"A": ["1"]}}, "groups": [{}, {}])")),
              HasSubstr("no arrays of heterogeneous jobs"));
  EXPECT_THAT(job_error(job_with(R"("options": ["x"])")), HasSubstr("no option of sbatch"));
  EXPECT_THAT(job_error(R"({"nadi_job": 1, "run": {"command": ["${NODE_RNK}"]}})"),
              HasSubstr("did you mean 'NODE_RANK'?"));
  EXPECT_THAT(job_error(R"({"nadi_job": 1, "run": {"command": ["${RANK}"]}, "processes": "nodes"})"),
              HasSubstr("names a variable that this job does not have"));
}

TEST(JobFile, SettingsAreTypedByTheSchema) {
  EXPECT_EQ(parsed(kSmallJob, {"nodes=8"}).groups[0].nodes, 8);
  EXPECT_EQ(parsed(kSmallJob, {"requeue.max_restarts=3"}).requeue.max_restarts, 3);
  EXPECT_TRUE(parsed(kSmallJob, {"exclusive=true"}).exclusive);
  EXPECT_EQ(parsed(kSmallJob, {"name=8"}).name, "8");
  EXPECT_EQ(parsed(kSmallJob, {"environment.set.A=x=y"}).environment.set[0].second, "x=y");
  EXPECT_EQ(parsed(job_with(R"("groups": [{}, {}])"), {"groups.1.nodes=4"}).groups[1].nodes, 4);
  EXPECT_THAT(parsed(kSmallJob, {R"(run.command=["ls", "a b"])"}).run.words, ElementsAre("ls", "a b"));
  EXPECT_THAT(job_error(kSmallJob, {"nodes=x"}), HasSubstr("a whole number is wanted"));
  EXPECT_THAT(job_error(kSmallJob, {"exclusive=yes"}), HasSubstr("true or false is wanted"));
  EXPECT_THAT(job_error(kSmallJob, {"requeue.max_restart=1"}), HasSubstr("did you mean 'max_restarts'?"));
  EXPECT_THAT(job_error(kSmallJob, {"nodes.x=1"}), HasSubstr("nothing is below this key"));
  EXPECT_THAT(job_error(kSmallJob, {"groups.1.nodes=4"}), HasSubstr("none of the 0 elements"));
  EXPECT_THAT(job_error(kSmallJob, {"nodes"}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(job_error(kSmallJob, {"nodes=0"}), HasSubstr("with --set"));
  // A mistake that was in the file before is shown where it stands.
  EXPECT_THAT(job_error("\n" + job_with(R"("gpus": 1)"), {"nodes=2"}), HasSubstr("job.json:2:"));
}

TEST(JobFile, HostileWordsSurviveAsTheyAre) {
  JobFile job;
  for (const std::string& text : hostile_texts())
    if (text.find("\xff") == std::string::npos && text.find("${") == std::string::npos)
      job.run.words.push_back(text);
  job.outputs = "/o";
  EXPECT_EQ(parse_job_file(job_file_text(job), "/job.json").run.words, job.run.words);
}

TEST(JobFile, TheSchemaHasTheKeysOfTheReader) {
  const Json schema = Json::parse(job_schema());
  const auto same = [](const Json& properties, std::span<const std::string_view> keys) {
    std::vector<std::string> known(keys.begin(), keys.end()), listed;
    for (const auto& [key, value] : properties.items()) listed.push_back(key);
    EXPECT_THAT(listed, testing::UnorderedElementsAreArray(known));
  };
  const Json& defs = schema["$defs"];
  same(schema["properties"], kJobFileKeys);
  same(defs["run"]["properties"], kJobRunKeys);
  same(defs["group"]["properties"], kJobGroupKeys);
  same(defs["container"]["properties"], kJobContainerKeys);
  same(defs["environment"]["properties"], kJobEnvironmentKeys);
  same(defs["profile"]["properties"], kJobProfileKeys);
  same(defs["profiler"]["properties"], kJobProfilerKeys);
  same(defs["requeue"]["properties"], kJobRequeueKeys);
  same(defs["sweep"]["properties"], kJobSweepKeys);
}

TEST(JobTime, ReadsTheFormsOfSlurm) {
  const auto seconds = [](std::string_view text) {
    const auto time = parse_job_time(text);
    return time ? time->count() : -1;
  };
  EXPECT_EQ(seconds("30"), 1800);
  EXPECT_EQ(seconds("5:30"), 330);
  EXPECT_EQ(seconds("2:00:00"), 7200);
  EXPECT_EQ(seconds("1-12"), 129600);
  EXPECT_EQ(seconds("1-12:30"), 131400);
  EXPECT_EQ(seconds("1-12:30:05"), 131405);
  for (const std::string_view wrong : {"", "0", "-1", "a", "1:2:3:4", "1-", "99999999999999999999", "1 h"})
    EXPECT_EQ(seconds(wrong), -1) << wrong;
  EXPECT_EQ(job_time_text(std::chrono::seconds(131405)), "1-12:30:05");
  EXPECT_EQ(job_time_text(std::chrono::seconds(65)), "0:01:05");
}

TEST(JobFile, SetReachesFlagsOfTrain) {
  const std::string text =
      R"({"nadi_job": 1, "run": {"train": ["gpt2", "--max-steps", "4", "--save_dir=a"]}})";
  const auto words = [&](std::vector<std::string> set) {
    return parse_job_file(text, "job.json", {.set = std::move(set)}).run.words;
  };
  EXPECT_EQ(words({"run.train.max-steps=8"}),
            (std::vector<std::string>{"gpt2", "--max-steps", "8", "--save_dir=a"}));
  EXPECT_EQ(words({"run.train.--save-dir=b=c"}),
            (std::vector<std::string>{"gpt2", "--max-steps", "4", "--save_dir=b=c"}));
  EXPECT_EQ(words({"run.train.dtype=bf16"}),
            (std::vector<std::string>{"gpt2", "--max-steps", "4", "--save_dir=a", "--dtype", "bf16"}));
  EXPECT_EQ(words({"run.train.0=gpt2-xl"})[0], "gpt2-xl");
}

TEST(JobFile, MasterIsWhatTheJobSays) {
  const JobFile job = parse_job_file(
      R"({"nadi_job": 1, "run": {"command": ["a"]}, "master_address": "10.0.0.7", "master_port": 6787})",
      "job.json");
  EXPECT_EQ(job.master_address, "10.0.0.7");
  EXPECT_EQ(job.master_port, 6787);
  EXPECT_EQ(parse_job_file(job_file_text(job), "job.json"), job);
  EXPECT_THROW(
      parse_job_file(R"({"nadi_job": 1, "run": {"command": ["a"]}, "master_port": 70000})", "job.json"),
      Error);
}

}  // namespace
}  // namespace nadi::inline jobs
