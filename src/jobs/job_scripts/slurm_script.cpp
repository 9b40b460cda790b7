#include "nadi/job_scripts/slurm_script.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/version.h"
#include "nadi/job_files/job_time.h"
#include "nadi/job_log/sampler.h"
#include "nadi/job_scripts/rank_function.h"
#include "nadi/job_scripts/script_text.h"
#include "nadi/shell/shell_quote.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

// The step that samples GPUs and memory, by its name in Slurm.
constexpr std::string_view kSamplerStep = "nadi-sampler";

// Slurm replaces "%j" and the like in names of files; "%%" is a '%'.
std::string file_pattern(const fs::path& folder, std::string_view name) {
  std::string pattern;
  for (const char c : folder.string()) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern + "/" + std::string(name);
}

std::string gres_of(const JobNodes& group) {
  if (group.gpus_per_node == 0) return "";
  return group.gpu_type.empty() ? format("gpu:{}", group.gpus_per_node)
                                : format("gpu:{}:{}", group.gpu_type, group.gpus_per_node);
}

// One process for each rank, or one for each node with the processors of its ranks.
struct TaskShape {
  std::int64_t per_node = 1;
  std::int64_t cpus = 1;
};
TaskShape tasks_of(const JobFile& job, const JobNodes& group) {
  if (job.processes == JobProcesses::kRanks) return {group.ranks_per_node, group.cpus_per_rank};
  return {1, group.ranks_per_node * group.cpus_per_rank};
}

// Slurm counts memory in MiB; a part of one is rounded up.
std::int64_t mebibytes(Bytes size) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  return size.count() / kMiB + (size.count() % kMiB != 0 ? 1 : 0);
}

class SlurmWriter {
 public:
  // `groups` are those of this script: all, or one of several jobs.
  SlurmWriter(const JobFile& job, std::span<const JobNodes> groups, std::size_t first_group)
      : job_(job),
        groups_(groups),
        several_jobs_(groups.size() < job.groups.size()),
        follows_(first_group > 0) {
    for (std::size_t i = 0; i < first_group; ++i) {
      first_node_ += job.groups[i].nodes;
      first_rank_ += job.groups[i].ranks();
    }
  }

  SlurmScript write() {
    add_head();
    add_folder();
    add_sweep_values(script_, job_, "${SLURM_ARRAY_TASK_ID:-none}");
    add_nodes();
    add_rank_function(script_, job_,
                      {.node_name = "$SLURMD_NODENAME",
                       .rank = "SLURM_PROCID",
                       .local_rank = "$SLURM_LOCALID",
                       .first_rank = first_rank_,
                       .first_node = first_node_});
    if (job_.sample_every.count() > 0) add_sampler();
    add_signal();
    add_step();
    add_end();
    return {.text = script_.take(), .first_node = first_node_};
  }

 private:
  void sbatch(std::string_view option, std::string_view value) {
    script_.line("#SBATCH --{}={}", option, sbatch_quote(value, option));
  }
  void sbatch_text(std::string_view option, const std::string& value) {
    if (!value.empty()) sbatch(option, value);
  }

