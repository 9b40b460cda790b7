#include "nadi/cli/train_flags.h"

#include <array>

#include "nadi/base/format.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/expert_flags.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/defaults.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/train/trainer.h"

namespace nadi::inline show {
namespace {

constexpr std::array<std::string_view, 2> kLogFormats{"nadi", "megatron"};

void add_model_flags(Flags& flags) {
  flags.set_positional({.name = "MODEL",
                        .help =
                            "a built-in model (see 'nadi models'), a config.json, or a checkpoint folder "
                            "with the weights to start from; gpt, llama or bert for a model that Megatron's "
                            "flags describe",
                        .fallback = "that of --plan"});
  FlagHeading group(flags, "model and data");
  group.value("--model-name", "MODEL", "the same as MODEL", "none");
  group.value("--model-type", "TYPE", "type of a config.json without model_type: gpt2, bert, llama",
              "what the configuration says");
  group.value("--init-from", "FOLDER", "Hugging Face folder with the weights to start from",
              "MODEL, if that is a folder with weights, else random weights");
  group.value("--data", "FILE", "SQuAD 1.1 or 2.0 file to train on",
              "one in --cache-dir, else a small sample");
  group.value("--eval-data", "FILE", "SQuAD file to validate on",
              "the file that belongs to --data, else a tenth of --data");
  group.value("--data-path", "PREFIX...",
              "Megatron's dataset to train on in place of --data: PREFIX.bin and PREFIX.idx, a folder "
              "of datasets, or several datasets, each after its weight",
              "none", {.many = true});
  group.value("--split", "A,B,C", "with --data-path: parts for training, validation and testing",
              kMegatronSplit);
  group.value("--data-cache-path", "FOLDER", "with --data-path: where the index maps are written",
              "beside the data");
  group.value("--tokenizer", "FOLDER",
              "tokenizer.json, vocab.json and merges.txt, vocab.txt, or tokenizer.model",
              "the checkpoint's, else one in --cache-dir, else trained on the data; none with --data-path");
  group.value("--cache-dir", "FOLDER",
              "where to search for SQuAD files and vocabularies, which 'nadi data get' puts there",
              format("{}; SQuAD files first in the folder that HF_DATASETS_CACHE names", kDefaultCacheDir));
  group.value("--max-seq-length", "N", "tokens per sample",
              format("the model's positions, at most {}", kDefaultTrainSeqLength));
  group.value("--dropout", "RATE", "all dropout rates of the model", "the model's own");
}

void add_training_flags(Flags& flags) {
  const TrainOptions defaults;
  FlagHeading group(flags, "training");
  std::vector<std::string_view> schedules;
  for (const DecayEntry& entry : decays()) schedules.push_back(entry.name);
  group.value({"--batch-size", "--micro-batch-size"}, "N",
              "samples of a micro-batch, on each data-parallel rank",
              format("{}, or all of --global-batch-size at once", defaults.batch_size));
  group.value("--gradient-accumulation-steps", "N", "micro-batches per step, whose gradients are accumulated",
              format("{}", defaults.accumulation));
  group.value("--global-batch-size", "N",
              "samples per step on all ranks, in place of --gradient-accumulation-steps",
              "--batch-size x --gradient-accumulation-steps x --dp");
  group.value("--num-epochs", "N", "passes over the data", format("{}, with --data-path 1", defaults.epochs));
  group.value("--max-steps", "N", "stop after this many steps, whatever --num-epochs says",
              "as --num-epochs says");
  group.value("--optimizer", "NAME",
              "optimizer; with Megatron's flags, adam is Megatron's Adam, which is adamw",
              std::string(to_string(defaults.optimizer.kind)), {.choices = optimizer_names()});
  group.value("--learning-rate", "N", "peak learning rate",
              format("{}", defaults.optimizer.learning_rate.peak));
  group.value("--lr-scheduler", "HOW", "decay of the learning rate after the warm-up",
              std::string(to_string(defaults.optimizer.learning_rate.decay)), {.choices = schedules});
  group.value("--warmup-steps", "N", "steps of linear warm-up",
              format("{}", defaults.optimizer.learning_rate.warmup));
  group.value("--weight-decay", "N", "weight decay of matrices; biases and norms have none",
              format("{}", defaults.optimizer.weight_decay));
  group.value("--max-grad-norm", "N",
              "clip the gradient norm to this value; 0: no clipping, and no norm is taken",
              format("{}", defaults.optimizer.max_grad_norm));
  group.value("--dtype", "TYPE", "type of parameters and activations; the optimizer keeps fp32 copies",
              std::string(kDTypes[0].first), {.choices = dtype_names()});
  group.add(attention_flag());
  for (FlagSpec& spec : recompute_flags()) group.add(std::move(spec));
  group.value("--seed", "N", "seed of weights, shuffling, masks and dropout",
              format("{}, with Megatron's flags {}", defaults.seed, kMegatronSeed));
  group.value("--device", "WHERE", device_help(), "cpu", {.choices = device_names()});
  for (FlagSpec& spec : math_flags()) group.add(std::move(spec));
  for (FlagSpec& spec : expert_flags()) group.add(std::move(spec));
  group.value("--threads", "N", "threads of each rank", "one per core");
  group.toggle("--no-memory-check", "start even if less memory is free than the step needs");
}

void add_rank_flags(Flags& flags) {
  FlagHeading group(flags, "several ranks");
  group.value("--num-ranks", "N", "ranks to start on this machine; leave it out under mpirun or srun",
              "1, or those of --plan");
  group.add(plan_file_flag(""));
  for (PlanFlag& flag : plan_flags()) {
    if (flag.spec.names[0] == "--dp") flag.spec.fallback = "all ranks / (tp x cp x pp)";
    group.add(std::move(flag.spec));
  }
  group.value(
      "--ddp-bucket-size", "N",
      "elements of the gradients that data-parallel ranks sum at once: small ones begin earlier, large "
      "ones use the network better",
      format("a {}th of the rank's parameters, {} at least and {} at most", kBucketsPerRank,
             with_thousands(kFewestBucketElements), with_thousands(kMostBucketElements)));
  add_comm_timeout_flag(flags, "several ranks");
  add_oversubscribe_flag(flags, "several ranks");
  group.value("--slow", "RANKS", "compute slower on some ranks: rank=1:2x,rank=3:1.5x", "none");
}

std::vector<std::string_view> save_format_names() {
  std::vector<std::string_view> names;
  for (const WeightFormatEntry& entry : weight_formats()) names.push_back(entry.name);
  return names;
}

void add_output_flags(Flags& flags) {
  FlagHeading group(flags, "evaluation and output");
  group.toggle("--skip-eval", "no validation");
  group.value("--eval-steps", "N", "validate every N steps, besides at the end of each epoch", "only there");
  group.value("--save-dir", "FOLDER", "folder for checkpoints and best_model",
              format("nothing is saved; with --save-steps {}/ and the model's type, as {}/gpt2",
                     kDefaultCheckpoints, kDefaultCheckpoints));
  group.value("--save-steps", "N", "save a checkpoint every N steps", "at the end of each epoch");
  group.value("--save-format", "FORMAT",
              "format of saved weights: model.safetensors, or pytorch_model.bin of torch.save",
              std::string(entry_of(WeightFormat::kSafetensors).name), {.choices = save_format_names()});
  group.value("--save-total-limit", "N", "keep only the newest N checkpoints", "all");
  group.toggle("--resume", "continue from the newest checkpoint in --save-dir");
  group.toggle("--resume-if-any", "the same if there is one, else start from the beginning");
  group.toggle("--no-verify", "do not check weights and checkpoints that are loaded against their checksums");
  group.value("--logging-steps", "N", "print a line every N steps, where standard error is not a terminal",
              format("{}", kDefaultLoggingSteps));
  group.value("--log-format", "WHOSE", "form of the log lines", "megatron with Megatron's flags, else nadi",
              {.choices = {kLogFormats.begin(), kLogFormats.end()}});
  group.value("--tensorboard-dir", "FOLDER", "folder for TensorBoard's event file", "none is written");
  group.value("--wandb-project", "NAME",
              "project of Weights & Biases: write an offline run, which 'wandb sync' uploads later; nothing "
              "is sent",
              "none is written");
  group.value({"--wandb-name", "--wandb-exp-name"}, "NAME", "with --wandb-project: name of the run",
              "one that Weights & Biases makes up");
  group.value({"--wandb-dir", "--wandb-save-dir"}, "FOLDER",
              "with --wandb-project: where wandb/offline-run-* is made", ".");
  group.value("--wandb-entity", "NAME", "with --wandb-project: user or team", "whoever uploads");
  group.toggle("--json", "print the result as JSON: see docs/json.md");
  group.toggle("--dry-run",
               "print plan, memory, data, steps, files and, with --cluster, the time; run nothing");
  group.toggle("--force", "overwrite traces and the checkpoints of another run, which hold nothing else");

  FlagHeading traces(flags, "traces");
  const RecorderOptions defaults;
  traces.toggle("--enable-tracing", "record some steps: Kineto and Chakra traces and a table of times");
  traces.value("--trace-output-dir", "FOLDER", "folder for traces",
               "outputs; with --profile --tensorboard-dir");
  traces.value("--trace-name", "NAME", "prefix of the traces' file names", "the model's name");
  traces.value("--trace-wait", "N", "steps before recording starts", format("{}", defaults.wait));
  traces.value("--trace-warmup", "N", "steps that are recorded and discarded", format("{}", defaults.warmup));
  traces.value("--trace-active", "N", "steps that are recorded and written", format("{}", defaults.active));
}

}  // namespace

void add_train_flags(Flags& flags) {
  add_model_flags(flags);
  add_training_flags(flags);
  add_rank_flags(flags);
  add_output_flags(flags);
  add_megatron_flags(flags);
  add_cluster_flag(flags, "print what a step would take on this hardware beside what it took", "none");
  flags.show_first({"--data", "--tokenizer", "--batch-size", "--max-seq-length", "--num-epochs",
                    "--max-steps", "--learning-rate", "--dtype", "--num-ranks", "--save-dir", "--resume",
                    "--enable-tracing"});
}

}  // namespace nadi::inline show
