#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "nadi/cli/commands.h"
#include "nadi/cli/run_cli.h"
#include "nadi/cli/train_for_tests.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class TrainCommandTest : public TrainFolder {};

int lines_starting_with(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.starts_with(start) ? 1 : 0;
  return count;
}

std::ptrdiff_t entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST_F(TrainCommandTest, SaysWhatItDoes) {
  const CliRun done = train({{"--max-steps", ""}, {"--num-epochs", "2"}, {"--save-dir", "out"}});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, ContainsRegex("^step 1/10, epoch 1: loss [0-9.]+, lr 1\\.000e-02, grad norm [0-9.]+, "
                                      "[0-9.e-]+ s/step, [0-9]+ tokens/s, [0-9:]+ left\n"));
  EXPECT_EQ(lines_starting_with(done.out, "step 10/10, epoch 2: loss "), 1);
  for (const char* epoch : {"1", "2"})
    EXPECT_THAT(done.out, ContainsRegex(std::string("\nEpoch ") + epoch +
                                        ": Train Loss = [0-9]+\\.[0-9]{4}, Val Loss = [0-9]+\\.[0-9]{4}\n"));
  EXPECT_THAT(done.out, ContainsRegex("\nstep 5: validation loss [0-9]+\\.[0-9]{4}, the best so far\n"));
  EXPECT_THAT(done.out, ContainsRegex("\ndone after 10 steps: loss [0-9.]+ to [0-9.]+, best validation loss "
                                      "[0-9.]+, [0-9]+ tokens/s\n"
                                      "best model: out/best_model\n"
                                      "last checkpoint: out/checkpoint-10\n$"));
  EXPECT_THAT(done.err, AllOf(HasSubstr("data: squad.json, 9 samples of "),
                              HasSubstr("validation: a tenth of squad.json, 1 samples\n"),
                              HasSubstr("tokenizer: tok, 260 tokens; the model has room for 300\n"),
                              HasSubstr("saved out/checkpoint-5\n")));
  EXPECT_THAT(done.err, Not(HasSubstr("warning")));
}

TEST_F(TrainCommandTest, JsonIsAloneOnStandardOutput) {
  const CliRun done = train({{"--json", ""}});
  EXPECT_EQ(done.code, 0);
  const Json json = Json::parse(done.out);
  EXPECT_EQ(json["steps"], 4);
  EXPECT_EQ(json["samples"], 9);
  EXPECT_EQ(json["stopped"], false);
  EXPECT_EQ(json["model"], "tiny.json");
  EXPECT_TRUE(json["last_checkpoint"].is_null());
  EXPECT_TRUE(json["best_model"].is_null());
  EXPECT_TRUE(json["trace"]["chakra"].is_null());
  EXPECT_THAT(done.err, HasSubstr("step 1/4, epoch 1: loss "));
}

// One run without a flag, one with it: what is different?
struct Seen {
  Json json;
  std::string err;
};
struct FlagEffect {
  std::string flag;
  std::string value;
  FlagValues together = {};  // flags that both runs have
  std::function<bool(const Seen& without, const Seen& with)> acts;
};

bool other_loss(const Seen& without, const Seen& with) {
  return without.json["last_loss"] != with.json["last_loss"] && with.json["last_loss"].is_number();
}
// The first loss is that of the same weights on the same samples: only what follows changes.
bool other_update(const Seen& without, const Seen& with) {
  return without.json["first_loss"] == with.json["first_loss"] && other_loss(without, with);
}
std::function<bool(const Seen&, const Seen&)> shows(const char* key, Json value) {
  return [key, value](const Seen& without, const Seen& with) {
    return with.json[key] == value && without.json[key] != value;
  };
}
std::function<bool(const Seen&, const Seen&)> makes(const char* path) {
  return [path](const Seen&, const Seen&) { return fs::exists(path); };
}

