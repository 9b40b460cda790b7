#include "nadi/scheduler/job_start.h"

#include <algorithm>
#include <map>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/shell/shell_quote.h"

namespace nadi::inline jobs {
namespace {

// Nodes of a partition that are alike.
struct NodeSort {
  std::string partition;
  std::int64_t cpus = 0;
  std::int64_t gpus = 0;
  std::string gpu_type;
  std::string features;
  std::string memory;
  auto operator<=>(const NodeSort&) const = default;
};
struct NodeCount {
  std::int64_t all = 0;
  std::int64_t idle = 0;
};

std::map<NodeSort, NodeCount> sorted_nodes(std::span<const SchedulerNode> nodes) {
  std::map<NodeSort, NodeCount> counts;
  for (const SchedulerNode& node : nodes)
    for (const std::string& partition : node.partitions) {
      NodeCount& count = counts[{.partition = partition,
                                 .cpus = node.cpus,
                                 .gpus = node.gpus,
                                 .gpu_type = node.gpu_type,
                                 .features = format("{}", fmt::join(node.features, ",")),
                                 .memory = node.memory ? to_string(*node.memory) : ""}];
      count.all += 1;
      count.idle += node.state.starts_with("idle") ? 1 : 0;
    }
  return counts;
}

std::string sort_text(const NodeSort& sort, const NodeCount& count) {
  std::string text = format("{}: {} node{} ({} idle), {} CPUs", sort.partition, count.all,
                            count.all == 1 ? "" : "s", count.idle, sort.cpus);
  if (!sort.memory.empty()) text += ", " + sort.memory;
  if (sort.gpus > 0)
    text += format(", {} GPUs{}", sort.gpus, sort.gpu_type.empty() ? "" : " " + sort.gpu_type);
  if (!sort.features.empty()) text += ", features " + sort.features;
  return text;
}

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

class StartText {
 public:
  void line(const std::string& text) { text_ += (text.empty() ? "" : "  " + text) + "\n"; }
  // Names of nodes and partitions come from Slurm: whatever they hold stays inside of the comment.
  void comment(const std::string& text) { line("// " + comment_text(text)); }
  std::string take() { return std::move(text_) + "}\n"; }

