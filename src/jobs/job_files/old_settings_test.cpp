#include "nadi/job_files/old_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline jobs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

// As the guide prints it: the dots stand for lines that it leaves out.
constexpr const char* kConf =
    ".\n.\n.\n"
    "HOMOGENEOUS_CLUSTER=true # true | false\n"
    "MODEL='xl' # 'small' or 'xl'\n"
    "NPROC_PER_NODE=4 # GPUs of a node\n"
    "NNODES=8 # nodes\n"
    "WORLD_SIZE=$((NPROC_PER_NODE * NNODES))\n"
    "GLOBAL_BATCH_SIZE=64\nMICRO_BATCH_SIZE=1\n"
    "TENSOR_MP_SIZE=1\nDP_SIZE=4\nPIPELINE_MP_SIZE=8\n"
    "PARTITION=\"0-11-8-8-8-8-5-0\"\n"
    "NSYS=false # Nsight Systems\nPROFILE=false\nMASTER_PORT=6787 \nRELOAD_CONTAINER=false\n";
constexpr const char* kScript =
    "#!/bin/sh\n#SBATCH -J gpt2 --time=02:00:00\n#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=1\n"
    "#SBATCH --gres=gpu:a10:4\n#SBATCH -p \"gpu2,all\"\n#SBATCH --nodelist=n[060-063],n070\n...\n#SBATCH "
    "--cpus-per-task=32\n"
    "#SBATCH -o ./log2/%j/out.txt\n#SBATCH --comment=pytorch\nGRES=\"gpu:a10:4\"\n. _00_conf.sh\n#SBATCH "
    "--nodes=99\n"
    "MASTER_ADDR=$(hostname -i)\nsrun --gres=$GRES bash run.sh\n";
constexpr const char* kMaster =
    "#!/bin/sh\n#SBATCH --nodes=1\n#SBATCH --partition=gpu1\n#SBATCH --gres=gpu:a100:4\n#SBATCH "
    "--time=1:00:00\n"
    "GRES=\"gpu:a100:4\"\n. _00_conf.sh\nsrun --gres=$GRES x\n";
constexpr const char* kSlave =
    "#!/bin/sh\n#SBATCH --nodes=7\n#SBATCH --partition=gpu2\n#SBATCH --gres=gpu:a10:4\n#SBATCH "
    "--time=2:00:00\n"
    "GRES=\"gpu:a10:4\"\n. _00_conf.sh\n# get_master_adress\nMASTER_ADDR='192.168.120.60'\nsrun --gres=$GRES "
    "x\n";

OldSettings read_old(const std::string& conf, const std::string& script = kScript) {
  write_text("_00_conf.sh", conf);
  write_text("_02_homo_job.sh", script);
  return read_old_settings("_00_conf.sh", {"_02_homo_job.sh"});
}

OldSettings read_two(const std::string& conf, const std::string& master = kMaster,
                     const std::string& slave = kSlave) {
  write_text("_00_conf.sh", conf);
  write_text("_02_hetero_master_job.sh", master);
  write_text("_02_hetero_slave_job.sh", slave);
  return read_old_settings("_00_conf.sh", {"_02_hetero_master_job.sh", "_02_hetero_slave_job.sh"});
}

