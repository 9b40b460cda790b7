#include "nadi/cli/step_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Mistake {
  const char* arguments;  // after "show"
  int code;
  const char* err;  // how it starts
};

class StepMistake : public testing::TestWithParam<Mistake> {};

TEST_P(StepMistake, IsNamed) {
  const WorkingFolder folder;
  write_text("tiny.json", kTinyConfig);
  write_text("typeless.json", R"({"n_embd": 8})");
  write_text("typo.json", "{\n  \"model_type\": \"gpt5\"\n}\n");
  const CliRun done = run(std::string("show ") + GetParam().arguments);
  EXPECT_EQ(done.code, GetParam().code);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr(GetParam().err));
}

INSTANTIATE_TEST_SUITE_P(
    All, StepMistake,
    testing::Values(
        Mistake{
            "", 2,
            "error: MODEL|TRACE is missing\n  hint: for example: nadi show gpt2 --batch-size 4 --seq-length "
            "512\n"},
        Mistake{"gtp2", 2,
                "error: unknown model 'gtp2', and no such file or folder\n  hint: did you mean 'gpt2'?"},
        Mistake{"gpt2 --stepp train", 2, "error: unknown flag '--stepp'\n  hint: did you mean '--step'?\n"},
        Mistake{"gpt2 --step trian", 2,
                "error: --step does not take 'trian'\n  hint: did you mean 'train'? known: "},
        Mistake{"gpt2 --dtype fp31", 2, "hint: did you mean 'fp32'? known: fp32, bf16, fp16\n"},
        Mistake{"gpt2 --attention fusde", 2, "hint: did you mean 'fused'? known: fused, unfused\n"},
        Mistake{"gpt2 --recompute fool", 2, "hint: did you mean 'full'? known: none, selective, full\n"},
        Mistake{"gpt2 --recompute full --recompute-method unifrom", 2, "hint: did you mean 'uniform'?"},
        Mistake{"gpt2 --optimizer adamv", 2,
                "hint: did you mean 'adamw'? known: adamw, adam, sgd, sgd-sai\n"},
        Mistake{"gpt2 --model-type llama", 2, "error: 'gpt2' is built in and of type 'gpt2', not 'llama'\n"},
        Mistake{"typeless.json", 3, "error: typeless.json:1:1: key 'model_type' is missing\n"},
        Mistake{"typeless.json --model-type gpt3", 2,
                "error: unknown model type 'gpt3'\n  hint: did you mean 'gpt2'?"},
        Mistake{"typo.json", 3,
                "error: typo.json:2:17: unknown model_type 'gpt5'\n"
                "    2 |   \"model_type\": \"gpt5\"\n"
                "      |                 ^^^^^^\n"
                "  hint: did you mean 'gpt2'? known: gpt2, bert, llama, mistral, qwen2, qwen3, mixtral, "
                "qwen2_moe, qwen3_moe\n"},
        Mistake{"nope/config.json", 3, "error: nope/config.json: no such file or folder"},
        Mistake{"gpt2 --batch-size 2 --global-batch-size 2", 2,
                "error: --batch-size and --global-batch-size contradict each other\n"},
        Mistake{"gpt2 --batch-size 0", 2,
                "error: --batch-size takes a whole number of at least 1, not '0'\n"},
        Mistake{"gpt2 --global-batch-size 6 --micro-batch-size 4", 2,
                "error: a batch of 6 does not divide into micro-batches of 4\n"},
        Mistake{"gpt2 --micro-batch-size 4", 2,
                "error: a batch of 1 does not divide into micro-batches of 4\n"
                "  hint: the size of the batch is --global-batch-size\n"},
        Mistake{"gpt2 --global-batch-size 1000000 --micro-batch-size 1", 2,
                "error: a step of 1000000 micro-batches; the limit is 100000\n"},
        Mistake{"gpt2 --num-input-tokens 4", 2,
                "error: --num-input-tokens does not apply to --step train\n"
                "  hint: it goes with --step prefill, decode, generate\n"},
        Mistake{"gpt2 --step generate --seq-length 4", 2,
                "error: --seq-length does not apply to --step generate\n"
                "  hint: it goes with --step train, evaluate\n"},
        Mistake{"gpt2 --step generate --max_seq_length 4", 2,
                "error: --seq-length does not apply to --step "},
        Mistake{"gpt2 --step generate --recompute full", 2, "error: --recompute does not apply to --step "},
        Mistake{"gpt2 --step prefill --num-output-tokens 4", 2,
                "error: --num-output-tokens does not apply to --step "},
        Mistake{"gpt2 --step evaluate --optimizer sgd", 2, "error: --optimizer does not apply to --step "},
        Mistake{"gpt2 --step evaluate --global-batch-size 4", 2,
                "error: --global-batch-size does not apply to --step "},
        Mistake{"gpt2 --step evaluate --dropout 0", 2, "error: --dropout does not apply to --step "},
        Mistake{"gpt2 --recompute-method block", 2,
                "error: --recompute-method does not apply to --recompute none\n"
                "  hint: it goes with --recompute full\n"},
        Mistake{"gpt2 --recompute selective --recompute-num-layers 2", 2,
                "error: --recompute-num-layers does not apply to --recompute selective\n"},
        Mistake{"gpt2 --recompute full --recompute-num-layers 4294967297", 2, "error: cannot recompute "},
        Mistake{"gpt2 --dropout 1", 2,
                "error: --dropout takes a number of at least 0 and below 1, not '1'\n"},
        Mistake{"gpt2 --weight-decay -1", 2,
                "error: --weight-decay takes a number of at least 0, not '-1'\n"},
        Mistake{"gpt2 --max-grad-norm x", 2,
                "error: --max-grad-norm takes a number of at least 0, not 'x'\n"},
        Mistake{"gpt2 --fp8", 2, "  hint: add --dtype bf16\n"},
        Mistake{"gpt2 --optimizer sgd-sai --tp 2", 2,
                "error: sgd-sai needs whole parameters: 2 tensor-parallel ranks share them\n"
                "  hint: use another --optimizer\n"},
        Mistake{"gpt2 --seq-length 1025", 2,
                "error: a sequence of 1025 tokens does not fit gpt2, which has 1024 positions\n"},
        Mistake{"mistral-tiny --seq-length 300", 2,
                "error: a sequence of 300 tokens is longer than the attention window of mistral-tiny, which "
                "has 256 "
                "tokens\n"},
        Mistake{"bert-base-uncased --step generate", 2,
                "error: bert-base-uncased is not a model that generates"},
        Mistake{"gpt2 --batch-size 4000000000000000", 5, "error: a count of "},
        Mistake{"gpt2 --graph --json", 2, "error: --json does not apply to --graph\n"},
        Mistake{"gpt2 --graph --per-layer", 2, "error: --per-layer does not apply to --graph\n"}));

