#include "nadi/cli/train_flags.h"

#include <array>

#include "nadi/base/format.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/computation_choices.h"
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

// Adds flags below one heading.
class Group {
 public:
  Group(Flags& flags, std::string_view name) : flags_(flags), name_(name) {}

  void value(std::string_view name, std::string_view value, std::string help, std::string fallback) {
    add({.names = {name}, .value = value, .help = std::move(help), .fallback = std::move(fallback)});
  }
  void number(std::string_view name, std::string help, std::string fallback) {
    value(name, "N", std::move(help), std::move(fallback));
  }
  void toggle(std::string_view name, std::string help) { add({.names = {name}, .help = std::move(help)}); }
  void add(FlagSpec spec) {
    spec.group = name_;
    flags_.add(std::move(spec));
  }

 private:
  Flags& flags_;
  std::string_view name_;
};

void add_model_flags(Flags& flags) {
  flags.set_positional({.name = "MODEL",
                        .help =
                            "a built-in model (see 'nadi models'), a config.json, or a checkpoint folder "
                            "with the weights to start from; gpt, llama or bert for a model that Megatron's "
                            "flags describe",
                        .fallback = "that of --plan"});
  Group group(flags, "model and data");
  group.value("--model-name", "MODEL", "the same as MODEL", "none");
  group.value("--model-type", "TYPE", "type of a config.json without model_type: gpt2, bert, llama",
              "what the configuration says");
  group.value("--init-from", "FOLDER", "Hugging Face folder with the weights to start from",
              "MODEL, if that is a folder with weights, else random weights");
  group.value("--data", "FILE", "SQuAD 1.1 or 2.0 file to train on",
              "one in --cache-dir, else a small sample");
  group.value("--eval-data", "FILE", "SQuAD file to validate on",
              "the file that belongs to --data, else a tenth of --data");
  group.add({.names = {"--data-path"},
             .value = "PREFIX...",
             .help = "Megatron's dataset to train on in place of --data: PREFIX.bin and PREFIX.idx, a folder "
                     "of datasets, or several datasets, each after its weight",
             .fallback = "none",
             .many = true});
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
  group.add({.names = {"--max-seq-length"},
             .value = "N",
             .help = "tokens per sample",
             .fallback = format("the model's positions, at most {}", kDefaultTrainSeqLength)});
  group.value("--dropout", "RATE", "all dropout rates of the model", "the model's own");
}

void add_training_flags(Flags& flags) {
  const TrainOptions defaults;
  Group group(flags, "training");
  std::vector<std::string_view> schedules;
  for (const DecayEntry& entry : decays()) schedules.push_back(entry.name);
  group.add({.names = {"--batch-size", "--micro-batch-size"},
             .value = "N",
             .help = "samples of a micro-batch, on each data-parallel rank",
             .fallback = format("{}, or all of --global-batch-size at once", defaults.batch_size)});
  group.number("--gradient-accumulation-steps", "micro-batches per step, whose gradients are accumulated",
               format("{}", defaults.accumulation));
  group.number("--global-batch-size",
               "samples per step on all ranks, in place of --gradient-accumulation-steps",
               "--batch-size x --gradient-accumulation-steps x --dp");
  group.number("--num-epochs", "passes over the data", format("{}, with --data-path 1", defaults.epochs));
  group.number("--max-steps", "stop after this many steps, whatever --num-epochs says",
               "as --num-epochs says");
  group.add({.names = {"--optimizer"},
             .value = "NAME",
             .help = "optimizer; with Megatron's flags, adam is Megatron's Adam, which is adamw",
             .fallback = std::string(to_string(defaults.optimizer.kind)),
             .choices = optimizer_names()});
  group.number("--learning-rate", "peak learning rate", format("{}", defaults.optimizer.learning_rate.peak));
  group.add({.names = {"--lr-scheduler"},
             .value = "HOW",
             .help = "decay of the learning rate after the warm-up",
             .fallback = std::string(to_string(defaults.optimizer.learning_rate.decay)),
             .choices = schedules});
  group.number("--warmup-steps", "steps of linear warm-up",
               format("{}", defaults.optimizer.learning_rate.warmup));
  group.number("--weight-decay", "weight decay of matrices; biases and norms have none",
               format("{}", defaults.optimizer.weight_decay));
  group.number("--max-grad-norm",
               "clip the gradient norm to this value; 0: no clipping, and no norm is taken",
               format("{}", defaults.optimizer.max_grad_norm));
  group.add({.names = {"--dtype"},
             .value = "TYPE",
             .help = "type of parameters and activations; the optimizer keeps fp32 copies",
             .fallback = std::string(kDTypes[0].first),
             .choices = dtype_names()});
  group.add(attention_flag());
  for (FlagSpec& spec : recompute_flags()) group.add(std::move(spec));
  group.number("--seed", "seed of weights, shuffling, masks and dropout",
               format("{}, with Megatron's flags {}", defaults.seed, kMegatronSeed));
  group.add({.names = {"--device"},
             .value = "WHERE",
             .help = device_help(),
             .fallback = "cpu",
             .choices = device_names()});
  for (FlagSpec& spec : math_flags()) group.add(std::move(spec));
  group.number("--threads", "threads of each rank", "one per core");
  group.toggle("--no-memory-check", "start even if less memory is free than the step needs");
}

