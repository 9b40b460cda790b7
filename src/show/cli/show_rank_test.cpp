// The part of one rank of a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

// 3 * 2 * 2 = 12 ranks, 8 / 2 / 1 = 4 micro-batches of 1.
const std::string kJob =
    "show gpt2 --tp 3 --dp 2 --pp 2 --partition 5-7 --seq-length 16 --global-batch-size 8 "
    "--micro-batch-size 1";

std::string at_rank(int rank) {
  return kJob + " --rank " + std::to_string(rank);
}

Json group(const Json& shown, std::string_view name) {
  for (const Json& entry : shown["rank"]["groups"])
    if (entry["name"] == name) return entry;
  return nullptr;
}

TEST(ShowRank, StandsInTheGrid) {
  // 10 = 1 + 3 * (0 + 1 * (1 + 2 * 1))
  const Json shown = run_json(at_rank(10));
  Json rank = shown["rank"];
  rank.erase("groups");
  EXPECT_EQ(rank.dump(), R"({"rank":10,"tp":1,"cp":0,"dp":1,"pp":1,"layers":[5,6,7,8,9,10,11]})");
  EXPECT_EQ(group(shown, "tp").dump(), R"({"name":"tp","size":3,"ranks":"9-11"})");
  EXPECT_EQ(group(shown, "cp").dump(), R"({"name":"cp","size":1,"ranks":"10"})");
  EXPECT_EQ(group(shown, "dp").dump(), R"({"name":"dp","size":2,"ranks":"7,10"})");
  EXPECT_EQ(group(shown, "pp").dump(), R"({"name":"pp","size":2,"ranks":"4,10"})");
  EXPECT_EQ(group(shown, "mp").dump(), R"({"name":"mp","size":6,"ranks":"3-5,9-11"})");
  EXPECT_EQ(group(shown, "embedding").dump(), R"({"name":"embedding","size":2,"ranks":"4,10"})")
      << "GPT-2 has tied embeddings";
}

TEST(ShowRank, ChunksOfLayersAreInterleaved) {
  const Json shown = run_json(
      "show gpt2 --pp 2 --schedule interleaved --virtual-stages 2 --seq-length 16 --global-batch-size 4 "
      "--micro-batch-size 1 --rank 1");
  EXPECT_EQ(shown["rank"]["layers"], (Json{3, 4, 5, 9, 10, 11}));
}

TEST(ShowRank, HoldsItsShareOfTheModel) {
  const Json first = run_json(at_rank(0)), last = run_json(at_rank(6));
  EXPECT_EQ(first["model"]["parameters"], 124439808);
  // Split over 3: qkv 768 * 2304 + 2304, projection 768 * 768, feed-forward 2 * 768 * 3072 + 3072. Whole: two
  // norms 4 * 768, biases 2 * 768. The vocabulary of 50257 is 16753 words to each, the last one padded.
  const std::int64_t block = (768 * 2304 + 2304 + 768 * 768 + 2 * 768 * 3072 + 3072) / 3 + 4 * 768 + 2 * 768;
  std::int64_t in_blocks = 0;
  for (const Json& layer : last["layers"])
    if (!layer["block"].is_null()) {
      EXPECT_EQ(layer["parameters"], block);
      in_blocks += layer["parameters"].get<std::int64_t>();
    }
  EXPECT_EQ(in_blocks, 7 * block);
  EXPECT_LT(first["parameters"], first["model"]["parameters"]);
}

TEST(ShowRank, SendsToItsGroups) {
  const Json shown = run_json(at_rank(0));
  std::int64_t pipeline_ops = 0, pipeline_sent = -1;
  for (const Json& entry : shown["communication"])
    if (entry["group"] == "pp") {
      pipeline_ops = entry["ops"];
      pipeline_sent = entry["sent_bytes"];
    }
  // A send and a receive for each of 4 micro-batches; 16 tokens of 768 numbers of 2 bytes go out.
  EXPECT_EQ(pipeline_ops, 2 * 4);
  EXPECT_EQ(pipeline_sent, 4 * 16 * 768 * 2);
  EXPECT_EQ(run_json("show gpt2 --seq-length 16")["communication"], Json::array());
}