// In the file of a run of Weights & Biases.
std::function<bool(const Seen&, const Seen&)> has_offline_run_with(const char* text) {
  return [text](const Seen&, const Seen&) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator("wandb"))
      if (entry.is_regular_file() && read_text(entry.path()).find(text) != std::string::npos) return true;
    return false;
  };
}

bool is_traced(int step) {
  return read_text("outputs/tiny_trace_kineto.json").find("ProfilerStep#" + std::to_string(step)) !=
         std::string::npos;
}

std::vector<FlagEffect> effects() {
  const FlagValues wandb{{"--wandb-project", "p"}};
  const FlagValues save{{"--save-dir", "out"}, {"--force", ""}};
  const FlagValues trace{{"--enable-tracing", ""}, {"--force", ""}};
  return {
      {"--init-from", "start", {}, other_loss},
      {"--cluster",
       "h100",
       {},
       [](const Seen& without, const Seen& with) {
         return with.err.find("h100") != std::string::npos && without.err.find("h100") == std::string::npos;
       }},
      {"--data", "other.json", {}, shows("data", "other.json")},
      {"--eval-data", "other.json", {}, shows("validation_data", "other.json")},
      {"--tokenizer", "tok2", {}, shows("tokenizer", "tok2")},
      {"--cache-dir", "here", {{"--data", ""}}, shows("data", "here/train-v1.1.json")},
      {"--max-seq-length", "12", {}, shows("max_seq_length", 12)},
      {"--dropout", "0.5", {}, other_loss},
      {"--batch-size", "3", {}, shows("batch_size", 3)},
      {"--gradient-accumulation-steps", "2", {}, shows("gradient_accumulation_steps", 2)},
      {"--global-batch-size", "6", {}, shows("global_batch_size", 6)},
      {"--num-epochs", "2", {{"--max-steps", ""}}, shows("steps", 2 * 5)},
      {"--max-steps", "3", {}, shows("steps", 3)},
      {"--optimizer", "sgd", {}, other_update},
      {"--learning-rate", "0.02", {}, other_update},
      {"--lr-scheduler", "cosine", {}, other_update},
      {"--warmup-steps", "3", {}, other_update},
      {"--weight-decay", "0.5", {}, other_update},
      {"--max-grad-norm", "0.001", {{"--optimizer", "sgd"}}, other_update},
      {"--dtype", "bf16", {}, shows("dtype", "bf16")},
      {"--seed", "7", {}, other_loss},
      {"--threads", "2", {}, [](const Seen&, const Seen& with) { return with.json["steps"] == 4; }},
      {"--skip-eval",
       "",
       {},
       [](const Seen& without, const Seen& with) {
         return with.json["validation_data"].is_null() && with.json["best_validation_loss"].is_null() &&
                with.json["samples"] == 10 && !without.json["best_validation_loss"].is_null();
       }},
      {"--eval-steps",
       "2",
       {},
       [](const Seen& without, const Seen& with) {
         return with.err.find("step 2: validation loss ") != std::string::npos &&
                without.err.find("step 2: validation loss ") == std::string::npos;
       }},
      {"--save-dir", "out", {}, shows("last_checkpoint", "out/checkpoint-4")},
      {"--save-steps", "3", save, makes("out/checkpoint-3")},
      {"--save-format", "pytorch", save, makes("out/checkpoint-4/pytorch_model.bin")},
      {"--save-total-limit",
       "1",
       {{"--save-dir", "out"}, {"--save-steps", "1"}, {"--force", ""}},
       [](const Seen&, const Seen&) { return entries("out") == 2; }},  // one checkpoint, best_model
      {"--resume", "", save,
       [](const Seen&, const Seen& with) {
         return with.err.find("note: continuing after step 4 of 4\n") != std::string::npos;
       }},
      {"--wandb-project", "p", {}, makes("wandb")},
      {"--wandb-dir", "out", wandb, makes("out/wandb")},
      {"--wandb-name", "mine", wandb, has_offline_run_with("mine")},
      {"--wandb-entity", "team", wandb, has_offline_run_with("team")},
      {"--logging-steps",
       "2",
       {},
       [](const Seen& without, const Seen& with) {
         return lines_starting_with(with.err, "step 2/4") == 1 &&
                lines_starting_with(without.err, "step 2/4") == 0;
       }},
      {"--log-format",
       "megatron",
       {{"--logging-steps", "1"}},
       [](const Seen& without, const Seen& with) {
         return lines_starting_with(with.err, " iteration        4/       4 | consumed samples: ") == 1 &&
                lines_starting_with(without.err, " iteration ") == 0;
       }},
      {"--tensorboard-dir", "events", {}, makes("events")},
      {"--enable-tracing", "", {{"--force", ""}}, makes("outputs/tiny_trace.et")},
      {"--trace-output-dir", "there", trace, makes("there/tiny_trace.et")},
      {"--trace-name", "mine", trace, makes("outputs/mine_trace_kineto.json")},
      // Without these, step 3 is traced.
      {"--trace-wait", "2", trace, [](const Seen&, const Seen&) { return is_traced(4) && !is_traced(3); }},
      {"--trace-warmup", "2", trace, [](const Seen&, const Seen&) { return is_traced(4) && !is_traced(3); }},
      {"--trace-active", "2", trace, [](const Seen&, const Seen&) { return is_traced(4) && is_traced(3); }},
  };
}