void add_rank_flags(Flags& flags) {
  Group group(flags, "several ranks");
  group.number("--num-ranks", "ranks to start on this machine; leave it out under mpirun or srun",
               "1, or those of --plan");
  group.add(plan_file_flag(""));
  for (PlanFlag& flag : plan_flags()) {
    if (flag.spec.names[0] == "--dp") flag.spec.fallback = "all ranks / (tp x cp x pp)";
    group.add(std::move(flag.spec));
  }
  group.number(
      "--ddp-bucket-size",
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
  Group group(flags, "evaluation and output");
  group.toggle("--skip-eval", "no validation");
  group.number("--eval-steps", "validate every N steps, besides at the end of each epoch", "only there");
  group.value("--save-dir", "FOLDER", "folder for checkpoints and best_model",
              format("nothing is saved; with --save-steps {}/ and the model's type, as {}/gpt2",
                     kDefaultCheckpoints, kDefaultCheckpoints));
  group.number("--save-steps", "save a checkpoint every N steps", "at the end of each epoch");
  group.add({.names = {"--save-format"},
             .value = "FORMAT",
             .help = "format of saved weights: model.safetensors, or pytorch_model.bin of torch.save",
             .fallback = std::string(entry_of(WeightFormat::kSafetensors).name),
             .choices = save_format_names()});
  group.number("--save-total-limit", "keep only the newest N checkpoints", "all");
  group.toggle("--resume", "continue from the newest checkpoint in --save-dir");
  group.toggle("--resume-if-any", "the same if there is one, else start from the beginning");
  group.toggle("--no-verify", "do not check weights and checkpoints that are loaded against their checksums");
  group.number("--logging-steps", "print a line every N steps, where standard error is not a terminal",
               format("{}", kDefaultLoggingSteps));
  group.add({.names = {"--log-format"},
             .value = "WHOSE",
             .help = "form of the log lines",
             .fallback = "megatron with Megatron's flags, else nadi",
             .choices = {kLogFormats.begin(), kLogFormats.end()}});
  group.value("--tensorboard-dir", "FOLDER", "folder for TensorBoard's event file", "none is written");
  group.value("--wandb-project", "NAME",
              "project of Weights & Biases: write an offline run, which 'wandb sync' uploads later; nothing "
              "is sent",
              "none is written");
  group.add({.names = {"--wandb-name", "--wandb-exp-name"},
             .value = "NAME",
             .help = "with --wandb-project: name of the run",
             .fallback = "one that Weights & Biases makes up"});
  group.add({.names = {"--wandb-dir", "--wandb-save-dir"},
             .value = "FOLDER",
             .help = "with --wandb-project: where wandb/offline-run-* is made",
             .fallback = "."});
  group.value("--wandb-entity", "NAME", "with --wandb-project: user or team", "whoever uploads");
  group.toggle("--json", "print the result as JSON: see docs/json.md");
  group.toggle("--dry-run",
               "print plan, memory, data, steps, files and, with --cluster, the time; run nothing");
  group.toggle("--force", "overwrite traces and the checkpoints of another run, which hold nothing else");

  Group traces(flags, "traces");
  const RecorderOptions defaults;
  traces.toggle("--enable-tracing", "record some steps: Kineto and Chakra traces and a table of times");
  traces.value("--trace-output-dir", "FOLDER", "folder for traces",
               "outputs; with --profile --tensorboard-dir");
  traces.value("--trace-name", "NAME", "prefix of the traces' file names", "the model's name");
  traces.number("--trace-wait", "steps before recording starts", format("{}", defaults.wait));
  traces.number("--trace-warmup", "steps that are recorded and discarded", format("{}", defaults.warmup));
  traces.number("--trace-active", "steps that are recorded and written", format("{}", defaults.active));
}

}  // namespace

void add_train_flags(Flags& flags) {
  add_model_flags(flags);
  add_training_flags(flags);
  add_rank_flags(flags);
  add_output_flags(flags);
  add_megatron_flags(flags);
  flags.show_first({"--data", "--tokenizer", "--batch-size", "--max-seq-length", "--num-epochs",
                    "--max-steps", "--learning-rate", "--dtype", "--num-ranks", "--save-dir", "--resume",
                    "--enable-tracing"});
}

}  // namespace nadi::inline show