TEST(ShowRank, KeepsMicroBatchesUnderWay) {
  // 1f1b: the first of 2 stages runs one forward ahead, the last none.
  EXPECT_EQ(run_json(at_rank(0))["memory"]["slots"], 2);
  EXPECT_EQ(run_json(at_rank(6))["memory"]["slots"], 1);
  EXPECT_EQ(run_json(kJob + " --schedule gpipe")["memory"]["slots"], 4);
}

TEST(ShowRank, RanksOfAStageDoTheSame) {
  const Json a = run_json(at_rank(0)), b = run_json(at_rank(5));
  for (const char* key : {"parameters", "total", "phases", "layers", "communication", "memory"})
    EXPECT_EQ(a[key], b[key]) << key;
}

TEST(ShowRank, PrintsTheSameForPeople) {
  const std::string out = run(at_rank(10)).out;
  EXPECT_THAT(out, HasSubstr("\nparameters  124,439,808\n"));
  EXPECT_THAT(out, HasSubstr("\nplan        12 ranks: tp 3 x dp 2 x pp 2; 1f1b, layers 5-7\n"));
  EXPECT_THAT(out, HasSubstr("\nrank        10 of 0 to 11: tp 1, dp 1, pp 1; layers 5-11; "));
  EXPECT_THAT(out, HasSubstr("\ngroup      size  ranks"));
  EXPECT_THAT(out, testing::ContainsRegex("\nmp            6  3-5, 9-11 +1 "));
  EXPECT_THAT(out, testing::Not(HasSubstr("\ncp  ")));
  EXPECT_THAT(run(at_rank(0)).out,
              HasSubstr("\nactivations are those of at most 2 micro-batches under way at once\n"));
  EXPECT_THAT(run("show gpt2 --pp 3 --partition 6-0-6 --seq-length 8 --rank 1").out,
              HasSubstr("; no transformer layer; 0 parameters\n"));
  EXPECT_THAT(run("show gpt2 --seq-length 8").out, testing::Not(HasSubstr("\nplan ")));
}

TEST(ShowRank, BucketsOfGradientsAreOneRow) {
  const std::string job = "show gpt2-xl --dp 2 --seq-length 8";
  EXPECT_THAT(run(job).out, testing::ContainsRegex("\ngradients\\.0-[0-9]+ "));
  EXPECT_THAT(run(job + " --per-layer").out, HasSubstr("\ngradients.1 "));
}

TEST(ShowRank, FitsTheTerminal) {
  const std::string out = run("show llama3.1-405b --tp 8 --pp 16 --dp 128 --global-batch-size 2048 "
                              "--micro-batch-size 1 --seq-length 8192 --dtype bf16 --rank 16383")
                              .out;
  for (std::size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
    EXPECT_LE(out.find('\n', at) - at, 100u) << out.substr(at, out.find('\n', at) - at);
}

TEST(ShowRank, RefusesRanksThatAreNot) {
  EXPECT_EQ(run(at_rank(12)).code, 2);
  EXPECT_EQ(run(at_rank(12)).err,
            "error: rank 12 is outside of the plan, which has 12 ranks\n  hint: ranks are 0 to 11\n");
  EXPECT_EQ(run("show gpt2 --rank 1").err,
            "error: rank 1 is outside of the plan, which has 1 rank\n"
            "  hint: --tp, --cp, --dp and --pp make more\n");
  EXPECT_THAT(run(kJob + " --rank=-1").err,
              HasSubstr("error: --rank takes a whole number of at least 0, not '-1'\n"));
  const WorkingFolder folder;
  EXPECT_EQ(run("trace gpt2 --seq-length 8 -o a").code, 0);
  EXPECT_THAT(run("show a.0.et --rank 0").err, HasSubstr("error: --rank is for models"));
  EXPECT_THAT(run("show a.0.et --tp 2").err, HasSubstr("error: --tp is for models"));
}

}  // namespace
}  // namespace nadi::inline show
