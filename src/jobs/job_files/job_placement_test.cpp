#include "nadi/job_files/job_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/scheduler/job_start.h"

namespace nadi::inline jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// One node with 2 fast GPUs, then two with 1 slow GPU each: devices 0-1, 2, 3.
Cluster two_kinds() {
  Cluster cluster;
  cluster.name = "mixed";
  cluster.devices.resize(2);
  cluster.kinds.resize(2);
  cluster.kinds[0].name = "fast";
  cluster.kinds[0].device = 0;
  cluster.kinds[0].devices = 2;
  cluster.kinds[1].name = "slow";
  cluster.kinds[1].device = 1;
  cluster.kinds[1].devices = 1;
  cluster.nodes = {0, 1, 1};
  return cluster;
}

PlanFile plan_of(std::int64_t pp, std::vector<std::int32_t> devices) {
  PlanFile plan;
  plan.plan.pp = pp;
  for (const std::int32_t device : devices) plan.devices.push_back(DeviceId{device});
  return plan;
}

JobFile job_for_kinds() {
  JobFile job;
  job.run.words = {"true"};
  job.groups = {{.kind = "slow", .partitions = {"p-slow"}}, {.kind = "fast", .partitions = {"p-fast"}}};
  return job;
}

std::vector<std::string> placed(const JobFile& job) {
  std::vector<std::string> groups;
  for (const JobNodes& group : job.groups)
    groups.push_back(group.kind + " " + std::to_string(group.nodes) + "x" +
                     std::to_string(group.ranks_per_node) + " " + group.partitions.at(0) + " gpus " +
                     std::to_string(group.gpus_per_node));
  return groups;
}

std::string placement_error(JobFile job, const PlanFile& plan, const Cluster* cluster) {
  try {
    place_by_plan(job, plan, cluster);
  } catch (const Error& error) {
    return error.message() + " | " + error.hint();
  }
  return "no error";
}

TEST(JobPlacement, GroupsFollowTheRanksOfThePlan) {
  const Cluster cluster = two_kinds();
  JobFile job = job_for_kinds();
  place_by_plan(job, plan_of(4, {0, 1, 2, 3}), &cluster);
  EXPECT_THAT(placed(job), ElementsAre("fast 1x2 p-fast gpus 2", "slow 2x1 p-slow gpus 1"));
  // The first stage on a slow node, then the fast node, then the other slow node: three groups.
  job = job_for_kinds();
  place_by_plan(job, plan_of(4, {3, 0, 1, 2}), &cluster);
  EXPECT_THAT(placed(job),
              ElementsAre("slow 1x1 p-slow gpus 1", "fast 1x2 p-fast gpus 2", "slow 1x1 p-slow gpus 1"));
}

TEST(JobPlacement, WhatNoSchedulerCanDoIsSaid) {
  const Cluster cluster = two_kinds();
  EXPECT_THAT(placement_error(job_for_kinds(), plan_of(3, {0, 2, 1}), &cluster),
              HasSubstr("the ranks of node 0 of mixed do not follow one another"));
  JobFile job;
  EXPECT_THAT(placement_error(job, plan_of(4, {0, 1, 2, 3}), &cluster),
              AllOf(HasSubstr("takes nodes 'fast'"), HasSubstr("\"kind\": \"fast\"")));
  EXPECT_THAT(placement_error(job_for_kinds(), plan_of(2, {0, 1}), &cluster),
              HasSubstr("takes none of them"));
}

TEST(JobPlacement, WithoutAClusterRanksFillNodes) {
  JobFile job;
  job.groups[0].ranks_per_node = 4;
  place_by_plan(job, plan_of(8, {}), nullptr);
  EXPECT_EQ(job.groups[0].nodes, 2);
  EXPECT_THAT(placement_error(job, plan_of(6, {}), nullptr),
              HasSubstr("do not divide over nodes of 4 ranks"));
}

TEST(JobStart, IsAJobFileWithWhatTheClusterHas) {
  const std::vector<SchedulerNode> nodes{
      {.name = "n1",
       .partitions = {"fast", "all"},
       .state = "idle",
       .cpus = 16,
       .gpus = 4,
       .gpu_type = "a10",
       .features = {"ib"}},
      {.name = "n2", .partitions = {"all\n\"} evil"}, .state = "down*", .cpus = 8}};
  const std::string text = job_start_text(SchedulerKind::kSlurm, nodes);
  EXPECT_THAT(text, HasSubstr("fast: 1 node (1 idle), 16 CPUs, 4 GPUs a10, features ib"));
  const JobFile job = parse_job_file(text, "/home/me/job.json");
  EXPECT_EQ(job.groups[0].gpus_per_node, 4);
  EXPECT_EQ(job.groups[0].ranks_per_node, 4);
  EXPECT_EQ(job.groups[0].cpus_per_rank, 4);  // 16 CPUs for 4 ranks
  parse_job_file(job_start_text(SchedulerKind::kSlurm, {}), "/job.json");
  EXPECT_EQ(parse_job_file(job_start_text(SchedulerKind::kLocal, {}), "/job.json").scheduler,
            SchedulerKind::kLocal);
}

}  // namespace
}  // namespace nadi::inline jobs
