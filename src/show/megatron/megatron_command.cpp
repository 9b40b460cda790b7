#include "nadi/megatron/megatron_command.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/megatron/defaults.h"
#include "nadi/plan/device_runs.h"
#include "nadi/sim/framework.h"

namespace nadi::inline show {
namespace {

// Steps of the command: enough to see how long one takes.
constexpr int kTrainedSteps = 20;
constexpr const char* kLearningRate = "1.5e-4";  // of Megatron's own example for GPT-3

// Megatron-LM refuses tensor and context parallelism without it on GPUs before Blackwell, and up to Core 0.8
// every run that does not switch off its asynchronous reductions.
constexpr std::string_view kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

std::vector<std::int64_t> counted_layers(std::vector<std::int64_t> partition) {
  partition.front() += 1;
  partition.back() += 1;
  return partition;
}

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += format("{}{}", text.empty() ? "[" : ", ", number);
  return text + "]";
}

std::string layers_text(std::int64_t layers) {
  return layers == 0 ? "" : layers == 1 ? "t" : format("t*{}", layers);
}

// "E|t*11|(t*8|)*4t*5|L": equal neighbours between the first and the last stage are one pattern.
std::string layout_text(const std::vector<std::int64_t>& partition) {
  if (partition.size() == 1) return "E" + layers_text(partition[0]) + "L";
  std::string text = "E" + layers_text(partition[0]) + "|";
  for (std::size_t i = 1; i + 1 < partition.size();) {
    std::size_t end = i + 1;
    while (end + 1 < partition.size() && partition[end] == partition[i]) ++end;
    const std::string stage = layers_text(partition[i]) + "|";
    text += end - i == 1 ? stage : format("({})*{}", stage, end - i);
    i = end;
  }
  return text + layers_text(partition.back()) + "L";
}

bool all_equal(std::vector<std::int64_t>::const_iterator first,
               std::vector<std::int64_t>::const_iterator last) {
  return first == last || std::all_of(first, last, [&](std::int64_t number) { return number == *first; });
}

// Words of the command, a line for each subject.
class CommandLines {
 public:
  void line(std::vector<std::string> words) {
    if (words.empty()) return;
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    lines_.push_back(std::move(text));
  }
  std::string text() const {
    std::string text;
    for (const std::string& line : lines_) text += (text.empty() ? "" : " \\\n  ") + line;
    return text;
  }

 private:
  std::vector<std::string> lines_;
};

class MegatronWriter {
 public:
  MegatronWriter(const ModelConfig& config, const PlanFile& file)
      : config_(config), file_(file), partition_(resolved_partition(config, file.plan)) {
    result_.partition = list_text(counted_layers(partition_));
    result_.layout = layout_text(partition_);
  }

  MegatronCommand write(const Cluster& cluster) {
    lines_.line(torchrun(cluster));
    lines_.line(shape());
    lines_.line(variety());
    lines_.line(split());
    lines_.line(batch());
    lines_.line(computation());
    lines_.line(reductions());
    lines_.line(data());
    result_.command = lines_.text();
    name_what_differs();
    return std::move(result_);
  }

  MegatronPlanFlags flags() {
    MegatronPlanFlags all;
    for (const std::vector<std::string>& words :
         {shape(), variety(), split(), batch(), computation(), reductions()})
      for (const std::string& word : words) add_given(word, all.flags);
    for (MegatronPlanFlag& flag : left_out())
      if (std::ranges::find(all.flags, flag.name, &MegatronPlanFlag::name) == all.flags.end())
        all.flags.push_back(std::move(flag));
    name_what_differs();
    all.environment.emplace_back(kConnections, "1");
    all.notes = std::move(result_.notes);
    all.problems = std::move(result_.problems);
    return all;
  }

 private:
  // "--seq-length 1024 --bf16": values have no spaces; a layout is quoted for the shell.
  static void add_given(std::string_view text, std::vector<MegatronPlanFlag>& flags) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      std::string word(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      std::erase(word, '\'');
      if (word.starts_with("--"))
        flags.push_back({.name = std::move(word)});
      else
        flags.back().values.push_back(std::move(word));
    }
  }

