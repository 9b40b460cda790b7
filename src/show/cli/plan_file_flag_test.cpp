// --plan of train, launch, trace, show and simulate.
#include "nadi/cli/plan_file_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/cli/train_options_for_tests.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/megatron/megatron_command.h"
#include "nadi/model/catalogue.h"
#include "nadi/prediction/plan_file_answer.h"
#include "nadi/process/find_program.h"

namespace nadi::inline show {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Four layers on two stages, and everything else that a plan decides away from its default.
constexpr std::string_view kTwoStages = R"({
  "nadi_plan": 1,
  "model": "./small.json",
  "step": {"seq_length": 16, "global_batch_size": 8, "micro_batch_size": 2, "dtype": "bf16",
           "attention": "unfused", "recompute": {"granularity": "full", "method": "block", "layers": 1},
           "optimizer": "sgd"},
  "plan": {"pp": 2, "schedule": "gpipe", "partition": [3, 1]},
  "cluster": "a100x1-a10x7",
  "devices": "4,0"
})";
constexpr std::string_view kSmall = R"({"model_type": "gpt2", "vocab_size": 300, "n_positions": 32,
  "n_embd": 16, "n_layer": 4, "n_head": 2})";

class PlanFileFlag : public testing::Test {
 protected:
  PlanFileFlag() {
    write_text("plans/small.json", kSmall);
    write_text("plans/plan.json", kTwoStages);
  }
  // The plan with the first `from` replaced.
  static void edit(std::string_view from, std::string_view to) {
    std::string text(kTwoStages);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text("plans/plan.json", text.replace(at, from.size(), to));
  }

  const WorkingFolder folder_;
};

TEST_F(PlanFileFlag, DecidesTheModelTheStepAndThePlan) {
  const Json json = run_json("show --plan plans/plan.json --rank 1 --json");
  EXPECT_EQ(json["model"]["name"], "plans/small.json");
  const Json& step = json["step"];
  EXPECT_EQ(step["seq_length"], 16);
  EXPECT_EQ(step["global_batch_size"], 8);
  EXPECT_EQ(step["micro_batch_size"], 2);
  EXPECT_EQ(step["micro_batches"], 4);
  EXPECT_EQ(step["dtype"], "bf16");
  EXPECT_EQ(step["attention"], "unfused");
  EXPECT_EQ(step["recompute"], "full");
  EXPECT_EQ(step["recompute_method"], "block");
  EXPECT_EQ(step["optimizer"], "sgd");
  EXPECT_EQ(json["plan"]["pp"], 2);
  EXPECT_EQ(json["plan"]["schedule"], "gpipe");
  EXPECT_EQ(json["plan"]["partition"], Json({3, 1}));
}

TEST_F(PlanFileFlag, IsTheSameAsItsFlags) {
  const std::string flags =
      "plans/small.json --seq-length 16 --global-batch-size 8 --micro-batch-size 2 --dtype bf16 --attention "
      "unfused --recompute full --recompute-method block --recompute-num-layers 1 --optimizer sgd --pp 2 "
      "--schedule gpipe --partition 3-1";
  EXPECT_EQ(run("show --plan plans/plan.json --graph --rank 1").out,
            run("show " + flags + " --graph --rank 1").out);
  ASSERT_EQ(run("trace --plan plans/plan.json -o out/planned").code, 0);
  ASSERT_EQ(run("trace " + flags + " -o out/flags").code, 0);
  for (const char* rank : {".0.et", ".1.et"})
    EXPECT_EQ(read_text(std::string("out/planned") + rank), read_text(std::string("out/flags") + rank));
  // Flags that say the same are fine.
  EXPECT_EQ(run("show " + flags + " --plan plans/plan.json").code, 0);
  EXPECT_EQ(run("show --plan plans/plan.json --batch-size 8").code, 0);
}

TEST_F(PlanFileFlag, AFlagThatContradictsTheFileIsAnErrorThatNamesBoth) {
  struct Case {
    const char* words;
    const char* message;
  };
  for (const Case& one :
       {Case{"--tp 2", "--tp 2 and plans/plan.json contradict each other: tp is 1 there"},
        Case{"--tensor-model-parallel-size 2", "--tp 2 and plans/plan.json"},
        Case{"--partition 2-2", "partition is 3-1 there"}, Case{"--dtype fp32", "dtype is bf16 there"},
        Case{"--seq-length 8", "seq_length is 16 there"},
        Case{"--global-batch-size 4", "global_batch_size is 8 there"},
        Case{"--batch-size 4", "--batch-size 4 and plans/plan.json"},
        Case{"--micro-batch-size 1", "micro_batch_size is 2 there"},
        Case{"--sequence-parallel", "sequence_parallel is false there"},
        Case{"--recompute none", "recompute is full there"}, Case{"--zero 1", "zero is 0 there"},
        Case{"--optimizer adamw", "optimizer is sgd there"},
        Case{"gpt2", "MODEL gpt2 and plans/plan.json contradict each other"},
        Case{"--step evaluate", "--plan does not apply to --step evaluate"}}) {
    const CliRun refused = run(std::string("show --plan plans/plan.json ") + one.words);
    EXPECT_EQ(refused.code, 2) << one.words;
    EXPECT_THAT(refused.err, HasSubstr(one.message));
  }
  // What the file does not decide is free.
  EXPECT_EQ(run("show --plan plans/plan.json --weight-decay 0.5 --dropout 0 --rank 1").code, 0);
  edit(R"(, "partition": [3, 1])", "");
  EXPECT_EQ(run("show --plan plans/plan.json --partition 1-3").code, 0);
}