// Those have tests of their own: below, in train_options_test.cpp, in train_plan_test.cpp and in
// plan_file_flag_test.cpp.
const std::set<std::string_view> kElsewhere{"--model-name",
                                            "--model-type",
                                            "--json",
                                            "--force",
                                            "--device",
                                            "--tf32",
                                            "--deterministic",
                                            "--data-path",
                                            "--split",
                                            "--data-cache-path",
                                            "--attention",
                                            "--recompute",
                                            "--recompute-method",
                                            "--recompute-num-layers",
                                            "--moe-router-load-balancing-type",  // train_options_test.cpp
                                            "--moe-aux-loss-coeff",
                                            "--moe-z-loss-coeff",
                                            "--moe-expert-capacity-factor",
                                            "--moe-pad-expert-input-to-capacity",
                                            "--moe-token-drop-policy",
                                            "--moe-expert-rank-capacity-factor",
                                            "--expert-load",
                                            "--ep",
                                            "--etp",
                                            "--num-ranks",
                                            "--plan",
                                            "--tp",
                                            "--cp",
                                            "--dp",
                                            "--pp",
                                            "--sequence-parallel",
                                            "--partition",
                                            "--schedule",
                                            "--virtual-stages",
                                            "--zero",
                                            "--ddp-bucket-size",  // train_options_test.cpp
                                            "--slow",
                                            "--comm-timeout",  // tests/hang_test.sh
                                            "--no-memory-check",
                                            "--no-verify",  // checksums_test.cpp
                                            "--resume-if-any",
                                            "--oversubscribe",  // sense_limits_test.cpp
                                            "--dry-run"};       // train_dry_run_test.cpp

TEST_F(TrainCommandTest, EveryFlagActs) {
  write_text("other.json", squad_for_tests(8));
  write_text("here/train-v1.1.json", squad_for_tests(12));
  ASSERT_EQ(run("data tokenizer --input squad.json --vocab-size 258 -o tok2").code, 0);
  ASSERT_EQ(train({{"--save-dir", "run"}, {"--seed", "9"}}).code, 0);
  fs::rename("run/checkpoint-4", "start");
  std::set<std::string_view> seen = kElsewhere;
  const std::vector<FlagEffect> all = effects();
  for (const FlagEffect& effect : all) {
    SCOPED_TRACE(effect.flag);
    seen.insert(effect.flag);
    const auto see = [](FlagValues values) {
      values["--json"] = "";
      const CliRun done = train(values);
      EXPECT_EQ(done.code, 0) << done.err;
      return Seen{Json::parse(done.out.empty() ? "{}" : done.out), done.err};
    };
    FlagValues with = effect.together;
    with[effect.flag] = effect.value;
    const Seen before = see(effect.together);
    EXPECT_TRUE(effect.acts(before, see(with)));
    for (const char* folder : {"out", "outputs"}) fs::remove_all(folder);
  }
  Flags flags;
  const std::vector<std::string> words{"train"};
  commands().find(words)->add_flags(flags);
  for (const MegatronFlag& flag : megatron_flags())
    seen.insert(flag.spec.names[0]);  // megatron_flags_test.cpp
  for (const FlagSpec& spec : flags.specs()) EXPECT_TRUE(seen.contains(spec.names[0])) << spec.names[0];
}