  // What the command may go without.
  std::vector<MegatronPlanFlag> left_out() const {
    using Use = MegatronPlanFlag::Use;
    std::vector<MegatronPlanFlag> flags;
    const auto absent = [&](std::initializer_list<const char*> names, const std::string& instead) {
      for (const char* const name : names)
        flags.push_back({.name = name, .use = Use::kAbsent, .instead = instead});
    };
    const auto usual = [&](const char* name, std::vector<std::string> values) {
      flags.push_back({.name = name, .use = Use::kDefault, .values = std::move(values)});
    };
    usual("--kv-channels", {format("{}", config_.head_width)});
    usual("--position-embedding-type", {"learned_absolute"});
    usual("--normalization", {"LayerNorm"});
    usual("--norm-epsilon", {format("{}", config_.norm_epsilon)});
    usual("--attention-dropout", {format("{}", config_.attention_dropout)});
    usual("--hidden-dropout", {format("{}", config_.residual_dropout)});
    usual("--rope-scaling-factor", {format("{}", kRopeScalingFactor)});
    usual("--context-parallel-size", {"1"});
    usual("--optimizer", {"adam"});
    usual("--attention-backend", {"auto", "flash", "fused"});
    absent({"--group-query-attention", "--num-query-groups"}, format("{} heads of keys", config_.kv_heads));
    absent({"--use-rope-scaling", "--swiglu", "--disable-bias-linear", "--add-qkv-bias", "--qk-layernorm",
            "--untie-embeddings-and-output-weights", "--sequence-parallel"},
           "");
    absent({"--use-distributed-optimizer"}, "an optimizer that is whole on each rank");
    absent({"--num-virtual-stages-per-pipeline-rank", "--num-layers-per-virtual-pipeline-stage",
            "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers",
            "--pipeline-model-parallel-layout", "--account-for-embedding-in-pipeline-split",
            "--account-for-loss-in-pipeline-split"},
           "the layers " + result_.layout);
    absent({"--bf16", "--fp16"}, format("{}", to_string(file_.dtype)));
    absent({"--fp8-format"}, "");
    const Framework* const framework = find_framework(file_.predicted.framework);
    if (framework != nullptr && framework->overlap.reduce_after_backward)
      absent({"--overlap-grad-reduce"}, "reductions behind the backward pass");
    absent({"--recompute-granularity", "--recompute-method", "--recompute-num-layers"}, "");
    // The same as --recompute-granularity selective.
    if (file_.recompute.granularity != Recompute::Granularity::kSelective)
      absent({"--recompute-activations"}, "");
    return flags;
  }

  // torchrun numbers ranks node by node, in the order of the nodes.
  std::vector<std::string> torchrun(const Cluster& cluster) {
    const std::vector<NodeRanks> nodes = nodes_in_order_of_ranks(cluster, placed_devices(file_));
    std::vector<std::string> words{format("{}=1 torchrun", kConnections)};
    const bool same =
        std::ranges::all_of(nodes, [&](const NodeRanks& node) { return node.ranks == nodes.front().ranks; });
    if (nodes.size() > 1) {
      words.push_back(format("--nnodes {} --node-rank $NODE_RANK", nodes.size()));
      words.emplace_back("--master-addr $MASTER_ADDR --master-port 6000");
      result_.notes.emplace_back(
          "run it on every node: NODE_RANK is 0 on the first, MASTER_ADDR its address");
    }
    words.push_back(same ? format("--nproc-per-node {}", nodes.front().ranks)
                         : "--nproc-per-node $RANKS_OF_NODE");
    if (!same) result_.notes.emplace_back("RANKS_OF_NODE differs from node to node: see the placement");
    words.emplace_back(form().script);
    check_nodes(nodes, cluster);
    return words;
  }

  void check_nodes(const std::vector<NodeRanks>& nodes, const Cluster& cluster) {
    std::vector<std::int32_t> seen;
    for (const NodeRanks& node : nodes) seen.push_back(node.node);
    std::ranges::sort(seen);
    if (std::ranges::adjacent_find(seen) != seen.end())
      result_.problems.emplace_back(
          "ranks of a node do not follow one another; torchrun numbers them node by node");
    for (const NodeRanks& node : nodes)
      if (cluster.devices[static_cast<std::size_t>(cluster.node(node.node).device)].type ==
          DeviceType::kCpu) {
        result_.problems.emplace_back("Megatron-LM runs on GPUs, and the plan is for CPUs");
        break;
      }
  }