TEST_F(PlanFileFlag, AFileThatIsWrongIsSaidWithItsPlace) {
  const auto refused = [](std::string_view from, std::string_view to) {
    edit(from, to);
    const CliRun done = run("simulate --plan plans/plan.json");
    EXPECT_EQ(done.code, 3) << done.err;
    return done.err;
  };
  EXPECT_THAT(refused("[3, 1]", "[3, 2]"),
              AllOf(HasSubstr("plans/plan.json: the plan does not fit plans/small.json"), HasSubstr("5"),
                    HasSubstr("4")));
  EXPECT_THAT(refused("\"seq_length\": 16", "\"seq_length\": 64"), HasSubstr("does not fit"));
  EXPECT_THAT(refused("./small.json", "gtp2"),
              AllOf(HasSubstr("plans/plan.json: model: "), HasSubstr("gpt2")));
  EXPECT_THAT(refused("./small.json", "./none.json"), HasSubstr("plans/none.json"));
  EXPECT_THAT(refused("a100x1-a10x7", "a100x1-a10x9"), HasSubstr("plans/plan.json: cluster: "));
  EXPECT_THAT(refused("\"4,0\"", "\"4,32\""), HasSubstr("rank 1 is on device 32, and a100x1-a10x7 has 32"));
  EXPECT_THAT(refused("\"schedule\"", "\"schedul\""), HasSubstr("did you mean 'schedule'"));
  write_text("plans/plan.json", kTwoStages.substr(0, 100));
  EXPECT_EQ(run("show --plan plans/plan.json").code, 3);
  EXPECT_EQ(run("show --plan plans/none.json").code, 3);
  // Another file in its place, and it in the place of another.
  EXPECT_THAT(run("show --plan plans/small.json").err, HasSubstr("not a plan"));
  write_text("plans/plan.json", kTwoStages);
  EXPECT_THAT(run("show plans/plan.json").err, HasSubstr("--plan takes it"));
}

// Stage 0 is on an A10, stage 1 on an A100.
TEST_F(PlanFileFlag, ASimulationTakesItsClusterAndItsPlacement) {
  const Json placed = run_json("simulate --plan plans/plan.json --json");
  EXPECT_THAT(run("simulate --plan plans/plan.json").err,
              HasSubstr("note: placement of plans/plan.json on a100x1-a10x7: rank 0 on node 1 ("));
  EXPECT_EQ(placed["cluster"]["name"], "a100x1-a10x7");
  // Both nodes are paid, though two devices of the first would do.
  EXPECT_NEAR(placed["cost"]["dollars_per_hour"].get<double>(), 32.77 + 9.77, 1e-9);
  edit(",\n  \"devices\": \"4,0\"", "");
  const Json in_order = run_json("simulate --plan plans/plan.json --json");
  EXPECT_NEAR(in_order["cost"]["dollars_per_hour"].get<double>(), 32.77, 1e-9);
  EXPECT_NE(in_order["iteration_time_s"], placed["iteration_time_s"]);
  // Another cluster has no such placement.
  write_text("plans/plan.json", kTwoStages);
  EXPECT_EQ(run_json("simulate --plan plans/plan.json --cluster dgx-a100 --json")["cluster"]["name"],
            "dgx-a100");
  edit(",\n  \"cluster\": \"a100x1-a10x7\",\n  \"devices\": \"4,0\"", "");
  const CliRun none = run("simulate --plan plans/plan.json");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--cluster"));
}

