#include "nadi/launch/mpirun_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "nadi/base/temporary_folder.h"
#include "nadi/launch/launch.h"
#include "nadi/launch/rank_supervisor.h"
#include "nadi/testing/temporary_variable.h"

namespace nadi::inline jobs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

LaunchRequest request() {
  return {.ranks = 4,
          .command = {"/bin/nadi", "train", "gpt2"},
          .supervisor = {"/bin/nadi", "launch-rank"},
          .environment = {{"NADI_SLOW", "1:2"}}};
}

TEST(MpirunCommand, OnOneHostTakesMoreRanksThanCores) {
  const ChildOptions options = mpirun_command(request(), "/usr/bin/mpirun", "secret@127.0.0.1:1");
  EXPECT_THAT(options.words,
              ElementsAre("/usr/bin/mpirun", "-n", "4", "--bind-to", "none", "-x", "NADI_SLOW", "-x",
                          "NADI_LAUNCHER", "--oversubscribe", "--mca", "oob_tcp_if_include", "lo", "--mca",
                          "btl", "^tcp,ofi,openib,usnic,uct", "--mca", "btl_tcp_if_include", "lo",
                          "/bin/nadi", "launch-rank", "/bin/nadi", "train", "gpt2"));
  EXPECT_THAT(options.words, Not(Contains(testing::HasSubstr("secret"))))
      << "everybody may read command lines";
  EXPECT_THAT(options.environment,
              IsSupersetOf({Pair("NADI_SLOW", "1:2"), Pair("NADI_LAUNCHER", "secret@127.0.0.1:1")}));
  if (geteuid() == 0) {
    EXPECT_THAT(options.environment, Contains(Pair("OMPI_ALLOW_RUN_AS_ROOT", "1")));
  }
}

TEST(MpirunCommand, WhatTheUserSetsOfOpenMpiCounts) {
  const TemporaryVariable btl("OMPI_MCA_btl", "tcp,self");
  const TemporaryVariable interfaces("OMPI_MCA_oob_tcp_if_exclude", "eth0");
  const std::vector<std::string> words = mpirun_command(request(), "mpirun", "s@h:1").words;
  EXPECT_THAT(words, Not(Contains("btl")));
  EXPECT_THAT(words, Not(Contains("oob_tcp_if_include")));
  EXPECT_THAT(words, IsSupersetOf({"btl_tcp_if_include", "lo"}));
}

TEST(MpirunCommand, LoadsTheModuleBesideTheProgramBeforeWhatTheUserLoads) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "libnadi_loopback.so");
  const std::string module = canonical(folder.path() / "libnadi_loopback.so").string();
  LaunchRequest here = request();
  here.supervisor = {(folder.path() / "nadi").string(), "launch-rank"};
  {
    const TemporaryVariable none("LD_PRELOAD", "");
    EXPECT_THAT(mpirun_command(here, "mpirun", "s@h:1").environment, Contains(Pair("LD_PRELOAD", module)));
    EXPECT_THAT(mpirun_command(here, "mpirun", "s@h:1").words, Not(Contains("LD_PRELOAD")))
        << "ranks need it not";
    EXPECT_THAT(mpirun_command(request(), "mpirun", "s@h:1").environment,
                Not(Contains(Pair("LD_PRELOAD", testing::_))))
        << "there is no such module in /bin";
  }
  const TemporaryVariable users("LD_PRELOAD", "libothers.so");
  EXPECT_THAT(mpirun_command(here, "mpirun", "s@h:1").environment,
              Contains(Pair("LD_PRELOAD", module + ":libothers.so")));
  here.hosts = "a:2,b:2";
  EXPECT_THAT(mpirun_command(here, "mpirun", "s@h:1").environment,
              Not(Contains(Pair("LD_PRELOAD", testing::_))))
      << "daemons on other hosts must be reached";
}

TEST(MpirunCommand, OnSeveralHostsCarriesTheEnvironment) {
  setenv("OMP_NUM_THREADS", "3", 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("LOGLEVEL", "INFO", 1);
  LaunchRequest hosts = request();
  hosts.hosts = "a:2,b:2";
  const std::vector<std::string> words = mpirun_command(hosts, "mpirun", "s@h:1").words;
  EXPECT_THAT(words, IsSupersetOf({"--host", "a:2,b:2", "-x", "OMP_NUM_THREADS", "NCCL_DEBUG", "LOGLEVEL"}));
  EXPECT_THAT(words, Not(Contains("--oversubscribe")));
  LaunchRequest file = request();
  file.hostfile = "hosts.txt";
  EXPECT_THAT(mpirun_command(file, "mpirun", "s@h:1").words, IsSupersetOf({"--hostfile", "hosts.txt"}));
  unsetenv("OMP_NUM_THREADS");
  unsetenv("NCCL_DEBUG");
  unsetenv("LOGLEVEL");
}

TEST(MpirunCommand, KnowsWhenABatchSystemLendsSeveralHosts) {
  EXPECT_FALSE(spans_hosts(request()));
  setenv("SLURM_JOB_NUM_NODES", "1", 1);
  EXPECT_FALSE(spans_hosts(request()));
  setenv("SLURM_JOB_NUM_NODES", "2", 1);
  EXPECT_TRUE(spans_hosts(request()));
  unsetenv("SLURM_JOB_NUM_NODES");
}

TEST(RankEnvironment, SharesOutTheCores) {
  EXPECT_THAT(rank_environment(8, 2), ElementsAre(Pair("NADI_THREADS", "4")));
  EXPECT_THAT(rank_environment(8, 3), ElementsAre(Pair("NADI_THREADS", "2")));
  EXPECT_THAT(rank_environment(2, 4),
              ElementsAre(Pair("NADI_THREADS", "1"), Pair("OMPI_MCA_mpi_yield_when_idle", "1")));
  setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_THAT(rank_environment(8, 2), IsEmpty()) << "the user has decided";
  unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace nadi::inline jobs