  std::vector<std::string> shape() const {
    std::vector<std::string> words{format("--num-layers {} --hidden-size {} --num-attention-heads {}",
                                          config_.layers, config_.width, config_.heads)};
    words.push_back(format("--ffn-hidden-size {}", config_.ffn_width));
    if (config_.head_width * config_.heads != config_.width)
      words.push_back(format("--kv-channels {}", config_.head_width));
    if (config_.experts > 0)
      for (std::string& word : experts()) words.push_back(std::move(word));
    if (config_.kv_heads != config_.heads)
      words.push_back(format("--group-query-attention --num-query-groups {}", config_.kv_heads));
    words.push_back(format("--max-position-embeddings {}", config_.positions));
    return words;
  }

  std::vector<std::string> experts() const {
    std::vector<std::string> words{
        format("--num-experts {} --moe-router-topk {} --moe-ffn-hidden-size {} --moe-grouped-gemm "
               "--moe-token-dispatcher-type alltoall",
               config_.experts, config_.experts_per_token, config_.expert_width)};
    if (!config_.normalized_experts) words.emplace_back("--moe-router-pre-softmax");
    if (config_.shared_expert_width > 0)
      words.push_back(format("--moe-shared-expert-intermediate-size {} --moe-shared-expert-gate",
                             config_.shared_expert_width));
    if (has_mixed_layers(config_)) {
      std::string pattern;
      for (std::int64_t layer = 0; layer < config_.layers; ++layer)
        pattern += format("{}{}", layer == 0 ? "" : ",", is_sparse(config_, layer) ? 1 : 0);
      words.push_back(format("--moe-layer-freq '[{}]'", pattern));
    }
    if (config_.balance_loss)
      words.push_back(format("--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff {}",
                             config_.balance_coefficient));
    return words;
  }

  std::vector<std::string> variety() {
    std::vector<std::string> words;
    const ArchitectureDescription& architecture = *config_.architecture;
    if (architecture.rotary())
      words.push_back(format("--position-embedding-type rope --rotary-base {}",
                             static_cast<std::int64_t>(config_.rotary.theta)));
    if (architecture.norm == NormKind::kRms) {
      if (words.empty()) words.emplace_back();
      words.back() += words.back().empty() ? "--normalization RMSNorm" : " --normalization RMSNorm";
    }
    if (architecture.rotary() && config_.rotary.factor > 1) {
      words.emplace_back("--use-rope-scaling");
      note_versions("--use-rope-scaling", 9);
      if (config_.rotary.factor != kRopeScalingFactor) {
        words.push_back(format("--rope-scaling-factor {}", config_.rotary.factor));
        note_versions("--rope-scaling-factor", 10);
      }
    }
    if (architecture.gated()) words.emplace_back("--swiglu");
    if (!config_.ffn_bias) words.emplace_back("--disable-bias-linear");
    if (!config_.ffn_bias && config_.attention_bias) words.emplace_back("--add-qkv-bias");
    if (architecture.head_norms()) words.emplace_back("--qk-layernorm");
    if (!config_.tied_embeddings) words.emplace_back("--untie-embeddings-and-output-weights");
    if (config_.architecture->masked()) words.emplace_back("--bert-no-binary-head");
    if (config_.norm_epsilon != kMegatronNormEpsilon)
      words.push_back(format("--norm-epsilon {}", config_.norm_epsilon));
    if (config_.attention_dropout != kMegatronDropout)
      words.push_back(format("--attention-dropout {}", config_.attention_dropout));
    if (config_.residual_dropout != kMegatronDropout)
      words.push_back(format("--hidden-dropout {}", config_.residual_dropout));
    return words;
  }

