#include "nadi/supervision/job_watch.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/supervision/watched_job.h"

namespace nadi::inline ask {
namespace {

using std::chrono::milliseconds;

// Slurm's controller is asked by everybody on a cluster.
constexpr milliseconds kLeastStatusInterval{5000};
constexpr auto kTimersEvery = std::chrono::seconds(20);

bool has_logs(const std::filesystem::path& folder) {
  std::error_code problem;
  for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::filesystem::path extension = entry->path().extension();
    if (extension == ".out" || extension == ".err" || extension == ".gpu") return true;
  }
  return false;
}

WatchedJob job_of(const JobWatchQuestion& question) {
  WatchedJob job = find_watched_job(question.jobs, question.outputs);
  if (!question.old_settings.empty()) job.asked = asked_settings(question.old_settings);
  if (job.scheduler != nullptr) return job;
  // Only folders: there must be logs in them.
  for (const std::filesystem::path& folder : job.folders)
    if (!has_logs(folder))
      throw input_error({.file = folder.string()}, "no logs of a job",
                        "a job's folder has <node>.out, <node>.err and <node>.gpu");
  return job;
}

}  // namespace

JobWatch::JobWatch(const JobWatchQuestion& question) : JobWatch(job_of(question), question) {}

JobWatch::JobWatch(WatchedJob job, const JobWatchQuestion& question)
    : limits_{.startup = question.start_patience.value_or(start_patience(job.predicted_step))},
      title_(std::move(job.title)),
      asked_(std::move(job.asked)),
      scheduler_problem_(std::move(job.scheduler_problem)),
      watched_by_scheduler_(job.scheduler != nullptr),
      poller_(std::move(job.scheduler), job.id, std::max(question.interval, kLeastStatusInterval)),
      follower_(std::move(job.folders)) {}

WatchedState JobWatch::look(const LookOptions& options) {
  const bool was_whole = whole_;
  const bool news = follower_.refresh({.most_time = options.reading, .unfinished_lines = options.last});
  const JobLog& log = follower_.log();
  whole_ = log.read >= log.size;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const NodeLog* const node = iteration_node(log);
  const std::int64_t line = node != nullptr && node->newest ? node->newest->line : 0;
  if (line != newest_line_) {
    if (was_whole && looked_) progress_seen_ = now;
    newest_line_ = line;
  }
  if (news || !looked_) read_timers_of(node, options.last);
  looked_ = true;
  StatusPoller::Answer answer = poller_.answer(options.patience);
  if (answer.problem.empty()) answer.problem = scheduler_problem_;
  const JobObservation seen{.log = log,
                            .status = answer.status,
                            .asked = asked_,
                            .now = now,
                            .progress_seen = progress_seen_,
                            .timers = timers_};
  WatchedState state{
      .log = log, .title = title_, .status = answer.status, .status_problem = answer.problem, .now = now};
  state.progress = progress_of(seen, limits_);
  if (answer.status && nadi::has_ended(answer.status->state)) state.progress.left.reset();
  state.runs = runs_now(seen);
  // Half-read logs are no reason for an alarm.
  if (whole_) {
    state.findings = job_findings(seen, limits_);
    state.verdicts = four_rules(seen, state.findings);
    // Nobody knows when a job that stands is done.
    const bool stands = std::ranges::any_of(state.findings, [](const HealthFinding& finding) {
      return finding.rule == HealthRule::kNoProgress && finding.severity != HealthSeverity::kNote;
    });
    if (stands || (answer.status && answer.status->state == JobState::kSuspended))
      state.progress.left.reset();
  }
  return state;
}

bool JobWatch::has_ended(const WatchedState& state) const {
  if (state.status && state.status->state != JobState::kUnknown) return nadi::has_ended(state.status->state);
  if (watched_by_scheduler_ && state.log.nodes.empty()) return false;
  return state.progress.done || !state.runs;
}

// Blocks of timers can have megabytes: not at every look.
void JobWatch::read_timers_of(const NodeLog* node, bool at_once) {
  if (node == nullptr || node->points.empty() || !whole_) return;
  const auto now = Clock::now();
  if (!at_once && timers_at_ && now - *timers_at_ < kTimersEvery) return;
  timers_at_ = now;
  // The block behind the newest line may still be written.
  const std::size_t count = node->points.size();
  for (const std::size_t back : {std::size_t{2}, std::size_t{1}}) {
    if (count < back) continue;
    try {
      LoggedIteration timers = read_timers(*node, node->points[count - back]);
      if (timers.timers.empty()) continue;
      timers_ = std::move(timers);
      return;
    } catch (const Error&) {
      return;  // the file was replaced meanwhile: the next look reads it again
    }
  }
}

}  // namespace nadi::inline ask
