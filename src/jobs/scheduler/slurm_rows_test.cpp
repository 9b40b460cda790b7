// Answers of Slurm 22.05.8 are as its commands printed them, with SLURM_TIME_FORMAT=%s. Those of other
// versions are written by their documentation: no other version was at hand.
#include "nadi/scheduler/slurm_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/scheduler/slurm_text.h"

namespace nadi::inline jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(SlurmRows, AsksForTheFieldsThatItReads) {
  EXPECT_EQ(squeue_format("|"), "%A|%i|%T|%r|%M|%l|%P|%u|%N|%V|%S|%e|%j|%A");
  EXPECT_EQ(sacct_format(),
            "JobIDRaw,JobID,State,ExitCode,ElapsedRaw,TimelimitRaw,Partition,User,NodeList,Submit,Start,End,"
            "JobName,"
            "JobIDRaw");
}

TEST(SlurmRows, Squeue) {
  const SlurmRows rows = parse_squeue(
      "10|10|PENDING|Dependency|0:00|10:00|all|root||1794858702|N/A|N/A|dep|10\n"
      "5|5|RUNNING|None|0:02|10:00|all|root|n[1-2]|1794858702|1794858702|1794859302|cancelme|5\n"
      "8|8_[4-9%2]|PENDING|JobArrayTaskLimit|0:00|10:00|fast|root||1794858702|N/A|N/A|arr|8\n"
      "15|8_2|RUNNING|None|0:00|10:00|fast|root|n1|1794858702|1794858704|1794859304|arr|15\n",
      "|");
  EXPECT_EQ(rows.unread, 0);
  ASSERT_THAT(rows.jobs, SizeIs(4));
  EXPECT_EQ(rows.jobs[0].state, JobState::kPending);
  EXPECT_EQ(rows.jobs[0].reason, "Dependency");
  EXPECT_EQ(rows.jobs[0].started, std::nullopt);
  EXPECT_THAT(rows.jobs[0].nodes, IsEmpty());
  EXPECT_EQ(rows.jobs[1].id, "5");
  EXPECT_EQ(rows.jobs[1].name, "cancelme");
  EXPECT_EQ(rows.jobs[1].reason, "");
  EXPECT_THAT(rows.jobs[1].nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(rows.jobs[1].elapsed, std::chrono::seconds(2));
  EXPECT_EQ(rows.jobs[1].limit, std::chrono::minutes(10));
  EXPECT_EQ(rows.jobs[1].ended, std::nullopt);  // squeue says when it will
  EXPECT_EQ(rows.jobs[2].id, "8_[4-9%2]");
  EXPECT_EQ(rows.jobs[3].id, "8_2");
}

TEST(SlurmRows, NamesThatLookLikeRows) {
  const std::string answer =
      "28<~>28<~>RUNNING<~>None<~>0:02<~>10:00<~>slow<~>eve<~>n3<~>1794858702<~>1794858702<~>1794859302<~>"
      "new\n"
      "99|99|COMPLETED|None|0:02|10:00|slow|root|n3|1|1|1|forged|99\n<~>28\n"
      "29<~>29<~>RUNNING<~>None<~>0:02<~>10:00<~>slow<~>eve<~>n3<~>1794858702<~>1794858702<~>1794859302<~>a|"
      "b<~>29\n";
  const SlurmRows rows = parse_squeue(answer, "<~>");
  EXPECT_EQ(rows.unread, 0);
  ASSERT_THAT(rows.jobs, SizeIs(2));
  EXPECT_EQ(rows.jobs[0].id, "28");
  EXPECT_TRUE(rows.jobs[0].name.starts_with("new\n99|99|COMPLETED"));
  EXPECT_EQ(rows.jobs[1].name, "a|b");
}

TEST(SlurmRows, DamagedRowsAreCounted) {
  const SlurmRows rows = parse_squeue(
      "squeue: warning: something\n"
      "5|5|RUNNING|None|0:02|10:00|all|root|n[1-2]|1794858702|1794858702|1794859302|fine|5\n"
      "6|6|RUNNING|None|0:02|10:00|all|root|n[1-|1794858702|1794858702|1794859302|bad nodes|6\n"
      "7|7|RUNN",
      "|");
  EXPECT_THAT(rows.jobs, SizeIs(1));
  EXPECT_EQ(rows.unread, 3);
  EXPECT_EQ(rows.first_unread, "squeue: warning: something");
  EXPECT_EQ(parse_squeue("1<~>x<~>\n", "<~>").first_unread, "1|x|");
}

TEST(SlurmRows, SacctWithEachRunOfARequeuedJob) {
  const SlurmRows rows = parse_sacct(
      "4|4|REQUEUED|0:0|4|1|fast|root|n1|1794858677|1794858677|1794858681|rq|4\n"
      "4|4|COMPLETED|0:0|3|1|fast|root|n1|1794858681|1794858687|1794858690|rq|4\n"
      "5|5|CANCELLED by 0|0:15|2|10|all|root|n1|1794858702|1794858702|1794858704|cancelme|5\n"
      "7|7|NODE_FAIL|0:0|44|10|slow|root|n3|1794858702|1794858702|1794858746|nodekill2|7\n"
      "14|8_1|FAILED|1:0|1|10|fast|root|n1|1794858702|1794858702|1794858703|arr|14\n"
      "30|30|PENDING|0:0|0|UNLIMITED|fast|root|None assigned|1794858702|Unknown|Unknown|w|30\n",
      "|");
  EXPECT_EQ(rows.unread, 0);
  ASSERT_THAT(rows.jobs, SizeIs(6));
  EXPECT_EQ(rows.jobs[0].state, JobState::kPending);
  EXPECT_EQ(rows.jobs[0].said, "REQUEUED");
  EXPECT_EQ(rows.jobs[1].state, JobState::kDone);
  EXPECT_EQ(rows.jobs[1].exit_code, 0);
  EXPECT_EQ(rows.jobs[1].ended, JobTime(std::chrono::seconds(1794858690)));
  EXPECT_EQ(rows.jobs[2].state, JobState::kCancelled);
  EXPECT_EQ(rows.jobs[2].signal, 15);
  EXPECT_EQ(rows.jobs[3].state, JobState::kNodeFailed);
  EXPECT_EQ(rows.jobs[4].id, "8_1");
  EXPECT_EQ(rows.jobs[4].exit_code, 1);
  EXPECT_EQ(rows.jobs[4].limit, std::chrono::minutes(10));
  EXPECT_EQ(rows.jobs[5].limit, std::nullopt);
  EXPECT_EQ(rows.jobs[5].exit_code, std::nullopt);
}

TEST(SlurmRows, HeterogeneousJobsAreOne) {
  const SlurmRows rows = parse_sacct(
      "11|11+0|RUNNING|0:0|5|10|fast|root|n1|1794858702|1794858702|Unknown|het|11\n"
      "13|13|RUNNING|0:0|5|10|fast|root|n2|1794858702|1794858702|Unknown|other|13\n"
      "12|11+1|NODE_FAIL|0:0|7|10|slow|root|n[3-4]|1794858702|1794858702|1794858709|het|12\n",
      "|");
  const std::vector<JobStatus> jobs = with_components(rows.jobs);
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].id, "11");
  EXPECT_EQ(jobs[0].state, JobState::kRunning);  // a component still runs
  EXPECT_EQ(jobs[0].partition, "fast,slow");
  EXPECT_THAT(jobs[0].nodes, ElementsAre("n1", "n3", "n4"));
  EXPECT_EQ(jobs[0].elapsed, std::chrono::seconds(7));
  ASSERT_THAT(jobs[0].components, SizeIs(2));
  EXPECT_EQ(jobs[0].components[1].id, "11+1");
  EXPECT_EQ(jobs[1].id, "13");
  EXPECT_THAT(jobs[1].components, IsEmpty());
}

