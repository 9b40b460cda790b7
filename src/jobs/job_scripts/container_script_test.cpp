// Containers and profilers: scripts are run, with programs in place of docker, enroot, apptainer, nsys and
// ncu that write down what they are given, and then do what the real ones do with the environment, the folder
// and the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/job_scripts/run_script_for_tests.h"
#include "nadi/shell/hostile_texts_for_tests.h"

namespace nadi::inline jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kImage = "an image's \"name\" $(touch hostile_was_here)";

// Takes flags up to the first word that is none; those in `values` have a value in the next word. -e NAME
// hands a variable in, of which docker and enroot have no others; -w and --pwd are the folder.
std::string runtime(const std::string& values, bool whole_environment, const std::string& shift) {
  return "printf '<%s>\n' \"$@\" >>\"$RECORDS/${0##*/}.txt\"\n" + shift +
         R"sh(
names=() folder=
while [[ $1 == -* ]]; do
  case $1 in
    -e) names+=("$2") ;;
    -w | --pwd) folder=$2 ;;
  esac
  case " )sh" +
         values + R"sh( " in *" $1 "*) shift ;; esac
  shift
done
printf '%s' "$1" >"$RECORDS/image.txt"
shift
[[ -z $folder ]] || cd "$folder" || exit 125
)sh" + (whole_environment ? "exec \"$@\"\n" : R"sh(
for i in "${!names[@]}"; do names[i]="${names[i]}=${!names[i]}"; done
exec env -i "PATH=$PATH" "RECORDS=$RECORDS" "${names[@]}" "$@"
)sh");
}

constexpr const char* kProfiler = R"sh(printf '<%s>\n' "$@" >>"$RECORDS/${0##*/}.$RANK.txt"
while [[ $1 != -o ]]; do shift; done
echo profile >"$2.rep"
shift 2
exec "$@")sh";

class RunContainer : public RunScript {
 protected:
  void SetUp() override {
    RunScript::SetUp();
    if (IsSkipped()) return;
    std::filesystem::create_directories("records");
    std::filesystem::create_directories("in side's");
    records_ = std::filesystem::current_path() / "records";
    ::setenv("RECORDS", records_.c_str(), 1);
    write_program("docker", runtime("-v -w -e --gpus --user", false, "shift"));
    write_program("apptainer", runtime("-B --pwd", true, "shift"));
    write_program(
        "enroot",
        "case $1 in start) ;; *) printf '%s\n' \"$*\" >>\"$RECORDS/enroot-life.txt\"; exit 0 ;; esac\n" +
            runtime("-m -e", false, "shift"));
  }
  void TearDown() override { ::unsetenv("RECORDS"); }

  // Prints what reached it. The folder holds a quote and a space.
  JobFile contained(ContainerKind kind) {
    JobFile job = command_job(
        {"bash", "-c", R"sh(printf '[%s]\n' "$@" "$EVIL" "$RANK of $WORLD_SIZE" "$(basename "$PWD")")sh", "x",
         "it's", "$(touch hostile_was_here)", "a  b", "", "rank ${RANK}"});
    job.outputs = std::filesystem::current_path() / "out put's";
    job.environment.set = {{"EVIL", "'$(touch hostile_was_here)\n\""}};
    job.container = {.kind = kind,
                     .image = kImage,
                     .mounts = {"/a b's:/c $(touch hostile_was_here):ro"},
                     .folder = (std::filesystem::current_path() / "in side's").string()};
    job.groups[0].gpus_per_node = 1;
    return job;
  }
  void expect_all_arrived(const std::string& printed) {
    EXPECT_THAT(printed, HasSubstr("[it's]\n[$(touch hostile_was_here)]\n[a  b]\n[]\n[rank 0]\n"
                                   "['$(touch hostile_was_here)\n\"]\n[0 of 1]\n[in side's]\n"));
    EXPECT_FALSE(std::filesystem::exists(kHostileMark));
    EXPECT_FALSE(std::filesystem::exists(std::string("in side's/") + kHostileMark));
  }
  // Under Slurm and here.
  void expect_runs(const JobFile& job) {
    ASSERT_EQ(run(job), 0) << read_text("slurm.txt");
    expect_all_arrived(read_text(job.outputs / "7" / "n1.out"));
    std::filesystem::remove_all(job.outputs);
    ASSERT_EQ(run_here(job), 0) << read_text("slurm.txt");
    expect_all_arrived(read_text(job.outputs / "7" / "n1.out"));
  }
  std::string recorded(const std::string& name) { return read_text(records_ / name); }