  std::vector<std::string> split() {
    const Plan& plan = file_.plan;
    std::vector<std::string> words{
        format("--tensor-model-parallel-size {} --pipeline-model-parallel-size {}", plan.tp, plan.pp)};
    if (plan.cp > 1) words.push_back(format("--context-parallel-size {}", plan.cp));
    if (config_.experts > 0)
      words.push_back(format("--expert-model-parallel-size {} --expert-tensor-parallel-size {}", plan.ep,
                             plan.expert_tp()));
    if (config_.experts > 0 && plan.tp > 1 && !plan.sequence_parallel)
      result_.problems.emplace_back(
          "Megatron-LM trains experts on tensor-parallel ranks with sequence parallelism only");
    if (plan.sequence_parallel) words.emplace_back("--sequence-parallel");
    if (plan.zero_stage == 1) words.emplace_back("--use-distributed-optimizer");
    if (plan.pp * plan.virtual_stages > 1)
      for (std::string& word : pipeline()) words.push_back(std::move(word));
    return words;
  }

  std::vector<std::string> pipeline() {
    const Plan& plan = file_.plan;
    if (all_equal(partition_.begin(), partition_.end())) {
      if (plan.virtual_stages == 1) return {};
      // Later versions also take the number of virtual stages; all of them take the layers of one.
      return {format("--num-layers-per-virtual-pipeline-stage {}", partition_.front())};
    }
    const bool ends_differ_alone =
        plan.virtual_stages == 1 && partition_.front() > 0 && partition_.back() > 0 &&
        all_equal(partition_.begin() + 1, partition_.end() - 1) && (plan.pp == 2 || partition_[1] > 0);
    if (ends_differ_alone) {
      note_versions("--decoder-first-pipeline-num-layers", 8);
      // The last of two stages has the rest. Given both, Megatron Core 0.11 and 0.12 divide by the zero
      // stages between them.
      if (plan.pp == 2) return {format("--decoder-first-pipeline-num-layers {}", partition_.front())};
      return {format("--decoder-first-pipeline-num-layers {}", partition_.front()),
              format("--decoder-last-pipeline-num-layers {}", partition_.back())};
    }
    note_versions("--pipeline-model-parallel-layout", 12,
                  ", and cannot split layers so; it is experimental in Megatron-LM");
    return {format("--pipeline-model-parallel-layout '{}'", result_.layout)};
  }

  std::vector<std::string> batch() const {
    return {format("--seq-length {} --micro-batch-size {} --global-batch-size {}", file_.seq_length,
                   file_.micro_batch_size, file_.global_batch_size)};
  }

  // `last` is the minor version of the last Megatron Core without the flag.
  void note_versions(std::string_view flag, int last, std::string_view more = "") {
    result_.notes.push_back(format("{}: versions up to Megatron Core 0.{} lack it{}", flag, last, more));
  }

  std::vector<std::string> computation() {
    std::vector<std::string> words;
    if (file_.dtype == DType::kBF16) words.emplace_back("--bf16");
    if (file_.dtype == DType::kF16) words.emplace_back("--fp16");
    if (file_.fp8) words.emplace_back("--fp8-format hybrid");
    if (!file_.fused_attention) {
      words.emplace_back("--attention-backend unfused");
      note_versions("--attention-backend", 10);
    }
    if (file_.recompute.granularity != Recompute::Granularity::kNone)
      words.push_back(format("--recompute-granularity {}", to_string(file_.recompute.granularity)));
    if (file_.recompute.granularity == Recompute::Granularity::kFull)
      words.push_back(format("--recompute-method {} --recompute-num-layers {}",
                             to_string(file_.recompute.method), file_.recompute.layers));
    if (file_.optimizer == OptimizerKind::kSgd) words.emplace_back("--optimizer sgd");
    return words;
  }

  // As the prediction has them: beside the backward pass or behind it, and in which type. Megatron-LM reduces
  // behind it, fp16 gradients in fp16 and bf16 gradients in fp32, unless it is told otherwise.
  std::vector<std::string> reductions() {
    if (file_.plan.dp * file_.plan.cp < 2) return {};
    std::vector<std::string> words;
    const Framework* const framework = find_framework(file_.predicted.framework);
    if (framework != nullptr && !framework->overlap.reduce_after_backward)
      words.emplace_back("--overlap-grad-reduce");
    if (framework != nullptr && framework->layout.gathers == GatherTime::kBeforeUse &&
        file_.plan.zero_stage > 0)
      words.emplace_back("--overlap-param-gather");
    const auto reduced = file_.predicted.gradient_dtype;
    if (reduced == DType::kF32 && file_.dtype == DType::kF16)
      words.emplace_back("--accumulate-allreduce-grads-in-fp32");
    else if (reduced == DType::kBF16 && file_.dtype == DType::kBF16)
      words.emplace_back("--grad-reduce-in-bf16");
    else if (reduced && reduced != file_.dtype && reduced != DType::kF32)
      result_.problems.push_back(format("Megatron-LM does not reduce gradients of {} in {}",
                                        to_string(file_.dtype), to_string(*reduced)));
    return words;
  }