TEST_F(TrainCommandTest, TheModelMayBeGivenAsAFlagOrAsAFolder) {
  const Json expected = train_json({})["last_loss"];
  EXPECT_EQ(train_json({{"--model-name", "tiny.json"}}, "")["last_loss"], expected);
  write_text("typeless.json", R"({"vocab_size": 300, "n_positions": 32, "n_embd": 16, "n_layer": 1,
                                  "n_head": 2, "initializer_range": 0.2})");
  EXPECT_EQ(train({}, "typeless.json").code, 3);
  EXPECT_EQ(train_json({{"--model-type", "gpt2"}}, "typeless.json")["last_loss"], expected);

  // A folder with weights is where training starts, with its tokenizer.
  ASSERT_EQ(train({{"--save-dir", "out"}}).code, 0);
  const CliRun from = train({{"--tokenizer", ""}}, "out/checkpoint-4");
  EXPECT_THAT(from.err, AllOf(HasSubstr("note: starting from the weights in out/checkpoint-4\n"),
                              HasSubstr("tokenizer: out/checkpoint-4, 260 tokens")));
}

TEST_F(TrainCommandTest, EveryArchitectureTrains) {
  for (const char* model : {"bert-tiny", "llama-tiny", "gpt2-tiny"}) {
    const Json json = train_json({{"--tokenizer", ""},
                                  {"--max-steps", "1"},
                                  {"--skip-eval", ""},
                                  {"--dropout", "0.1"},
                                  {"--save-dir", std::string("out/") + model}},
                                 model);
    EXPECT_EQ(json["steps"], 1) << model;
    EXPECT_GT(json["first_loss"].get<double>(), 1) << model;
    EXPECT_EQ(json["tokenizer"], "trained on squad.json");
  }
}

