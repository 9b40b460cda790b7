#include "nadi/cli/plan_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

struct Mistake {
  const char* arguments;  // after "show"
  const char* err;        // what is in it
};

class PlanMistake : public testing::TestWithParam<Mistake> {};

TEST_P(PlanMistake, IsNamed) {
  const CliRun done = run(std::string("show ") + GetParam().arguments);
  EXPECT_EQ(done.code, 2);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr(GetParam().err));
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanMistake,
    testing::Values(
        Mistake{"gpt2 --tp 0", "error: --tp takes a whole number of at least 1, not '0'\n"},
        Mistake{"gpt2 --tp 5",
                "error: 12 attention heads do not divide over 5 tensor-parallel ranks\n"
                "  hint: gpt2 takes 1, 2, 3, 4, 6, 12\n"},
        Mistake{"gpt2 --dp 3 --global-batch-size 8",
                "error: a global batch of 8 does not divide over 3 data-parallel ranks\n"
                "  hint: it is --dp x micro-batches x --micro-batch-size\n"},
        Mistake{"gpt2 --dp 2 --global-batch-size 12 --micro-batch-size 4",
                "error: a batch of 6 per data-parallel rank does not divide into micro-batches of 4\n"
                "  hint: --global-batch-size is --dp x micro-batches x --micro-batch-size: a multiple of 2 x "
                "4\n"},
        Mistake{"gpt2 --sequence-parallel", "error: sequence parallelism needs tensor parallelism\n"},
        Mistake{"gpt2 --zero 2", "error: --zero does not take '2'\n  hint: known: 0, 1\n"},
        Mistake{"gpt2 --schedule 1f2b",
                "error: --schedule does not take '1f2b'\n"
                "  hint: did you mean '1f1b'? known: 1f1b, gpipe, interleaved\n"},
        Mistake{"gpt2 --pp 2 --virtual-stages 2", "error: the 1f1b schedule has 1 virtual stage per stage"},
        Mistake{"gpt2 --pp 2 --schedule interleaved",
                "error: the interleaved schedule needs at least 2 virtual stages, not 1\n"},
        Mistake{"gpt2 --pp 2 --schedule interleaved --virtual-stages 2 --global-batch-size 3 "
                "--micro-batch-size 1",
                "error: the interleaved schedule needs a multiple of its 2 stages as micro-batches, not 3\n"},
        Mistake{"gpt2 --pp 2 --partition 6-5", "error: the partition has 11 layers, gpt2 has 12\n"},
        Mistake{"gpt2 --pp 2 --partition 4-4-4", "error: a partition into 3 parts does not fit 2 stages\n"},
        Mistake{"gpt2 --pp 2 --partition 6,6",
                "error: --partition takes the layers of each stage, not '6,6'\n"
                "  hint: 12-12-12-12 are four stages of 12 layers\n"},
        Mistake{"gpt2 --pp 2 --partition 12-", "error: --partition takes the layers of each stage"},
        Mistake{"gpt2 --pp 2 --partition=-1-13", "error: --partition takes the layers of each stage"},
        Mistake{"gpt2 --pp 2 --partition 6--6", "error: --partition takes the layers of each stage"},
        Mistake{"gpt2 --tp 65536 --dp 65536",
                "error: a plan of 65536 x 1 x 65536 x 1 ranks; the limit is 1073741824\n"},
        Mistake{"gpt2 --tp 4611686018427387904 --dp 4611686018427387904",
                "error: a plan of 4611686018427387"},
        Mistake{"gpt2 --pp 100001", "error: a pipeline of 100001 x 1 stages; the limit is 100000\n"},
        Mistake{"gpt2 --pp 2 --virtual-stages 50001",
                "error: a pipeline of 2 x 50001 stages; the limit is 100000\n"},
        Mistake{"gpt2 --cp 3 --seq-length 512", "error: 512 tokens do not divide into 6 pieces"},
        Mistake{"gpt2 --step generate --pp 2",
                "error: --pp does not apply to --step generate\n  hint: it goes with --step train\n"},
        Mistake{"gpt2 --step evaluate --cp 2", "error: --cp does not apply to --step evaluate\n"},
        Mistake{"gpt2 --step decode --zero 1", "error: --zero does not apply to --step decode\n"},
        Mistake{"gpt2 --step prefill --sequence-parallel",
                "error: --sequence-parallel does not apply to --step prefill"},
        Mistake{"gpt2 --step prefill --schedule gpipe", "error: --schedule does not apply to --step "},
        Mistake{"gpt2 --step prefill --virtual-stages 2",
                "error: --virtual-stages does not apply to --step "},
        Mistake{"gpt2 --step prefill --partition 12", "error: --partition does not apply to --step "}));

