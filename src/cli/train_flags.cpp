#include "nadi/cli/train_flags.h"

#include <array>

#include "nadi/base/format.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/defaults.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/train/trainer.h"

namespace nadi {
namespace {

constexpr std::array<std::string_view, 2> kDevices{"cpu", "cuda"};
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
                            "a built-in model (see 'nadi models'), a config.json, or a checkpoint folder, "
                            "whose weights are the start; gpt, llama or bert for one given by Megatron's "
                            "flags"});
  Group group(flags, "model and data");
  group.value("--model-name", "MODEL", "the same as MODEL", "none");
  group.value("--model-type", "TYPE", "what a config.json without model_type is: gpt2, bert, llama",
              "what the configuration says");
  group.value("--init-from", "FOLDER", "Hugging Face folder with the weights to start from",
              "MODEL, if that is a folder with weights, else random weights");
  group.value("--data", "FILE", "SQuAD 1.1 or 2.0 to train on", "one in --cache-dir, else a small sample");
  group.value("--eval-data", "FILE", "SQuAD file to validate on",
              "the one that goes with the data, else a tenth of it");
  group.add({.names = {"--data-path"},
             .value = "PREFIX...",
             .help = "Megatron's dataset to train on in place of --data: PREFIX.bin and PREFIX.idx, a folder "
                     "of such, or several, each after its weight",
             .fallback = "none",
             .many = true});
  group.value("--split", "A,B,C", "with --data-path: parts for training, validation and testing",
              kMegatronSplit);
  group.value("--data-cache-path", "FOLDER", "with --data-path: where its index maps go", "beside the data");
  group.value("--tokenizer", "FOLDER",
              "tokenizer.json, vocab.json and merges.txt, vocab.txt, or tokenizer.model",
              "the checkpoint's, else one in --cache-dir, else trained on the data; none with --data-path");
  group.value("--cache-dir", "FOLDER",
              "where SQuAD files and vocabularies are looked for (scripts/get_vocab.sh)",
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
             .help = "samples at a time, on each data-parallel rank",
             .fallback = format("{}, or all of --global-batch-size at once", defaults.batch_size)});
  group.number("--gradient-accumulation-steps", "batches whose gradients are added up for one step",
               format("{}", defaults.accumulation));
  group.number("--global-batch-size",
               "samples per step on all ranks together, in place of --gradient-accumulation-steps",
               "--batch-size x --gradient-accumulation-steps x --dp");
  group.number("--num-epochs", "passes over the data", format("{}, with --data-path 1", defaults.epochs));
  group.number("--max-steps", "steps after which to stop, whatever the epochs", "as the epochs have it");
  group.add({.names = {"--optimizer"},
             .value = "NAME",
             .help = "what updates the parameters; with Megatron's flags adam is its adam, which is adamw",
             .fallback = std::string(to_string(defaults.optimizer.kind)),
             .choices = optimizer_names()});
  group.number("--learning-rate", "its peak", format("{}", defaults.learning_rate.peak));
  group.add({.names = {"--lr-scheduler"},
             .value = "HOW",
             .help = "the learning rate after the warm-up",
             .fallback = std::string(to_string(defaults.learning_rate.decay)),
             .choices = schedules});
  group.number("--warmup-steps", "steps in which the learning rate rises",
               format("{}", defaults.learning_rate.warmup));
  group.number("--weight-decay", "of matrices; biases and norms have none",
               format("{}", defaults.optimizer.weight_decay));
  group.number("--max-grad-norm", "gradients with a larger norm are scaled down to it; 0 leaves them alone",
               format("{}", defaults.optimizer.max_grad_norm));
  group.add({.names = {"--dtype"},
             .value = "TYPE",
             .help = "of parameters and activations; the optimizer keeps fp32 copies",
             .fallback = std::string(kDTypes[0].first),
             .choices = dtype_names()});
  group.add(attention_flag());
  for (FlagSpec& spec : recompute_flags()) group.add(std::move(spec));
  group.number("--seed", "of weights, shuffling, masks and dropout",
               format("{}, with Megatron's flags {}", defaults.seed, kMegatronSeed));
  group.add({.names = {"--device"},
             .value = "WHERE",
             .help = "what computes",
             .fallback = "cpu",
             .choices = {kDevices.begin(), kDevices.end()}});
  group.number("--threads", "threads that compute, on each rank", "one per core");
  group.toggle("--no-memory-check", "start even where less memory is free than the step needs");
}

void add_rank_flags(Flags& flags) {
  Group group(flags, "several ranks");
  group.number("--num-ranks", "ranks to start on this machine; leave it out under mpirun or srun", "1");
  for (PlanFlag& flag : plan_flags()) {
    if (flag.spec.names[0] == "--dp") flag.spec.fallback = "the ranks there are / (tp x cp x pp)";
    group.add(std::move(flag.spec));
  }
  group.value("--slow", "RANKS", "compute slower on some ranks: rank=1:2x,rank=3:1.5x", "none");
}

void add_output_flags(Flags& flags) {
  Group group(flags, "evaluation and output");
  group.toggle("--skip-eval", "no validation");
  group.number("--eval-steps", "validate every so many steps, besides the end of each epoch", "only there");
  group.value("--save-dir", "FOLDER", "where checkpoints and best_model go", "nothing is saved");
  group.number("--save-steps", "checkpoint every so many steps", "at the end of each epoch");
  group.number("--save-total-limit", "checkpoints to keep, the newest ones", "all");
  group.toggle("--resume", "continue from the newest checkpoint in --save-dir");
  group.toggle("--resume-if-any", "the same where there is one, else start from the beginning");
  group.number("--logging-steps", "a line every so many steps, where no terminal is watched",
               format("{}", kDefaultLoggingSteps));
  group.add({.names = {"--log-format"},
             .value = "WHOSE",
             .help = "what the lines of a run look like",
             .fallback = "megatron with Megatron's flags, else nadi",
             .choices = {kLogFormats.begin(), kLogFormats.end()}});
  group.value("--tensorboard-dir", "FOLDER", "where an event file for TensorBoard goes", "none is written");
  group.toggle("--json", "print the result as JSON: see docs/json.md");
  group.toggle("--force", "overwrite traces, and checkpoints of another run");

  Group traces(flags, "traces");
  const RecorderOptions defaults;
  traces.toggle("--enable-tracing", "trace some steps: Kineto, Chakra and a table of times");
  traces.value("--trace-output-dir", "FOLDER", "where traces go",
               "outputs; with --profile --tensorboard-dir");
  traces.value("--trace-name", "NAME", "what their names begin with", "the model's name");
  traces.number("--trace-wait", "steps before anything is recorded", format("{}", defaults.wait));
  traces.number("--trace-warmup", "steps that are recorded and forgotten", format("{}", defaults.warmup));
  traces.number("--trace-active", "steps that are traced", format("{}", defaults.active));
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

}  // namespace nadi