TEST(StepFlags, DefaultsAreResolved) {
  const Json step = run_json("show gpt2")["step"];
  EXPECT_EQ(step["step"], "train");
  EXPECT_EQ(step["batch_size"], 1);
  EXPECT_EQ(step["micro_batch_size"], 1);
  EXPECT_EQ(step["micro_batches"], 1);
  EXPECT_EQ(step["seq_length"], 1024) << "the model's positions";
  EXPECT_TRUE(step["num_input_tokens"].is_null());
  EXPECT_TRUE(step["num_output_tokens"].is_null());
  EXPECT_EQ(step["dtype"], "fp16");
  EXPECT_EQ(step["fp8"], false);
  EXPECT_EQ(step["attention"], "fused");
  EXPECT_EQ(step["recompute"], "none");
  EXPECT_TRUE(step["recompute_method"].is_null());
  EXPECT_EQ(step["optimizer"], "adamw");
  EXPECT_EQ(step["weight_decay"], 0.01);
  EXPECT_EQ(step["max_grad_norm"], 1);
  EXPECT_TRUE(step["dropout"].is_null());
  EXPECT_EQ(step["attention_dropout"], 0.1);
  EXPECT_EQ(run_json("show llama3.1-8b")["step"]["seq_length"], 2048) << "of 131,072 positions";
}

TEST(StepFlags, DropoutIsWhatTheModelHas) {
  const Json llama = run_json("show llama-tiny --seq-length 8 --dropout 0.3")["step"];
  EXPECT_EQ(llama["dropout"], 0.3);
  EXPECT_EQ(llama["attention_dropout"], 0.3);
  EXPECT_TRUE(llama["embedding_dropout"].is_null());
  EXPECT_TRUE(llama["residual_dropout"].is_null());
  EXPECT_THAT(run("show llama-tiny --seq-length 8 --dropout 0.3").out,
              HasSubstr("\ndropout     0.3 of attention\n"));
  const Json gpt2 = run_json("show gpt2-tiny --seq-length 8 --dropout 0.3")["step"];
  EXPECT_EQ(gpt2["residual_dropout"], 0.3);
}