TEST(PlanFlags, OneRankIsTheDefault) {
  const Json shown = run_json("show gpt2 --seq-length 8");
  EXPECT_EQ(shown["plan"].dump(),
            R"({"world_size":1,"tp":1,"cp":1,"dp":1,"pp":1,"sequence_parallel":false,"partition":[12],)"
            R"("schedule":"1f1b","virtual_stages":1,"zero":0})");
  EXPECT_EQ(run_json("show gpt2 --step decode --tp 2")["plan"].dump(),
            R"({"world_size":2,"tp":2,"cp":1,"dp":1,"pp":1,"sequence_parallel":false,"partition":[12],)"
            R"("schedule":null,"virtual_stages":null,"zero":null})");
}

TEST(PlanFlags, GivenValuesArrive) {
  const Json shown = run_json(
      "show gpt2 --tensor-model-parallel-size 2 --context_parallel_size 2 --dp 2 "
      "--pipeline-model-parallel-size 2 --sequence-parallel --zero 1 --schedule interleaved "
      "--virtual-stages 2 --partition 0-5-5-2 --seq-length 64 --global-batch-size 16 --micro-batch-size 2");
  EXPECT_EQ(shown["plan"].dump(),
            R"({"world_size":16,"tp":2,"cp":2,"dp":2,"pp":2,"sequence_parallel":true,"partition":[0,5,5,2],)"
            R"("schedule":"interleaved","virtual_stages":2,"zero":1})");
  // 16 = 2 data-parallel ranks * 4 micro-batches * 2 sequences
  EXPECT_EQ(shown["step"]["global_batch_size"], 16);
  EXPECT_EQ(shown["step"]["batch_size"], 8);
  EXPECT_EQ(shown["step"]["micro_batches"], 4);
  EXPECT_EQ(shown["step"]["micro_batch_size"], 2);
}

TEST(PlanFlags, BatchSizeIsThatOfADataParallelRank) {
  const Json step = run_json("show gpt2 --dp 4 --pp 2 --batch-size 3 --seq-length 8")["step"];
  EXPECT_EQ(step["batch_size"], 3);
  EXPECT_EQ(step["global_batch_size"], 12);
  EXPECT_EQ(step["micro_batches"], 1) << "the whole batch at once";
}

TEST(PlanFlags, LayersAreSplitEvenly) {
  // 12 = 3 + 3 + 2 + 2 + 2
  EXPECT_EQ(run_json("show gpt2 --pp 5 --seq-length 8")["plan"]["partition"], (Json{3, 3, 2, 2, 2}));
}

TEST(PlanFlags, StagesWithoutALayerAreCounted) {
  // 12 layers on 16 stages: 4 have none
  EXPECT_EQ(run("show gpt2 --pp 16 --seq-length 8").err,
            "note: gpt2 has 12 layers: 4 of the 16 stages have none\n");
  EXPECT_EQ(run("show gpt2 --pp 13 --seq-length 8").err,
            "note: gpt2 has 12 layers: 1 of the 13 stages has none\n");
  EXPECT_EQ(run("show gpt2 --pp 12 --seq-length 8").err, "");
  EXPECT_EQ(run("show gpt2 --pp 3 --partition 0-12-0 --seq-length 8").err, "") << "as it was asked for";
}

TEST(PlanFlags, TheFlagsThatAreShownCanBeUsedAgain) {
  const std::string out =
      run("show gpt2 --dp 2 --pp 2 --global-batch-size 8 --micro-batch-size 2 --seq-length 8").out;
  EXPECT_THAT(out, HasSubstr("\ngiven       --global-batch-size 8 --micro-batch-size 2 --seq-length 8 --dp 2 "
                             "--pp 2\n"));
  EXPECT_THAT(out, HasSubstr("--tp 1"));
  EXPECT_THAT(out, testing::ContainsRegex("--partition 6-6 --schedule 1f1b\n +--zero 0\n"));
  EXPECT_THAT(out, testing::Not(HasSubstr("--batch-size 4"))) << "contradicts --global-batch-size";
}

}  // namespace
}  // namespace nadi::inline show
