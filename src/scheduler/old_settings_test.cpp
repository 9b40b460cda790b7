#include "nadi/scheduler/old_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kConf =
    "#!/bin/bash\n"
    "HOMOGENEOUS_CLUSTER=true\n"
    "export MODEL=\"gpt2-xl\"   # the model\n"
    "NPROC_PER_NODE=4\nNNODES=8\n"
    "GLOBAL_BATCH_SIZE=64\nMICRO_BATCH_SIZE='1'\n"
    "TENSOR_MP_SIZE=1\nDP_SIZE=4\nPIPELINE_MP_SIZE=8\n"
    "PARTITION=\"1-11-8-8-8-8-5-1\"\n"
    "NSYS=false\nPROFILE=false\nMASTER_PORT=6000\nRELOAD_CONTAINER=false\nZERO=false\n";
constexpr const char* kScript =
    "#!/bin/sh\n#SBATCH -J gpt2 --time=02:00:00\n#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=1\n"
    "#SBATCH --gres=gpu:a10:4\n#SBATCH -p \"a10,all\"\n#SBATCH --nodelist=n[060-063],n070\n#SBATCH "
    "--cpus-per-task=32\n"
    "#SBATCH -o ./log2/%j/out.txt\n#SBATCH --comment=pytorch\n. _00_conf.sh\n#SBATCH --nodes=99\nsrun bash "
    "run.sh\n";

OldSettings read_old(const std::string& conf, const std::string& script = kScript) {
  write_text("_00_conf.sh", conf);
  write_text("_02_homo_job.sh", script);
  return read_old_settings("_00_conf.sh", "_02_homo_job.sh");
}

std::string old_error(const std::string& conf, const std::string& script = kScript) {
  try {
    read_old(conf, script);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(OldSettings, BecomeAJob) {
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
  EXPECT_THAT(nodes.partitions, ElementsAre("a10", "all"));
  EXPECT_THAT(nodes.nodelist, ElementsAre("n[060-063]", "n070"));
  EXPECT_THAT(old.job.options, ElementsAre("--comment=pytorch"));
  // Embedding and head count in the first and the last stage there: 11 + 4 x 8 + 5 = 48 layers.
  EXPECT_THAT(old.job.run.words,
              ElementsAre("gpt2-xl", "--global-batch-size", "64", "--micro-batch-size", "1",
                          "--tensor-model-parallel-size", "1", "--dp", "4", "--pipeline-model-parallel-size",
                          "8", "--partition", "0-11-8-8-8-8-5-0"));
}

TEST(OldSettings, WhatIsUnknownIsNamed) {
  const WorkingFolder folder;
  const OldSettings old = read_old(std::string(kConf) + "LEARNING=3\nif true; then\n");
  EXPECT_THAT(old.notes, Contains(HasSubstr("_00_conf.sh:17: unknown setting LEARNING")));
  EXPECT_THAT(old.notes, Contains(HasSubstr("line 18 not of the form KEY=value")));
  EXPECT_THAT(old.notes, Contains(HasSubstr("MASTER_PORT is not taken over")));
  EXPECT_THAT(old.notes, Contains(HasSubstr("--output is not taken over")));
}

TEST(OldSettings, NothingIsExecuted) {
  const WorkingFolder folder;
  for (const char* value : {"$(touch was_here)", "`touch was_here`", "\"$(touch was_here)\""})
    EXPECT_THAT(old_error(std::string(kConf) + "X=" + value + "\n"),
                HasSubstr("_00_conf.sh:17: the value is the output of a command"));
  EXPECT_FALSE(std::filesystem::exists("was_here"));
  EXPECT_EQ(read_old(std::string(kConf) + "BASE=gpt2\nMODEL=${BASE}-xl\n").job.run.words[0], "gpt2-xl");
  EXPECT_EQ(read_old(std::string(kConf) + "BASE=gpt2\nMODEL='$BASE'\n").job.run.words[0], "$BASE");
}

TEST(OldSettings, ContradictionsAndDamageAreRefused) {
  const WorkingFolder folder;
  EXPECT_THAT(old_error(std::string(kConf) + "NNODES=4\n"), HasSubstr("--nodes=8"));
  EXPECT_THAT(old_error(std::string(kConf) + "DP_SIZE=2\n"),
              HasSubstr("is 16, and 8 nodes of 4 ranks have 32"));
  EXPECT_THAT(old_error(std::string(kConf) + "NNODES=many\n"), HasSubstr("NNODES is 'many'"));
  EXPECT_THAT(old_error(std::string(kConf) + "MODEL=\"gpt2\n"), HasSubstr("a quote without an end"));
  EXPECT_THAT(old_error(std::string(kConf) + "MODEL=gpt2 xl\n"), HasSubstr("'xl' follows the value"));
  EXPECT_THAT(old_error("NNODES=8\n"), HasSubstr("no MODEL="));
  EXPECT_THAT(old_error(kConf, "#SBATCH --time=soon\n"), HasSubstr("_02_homo_job.sh:1: --time is 'soon'"));
  EXPECT_THAT(old_error(kConf, "#SBATCH hetjob\n"), HasSubstr("heterogeneous"));
  EXPECT_THROW(read_old_settings("missing.sh", ""), Error);
}

}  // namespace
}  // namespace nadi