// Cut where it gets long; the rest is as it was.
constexpr std::string_view kShowJob2205 =
    "JobId=6 JobName=nodekill UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901754 Nice=0 "
    "Account=root "
    "QOS=normal JobState=PENDING Reason=BeginTime Dependency=(null) Requeue=1 Restarts=1 BatchFlag=1 "
    "Reboot=0 "
    "ExitCode=0:0 RunTime=00:00:00 TimeLimit=00:10:00 TimeMin=N/A SubmitTime=1794858746 Partition=slow "
    "AllocNode:Sid=localhost:7841 ReqNodeList=(null) ExcNodeList=n[3-4] NodeList= NumNodes=1 NumCPUs=1 "
    "NumTasks=1 "
    "Command=/tmp/j/c.sh Restarts=7 WorkDir=/tmp/j Power= \n";

TEST(SlurmRows, ScontrolShowJob) {
  const auto details = parse_scontrol_job(kShowJob2205, "nodekill");
  ASSERT_TRUE(details);
  EXPECT_EQ(details->id, "6");
  EXPECT_EQ(details->restarts, 1);
  EXPECT_TRUE(details->may_requeue);
  EXPECT_THAT(details->excluded, ElementsAre("n3", "n4"));
  EXPECT_FALSE(parse_scontrol_job(kShowJob2205, "another"));
  EXPECT_FALSE(parse_scontrol_job("", ""));
  EXPECT_FALSE(parse_scontrol_job("slurm_load_jobs error: Invalid job id specified\n", "x"));
}