TEST_F(PlanFileFlag, TrainingTakesItsStepAndItsRanks) {
  const auto resolve = [](const std::string& more) {
    return resolve_train(with_plan_file(train_flags_for_tests("--plan plans/plan.json " + more)).flags, 2,
                         Rank{0});
  };
  const ResolvedTrain run = resolve("");
  EXPECT_EQ(run.model, "plans/small.json");
  EXPECT_EQ(run.options.plan.pp, 2);
  EXPECT_EQ(run.options.plan.dp, 1);
  EXPECT_EQ(run.options.plan.partition, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(run.options.plan.schedule, ScheduleKind::kGPipe);
  EXPECT_EQ(run.options.seq_length, 16);
  EXPECT_EQ(run.options.batch_size, 2);
  EXPECT_EQ(run.options.accumulation, 4);
  EXPECT_EQ(run.options.dtype, DType::kBF16);
  EXPECT_FALSE(run.options.fused_attention);
  EXPECT_EQ(run.options.recompute.granularity, Recompute::Granularity::kFull);
  EXPECT_EQ(run.options.optimizer.kind, OptimizerKind::kSgd);
  EXPECT_EQ(resolve("--gradient-accumulation-steps 4").options.accumulation, 4);
  EXPECT_EQ(resolve("--bf16 --checkpoint-activations").options.dtype, DType::kBF16);

  const auto refusal = [&](const std::string& more) {
    try {
      resolve(more);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(refusal("--num-ranks 4"),
            "--num-ranks 4 and plans/plan.json contradict each other: the plan has 2 ranks there");
  EXPECT_THAT(refusal("--gradient-accumulation-steps 2"), HasSubstr("4 micro-batches"));
  EXPECT_THAT(refusal("--fp16"),
              HasSubstr("--fp16 and plans/plan.json contradict each other: dtype is bf16"));
  EXPECT_THAT(refusal("--use-distributed-optimizer"), HasSubstr("zero is 0"));
  EXPECT_THAT(refusal("--decoder-first-pipeline-num-layers 2"), HasSubstr("partition is 3-1"));
  EXPECT_THAT(refusal("--rampup-batch-size 2 2 8"), HasSubstr("global_batch_size is 8"));
  EXPECT_THAT(refusal("--model-name gpt2"), HasSubstr("MODEL gpt2"));
  EXPECT_THAT(refusal("--num-layers 3"), HasSubstr("--num-layers"));
  EXPECT_EQ(resolve("--model-name plans/small.json").options.plan.pp, 2);
  edit("\"dtype\": \"bf16\"", "\"dtype\": \"bf16\", \"fp8\": true");
  EXPECT_THROW(resolve(""), Error);
}

TEST_F(PlanFileFlag, ScriptsOfMegatronCallAdamWAdam) {
  edit(R"("optimizer": "sgd")", R"("optimizer": "adamw")");
  const ResolvedTrain run = resolve_train(
      with_plan_file(
          train_flags_for_tests("--plan plans/plan.json --optimizer adam --lr 0.1 --train-iters 3"))
          .flags,
      2, Rank{0});
  EXPECT_EQ(run.options.optimizer.kind, OptimizerKind::kAdamW);
}

// The command line for Megatron-LM, read as `nadi train` reads Megatron's flags, is the plan again.
TEST_F(PlanFileFlag, MegatronsCommandLineIsThePlan) {
  struct Case {
    const char* model;
    const char* cluster;
    const char* step;
    const char* plan;
  };
  for (const Case& one :
       {Case{"gpt2-xl", "a10-8x4", R"("dtype": "fp16")", R"("dp": 4, "pp": 8)"},
        Case{"gpt2-xl", "a10-8x4", R"("dtype": "bf16", "recompute": {"granularity": "selective"})",
             R"("dp": 8, "pp": 4, "zero": 1, "partition": [8, 14, 14, 12])"},
        Case{
            "llama3.1-8b", "dgx-h100", R"("dtype": "bf16", "attention": "unfused")",
            R"("tp": 2, "pp": 4, "sequence_parallel": true, "schedule": "interleaved", "virtual_stages": 2)"},
        Case{"llama-tiny", "dgx-h100",
             R"("recompute": {"granularity": "full", "layers": 2}, "optimizer": "sgd")",
             R"("tp": 2, "cp": 2, "dp": 2)"}}) {
    SCOPED_TRACE(one.plan);
    const ModelConfig& config = *find_built_in_model(one.model);
    const PlanFile file = parse_plan_file(
        format(R"({{"nadi_plan": 1, "model": "{}", "step": {{"seq_length": {}, "global_batch_size": 64,
                   "micro_batch_size": 2, {}}}, "plan": {{{}}}}})",
               one.model, config.positions / 2, one.step, one.plan),
        "plan.json");
    check_plan_file(file, "plan.json", config);
    std::string words = megatron_command(config, file, load_cluster(one.cluster)).command;
    words = words.substr(words.find(".py ") + 4);
    std::erase_if(words, [](char c) { return c == '\\' || c == '\n'; });
    const TrainOptions options = resolve_for_tests(words, file.plan.world_size()).options;
    EXPECT_EQ(options.config.architecture, config.architecture);
    EXPECT_EQ(options.config.layers, config.layers);
    EXPECT_EQ(options.config.width, config.width);
    EXPECT_EQ(options.config.ffn_width, config.ffn_width);
    EXPECT_EQ(options.config.kv_heads, config.kv_heads);
    EXPECT_EQ(options.config.vocabulary + 1, config.vocabulary);  // Megatron's tokenizer adds one
    EXPECT_EQ(options.config.positions, config.positions);
    EXPECT_EQ(options.config.tied_embeddings, config.tied_embeddings);
    EXPECT_EQ(options.config.norm_epsilon, config.norm_epsilon);
    EXPECT_EQ(options.config.attention_dropout, config.attention_dropout);
    EXPECT_EQ(options.config.residual_dropout, config.residual_dropout);
    EXPECT_EQ(options.config.rotary, config.rotary);
    EXPECT_EQ(options.plan.tp, file.plan.tp);
    EXPECT_EQ(options.plan.cp, file.plan.cp);
    EXPECT_EQ(options.plan.dp, file.plan.dp);
    EXPECT_EQ(options.plan.pp, file.plan.pp);
    EXPECT_EQ(options.plan.sequence_parallel, file.plan.sequence_parallel);
    EXPECT_EQ(options.plan.zero_stage, file.plan.zero_stage);
    EXPECT_EQ(options.plan.schedule, file.plan.schedule);
    EXPECT_EQ(options.plan.virtual_stages, file.plan.virtual_stages);
    EXPECT_EQ(resolved_partition(options.config, options.plan), resolved_partition(config, file.plan));
    EXPECT_EQ(options.seq_length, file.seq_length);
    EXPECT_EQ(options.batch_size, file.micro_batch_size);
    EXPECT_EQ(options.accumulation, file.plan.micro_batches);
    EXPECT_EQ(options.dtype, file.dtype);
    EXPECT_EQ(options.fused_attention, file.fused_attention);
    EXPECT_EQ(options.recompute.granularity, file.recompute.granularity);
    EXPECT_EQ(options.recompute.layers, file.recompute.layers);
    EXPECT_EQ(options.optimizer.kind, file.optimizer);
  }
}

