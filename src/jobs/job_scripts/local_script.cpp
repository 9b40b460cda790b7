#include "nadi/job_scripts/local_script.h"

#include "nadi/base/version.h"
#include "nadi/job_log/sampler.h"
#include "nadi/job_scripts/rank_function.h"
#include "nadi/job_scripts/script_text.h"
#include "nadi/shell/shell_quote.h"

namespace nadi::inline jobs {
namespace {

constexpr int kKillAfterSeconds = 30;  // Slurm's KillWait: ranks that were told to end have so long

// `nadi launch` starts the ranks of 'train'; of anything else the script does.
std::int64_t processes_of(const JobFile& job) {
  if (job.run.kind == JobRunKind::kTrain || job.processes == JobProcesses::kNodes) return 1;
  return job.ranks();
}

void add_local_head(ScriptText& script, const JobFile& job) {
  script.line("#!/bin/bash");
  script.line("# {}: written by Nadi {}. Runs on this machine: bash script.sh ID", comment_text(job.name),
              version());
  if (!job.sweep.values.empty()) {
    script.raw("\n");
    script.raw(kWaitFunction);
    script.part("A sweep: one run after the other, each with a folder of its own.");
    script.line("if (($# == 1)); then");
    script.line("  outputs={}", shell_quote(job.outputs.string()));
    script.line("  read -r -a stat </proc/$$/stat");
    script.line("  state=$outputs/$1/local_state.txt");
    script.line("  cancelled=0 interrupted=0 code=0");
    script.line("  trap 'cancelled=1 interrupted=1; kill -TERM \"$run\" 2>/dev/null' TERM");
    script.line("  if [[ ! $NADI_KEEPER ]]; then echo \"pid $$ ${{stat[21]}}\" >>\"$state\"; fi");
    script.line("  echo \"start 0 $(date +%s)\" >>\"$state\"");
    script.line("  for ((number = 0; number < {} && !cancelled; number++)); do", job.sweep.runs());
    script.line("    bash \"$0\" \"$1\" \"$number\" & run=$!");
    script.line("    wait_for \"$run\"; ended=$?");
    script.line("    if ((ended != 0)); then code=$ended; fi");
    script.line("  done");
    script.line(
        "  how=done; if ((code != 0)); then how=failed; fi; if ((cancelled)); then how=cancelled; fi");
    script.line("  echo \"end $code $how $(date +%s)\" >>\"$state\"");
    script.line("  exit \"$code\"");
    script.line("fi");
  }
  script.part("Where files go.");
  script.line("outputs={}", shell_quote(job.outputs.string()));
  script.line("export JOB_ID=$1${{2:+_$2}}");
  script.line("export JOB_FOLDER=$outputs/$JOB_ID RESTART_COUNT=0");
  script.line("mkdir -p -- \"$JOB_FOLDER\" || exit");
  script.line("say() {{ echo \"nadi: $(date -u +%FT%TZ) $*\"; }}");
  script.line("record() {{ echo \"$*\" >>\"$JOB_FOLDER/local_state.txt\"; }}");
  // From here on somebody may want to end it.
  script.line("cancelled=0");
  script.line("trap 'cancelled=1' TERM");
  script.line("read -r -a stat </proc/$$/stat");
  // The process of a job that was submitted is written down before it may begin.
  script.line("if [[ ! $NADI_KEEPER || $2 ]]; then record pid $$ \"${{stat[21]}}\"; fi");
  script.line("export NODE_NAME=${{HOSTNAME%%.*}}");
  script.line("export JOB_NODES=$NODE_NAME NNODES=1 WORLD_SIZE={} MASTER_ADDR={}", job.ranks(),
              job.master_address.empty() ? "127.0.0.1" : shell_quote(job.master_address));
  if (job.master_port > 0) {
    script.line("MASTER_PORT={}", job.master_port);
  } else {
    script.line("MASTER_PORT=$((20000 + $$ % 10000))");
    script.line(
        "while (exec 3<>\"/dev/tcp/127.0.0.1/$MASTER_PORT\") 2>/dev/null; do MASTER_PORT=$((MASTER_PORT + "
        "1)); "
        "done");
  }
  script.line("export MASTER_PORT");
}

void add_local_signals(ScriptText& script, const JobFile& job) {
  script.part("The end of the time, and the user's wish to end.");
  script.line("told=0 timed_out=0 interrupted=0 ranks=() killer=");
  script.line("signal_ranks() {{ ((${{#ranks[@]}})) && kill -\"$1\" \"${{ranks[@]}}\" 2>/dev/null; }}");
  script.line("tell_ranks() {{");
  script.line("  told=1 interrupted=1");
  script.line("  say 'the time is nearly over: the ranks are told to save ({})'", save_signal(job));
  script.line("  signal_ranks {}", save_signal(job));
  script.line("}}");
  script.line("end_time() {{ timed_out=1 interrupted=1; say 'the time is over'; signal_ranks KILL; }}");
  script.line("end_ranks() {{");
  script.line("  signal_ranks TERM");
  script.line("  if [[ $killer ]]; then kill \"$killer\" 2>/dev/null; fi");
  script.line("  (sleep {}; kill -0 $$ && kill -KILL \"${{ranks[@]}}\") 2>/dev/null & killer=$!",
              kKillAfterSeconds);
  script.line("}}");
  script.line("cancel() {{ cancelled=1 interrupted=1; say 'cancelled'; end_ranks; }}");
  script.line(
      "# What the ranks have started and left behind is killed, wherever it hides: the keeper finds it.");
  script.line("end_rest() {{");
  script.line("  if [[ ! $NADI_KEEPER ]]; then return; fi");
  script.line("  local left=unknown");
  script.line("  trap '' PIPE");
  script.line("  echo \"$$\" >&\"$NADI_KEEPER\" && read -r left <&\"$NADI_KEEPER\"");
  script.line("  trap - PIPE");
  script.line("  if [[ $left != 0 ]]; then say \"processes that could not be ended: $left\"; fi");
  script.line("}}");
  script.line("leave_keeper() {{");
  script.line("  if [[ $NADI_KEEPER ]]; then exec {{NADI_KEEPER}}>&-; unset NADI_KEEPER; fi");
  script.line("}}");
  script.line("trap tell_ranks USR1");
  script.line("trap end_time USR2");
  script.line("trap cancel TERM");
  if (job.sweep.values.empty()) script.raw(kWaitFunction);
}

void add_local_start(ScriptText& script, const JobFile& job) {
  const std::int64_t processes = processes_of(job);
  script.part("Starts, until it is done.");
  script.line("while :; do");
  script.line("  if ((cancelled)); then code=143; break; fi");
  script.line("  record start \"$RESTART_COUNT\" \"$(date +%s)\"");
  script.line("  say \"start $RESTART_COUNT of job $JOB_ID\"");
  script.line("  told=0 ranks=() killer= code=0");
  script.line("  for ((number = 0; number < {}; number++)); do", processes);
  script.line("    (trap - USR1 USR2 TERM; leave_keeper; run_rank {}) & ranks+=(\"$!\")",
              job.groups[0].ranks_per_node * job.groups[0].nodes);
  script.line("  done");
  // A wish that came before all of them were there has reached only some.
  script.line("  if ((cancelled)); then cancel; fi");
  if (job.time) {
    const std::int64_t limit = job.time->count(), before = job.requeue.before_end.count();
    script.line("  (trap 'kill \"$pause\"; exit' TERM; trap - USR1 USR2");
    if (before > 0) script.line("    sleep {} & pause=$!; wait \"$pause\"; kill -USR1 $$", limit - before);
    script.line("    sleep {} & pause=$!; wait \"$pause\"; kill -USR2 $$) & timer=$!",
                before > 0 ? before : limit);
  }
  if (job.sample_every.count() > 0)
    script.line("  nadi_sample \"$JOB_FOLDER/$NODE_NAME.gpu\" {} \"${{ranks[0]}}\" & sampler=$!",
                job.sample_every.count());
  script.line("  # The first failure counts; it ends the others.");
  script.line("  for number in \"${{!ranks[@]}}\"; do");
  script.line("    wait_for \"${{ranks[number]}}\"; ended=$?");
  script.line("    if ((ended != 0 && code == 0)); then");
  script.line("      code=$ended");
  script.line("      say \"{} ended with exit code $ended\"", processes > 1 ? "rank $number" : "the command");
  script.line("      if ((!told && !cancelled && !timed_out)); then end_ranks; fi");
  script.line("    fi");
  script.line("  done");
  // All are killed before one is waited for: bash 5.2 may take a child that is gone for one that runs, and
  // sees its mistake only when another one ends.
  std::string helpers = "$killer";
  if (job.time) helpers += " $timer";
  if (job.sample_every.count() > 0) helpers += " $sampler";
  script.line("  kill {} 2>/dev/null; wait {} 2>/dev/null", helpers, helpers);
  script.line("  end_rest");
  script.line("  say \"the ranks ended with exit code $code\"");
  if (job.requeue.max_restarts > 0) {
    script.line("  again=0");
    const bool train = job.run.kind == JobRunKind::kTrain;
    script.line("  if ((told{})); then again=1; fi", train ? " && code != 0" : "");
    if (job.requeue.on_failure)
      script.line("  if ((!told && code != 0{})); then again=1; fi",
                  train ? " && code != 2 && code != 3 && code != 5" : "");
    script.line("  if ((again && !cancelled && !timed_out && RESTART_COUNT < {})); then",
                job.requeue.max_restarts);
    script.line("    RESTART_COUNT=$((RESTART_COUNT + 1))");
    script.line("    continue");
    script.line("  fi");
  }
  script.line("  break");
  script.line("done");
}

}  // namespace

std::string local_script(const JobFile& job) {
  ScriptText script;
  add_local_head(script, job);
  add_sweep_values(script, job, "${2:-none}");
  add_rank_function(script, job, {.node_name = "$NODE_NAME", .rank = "number", .local_rank = "$number"});
  if (job.sample_every.count() > 0) {
    script.part("Samples of GPUs, processors and memory.");
    script.raw(sampler_function());
  }
  add_local_signals(script, job);
  if (job.container.kind == ContainerKind::kEnroot) {
    script.part("The container.");
    script.line("enroot remove -f \"nadi-$JOB_ID\" 2>/dev/null");
    script.line("enroot create -n \"nadi-$JOB_ID\" -- {} || exit", shell_quote(job.container.image));
  }
  add_local_start(script, job);
  if (job.container.kind == ContainerKind::kEnroot) script.line("enroot remove -f \"nadi-$JOB_ID\"");
  script.part("How it ended.");
  script.line("how=done");
  script.line("if ((code != 0)); then how=failed; fi");
  script.line("if ((timed_out)); then how=timed-out; fi");
  script.line("if ((cancelled)); then how=cancelled; fi");
  script.line("record end \"$code\" \"$how\" \"$(date +%s)\"");
  script.line("exit \"$code\"");
  return script.take();
}

}  // namespace nadi::inline jobs