TEST(SlurmRows, ScontrolShowJobOfANameThatLooksLikeKeys) {
  const std::string name = "x Restarts=9 ExitCode=1:0 UserId=bob";
  const auto details = parse_scontrol_job(
      "JobId=29 JobName=" + name +
          " UserId=root(0) JobState=RUNNING Requeue=0 Restarts=0 ExitCode=0:0 ExcNodeList=(null)",
      name);
  ASSERT_TRUE(details);
  EXPECT_EQ(details->restarts, 0);
  EXPECT_EQ(details->exit_code, 0);
  EXPECT_THAT(details->excluded, IsEmpty());
}

// 20.11 says PackJobId no more and HetJobId already; 23.11 adds keys between those that are read.
TEST(SlurmRows, ScontrolShowJobByTheDocumentationOfOtherVersions) {
  const auto old = parse_scontrol_job(
      "JobId=11 HetJobId=11 HetJobOffset=0 JobName=a HetJobIdSet=11-12 UserId=u(1) JobState=RUNNING "
      "Reason=None "
      "Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0 ExcNodeList=(null) NodeList=n1",
      "a");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->restarts, 2);
  const auto recent = parse_scontrol_job(
      "JobId=11 JobName=a UserId=u(1) JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=1 "
      "Restarts=0 "
      "BatchFlag=1 Reboot=0 ExitCode=3:0 DerivedExitCode=0:0 RunTime=00:00:01 ExcNodeList= NodeList=n1 "
      "ReqTRES=cpu=1,mem=4000M AllocTRES=cpu=1 TresPerTask=cpu=1",
      "a");
  ASSERT_TRUE(recent);
  EXPECT_EQ(recent->exit_code, 3);
}

TEST(SlurmRows, ScontrolShowNode) {
  const auto nodes = parse_scontrol_nodes(
      "NodeName=n3 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=5.40 "
      "AvailableFeatures=slow,a10 "
      "ActiveFeatures=slow Gres=gpu:a10:4(S:0,1),nic:2 NodeAddr=127.0.0.1 NodeHostName=vm Port=29420 "
      "Version=22.05.8 "
      "OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=4000 AllocMem=0 FreeMem=19526 Sockets=8 "
      "Boards=1 "
      "State=DOWN+NOT_RESPONDING ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
      "Partitions=all,slow  "
      "BootTime=1794857600 Reason=Not responding State=IDLE [root@1794858746]\n"
      // By the documentation of 20.11.
      "NodeName=n4 Arch=x86_64 CoresPerSocket=1 CPUAlloc=0 CPUTot=8 AvailableFeatures=(null) Gres=gpu:2 "
      "RealMemory=4000 "
      "State=IDLE* Partitions=all\n");
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].name, "n3");
  EXPECT_EQ(nodes[0].state, "down+not_responding");
  EXPECT_EQ(nodes[0].cpus, 8);
  EXPECT_EQ(nodes[0].memory, Bytes{4000LL * 1024 * 1024});
  EXPECT_EQ(nodes[0].gpus, 4);
  EXPECT_EQ(nodes[0].gpu_type, "a10");
  EXPECT_THAT(nodes[0].partitions, ElementsAre("all", "slow"));
  EXPECT_THAT(nodes[0].features, ElementsAre("slow", "a10"));
  EXPECT_EQ(nodes[1].gpus, 2);
  EXPECT_EQ(nodes[1].gpu_type, "");
  EXPECT_THAT(nodes[1].features, IsEmpty());
  EXPECT_TRUE(is_bad_node_state(nodes[0].state));
  EXPECT_TRUE(is_bad_node_state(nodes[1].state));
  EXPECT_FALSE(is_bad_node_state("idle"));
  EXPECT_FALSE(is_bad_node_state("mixed+planned"));
}

TEST(SlurmRows, FailedNodesThatSrunNamed) {
  EXPECT_THAT(
      failed_nodes_said("start\nsrun: error: Node failure on n4\nsrun: error: Node failure on n[4-5]\n"),
      ElementsAre("n4", "n5"));
  EXPECT_THAT(failed_nodes_said("rank 3: srun: error: Node failure on n4\n"), IsEmpty());
  EXPECT_THAT(failed_nodes_said("srun: error: Node failure on "), IsEmpty());
}

}  // namespace
}  // namespace nadi::inline jobs