TEST_F(PlanFileFlag, PlacesOfRanksAreNamed) {
  const PlanFile file = read_plan_file("plans/plan.json");
  const std::vector<std::string> far = placement_notes(file, "plans/plan.json", false);
  ASSERT_EQ(far.size(), 2u);
  EXPECT_THAT(far[0],
              AllOf(HasSubstr("plans/plan.json on a100x1-a10x7: rank 0 on node 1 ("), HasSubstr("a10")));
  EXPECT_THAT(far[1], HasSubstr("rank 1 on node 0 ("));
  const std::vector<std::string> here = placement_notes(file, "plans/plan.json", true);
  ASSERT_EQ(here.size(), 3u);
  EXPECT_THAT(here[2], HasSubstr("has no effect"));
}

TEST_F(PlanFileFlag, RanksAreStartedAsThePlanHasThem) {
  if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  edit("\"dtype\": \"bf16\",", "");
  const std::string steps = " --max-steps 2 --skip-eval --threads 1 --json";
  const CliRun launched = run("launch --plan plans/plan.json --slow rank=1:2x train" + steps);
  ASSERT_EQ(launched.code, 0) << launched.err;
  EXPECT_THAT(launched.err, AllOf(HasSubstr("rank 0 on node 1"), HasSubstr("has no effect")));
  const Json json = Json::parse(launched.out);
  EXPECT_EQ(json["steps"], 2);
  // The same without launch, and with the plan as a flag of train.
  for (const char* words : {"train --plan plans/plan.json", "launch train --plan plans/plan.json"}) {
    const CliRun other = run(words + steps);
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(Json::parse(other.out)["last_loss"], json["last_loss"]) << words;
  }
}

TEST_F(PlanFileFlag, LaunchSaysWhatContradictsThePlan) {
  const auto refused = [](const std::string& words) {
    const CliRun done = run(words);
    EXPECT_EQ(done.code, 2) << words;
    return done.err;
  };
  EXPECT_THAT(refused("launch -n 3 --plan plans/plan.json train"),
              HasSubstr("--ranks 3 and plans/plan.json contradict each other: the plan has 2 ranks"));
  EXPECT_THAT(refused("launch --plan plans/plan.json models"), HasSubstr("models takes no --plan"));
  EXPECT_THAT(refused("launch --plan plans/plan.json train --plan other.json"),
              HasSubstr("contradict each other"));
  EXPECT_THAT(refused("launch --plan plans/plan.json --slow rank=2:2x train"),
              HasSubstr("rank 2 does not exist"));
  EXPECT_EQ(run("launch --plan none.json train").code, 3);
}

}  // namespace
}  // namespace nadi::inline show