  std::filesystem::path records_;
};

TEST_F(RunContainer, Docker) {
  const JobFile job = contained(ContainerKind::kDocker);
  ASSERT_NO_FATAL_FAILURE(expect_runs(job));
  const std::string folder = (job.outputs / "7").string();
  EXPECT_EQ(recorded("image.txt"), kImage);
  EXPECT_THAT(
      recorded("docker.txt"),
      AllOf(HasSubstr("<run>\n<--rm>\n<--init>\n"), HasSubstr("<--gpus>\n<all>\n"),
            HasSubstr("<-v>\n</a b's:/c $(touch hostile_was_here):ro>\n"),
            HasSubstr("<-v>\n<" + folder + ":" + folder + ">\n"), HasSubstr("<-e>\n<MASTER_ADDR>\n")));
}

TEST_F(RunContainer, Apptainer) {
  const JobFile job = contained(ContainerKind::kApptainer);
  ASSERT_NO_FATAL_FAILURE(expect_runs(job));
  const std::string folder = (job.outputs / "7").string();
  EXPECT_EQ(recorded("image.txt"), kImage);
  EXPECT_THAT(recorded("apptainer.txt"),
              AllOf(HasSubstr("<exec>\n<--nv>\n<-B>\n</a b's:/c $(touch hostile_was_here):ro>\n"),
                    HasSubstr("<-B>\n<" + folder + ":" + folder + ">\n")));
}

TEST_F(RunContainer, EnrootContainersAreRemovedAtTheEnd) {
  JobFile job = contained(ContainerKind::kEnroot);
  ASSERT_NO_FATAL_FAILURE(expect_runs(job));
  EXPECT_EQ(recorded("image.txt"), "nadi-7");
  const std::string life =
      std::string("remove -f nadi-7\ncreate -n nadi-7 -- ") + kImage + "\nremove -f nadi-7\n";
  EXPECT_EQ(recorded("enroot-life.txt"), life + life);
  // The exit code is still that of the ranks, and a folder that is not there is an error if the job named it.
  job.run.words = {"false"};
  EXPECT_EQ(run(job), 1);
  job.container.folder = "/is/not/there";
  job.run.words = {"true"};
  EXPECT_NE(run(job), 0);
  job.container.folder = "";
  job.run.folder = "/tmp";
  EXPECT_EQ(run(job), 0) << read_text("slurm.txt");
}

TEST_F(RunContainer, PyxisIsGivenToSrun) {
  write_program("srun",
                "printf '<%s>\n' \"$@\" >>\"$RECORDS/srun.txt\"; while [ \"$1\" != bash ]; do shift; done\n"
                "export SLURM_PROCID=0 SLURM_LOCALID=0 SLURMD_NODENAME=n1\ncd \"$IN\" && exec \"$@\"");
  JobFile job = contained(ContainerKind::kPyxis);
  job.sample_every = std::chrono::seconds(0);
  ::setenv("IN", job.container.folder.c_str(), 1);
  EXPECT_EQ(run(job), 0) << read_text("slurm.txt");
  ::unsetenv("IN");
  expect_all_arrived(read_text(job.outputs / "7" / "n1.out"));
  const std::string folder = (job.outputs / "7").string();
  EXPECT_THAT(recorded("srun.txt"),
              AllOf(HasSubstr(std::string("<--container-image=") + kImage + ">\n"),
                    HasSubstr("<--container-mounts=/a b's:/c $(touch hostile_was_here):ro," + folder + ":" +
                              folder + ">\n"),
                    HasSubstr("<--container-workdir=" + job.container.folder + ">\n")));
}