TEST_F(TrainCommandTest, WhatIsMissingIsSaid) {
  const CliRun sample = train({{"--data", ""}, {"--tokenizer", ""}, {"--max-steps", "1"}});
  EXPECT_EQ(sample.code, 0);
  EXPECT_THAT(sample.err,
              HasSubstr("warning: no data is given, and cache has no SQuAD file: training on the small "
                        "sample that comes with Nadi\n"));
  EXPECT_THAT(
      sample.err,
      HasSubstr("warning: no tokenizer is given, and none in cache/gpt2: trained one of 300 tokens on the "
                "data\n"));
  EXPECT_THAT(sample.err, HasSubstr("data: squad-sample/train.json, 363 samples"));
  EXPECT_THAT(sample.err, HasSubstr("validation: squad-sample/dev.json, 48 samples"));

  write_text("cache/train-v2.0.json", squad_for_tests(10));
  write_text("cache/dev-v2.0.json", squad_for_tests(4));
  fs::create_directory("cache/gpt2");
  fs::copy("tok", "cache/gpt2");
  const CliRun cached = train({{"--data", ""}, {"--tokenizer", ""}});
  EXPECT_THAT(cached.err, AllOf(HasSubstr("note: no data is given: using cache/train-v2.0.json\n"),
                                HasSubstr("note: no tokenizer is given: using cache/gpt2\n"),
                                HasSubstr("validation: cache/dev-v2.0.json, 4 samples\n")));
  EXPECT_THAT(cached.err, Not(HasSubstr("warning")));

  // As Hugging Face's library leaves it: the file under a hash, with its address beside it.
  write_text("hf/downloads/4f2a", squad_for_tests(6));
  write_text("hf/downloads/4f2a.json",
             R"({"url": "https://example.org/squad/train-v1.1.json", "etag": null})");
  const TemporaryVariable variable("HF_DATASETS_CACHE", "hf");
  EXPECT_THAT(train({{"--data", ""}}).err, HasSubstr("note: no data is given: using hf/downloads/4f2a\n"));
  EXPECT_THAT(train({{"--data", ""}, {"--cache-dir", "cache"}}).err,
              HasSubstr("using cache/train-v2.0.json\n"));
  write_text("hf/train-v1.1.json", squad_for_tests(6));
  EXPECT_THAT(train({{"--data", ""}}).err, HasSubstr("note: no data is given: using hf/train-v1.1.json\n"));
  const TemporaryVariable nowhere("HF_DATASETS_CACHE", "nowhere");
  EXPECT_THAT(train({{"--data", ""}}).err, HasSubstr("using cache/train-v2.0.json\n"));
}

TEST_F(TrainCommandTest, CheckpointsAreNotOverwrittenUnasked) {
  ASSERT_EQ(train({{"--save-dir", "out"}}).code, 0);
  const std::string before = read_text("out/checkpoint-4/model.safetensors");
  const CliRun again = train({{"--save-dir", "out"}, {"--seed", "7"}});
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.out, "");
  EXPECT_EQ(again.err,
            "error: out has checkpoints of a run, the newest after step 4\n"
            "  hint: continue it with --resume, choose another --save-dir, or overwrite them with --force\n");
  EXPECT_EQ(read_text("out/checkpoint-4/model.safetensors"), before);

  EXPECT_EQ(train({{"--save-dir", "out"}, {"--seed", "7"}, {"--resume", ""}}).code, 2);
  EXPECT_EQ(train({{"--save-dir", "out"}, {"--seed", "7"}, {"--force", ""}}).code, 0);
  EXPECT_NE(read_text("out/checkpoint-4/model.safetensors"), before);
}

TEST_F(TrainCommandTest, TracesAreNotOverwrittenUnasked) {
  ASSERT_EQ(train({{"--enable-tracing", ""}}).code, 0);
  const std::string before = read_text("outputs/tiny_trace.et");
  const CliRun again = train({{"--enable-tracing", ""}});
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.out, "");
  EXPECT_THAT(again.err, ContainsRegex("error: outputs/tiny_trace[^ ]*: the file exists\n"));
  EXPECT_EQ(read_text("outputs/tiny_trace.et"), before);
  EXPECT_EQ(train({{"--enable-tracing", ""}, {"--force", ""}}).code, 0);
  EXPECT_NE(read_text("outputs/tiny_trace.et"), before);  // other times
}

TEST_F(TrainCommandTest, TracesAreReadByShow) {
  ASSERT_EQ(train({{"--enable-tracing", ""}, {"--dtype", "bf16"}}).code, 0);
  const Json shown = run_json("show outputs/tiny_trace.et");
  EXPECT_GT(shown["total"]["duration_ns"].get<std::int64_t>(), 0);
  Json metadata = Json::object();
  for (const Json& entry : shown["metadata"]) metadata[entry["name"].get<std::string>()] = entry["value"];
  EXPECT_EQ(metadata["model"], "tiny.json");
  EXPECT_EQ(metadata["dtype"], "bf16");
  EXPECT_EQ(metadata["batch_size"], "2");
  EXPECT_EQ(metadata["nadi_version"], shown["nadi_version"]);
}