  std::vector<std::string> data() {
    std::vector<std::string> words{
        format("--train-iters {} --lr {} --eval-iters 0 --log-interval 1", kTrainedSteps, kLearningRate)};
    if (config_.architecture->masked()) {
      words.push_back(format("--data-path $DATA --vocab-file $VOCAB --tokenizer-type {}", form().tokenizer));
      result_.notes.emplace_back(
          "DATA is a prefix of 'nadi data preprocess --split-sentences', VOCAB its vocab.txt");
      result_.notes.emplace_back(format("{} is in examples/bert from Megatron Core 0.18 on", form().script));
    } else {
      // This tokenizer adds a token for the end of documents, up to Megatron Core 0.17; with later ones there
      // is one less, which the padding of the vocabulary makes good.
      words.push_back(
          format("--mock-data --tokenizer-type NullTokenizer --vocab-size {}", config_.vocabulary - 1));
    }
    return words;
  }

  // That of the first architecture where the model's has none, which is a problem that is named.
  const MegatronDescription& form() const {
    const auto& own = config_.architecture->megatron;
    return own ? *own : *Architecture()->megatron;
  }

  void name_what_differs() {
    const auto problem = [&](std::string text) { result_.problems.push_back(std::move(text)); };
    if (!config_.architecture->megatron)
      problem(format("Megatron-LM has no architecture of type '{}'", config_.architecture->model_type));
    const Plan& plan = file_.plan;
    if (plan.schedule == ScheduleKind::kGPipe && plan.pp > 1)
      problem("Megatron-LM has no GPipe schedule; it will run 1F1B, which needs less memory");
    if (plan.virtual_stages > 1 && plan.micro_batches % plan.pp != 0)
      problem(
          format("{} micro-batches are no multiple of {} stages, which Megatron-LM asks of an "
                 "interleaved schedule",
                 plan.micro_batches, plan.pp));
    if (file_.optimizer == OptimizerKind::kAdam) problem("Megatron-LM's Adam decays weights as adamw does");
    if (file_.optimizer == OptimizerKind::kSgdSai) problem("Megatron-LM has no optimizer sgd-sai");
    if (config_.architecture->norms_after())
      problem(format("Megatron-LM's {} has its norms before the blocks, not behind them",
                     config_.architecture->title));
    if (config_.embedding_dropout != config_.residual_dropout && config_.architecture->hidden_dropout())
      problem(
          format("Megatron-LM has one rate for the dropout of embeddings ({}) and of residual branches "
                 "({})",
                 config_.embedding_dropout, config_.residual_dropout));
    const RotaryFrequencies& rotary = config_.rotary;
    if (rotary.factor > 1 && (rotary.low_frequency_factor != 1 || rotary.high_frequency_factor != 4 ||
                              rotary.original_positions != 8192))
      problem(format(
          "Megatron-LM stretches rotary frequencies from 8192 positions, by factors of 1 and 4; the model "
          "from {}, by {} and {}",
          rotary.original_positions, rotary.low_frequency_factor, rotary.high_frequency_factor));
    if (config_.attention_output_bias != config_.ffn_bias || (config_.ffn_bias && !config_.attention_bias))
      problem("Megatron-LM has biases in all linear layers, in none, or in queries, keys and values alone");
  }

  const ModelConfig& config_;
  const PlanFile& file_;
  std::vector<std::int64_t> partition_;
  CommandLines lines_;
  MegatronCommand result_;
};

}  // namespace

MegatronCommand megatron_command(const ModelConfig& config, const PlanFile& file, const Cluster& cluster) {
  return MegatronWriter(config, file).write(cluster);
}

MegatronPlanFlags megatron_plan_flags(const ModelConfig& config, const PlanFile& file) {
  return MegatronWriter(config, file).flags();
}

}  // namespace nadi::inline show