TEST(StepFlags, DefaultsOfPromptsFitTheModel) {
  const Json step = run_json("show gpt2 --step generate")["step"];
  EXPECT_EQ(step["num_input_tokens"], 128);
  EXPECT_EQ(step["num_output_tokens"], 32);
  EXPECT_TRUE(step["seq_length"].is_null());
  EXPECT_TRUE(step["optimizer"].is_null());
  const WorkingFolder folder;
  write_text("tiny.json", kTinyConfig);  // 16 positions
  EXPECT_EQ(run_json("show tiny.json --step prefill")["step"]["num_input_tokens"], 16);
  EXPECT_EQ(run_json("show tiny.json --step decode")["step"]["num_input_tokens"], 15);
  const Json both = run_json("show tiny.json --step generate")["step"];
  EXPECT_EQ(both["num_input_tokens"], 1);
  EXPECT_EQ(both["num_output_tokens"], 15);
  EXPECT_EQ(run_json("show tiny.json --step generate --num-input-tokens 10")["step"]["num_output_tokens"], 6);
  EXPECT_EQ(run_json("show tiny.json --step generate --num-output-tokens 4")["step"]["num_input_tokens"], 12);
}

TEST(StepFlags, GivenValuesArrive) {
  const Json shown = run_json(
      "show gpt2 --global_batch_size 8 --micro_batch_size 2 --max_seq_length 64 --dtype bf16 --fp8 "
      "--attention "
      "unfused --recompute full --recompute-method block --recompute-num-layers 3 --optimizer sgd "
      "--weight-decay 0 --max-grad-norm 0.5 --dropout 0");
  const Json step = shown["step"];
  EXPECT_EQ(step["batch_size"], 8);
  EXPECT_EQ(step["global_batch_size"], 8);
  EXPECT_EQ(step["micro_batch_size"], 2);
  EXPECT_EQ(step["micro_batches"], 4);
  EXPECT_EQ(step["seq_length"], 64);
  EXPECT_EQ(step["dtype"], "bf16");
  EXPECT_EQ(step["fp8"], true);
  EXPECT_EQ(step["attention"], "unfused");
  EXPECT_EQ(step["recompute"], "full");
  EXPECT_EQ(step["recompute_method"], "block");
  EXPECT_EQ(step["recompute_num_layers"], 3);
  EXPECT_EQ(step["optimizer"], "sgd");
  EXPECT_EQ(step["weight_decay"], 0);
  EXPECT_EQ(step["max_grad_norm"], 0.5);
  EXPECT_EQ(step["dropout"], 0);
  EXPECT_EQ(step["residual_dropout"], 0);
  for (const Json& kind : shown["op_kinds"]) EXPECT_NE(kind["kind"], "dropout");
}

TEST(StepFlags, SaysWhatWasGivenAndWhatWasNot) {
  const std::string out = run("show gpt2 --seq_length 8 --dropout 0.5").out;
  EXPECT_THAT(out, HasSubstr("\ngiven       --seq-length 8 --dropout 0.5\n"));
  EXPECT_THAT(out, HasSubstr("\nby default  --step train --batch-size 1 --micro-batch-size 1 --dtype fp16"));
  EXPECT_THAT(out, HasSubstr("\ndropout     0.5\n"));
}

TEST(StepFlags, TakesFilesAndFolders) {
  const WorkingFolder folder;
  write_text("model/config.json", kTinyConfig);
  const CliRun done = run("show model");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "note: model/config.json: 2 keys not used: foo, bar\n");
  EXPECT_THAT(done.out, StartsWith("model/config.json\n"));
  EXPECT_EQ(run("show model/config.json").out, done.out);
  write_text("odd.json", R"({"model_type": "gpt2", "vocab_size": 11, "n_positions": 16, "n_embd": 8,
      "n_layer": 1, "n_head": 2, "\u001b[2J": 0})");
  EXPECT_EQ(run("show odd.json").err, "note: odd.json: 1 key not used: '\\x1b[2J'\n");
  write_text("other.json",
             R"({"vocab_size": 11, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2})");
  EXPECT_EQ(run("show other.json --model-type gpt2").err, "");
}

}  // namespace
}  // namespace nadi::inline show