 private:
  std::string text_ = "{\n";
};

void add_slurm_nodes(StartText& start, std::span<const SchedulerNode> nodes) {
  const std::map<NodeSort, NodeCount> sorts = sorted_nodes(nodes);
  if (sorts.empty()) {
    start.comment("Slurm could not be asked what it has: 'sinfo' lists partitions and features.");
    start.line("\"nodes\": 1,");
    start.line("\"ranks_per_node\": 1,");
    start.comment("\"gpus_per_node\": 4, \"partition\": \"gpu\", \"constraint\": \"a10\",");
    return;
  }
  start.comment("The nodes that Slurm has:");
  for (const auto& [sort, count] : sorts) start.comment("  " + sort_text(sort, count));
  // With GPUs first, then where most nodes are free.
  const auto best = std::ranges::max_element(
      sorts, {}, [](const auto& entry) { return std::pair(entry.first.gpus > 0, entry.second.idle); });
  const NodeSort& sort = best->first;
  const std::int64_t ranks = std::max<std::int64_t>(1, sort.gpus);
  start.line(format("\"partition\": {},", json_text(sort.partition)));
  start.comment(
      "\"constraint\": \"...\",          features that nodes must have, as sbatch takes them: a10&ib");
  start.line("\"nodes\": 1,");
  start.line(format("\"ranks_per_node\": {},", ranks));
  if (sort.gpus > 0) start.line(format("\"gpus_per_node\": {},", sort.gpus));
  if (!sort.gpu_type.empty()) start.line(format("\"gpu_type\": {},", json_text(sort.gpu_type)));
  start.line(format("\"cpus_per_rank\": {},", std::max<std::int64_t>(1, sort.cpus / ranks)));
  start.comment("Nodes of two kinds are two groups, and one heterogeneous job:");
  start.comment("\"groups\": [{\"partition\": \"a\", \"nodes\": 1, \"ranks_per_node\": 8},");
  start.comment("           {\"partition\": \"b\", \"nodes\": 2, \"ranks_per_node\": 4}],");
}

void add_local_node(StartText& start, std::span<const SchedulerNode> nodes) {
  if (!nodes.empty())
    start.comment(format("This machine: {} CPUs{}{}.", nodes[0].cpus,
                         nodes[0].memory ? ", " + to_string(*nodes[0].memory) : "",
                         nodes[0].gpus > 0 ? format(", {} GPUs", nodes[0].gpus) : ""));
  start.line("\"ranks_per_node\": 1,");
}

void add_run(StartText& start) {
  start.comment(
      "What runs: \"train\" (words of 'nadi train'), \"megatron\" (a script of Megatron-LM and its words)");
  start.comment(
      "or \"command\" (any command). In words, ${RANK}, ${MASTER_ADDR}, ${JOB_FOLDER} ... stand for values:");
  start.comment("'nadi job schema --variables' lists them.");
  start.line("\"run\": {\"train\": [\"gpt2-tiny\", \"--batch-size\", \"2\", \"--max-seq-length\", \"32\",");
  start.line("                  \"--max-steps\", \"4\", \"--skip-eval\", \"--save-dir\", \"checkpoints\",");
  start.line("                  \"--save-steps\", \"2\"]},");
  start.comment("\"plan\": \"plan.json\",           a plan of 'nadi plan --emit': ranks and nodes follow it");
}

void add_extras(StartText& start) {
  start.comment("Containers: none, pyxis, enroot, apptainer, docker.");
  start.comment(
      "\"container\": {\"kind\": \"apptainer\", \"image\": \"image.sif\", \"mounts\": "
      "[\"/data:/data:ro\"]},");
  start.comment("Variables: \"pass\" names those whose values are written nowhere, \"set\" has values.");
  start.comment("\"environment\": {\"pass\": [\"HF_TOKEN\"], \"set\": {\"OMP_NUM_THREADS\": \"4\"}},");
  start.comment(
      "Profilers: steps and ranks. Files are named by rank, in nsys/, ncu/ and trace/ of the job's folder.");
  start.comment("\"profile\": {\"trace\": {\"steps\": \"10-12\"}},");
  start.comment("A run for each value: ${LR} in words of \"run\".");
  start.comment("\"sweep\": {\"values\": {\"LR\": [\"1e-4\", \"3e-4\"]}},");
}

}  // namespace

std::string job_start_text(SchedulerKind scheduler, std::span<const SchedulerNode> nodes) {
  StartText start;
  start.comment(
      "A job of Nadi: 'nadi job submit THIS_FILE', with --dry-run to see the script. Comments are allowed;");
  start.comment("'nadi job schema' lists every key.");
  start.line("\"nadi_job\": 1,");
  start.line("\"name\": \"gpt2-tiny\",");
  start.line(format("\"scheduler\": \"{}\",", to_string(scheduler)));
  start.line("");
  add_run(start);
  start.line("");
  if (scheduler == SchedulerKind::kSlurm)
    add_slurm_nodes(start, nodes);
  else
    add_local_node(start, nodes);
  start.line("");
  start.comment("The limit of its time: minutes, hours:minutes:seconds or days-hours:minutes:seconds.");
  start.line("\"time\": \"1:00:00\",");
  if (scheduler == SchedulerKind::kSlurm)
    start.comment(
        "\"account\": \"...\", \"qos\": \"...\", \"exclusive\": true, \"options\": [\"--mail-type=END\"],");
  start.comment(
      "Before the time is over the ranks save, and the job is queued again, at most so many times.");
  start.line("\"requeue\": {\"before_end\": \"120 s\", \"max_restarts\": 3},");
  start.line("");
  add_extras(start);
  start.line("");
  start.comment("Each job has a folder here: its files, the logs of each node, samples of GPUs and memory.");
  start.line("\"outputs\": \"jobs\"");
  return start.take();
}

}  // namespace nadi::inline jobs