TEST_F(TrainCommandTest, ResumeStartsAnewWhereThereIsNothing) {
  const CliRun missing = train({{"--save-dir", "out"}, {"--resume", ""}});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("error: out: there is no checkpoint to continue from\n"));
  EXPECT_THAT(missing.err, HasSubstr("--resume-if-any"));
  const CliRun fresh = train({{"--save-dir", "out"}, {"--resume-if-any", ""}});
  EXPECT_EQ(fresh.code, 0);
  EXPECT_THAT(fresh.err, HasSubstr("note: no checkpoint in out: starting from the beginning\n"));
  fs::create_directories("out/checkpoint-9");
  const CliRun partly = train({{"--save-dir", "out"}, {"--resume", ""}});
  EXPECT_THAT(partly.err, HasSubstr("note: 1 folder in out is no complete checkpoint and is left alone\n"));
  EXPECT_THAT(partly.err, HasSubstr("note: continuing after step 4 of 4\n"));
}

TEST_F(TrainCommandTest, AnInterruptSavesAndEndsWith130) {
  Interruption interruption;
  interruption.ask();
  std::ostringstream out, err;
  Console console{.out = out, .err = err, .interruption = &interruption};
  EXPECT_EQ(run_cli(words_of(command({{"--save-dir", "out"}})), console), 130);
  EXPECT_THAT(out.str(), HasSubstr("stopped after 1 steps"));
  EXPECT_TRUE(fs::exists("out/checkpoint-1/training_state.json"));
  EXPECT_EQ(train_json({{"--save-dir", "out"}, {"--resume", ""}})["steps"], 4);
}

// Megatron's line, its memory, and its way to end early: 4 steps asked for, and a checkpoint at the second.
TEST_F(TrainCommandTest, SpeaksMegatron) {
  const CliRun done = run(
      "train gpt --num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 16 --data squad.json "
      "--tokenizer tok --threads 1 --micro-batch-size 2 --global-batch-size 4 --train-iters 4 "
      "--exit-interval 2 "
      "--lr 0.01 --lr-warmup-iters 1 --log-interval 1 --log-throughput --save out --use-mcore-models");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("note: no effect here: --use-mcore-models\n"));
  EXPECT_THAT(done.err, HasSubstr("tokenizer: tok, 260 tokens; the model has room for 260\n"));
  EXPECT_THAT(
      done.out,
      ContainsRegex("  world_size [.]+ 1\n-+ end of arguments -+\n"
                    " \\[[-0-9]+ [:0-9]+\\] iteration        1/       4 \\| consumed samples:            4 "
                    "\\| elapsed time per iteration \\(ms\\): [0-9.]+ \\| throughput per GPU "
                    "\\(TFLOP/s/GPU\\): [0-9.]+ \\| learning rate: 1.000000E-02 \\| global batch size:     4 "
                    "\\| lm loss: [0-9.]+E\\+00 \\| loss scale: 1.0 \\| grad norm: [0-9.]+ \\| number of "
                    "skipped iterations:   0 \\| number of nan iterations:   0 \\|\n"
                    "\\[Rank 0\\] \\(after 1 iterations\\) memory \\(MB\\) \\| allocated: [0-9.]+ "));
  EXPECT_THAT(done.out, HasSubstr("\nstopped after 2 steps"));
  EXPECT_TRUE(fs::exists("out/checkpoint-2/training_state.json"));
}

TEST_F(TrainCommandTest, OverflowsAreCountedAndSaid) {
  // Weights this large make gradients that do not fit fp16 times the first loss scale, 65536.
  write_text("wild.json", R"({"model_type": "gpt2", "vocab_size": 300, "n_positions": 32, "n_embd": 16,
                              "n_layer": 1, "n_head": 2, "initializer_range": 20})");
  const CliRun done = train({{"--dtype", "fp16"}}, "wild.json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("note: step 1: gradients overflowed; the step is skipped and the loss "
                                  "scale goes down to 32768\n"));
  EXPECT_THAT(done.out, ContainsRegex("\nskipped steps: [1-4]\n"));
}

}  // namespace
}  // namespace nadi::inline show