TEST_F(RunContainer, ProfilersWriteAFileForEachRank) {
  write_program("nsys", kProfiler);
  write_program("ncu", kProfiler);
  JobFile job = command_job({"bash", "-c", "echo \"rank $RANK has $1\"", "x", "it's"});
  job.outputs = std::filesystem::current_path() / "out put's";
  job.groups[0].ranks_per_node = 3;
  job.profile.nsys = ProfilerUse{.steps = StepRange{10, 12}, .ranks = {0, 2}};
  ASSERT_EQ(run_here(job), 0) << read_text("slurm.txt");
  const std::filesystem::path folder = job.outputs / "7";
  EXPECT_TRUE(std::filesystem::exists(folder / "nsys/rank0.rep"));
  EXPECT_FALSE(std::filesystem::exists(folder / "nsys/rank1.rep"));
  EXPECT_TRUE(std::filesystem::exists(folder / "nsys/rank2.rep"));
  EXPECT_THAT(recorded("nsys.2.txt"),
              AllOf(HasSubstr("<profile>\n"), HasSubstr("<--capture-range=cudaProfilerApi>\n"),
                    HasSubstr("<-o>\n<" + (folder / "nsys/rank2").string() + ">\n<bash>\n")));
  for (const char* const rank : {"0", "1", "2"})
    EXPECT_THAT(read_text(folder / "n1.out"), HasSubstr(std::string("rank ") + rank + " has it's\n"));

  job.profile = {};
  job.profile.ncu = ProfilerUse{.steps = {}, .ranks = {0}};
  job.groups[0].ranks_per_node = 1;
  job.requeue.max_restarts = 2;
  ASSERT_EQ(run(job), 0) << read_text("slurm.txt");
  ::setenv("SLURM_RESTART_COUNT", "1", 1);
  EXPECT_EQ(run(job), 0) << read_text("slurm.txt");
  ::unsetenv("SLURM_RESTART_COUNT");
  EXPECT_TRUE(std::filesystem::exists(folder / "ncu/rank0.rep"));
  EXPECT_TRUE(std::filesystem::exists(folder / "ncu/rank0.start1.rep"));
  EXPECT_THAT(recorded("ncu.0.txt"), Not(HasSubstr("--profile-from-start")));
}

// The profiler runs in the container, and its file ends in the job's folder, which is mounted.
TEST_F(RunContainer, AProfilerInAContainer) {
  write_program("nsys", kProfiler);
  JobFile job = contained(ContainerKind::kDocker);
  job.profile.nsys = ProfilerUse{};
  ASSERT_NO_FATAL_FAILURE(expect_runs(job));
  EXPECT_THAT(recorded("docker.txt"), HasSubstr("<nsys>\n<profile>\n"));
  EXPECT_TRUE(std::filesystem::exists(job.outputs / "7/nsys/rank0.rep"));
}

TEST_F(RunContainer, ATraceOfARestartHasAFolderOfItsOwn) {
  write_program("nadi", "printf '%s ' \"$@\" >>\"$RECORDS/nadi.txt\"; echo >>\"$RECORDS/nadi.txt\"");
  JobFile job = command_job({"gpt2-tiny", "--save-dir", "s"});
  job.run.kind = JobRunKind::kTrain;
  job.profile.trace = ProfilerUse{.steps = StepRange{10, 12}};
  job.requeue.max_restarts = 2;
  ASSERT_EQ(run(job), 0) << read_text("slurm.txt");
  ::setenv("SLURM_RESTART_COUNT", "1", 1);
  EXPECT_EQ(run(job), 0) << read_text("slurm.txt");
  ::unsetenv("SLURM_RESTART_COUNT");
  const std::string folder = (job.outputs / "7").string();
  EXPECT_THAT(recorded("nadi.txt"),
              AllOf(HasSubstr("--trace-wait 8 --trace-warmup 1 --trace-active 3 --trace-output-dir " +
                              folder + "/trace \n"),
                    HasSubstr("--trace-output-dir " + folder + "/trace.start1 \n")));
  EXPECT_TRUE(std::filesystem::is_directory(folder + "/trace.start1"));
  // Some ranks: with Megatron-LM's flags, which `nadi train` has, too.
  job.profile.trace->ranks = {0};
  ASSERT_EQ(run(job), 0) << read_text("slurm.txt");
  EXPECT_THAT(recorded("nadi.txt"),
              HasSubstr("--profile --use-pytorch-profiler --profile-step-start 9 --profile-step-end "
                        "12 --profile-ranks 0 --trace-output-dir " +
                        folder + "/trace \n"));
}

TEST(Containers, WhatTheyCannotDoIsSaid) {
  const WorkingFolder folder;
  const auto said = [](const JobFile& job) -> std::string {
    try {
      check_job(job);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return "nothing";
  };
  JobFile job = command_job({"gpt2"});
  job.run.kind = JobRunKind::kTrain;
  job.groups[0].ranks_per_node = 2;
  job.container = {.kind = ContainerKind::kDocker, .image = "i"};
  EXPECT_THAT(said(job), HasSubstr("'train' on 2 ranks in containers of docker"));
  job.container.kind = ContainerKind::kApptainer;
  EXPECT_EQ(said(job), "nothing");
  job.outputs = "/a:b";
  EXPECT_THAT(said(job), HasSubstr("has a colon or a comma"));
}

}  // namespace
}  // namespace nadi::inline jobs