  void add_head() {
    script_.line("#!/bin/bash");
    script_.line("# {}: written by Nadi {}. All in one file: sbatch runs it as it is.",
                 comment_text(job_.name), version());
    sbatch("job-name", job_.name);
    sbatch("output",
           file_pattern(job_.outputs, job_.sweep.values.empty() ? "slurm-%j.txt" : "slurm-%A_%a.txt"));
    sbatch("open-mode", "append");
    script_.line("#SBATCH --{}", job_.requeue.max_restarts > 0 ? "requeue" : "no-requeue");
    if (job_.time) sbatch("time", job_time_text(*job_.time));
    if (job_.requeue.before_end.count() > 0)
      script_.line("#SBATCH --signal=B:USR1@{}", job_.requeue.before_end.count());
    sbatch_text("account", job_.account);
    sbatch_text("qos", job_.qos);
    sbatch_text("reservation", job_.reservation);
    if (follows_)
      script_.line("#SBATCH --dependency=after:{}", kMasterJobMark);
    else
      sbatch_text("dependency", job_.dependency);
    if (!job_.sweep.values.empty())
      script_.line("#SBATCH --array=0-{}{}", job_.sweep.runs() - 1,
                   job_.sweep.at_once > 0 ? format("%{}", job_.sweep.at_once) : "");
    // A list without ALL passes nothing but these variables. Values are taken by sbatch and written nowhere.
    if (!job_.environment.inherit)
      sbatch("export",
             job_.environment.pass.empty() ? "NONE" : format("{}", fmt::join(job_.environment.pass, ",")));
    for (const std::string& option : job_.options) script_.line("#SBATCH {}", option_text(option));
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i > 0) script_.line("#SBATCH hetjob");
      add_group(groups_[i]);
    }
  }

  // "--name=value" with a value that sbatch reads as one word.
  static std::string option_text(const std::string& option) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) return sbatch_quote(option, "an option");
    return sbatch_quote(option.substr(0, equals), "an option") + "=" +
           sbatch_quote(option.substr(equals + 1), "an option");
  }

  void add_group(const JobNodes& group) {
    const TaskShape tasks = tasks_of(job_, group);
    script_.line("#SBATCH --nodes={} --ntasks-per-node={} --cpus-per-task={}", group.nodes, tasks.per_node,
                 tasks.cpus);
    sbatch_text("gres", gres_of(group));
    if (group.memory) script_.line("#SBATCH --mem={}M", mebibytes(*group.memory));
    sbatch_text("partition", format("{}", fmt::join(group.partitions, ",")));
    sbatch_text("constraint", group.constraint);
    sbatch_text("exclude", format("{}", fmt::join(group.exclude, ",")));
    sbatch_text("nodelist", format("{}", fmt::join(group.nodelist, ",")));
    if (job_.exclusive) script_.line("#SBATCH --exclusive");
  }

  void add_folder() {
    script_.part("Where files go. Slurm's messages and those of this script are in slurm.txt.");
    script_.line("outputs={}", shell_quote(job_.outputs.string()));
    script_.line("own_id=${{SLURM_ARRAY_JOB_ID:+${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID}}");
    script_.line("own_id=${{own_id:-$SLURM_JOB_ID}}");
    if (follows_)
      script_.line("export JOB_ID={}                # the job with the first node", kMasterJobMark);
    else
      script_.line("export JOB_ID=$own_id");
    script_.line("export JOB_FOLDER=$outputs/$JOB_ID RESTART_COUNT=${{SLURM_RESTART_COUNT:-0}}");
    script_.line("mkdir -p -- \"$JOB_FOLDER\" || exit");
    script_.line("ln -sfn -- \"../slurm-$own_id.txt\" \"$JOB_FOLDER/slurm{}.txt\"",
                 follows_ ? format(".{}", first_node_) : "");
    script_.line("say() {{ echo \"nadi: $(date -u +%FT%TZ) $*\"; }}");
    // Slurm itself queues a job again when one of its nodes fails, and does not count.
    if (job_.requeue.max_restarts > 0) {
      script_.line("if ((RESTART_COUNT > {})); then", job_.requeue.max_restarts);
      script_.line("  say 'queued again too often: max_restarts is {}'; exit 1", job_.requeue.max_restarts);
      script_.line("fi");
    }
  }

  void add_nodes() {
    script_.part("The nodes in the order of their ranks, and where they meet.");
    std::string lists;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      lists += groups_.size() == 1 ? " \"$SLURM_JOB_NODELIST\""
                                   : format(" \"$SLURM_JOB_NODELIST_HET_GROUP_{}\"", i);
    script_.line("nodes=()");
    script_.line("for list in{}; do", lists);
    script_.line("  mapfile -t -O \"${{#nodes[@]}}\" nodes < <(scontrol show hostnames \"$list\")");
    script_.line("done");
    script_.line("export JOB_NODES=\"${{nodes[*]}}\" NNODES={} WORLD_SIZE={}", job_.nodes(), job_.ranks());
    const std::int64_t own_nodes = nodes_here();
    script_.line(
        "if ((${{#nodes[@]}} != {})); then say \"{} nodes are wanted, and there are ${{#nodes[@]}}\"; exit "
        "1; fi",
        own_nodes, own_nodes);
    if (follows_)
      add_meeting();
    else
      add_master();
    script_.line("export MASTER_ADDR MASTER_PORT");
    // What was exported above reaches the ranks, whatever --export says.
    script_.line("export SLURM_EXPORT_ENV=ALL");
    script_.line("say \"start $RESTART_COUNT of job $own_id on $JOB_NODES\"");
  }

  // This script runs on the first node.
  void add_master() {
    script_.line(
        "MASTER_ADDR=$(scontrol -o show node \"${{nodes[0]}}\" | sed -n 's/.* NodeAddr=\\([^ "
        "]*\\).*/\\1/p')");
    script_.line("MASTER_ADDR=${{MASTER_ADDR:-${{nodes[0]}}}}");
    if (!job_.master_address.empty()) add_given_address();
    if (job_.master_port > 0) {
      script_.line("MASTER_PORT={}", job_.master_port);
      script_.line(
          "if (exec 3<>\"/dev/tcp/127.0.0.1/$MASTER_PORT\") 2>/dev/null; then say \"warning: port "
          "$MASTER_PORT, "
          "which the job names, is in use on ${{nodes[0]}}\"; fi");
    } else {
      script_.line("MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))");
      script_.line(
          "while (exec 3<>\"/dev/tcp/127.0.0.1/$MASTER_PORT\") 2>/dev/null; do MASTER_PORT=$((MASTER_PORT + "
          "1)); done");
    }
    if (!several_jobs_) return;
    script_.line("# For the other jobs of this run; they wait for this file.");
    script_.line("printf '%s %s\\n' \"$MASTER_ADDR\" \"$MASTER_PORT\" >\"$JOB_FOLDER/.master\" &&");
    script_.line("  mv -- \"$JOB_FOLDER/.master\" \"$JOB_FOLDER/master.txt\" || exit");
  }

  // The address that the job names counts. It should be one of the first node.
  void add_given_address() {
    const std::string given = shell_quote(job_.master_address);
    script_.line("found=$MASTER_ADDR MASTER_ADDR={}", given);
    script_.line(
        "if [[ $MASTER_ADDR != \"$found\" && $MASTER_ADDR != \"${{nodes[0]}}\" && \" $(hostname -I "
        "2>/dev/null) \" "
        "!= *\" $MASTER_ADDR \"* ]]; then");
    script_.line(
        "  say \"warning: MASTER_ADDR is $MASTER_ADDR, as the job names it, and the first node is "
        "${{nodes[0]}} "
        "($found)\"");
    script_.line("fi");
  }

  void add_meeting() {
    script_.line(
        "# The first job writes this file when it starts. A short one may have ended since the last look, "
        "and");
    script_.line("# Slurm may not answer for a while.");
    script_.line("unseen=0");
    script_.line("until [[ -s $JOB_FOLDER/master.txt ]]; do");
    script_.line(
        "  if [[ -n $(squeue -h -j \"$JOB_ID\" -o %T 2>/dev/null) ]]; then unseen=0; else unseen=$((unseen + "
        "1)); fi");
    script_.line(
        "  if ((unseen > 5)); then say \"job $JOB_ID has ended, and this one waits for it\"; exit 1; fi");
    script_.line("  sleep 2");
    script_.line("done");
    script_.line("read -r MASTER_ADDR MASTER_PORT <\"$JOB_FOLDER/master.txt\"");
  }

  void add_sampler() {
    script_.part("Samples of GPUs, processors and memory, on each node.");
    script_.raw(sampler_function());
    script_.line("sample_node() {{");
    script_.line("  trap '' TERM USR1 USR2 INT HUP      # signals are for the ranks");
    script_.line("  nadi_sample \"$JOB_FOLDER/$SLURMD_NODENAME.gpu\" {} \"$PPID\"",
                 job_.sample_every.count());
    script_.line("}}");
  }

  // kill reaches the ranks through srun with USR1 and USR2 only; srun takes TERM as an order to kill them.
  void add_signal() {
    const std::string_view signal = save_signal(job_);
    script_.part("Shortly before the end of the time: the ranks save and end, and the job is queued again.");
    script_.line("told=0 interrupted=0");
    script_.line("tell_ranks() {{");
    script_.line("  told=1 interrupted=1");
    script_.line("  say 'the time is nearly over: the ranks are told to save ({})'", signal);
    if (signal == "USR1" || signal == "USR2") {
      script_.line("  kill -{} \"$step\" 2>/dev/null", signal);
    } else {
      std::string ids;
      for (std::size_t i = 0; i < groups_.size(); ++i) ids += format(" \"{}\"", job_of_group(i));
      script_.line("  scancel --signal={}{}", signal, ids);
    }
    script_.line("}}");
    script_.line("trap tell_ranks USR1");
    script_.raw(kWaitFunction);
  }

  // Options of srun for one group. -c is passed on: srun of 22.05 to 23.02 does not take it from the job.
  std::string step_options(std::size_t group, std::int64_t per_node, std::int64_t cpus) const {
    const JobNodes& nodes = groups_[group];
    std::string options = groups_.size() == 1 ? "" : format("--het-group={} ", group);
    options += format("--nodes={} --ntasks={} --ntasks-per-node={} --cpus-per-task={}", nodes.nodes,
                      nodes.nodes * per_node, per_node, cpus);
    if (const std::string gres = gres_of(nodes); !gres.empty()) options += " --gres=" + shell_quote(gres);
    return options;
  }

  std::string container_options() const {
    if (job_.container.kind != ContainerKind::kPyxis) return "";
    const JobContainer& container = job_.container;
    std::string options = " --container-image=" + shell_quote(container.image);
    std::string mounts = "\"$JOB_FOLDER:$JOB_FOLDER\"";
    for (const std::string& mount : container.mounts) mounts = shell_quote(mount) + "," + mounts;
    options += " --container-mounts=" + mounts;
    const std::string folder = container.folder.empty() ? job_.run.folder.string() : container.folder;
    if (!folder.empty()) options += " --container-workdir=" + shell_quote(folder);
    return options;
  }

  // srun of 22.05 was seen to stay for ever after the end of such a step (3 of 45): its threads for the
  // parts of a heterogeneous step wait for the same thread of the PMIx plugin.
  static bool srun_may_stay(std::size_t groups, std::string_view mpi) {
    return groups > 1 && mpi.starts_with("pmix");
  }

  // A fence along a tree, what Slurm's plugin takes for those without data, lets ranks go before all have
  // come (22.05 with PMIx 4.2: most fences of eight ranks on four nodes). MPI_Init ends with such a fence, so
  // that Open MPI 4.1 now and then got a message before it could take one, and died of signal 11. Along a
  // ring none was seen to go early.
  void add_true_fences() { script_.line("export SLURM_PMIX_FENCE=${{SLURM_PMIX_FENCE:-ring}}"); }

  // Ends srun when Slurm has no step of the ranks any more, asked twice: srun itself ends within a second.
  void add_step_watch() {
    std::string ids;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      ids += format("{}{}", i == 0 ? "" : ",", job_of_group(i));
    script_.line("watch_step() {{");
    script_.line("  local steps without=0");
    script_.line("  while ((without < 2)) && sleep 10 && kill -0 \"$1\" 2>/dev/null; do");
    script_.line("    if [[ ! -e $JOB_FOLDER/step.started ]]; then continue; fi");
    script_.line(
        "    if ! steps=$(squeue --noheader --steps --jobs=\"{}\" --format='%i %j'); then continue; fi", ids);
    script_.line("    without=$((without + 1))");
    script_.line("    if grep -vw {} <<<\"$steps\" | grep -q '^[0-9+]*\\.[0-9]'; then without=0; fi",
                 kSamplerStep);
    script_.line("  done 2>/dev/null");
    script_.line("  if ((without < 2)); then return; fi");
    script_.line("  : >\"$JOB_FOLDER/step.ended\"");
    script_.line("  kill -KILL \"$1\"");
    script_.line("}}");
  }

  // What srun would have ended with: the highest exit code of a rank.
  void add_code_of_step() {
    script_.line("if [[ -e $JOB_FOLDER/step.ended ]]; then");
    script_.line("  say 'srun did not end with its step and was killed'");
    script_.line("  code=$(sed -nE -e 's/^srun: error: .*: Exited with exit code ([0-9]+).*/\\1/p' \\");
    script_.line(
        "    -e 's/^srun: error: [^ :]+: tasks? [^:]*: (Out Of "
        "Memory|Segmentation|Aborted|Bus|Killed).*/137/p' "
        "\\");
    script_.line("    \"$JOB_FOLDER/step.txt\" | sort -n | tail -n 1)");
    script_.line("  code=${{code:-0}}");
    script_.line("fi");
  }

  // "srun A code : B code": one step over all groups.
  template <typename Shape>
  void add_srun(std::string_view options, std::string_view code, const Shape& shape, std::string_view tail) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const TaskShape tasks = shape(groups_[i]);
      const std::string ranks = format(" {}", groups_[i].ranks_per_node);
      script_.line("{}{} {} bash -c \"{}\"{}", i == 0 ? "srun " : "  : ", options,
                   step_options(i, tasks.per_node, tasks.cpus), format(fmt::runtime(code), ranks),
                   i + 1 < groups_.size() ? " \\" : std::string(tail));
    }
  }

  void add_step() {
    if (job_.container.kind == ContainerKind::kEnroot) {
      script_.part("The container, once on each node.");
      script_.line("image={}", shell_quote(job_.container.image));
      script_.line("export image");
      script_.line(
          "create_container() {{ enroot remove -f \"nadi-$JOB_ID\" 2>/dev/null; enroot create -n "
          "\"nadi-$JOB_ID\" -- \"$image\"; }}");
      script_.line("remove_container() {{ enroot remove -f \"nadi-$JOB_ID\"; }}");
      add_srun(
          "", "$(declare -f create_container); create_container", [](const JobNodes&) { return TaskShape{}; },
          " || exit");
    }
    script_.part("One step over all nodes, with global ranks.");
    // Where ranks save when they are told to, the first of them to end must not take the others with it.
    const bool patient = job_.run.kind == JobRunKind::kTrain || job_.requeue.before_end.count() > 0;
    std::string options = patient ? "--kill-on-bad-exit=0 --wait=60" : "--kill-on-bad-exit=1";
    std::string mpi = job_.mpi;
    if (mpi.empty() && job_.run.kind == JobRunKind::kTrain && job_.ranks() > 1) mpi = "pmix";
    if (!mpi.empty()) options += " --mpi=" + shell_quote(mpi);
    if (mpi.starts_with("pmix")) add_true_fences();
    options += container_options();
    const bool watched = srun_may_stay(groups_.size(), mpi);
    if (watched) add_step_watch();
    script_.line("rm -f -- \"$JOB_FOLDER\"/step.{{txt,started,ended}}");
    script_.line("exec {{srun_says}}> >(exec tee -- \"$JOB_FOLDER/step.txt\" >&2)");
    add_srun(
        options,
        watched ? "$(declare -f run_rank); : >\\\"\\$JOB_FOLDER/step.started\\\"; run_rank{}"
                : "$(declare -f run_rank); run_rank{}",
        [&](const JobNodes& group) { return tasks_of(job_, group); }, " 2>&\"$srun_says\" &");
    script_.line("step=$!");
    if (watched) {
      script_.line("watch_step \"$step\" {{srun_says}}>&- &");
      script_.line("watch=$!");
    }
    if (job_.sample_every.count() > 0) {
      add_srun(
          format("--overlap --output=/dev/null --job-name={}", kSamplerStep),
          "$(declare -f nadi_sample sample_node); sample_node", [](const JobNodes&) { return TaskShape{}; },
          " 2>/dev/null &");
      script_.line("sampler=$!");
      // Nobody waits for it: bash 5.2 was seen to wait for ever for one that had ended before.
      script_.line("disown \"$sampler\"");
    }
    script_.line("wait_for \"$step\"; code=$?");
    script_.line("trap '' USR1");
    if (watched) {
      script_.line("kill \"$watch\" 2>/dev/null");
      add_code_of_step();
    }
    if (job_.sample_every.count() > 0) script_.line("kill \"$sampler\" 2>/dev/null");
    if (job_.container.kind == ContainerKind::kEnroot)
      add_srun(
          "", "$(declare -f remove_container); remove_container", [](const JobNodes&) { return TaskShape{}; },
          "");
  }

  void add_end() {
    script_.part("How it ended.");
    // tee may be behind: its copy is whole when it has this line.
    script_.line("say \"the step ended with exit code $code\" >&\"$srun_says\"");
    script_.line("for ((i = 0; i < 100; i++)); do");
    script_.line(
        "  if grep -q '^nadi: .* the step ended' \"$JOB_FOLDER/step.txt\" 2>/dev/null; then break; fi");
    script_.line("  sleep 0.1");
    script_.line("done");
    script_.line("failed=$(sed -nE -e 's/^srun: error: Node failure on ([^ ,]+).*/\\1/p' \\");
    script_.line(
        "  -e 's/^srun: error: ([^ :]+): tasks? [^:]*: (Exited|Out Of "
        "Memory|Segmentation|Aborted|Bus|Killed).*/\\1/p' \\");
    script_.line("  \"$JOB_FOLDER/step.txt\" 2>/dev/null | head -n 1)");
    script_.line("if ((code != 0 && told == 0)) && [[ -n $failed ]]; then");
    script_.line("  say \"the first failure was on node $failed\"");
    script_.line("  echo \"$failed\" >>\"$JOB_FOLDER/failed_nodes.txt\"");
    script_.line("fi");
    if (job_.requeue.max_restarts > 0) add_requeue();
    script_.line("exit \"$code\"");
  }

  void add_requeue() {
    script_.line("again=0");
    // 'nadi train' ends with 0 when it is done, also after the signal; Megatron-LM ends with 0 when it has
    // saved.
    if (job_.run.kind == JobRunKind::kTrain)
      script_.line("if ((told && (code == 75 || code == 130))); then again=1; fi");
    else
      script_.line("if ((told)); then again=1; fi");
    if (job_.requeue.on_failure) {
      if (job_.run.kind == JobRunKind::kTrain) {
        script_.line("# 2, 3 and 5 are mistakes in the input, which would only be made again.");
        script_.line("if ((!told && code != 0 && code != 2 && code != 3 && code != 5)); then again=1; fi");
      } else {
        script_.line("if ((!told && code != 0)); then again=1; fi");
      }
    }
    script_.line("if ((again && RESTART_COUNT < {})); then", job_.requeue.max_restarts);
    script_.line("  say \"queued again: restart $((RESTART_COUNT + 1)) of {}\"", job_.requeue.max_restarts);
    script_.line(
        "  trap '' TERM                        # the request ends this script; the next line may still run");
    script_.line("  scontrol requeue \"$SLURM_JOB_ID\"");
    if (job_.requeue.exclude_failed_nodes) add_exclusion();
    script_.line("  exit \"$code\"");
    script_.line("fi");
  }

  // The update replaces the list of the job, and of a heterogeneous job that of one component: each gets the
  // nodes that its group excludes, and those that failed.
  void add_exclusion() {
    script_.line("  if ((told == 0)) && [[ -n $failed ]]; then");
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      std::string named;
      for (const std::string& name : groups_[i].exclude) named += " " + shell_quote(name);
      if (!named.empty()) named = format("printf '%s\\n'{}; ", named);
      script_.line(
          "    excluded=$({{ {}cat -- \"$JOB_FOLDER/failed_nodes.txt\"; }} | sort -u | paste -sd, -)", named);
      script_.line(
          "    scontrol update JobId=\"{}\" ExcNodeList=\"$excluded\" && say \"excluded{}: $excluded\"",
          job_of_group(i), groups_.size() == 1 ? "" : format(" from group {}", i));
    }
    script_.line("  fi");
  }

  std::string job_of_group(std::size_t group) const {
    return groups_.size() == 1 ? "$SLURM_JOB_ID" : format("$SLURM_JOB_ID_HET_GROUP_{}", group);
  }

  std::int64_t nodes_here() const {
    std::int64_t sum = 0;
    for (const JobNodes& group : groups_) sum += group.nodes;
    return sum;
  }

  const JobFile& job_;
  std::span<const JobNodes> groups_;
  bool several_jobs_;
  bool follows_;
  std::int64_t first_node_ = 0;
  std::int64_t first_rank_ = 0;
  ScriptText script_;
};

}  // namespace

std::vector<SlurmScript> slurm_scripts(const JobFile& job) {
  if (job.mixing == JobMixing::kOneJob || job.groups.size() == 1)
    return {SlurmWriter(job, job.groups, 0).write()};
  std::vector<SlurmScript> scripts;
  for (std::size_t i = 0; i < job.groups.size(); ++i)
    scripts.push_back(SlurmWriter(job, std::span(job.groups).subspan(i, 1), i).write());
  return scripts;
}

std::string with_master_job(std::string text, std::string_view id) {
  check(!id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos,
        "the id of a job with something else than digits");
  for (std::size_t at = text.find(kMasterJobMark); at != std::string::npos;
       at = text.find(kMasterJobMark, at))
    text.replace(at, kMasterJobMark.size(), id);
  return text;
}

}  // namespace nadi::inline jobs
