#include "nadi/base/format.h"
#include "nadi/graph/learning_rate.h"
#include "nadi/megatron/defaults.h"
#include "nadi/megatron/flag_tables.h"
#include "nadi/megatron/model.h"
#include "nadi/megatron/tokenizer.h"

namespace nadi::inline show {
namespace {

// Collects rows below one heading of help.
class Rows {
 public:
  explicit Rows(std::string_view group) : group_(group) {}

  MegatronFlag& value(std::string_view name, std::string_view value, std::string help, std::string fallback) {
    list.push_back({.spec = {.names = {name},
                             .value = value,
                             .help = std::move(help),
                             .fallback = std::move(fallback),
                             .group = group_}});
    return list.back();
  }
  void toggle(std::string_view name, std::string help) {
    list.push_back({.spec = {.names = {name}, .help = std::move(help), .group = group_}});
  }
  void other_name(std::string_view name, std::string_view value, std::string_view own) {
    this->value(name, value, format("the same as {}", own), "none").same_as = own;
  }

  std::vector<MegatronFlag> list;

 private:
  std::string_view group_;
};

std::vector<MegatronFlag> model_rows() {
  Rows rows("Megatron's flags: the model");
  const auto own = [&](std::string_view name, std::string_view value, std::string help,
                       std::string fallback) {
    rows.value(name, value, std::move(help), std::move(fallback));
  };
  own("--num-layers", "N", "transformer layers", "MODEL's");
  own("--hidden-size", "N", "width of the residual stream", "MODEL's");
  own("--ffn-hidden-size", "N", "width of the feed-forward layer",
      "4 x --hidden-size; with --swiglu two thirds of that, rounded down to a multiple of 64");
  own("--num-attention-heads", "N", "attention heads", "MODEL's");
  own("--kv-channels", "N", "width of a head", "--hidden-size / --num-attention-heads");
  rows.toggle("--group-query-attention", "heads share keys and values in groups");
  own("--num-query-groups", "N", "with --group-query-attention: number of groups", "1");
  own("--max-position-embeddings", "N", "the longest sequence", "--seq-length");
  rows.value("--position-embedding-type", "TYPE", "position embedding", "learned_absolute").spec.choices = {
      "learned_absolute", "rope"};
  rows.toggle("--use-rotary-position-embeddings", "the same as --position-embedding-type rope");
  rows.toggle("--no-position-embedding", "no learned positions; goes with rope");
  own("--rotary-base", "X", "base of rope's wavelengths", "10000");
  own("--rotary-percent", "X", "fraction of a head that rope rotates; only 1 is supported", "1");
  own("--rotary-seq-len-interpolation-factor", "N", "linear interpolation of positions; only 1 is supported",
      "1");
  rows.toggle("--use-rope-scaling", "scale rope as Llama 3.1 does");
  own("--rope-scaling-factor", "X", "with --use-rope-scaling: the scaling factor",
      format("{}", kRopeScalingFactor));
  rows.value("--normalization", "TYPE", "normalization layer", "LayerNorm").spec.choices = {"LayerNorm",
                                                                                            "RMSNorm"};
  own("--norm-epsilon", "X", "epsilon of the normalization", "1e-05, of BERT 1e-12");
  rows.toggle("--swiglu", "SwiGLU in place of GELU");
  rows.toggle("--disable-bias-linear", "linear layers without biases");
  rows.toggle("--add-qkv-bias",
              "with --disable-bias-linear: biases of queries, keys and values, as Qwen2 has");
  rows.toggle("--qk-layernorm",
              "with --disable-bias-linear: norms of queries and keys per head, as Qwen3 has");
  own("--num-experts", "N", "experts of a layer", "none");
  own("--moe-router-topk", "N", "with --num-experts: experts that a token is routed to", "2");
  own("--moe-ffn-hidden-size", "N", "with --num-experts: width of an expert", "--ffn-hidden-size");
  own("--moe-layer-freq", "TEXT",
      "with --num-experts: every N-th layer has them, or a list as ([0]*3+[1]*58)", "1: all layers");
  own("--moe-shared-expert-intermediate-size", "N",
      "width of an expert that every token has; with --moe-shared-expert-gate", "there is none");
  rows.toggle("--moe-shared-expert-gate", "it is multiplied by the sigmoid of a gate");
  rows.toggle("--moe-router-pre-softmax",
              "weights of experts are a softmax over all of them, not over the chosen");
  rows.toggle("--untie-embeddings-and-output-weights", "separate weights for the output layer");
  own("--vocab-size", "N", "tokens of the vocabulary", "the tokenizer's, else those of the data");
  own("--make-vocab-size-divisible-by", "N", "round the vocabulary up to a multiple", "1");
  own("--init-method-std", "X", "standard deviation of fresh weights", "0.02");
  own("--attention-dropout", "RATE", "dropout of attention weights", "0.1");
  own("--hidden-dropout", "RATE", "dropout of embeddings and of residual branches", "0.1; Llama has none");
  return std::move(rows.list);
}

std::vector<MegatronFlag> training_rows() {
  Rows rows("Megatron's flags: training");
  rows.other_name("--train-iters", "N", "--max-steps");
  rows.value("--train-samples", "N", "stop after this many samples, in place of --train-iters", "none");
  MegatronFlag& ramp =
      rows.value("--rampup-batch-size", "START INCREMENT SAMPLES",
                 "the global batch grows from START by INCREMENT to --global-batch-size over "
                 "SAMPLES consumed",
                 "none");
  ramp.spec.many = true;
  MegatronFlag& steps =
      rows.value("--step-batch-size-schedule", "TOKENS:SIZE...",
                 "global batch sizes, each from a number of tokens on: \"0:768 250B:1536\"", "none");
  steps.spec.many = true;
  rows.toggle("--decrease-batch-size-if-needed",
              "round global batches down to whole micro-batches on every data-parallel rank");
  rows.other_name("--lr", "X", "--learning-rate");
  MegatronFlag& style = rows.value("--lr-decay-style", "HOW", "the same as --lr-scheduler", "none");
  style.same_as = "--lr-scheduler";
  for (const DecayEntry& entry : decays()) style.spec.choices.push_back(entry.name);
  rows.value("--min-lr", "X", "learning rate at the end of the decay", "0");
  rows.value("--lr-decay-iters", "N", "steps after which the decay ends", "--train-iters");
  rows.value("--lr-decay-samples", "N", "the same in samples", "none");
  rows.other_name("--lr-warmup-iters", "N", "--warmup-steps");
  rows.value("--lr-warmup-samples", "N", "samples of linear warm-up", "none");
  rows.value("--lr-warmup-fraction", "X", "warm-up as a fraction of the decay's steps", "none");
  rows.value("--lr-warmup-init", "X", "learning rate at the start of the warm-up", "0");
  rows.value("--lr-wsd-decay-iters", "N", "with --lr-decay-style WSD: steps of decay at the end", "none");
  rows.value("--lr-wsd-decay-samples", "N", "the same in samples", "none");
  const auto names = stable_decay_names();
  rows.value("--lr-wsd-decay-style", "HOW", "form of that decay", std::string(names[0])).spec.choices = {
      names.begin(), names.end()};
  const auto growths = weight_decay_growth_names();
  rows.value("--weight-decay-incr-style", "HOW", "how weight decay changes over the run",
             std::string(growths[0]))
      .spec.choices = {growths.begin(), growths.end()};
  rows.value("--start-weight-decay", "X", "with --weight-decay-incr-style: its value at the start", "none");
  rows.value("--end-weight-decay", "X", "its value at the end", "none");
  rows.other_name("--clip-grad", "X", "--max-grad-norm");
  rows.value("--adam-beta1", "X", "decay of the gradient's running mean", "0.9");
  rows.value("--adam-beta2", "X", "decay of the gradient's running mean square", "0.999");
  rows.value("--adam-eps", "X", "epsilon of Adam", "1e-08");
  rows.value("--sgd-momentum", "X", "momentum of --optimizer sgd", "0.9");
  rows.toggle("--bf16", "the same as --dtype bf16");
  rows.toggle("--fp16", "the same as --dtype fp16");
  rows.value("--exit-interval", "N", "save a checkpoint and end the run at the first step that N divides",
             "none");
  rows.value("--exit-duration-in-mins", "N", "save a checkpoint and end the run after N minutes", "none");
  return std::move(rows.list);
}

std::vector<MegatronFlag> split_rows() {
  Rows rows("Megatron's flags: parallelism and computation");
  rows.value("--decoder-first-pipeline-num-layers", "N", "layers of the first stage; sets --partition",
             "as the others");
  rows.value("--decoder-last-pipeline-num-layers", "N", "layers of the last stage", "as the others");
  rows.value("--num-layers-per-virtual-pipeline-stage", "N",
             "layers of a chunk; sets --schedule interleaved and --virtual-stages", "none");
  rows.value("--num-virtual-stages-per-pipeline-rank", "N", "--schedule interleaved with --virtual-stages N",
             "none");
  rows.toggle("--use-distributed-optimizer", "the same as --zero 1");
  rows.toggle("--recompute-activations", "the same as --recompute selective");
  rows.toggle("--checkpoint-activations", "the same as --recompute full");
  rows.value("--activations-checkpoint-method", "HOW", "the same as --recompute full --recompute-method",
             "none")
      .spec.choices = {"uniform", "block"};
  rows.toggle("--use-flash-attn", "the same as --attention fused");
  rows.value("--attention-backend", "HOW", "unfused and local: --attention unfused", "auto").spec.choices = {
      "auto", "flash", "fused", "unfused", "local"};
  rows.toggle("--deterministic-mode", "the same as --deterministic");
  return std::move(rows.list);
}

std::vector<MegatronFlag> file_rows() {
  Rows rows("Megatron's flags: data and files");
  rows.toggle("--mock-data", "train on random tokens: no data and no tokenizer are needed");
  const auto many = [&](std::string_view name, std::string_view value, std::string help) {
    rows.value(name, value, std::move(help), "none").spec.many = true;
  };
  rows.value("--data-args-path", "FILE", "file with the words of --data-path", "none");
  many("--train-data-path", "PREFIX...", "datasets for training only, in place of --data-path and --split");
  many("--valid-data-path", "PREFIX...", "with --train-data-path: datasets for validation");
  rows.value("--per-split-data-args-path", "FILE",
             "both in a JSON file: {\"train\": [...], \"valid\": [...]}", "none");
  rows.toggle("--eod-mask-loss",
              "with --data-path: no loss for the prediction after the token that ends a document");
  for (FlagSpec& spec : megatron_tokenizer_flags()) {
    spec.group = "Megatron's flags: data and files";
    rows.list.push_back({.spec = std::move(spec)});
  }
  rows.value("--load", "FOLDER",
             "continue from the newest checkpoint in FOLDER, Nadi's or Megatron-LM's, if there is one",
             "none");
  rows.toggle("--exit-on-missing-checkpoint", "with --load: fail if there is no checkpoint");
  rows.toggle("--finetune", "with --load: load the weights only and start at step 0");
  rows.value("--ckpt-step", "N", "with --load: continue from the checkpoint after step N", "the newest");
  rows.toggle("--no-load-optim",
              "with --load: load weights and step, with a fresh optimizer and learning rate");
  rows.toggle("--override-opt-param-scheduler",
              "with --load: use the schedules of the command line, without a note if they are new");
  rows.toggle("--use-checkpoint-opt-param-scheduler",
              "with --load: use the checkpoint's learning-rate schedule");
  rows.toggle("--use-checkpoint-args", "with --load: train the model that the checkpoint has");
  rows.other_name("--pretrained-checkpoint", "FOLDER", "--init-from");
  rows.other_name("--save", "FOLDER", "--save-dir");
  rows.other_name("--save-interval", "N", "--save-steps");
  rows.value("--ckpt-format", "FORM", "form of checkpoints: Nadi's, or one of Megatron-LM's", "nadi")
      .spec.choices = {"nadi", "torch", "torch_dist"};
  rows.value("--transformer-impl", "NAME", "with --ckpt-format torch: whose names the norms have",
             "transformer_engine")
      .spec.choices = {"transformer_engine", "local"};
  rows.toggle("--use-dist-ckpt", "the same as --ckpt-format torch_dist");
  rows.toggle("--no-save-optim", "with --save: save no optimizer state");
  rows.other_name("--eval-interval", "N", "--eval-steps");
  rows.value("--eval-iters", "N", "with --data-path: validate on N global batches; 0 disables validation",
             format("{}", kMegatronEvalIterations));
  return std::move(rows.list);
}

std::vector<MegatronFlag> log_rows() {
  Rows rows("Megatron's flags: logs and traces");
  rows.other_name("--log-interval", "N", "--logging-steps");
  rows.toggle("--log-throughput", "print TFLOP/s per rank in Megatron's line");
  rows.toggle("--profile",
              "the same as --enable-tracing; on a GPU mark the steps for nsys and ncu instead (NVTX)");
  rows.toggle("--use-pytorch-profiler", "with --profile on a GPU: trace the steps as --enable-tracing does");
  MegatronFlag& ranks = rows.value("--profile-ranks", "RANK...", "with --profile: ranks to trace", "all");
  ranks.spec.many = true;
  rows.value("--timing-log-level", "N", "1 and 2: print the times of a step's parts after each line", "0")
      .spec.choices = {"0", "1", "2"};
  rows.value("--timing-log-option", "HOW", "ranks whose times are printed", "minmax").spec.choices = {
      "max", "minmax", "all"};
  rows.value("--profile-step-start", "N", "with --profile: steps before tracing starts",
             format("{}", kProfileStart));
  rows.value("--profile-step-end", "N", "with --profile: last traced step", format("{}", kProfileEnd));
  return std::move(rows.list);
}

}  // namespace

std::vector<MegatronFlag> acting_megatron_flags() {
  std::vector<MegatronFlag> all;
  for (std::vector<MegatronFlag>& rows : std::vector<std::vector<MegatronFlag>>{
           model_rows(), training_rows(), split_rows(), file_rows(), log_rows()})
    for (MegatronFlag& row : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace nadi::inline show