template <typename Read>
std::string error_of(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    return std::string(error.what()) + (error.hint().empty() ? "" : " | " + error.hint());
  }
  return "no error";
}
std::string old_error(const std::string& conf, const std::string& script = kScript) {
  return error_of([&] { read_old(conf, script); });
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::vector<std::string> kWords{"gpt2-xl",
                                      "--global-batch-size",
                                      "64",
                                      "--micro-batch-size",
                                      "1",
                                      "--tensor-model-parallel-size",
                                      "1",
                                      "--dp",
                                      "4",
                                      "--pipeline-model-parallel-size",
                                      "8",
                                      "--train-iters",
                                      "50",
                                      "--log-interval",
                                      "10",
                                      "--seq-length",
                                      "1024",
                                      "--device",
                                      "cuda",
                                      "--partition",
                                      "0-11-8-8-8-8-5-0"};

TEST(OldSettings, OfTheGuideBecomeAJob) {
  const WorkingFolder folder;
  const OldSettings old = read_old(kConf);
  const JobNodes& nodes = old.job.groups[0];
  EXPECT_EQ(old.job.name, "gpt2");
  EXPECT_EQ(old.job.time, std::chrono::hours(2));
  EXPECT_EQ(nodes.nodes, 8);
  EXPECT_EQ(nodes.ranks_per_node, 4);
  EXPECT_EQ(nodes.gpus_per_node, 4);
  EXPECT_EQ(nodes.gpu_type, "a10");
  EXPECT_EQ(nodes.cpus_per_rank, 8);  // 32 of a node for 4 ranks
  EXPECT_THAT(nodes.partitions, ElementsAre("gpu2", "all"));
  EXPECT_THAT(nodes.nodelist, ElementsAre("n[060-063]", "n070"));
  EXPECT_THAT(old.job.options, ElementsAre("--comment=pytorch"));
  EXPECT_EQ(old.job.master_port, 6787);
  EXPECT_EQ(old.job.master_address, "");  // a command gives it
  EXPECT_EQ(old.job.run.words, kWords);   // 11 + 4 x 8 + 5 = 48 layers
  EXPECT_EQ(read_old(with(kConf, "'xl'", "small") + "PARTITION=\nNUM_LAYERS=12\n").job.run.words[0], "gpt2");
}

// What the scripts that are replaced trained on GPUs is not trained on processors unless the settings say so.
TEST(OldSettings, RunOnGpus) {
  const WorkingFolder folder;
  EXPECT_THAT(read_old(kConf).notes, Contains(HasSubstr("--device cuda; DEVICE=cpu changes that")));
  const OldSettings on_cpu = read_old(std::string(kConf) + "DEVICE=cpu\nDTYPE=bf16\n");
  EXPECT_THAT(on_cpu.job.run.words, IsSupersetOf({"--device", "cpu", "--dtype", "bf16"}));
  EXPECT_THAT(on_cpu.job.run.words, Not(Contains("cuda")));
  EXPECT_THAT(on_cpu.notes, Not(Contains(HasSubstr("--device"))));
  EXPECT_EQ(old_error(std::string(kConf) + "DEVICE=gpu\n"),
            "_00_conf.sh:19: DEVICE is 'gpu' | known: cuda, cpu");
  EXPECT_THAT(old_error(std::string(kConf) + "DTYPE=fp8\n"), HasSubstr("DTYPE is 'fp8' | "));
}

// The guide's settings in other orders, with other spaces, quotes and comments, say the same.
TEST(OldSettings, ChangesOfFormChangeNothing) {
  const WorkingFolder folder;
  std::string reversed;
  for (std::string rest = kConf; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    reversed = rest.substr(0, end + 1) + reversed;
    rest.erase(0, end + 1);
  }
  // NNODES and NPROC_PER_NODE must stand above what is computed of them, as in a shell.
  EXPECT_THAT(
      old_error(reversed),
      HasSubstr("_00_conf.sh:11: WORLD_SIZE is 0, and the nodes have 32 ranks | a shell does not know "
                "here what is set below, NPROC_PER_NODE in line 13 and NNODES in line 12: move this "
                "line below them"));
  for (const std::string& conf :
       {with(reversed, "WORLD_SIZE=$((NPROC_PER_NODE * NNODES))\n", "") +
            "WORLD_SIZE=$(( NNODES*$NPROC_PER_NODE ))\n",
        with(kConf, "MODEL='xl'", "  export MODEL=\"x\"'l'"),
        with(kConf, "NNODES=8", "NODES=8; NNODES=${NODES:-4}"),
        with(kConf, "DP_SIZE=4", "DP_SIZE=$((WORLD_SIZE / 8 / TENSOR_MP_SIZE))"),
        with(kConf, "\"0-11-8-8-8-8-5-0\"", "'[0, 11, 8, 8, 8, 8, 5, 0]'"),
        with(kConf, "\"0-11-8-8-8-8-5-0\"", "1-11-8-8-8-8-5-1"), with(kConf, "WORLD_SIZE=", "#WORLD_SIZE="),
        with(kConf, "\n.\n", "\r\n..\r\n"),
        with(kConf, "HOMOGENEOUS_CLUSTER=true", "if [ -z \"$X\" ]; then HOMOGENEOUS_CLUSTER=True; fi")})
    EXPECT_EQ(read_old(conf).job.run.words, kWords) << conf;
}

TEST(OldSettings, MasterAndSlavesAreTwoGroupsOfOneJob) {
  const WorkingFolder folder;
  const std::string conf = with(kConf, "CLUSTER=true", "CLUSTER=false");
  const OldSettings old = read_two(conf);
  ASSERT_EQ(old.job.groups.size(), 2U);
  EXPECT_EQ(old.job.groups[0].nodes, 1);
  EXPECT_EQ(old.job.groups[0].gpu_type, "a100");
  EXPECT_THAT(old.job.groups[0].partitions, ElementsAre("gpu1"));
  EXPECT_EQ(old.job.groups[1].nodes, 7);
  EXPECT_EQ(old.job.groups[1].gpu_type, "a10");
  EXPECT_EQ(old.job.groups[1].ranks_per_node, 4);
  EXPECT_EQ(old.job.ranks(), 32);
  EXPECT_EQ(old.job.time, std::chrono::hours(1));
  EXPECT_EQ(old.job.master_address, "192.168.120.60");
  EXPECT_THAT(old.notes, Contains(HasSubstr("--time=2:00:00 of _02_hetero_slave_job.sh is not taken over")));
  const OldSettings turned =
      read_old_settings("_00_conf.sh", {"_02_hetero_slave_job.sh", "_02_hetero_master_job.sh"});
  EXPECT_EQ(turned.job, old.job);
  EXPECT_THAT(turned.notes, Contains("_02_hetero_master_job.sh comes first: rank 0 is there"));
}

TEST(OldSettings, NodesOfTwoScriptsAddUpAndThoseOfOneAreTheSame) {
  const WorkingFolder folder;
  const std::string conf = with(kConf, "CLUSTER=true", "CLUSTER=false");
  EXPECT_EQ(error_of([&] { read_two(conf, kMaster, with(kSlave, "nodes=7", "nodes=8")); }),
            "_00_conf.sh:7: NNODES is 8, and _02_hetero_master_job.sh and _02_hetero_slave_job.sh ask for 1 "
            "+ 8 = 9 "
            "nodes | the nodes of the master and of the slaves add up to NNODES");
  EXPECT_EQ(old_error(kConf, with(kScript, "nodes=8", "nodes=9")),
            "_02_homo_job.sh:3: --nodes=9, and NNODES=8 at _00_conf.sh:7 | make them the same");
  EXPECT_THAT(old_error(conf, kMaster),
              HasSubstr("--nodes=1, and NNODES=8 at _00_conf.sh:7 | make them the same; a "
                        "heterogeneous job has two scripts"));
  EXPECT_THAT(error_of([&] { read_two(kConf); }), HasSubstr("HOMOGENEOUS_CLUSTER is true, and 2 scripts"));
  EXPECT_THAT(error_of([&] { read_two(conf, std::string(kMaster) + "MASTER_ADDR=n1\n"); }),
              HasSubstr("MASTER_ADDR is '192.168.120.60', and _02_hetero_master_job.sh:9 says 'n1'"));
  EXPECT_THAT(old_error(kConf, with(kScript, "GRES=\"gpu:a10:4\"", "GRES=\"gpu:a10:2\"")),
              HasSubstr("GRES is 'gpu:a10:2', and line 5 asks for --gres=gpu:a10:4"));
}

TEST(OldSettings, ProfilersActOrSayWhyNot) {
  const WorkingFolder folder;
  const OldSettings profile = read_old(with(kConf, "PROFILE=false", "PROFILE=true"));
  EXPECT_EQ(profile.job.profile.trace, (ProfilerUse{.steps = StepRange{10, 12}}));
  EXPECT_THAT(profile.job.run.words, Contains("--timing-log-option"));
  const OldSettings brief = read_old(with(kConf, "PROFILE=false", "PROFILE=true") + "TRAIN_ITERS=2\n");
  EXPECT_EQ(brief.job.profile.trace, (ProfilerUse{.steps = StepRange{1, 2}}));
  const std::string both = with(with(kConf, "PROFILE=false", "PROFILE=true"), "NSYS=false", "NSYS=true");
  const OldSettings nsys = read_old(both);
  EXPECT_TRUE(nsys.job.profile.nsys && !nsys.job.profile.trace);
  EXPECT_THAT(nsys.notes, Contains(HasSubstr("PROFILE=true and NSYS=true")));
  EXPECT_THAT(nsys.notes,
              Contains(HasSubstr("RELOAD_CONTAINER has no effect: 'nadi train' runs without a container")));
}

TEST(OldSettings, WhatIsUnknownIsNamed) {
  const WorkingFolder folder;
  const OldSettings old = read_old(std::string(kConf) + "GLOBAL_BATCHSIZE=3\nmkdir -p log\n");
  EXPECT_THAT(old.notes,
              Contains(HasSubstr("_00_conf.sh:19: GLOBAL_BATCHSIZE is no setting that is known here; did "
                                 "you mean 'GLOBAL_BATCH_SIZE'")));
  EXPECT_THAT(old.notes, Contains("_00_conf.sh:20: the command 'mkdir' is not run"));
  EXPECT_THAT(old.notes, Contains("_00_conf.sh: lines 1, 2, 3 of dots: lines that were left out"));
  EXPECT_THAT(old.notes, Contains(HasSubstr("--output is not taken over")));
  EXPECT_THAT(old.notes, Contains(HasSubstr("not in the settings: --train-iters 50, --log-interval 10")));
  EXPECT_THAT(old.notes, Not(Contains(HasSubstr("MASTER_PORT is"))));
}

TEST(OldSettings, NothingIsExecuted) {
  const WorkingFolder folder;
  for (const char* value : {"$(touch was_here)", "`touch was_here`", "\"$(touch was_here)\""})
    EXPECT_THAT(old_error(std::string(kConf) + "X=" + value + "\n"),
                HasSubstr("_00_conf.sh:19: X needs the output of the command 'touch was_here'"));
  EXPECT_FALSE(std::filesystem::exists("was_here"));
}

TEST(OldSettings, ContradictionsAndDamageAreRefused) {
  const WorkingFolder folder;
  const std::string conf = kConf;
  EXPECT_THAT(old_error(conf + "NNODES=4\n"), HasSubstr("--nodes=8"));
  EXPECT_THAT(old_error(conf + "DP_SIZE=2\n"), HasSubstr("is 16, and 8 nodes of 4 ranks have 32"));
  EXPECT_THAT(old_error(conf + "WORLD_SIZE=16\n"),
              HasSubstr("WORLD_SIZE is 16, and the nodes have 32 ranks"));
  EXPECT_THAT(old_error(conf + "NNODES=many\n"), HasSubstr("NNODES is 'many'"));
  EXPECT_THAT(old_error(conf + "MODEL=xxl\n"), HasSubstr("_00_conf.sh:19: MODEL is 'xxl'"));
  EXPECT_THAT(old_error(conf + "MODEL=xxl\n"), HasSubstr("'small' (gpt2) or 'xl' (gpt2-xl)"));
  EXPECT_THAT(old_error(conf + "NUM_LAYERS=24\n"), HasSubstr("NUM_LAYERS is 24, and model 'xl' has 48"));
  EXPECT_THAT(old_error(conf + "PARTITION=0-11-8-8-8-8-4-0\n"),
              HasSubstr("PARTITION is '0-11-8-8-8-8-4-0', 47 layers, and the model has 48"));
  EXPECT_THAT(old_error(conf + "PARTITION=24-24\n"), HasSubstr("2 stages, and PIPELINE_MP_SIZE is 8"));
  EXPECT_THAT(old_error(conf + "PARTITION=a-b\n"), HasSubstr("not a list of layers"));
  EXPECT_THAT(old_error(conf + "PROFILE=perhaps\n"),
              HasSubstr("PROFILE is 'perhaps', neither true nor false"));
  EXPECT_THAT(old_error(conf + "MASTER_PORT=70000\n"), HasSubstr("the last port is 65535"));
  EXPECT_THAT(old_error(conf + "MODEL=\"gpt2\n"), HasSubstr("a quote without an end"));
  EXPECT_THAT(old_error("NNODES=8\n"), HasSubstr("no MODEL="));
  EXPECT_THAT(old_error(conf, "#SBATCH --time=soon\n"), HasSubstr("_02_homo_job.sh:1: --time is 'soon'"));
  EXPECT_THAT(old_error(conf, "#SBATCH --gres=gpu:a10\n"), HasSubstr("not a number of GPUs"));
  EXPECT_THAT(old_error(conf, "#SBATCH hetjob\n"), HasSubstr("heterogeneous"));
  EXPECT_THROW(read_old_settings("missing.sh", {}), Error);
}

}  // namespace
}  // namespace nadi::inline jobs
