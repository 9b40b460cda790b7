#include "nadi/tune/tuner.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/worker_threads.h"
#include "nadi/process/process_tree.h"
#include "nadi/tune/plan_guide.h"
#include "nadi/tune/study_history.h"

namespace nadi::inline tuning {
namespace {

using TunerClock = std::chrono::steady_clock;

// Values of running trials are written and judged so often at most: each time is a transaction.
constexpr std::chrono::milliseconds kReportInterval{200};
constexpr std::chrono::seconds kStaleInterval{15};
// Where nothing is left but to see whether the trials of others end.
constexpr std::chrono::seconds kAwaitedStaleInterval{1};
constexpr std::chrono::milliseconds kBetweenAttempts{500};
// A suggestion is for a number and a history; where another worker was faster it is made again, at most so
// often.
constexpr int kMostSuggestions = 8;
// A trial whose tuner died is done again so often at most: what kills its tuner kills the next one, too.
constexpr int kStaleRetries = 2;

NewTrial waiting_trial(const SpacePoints& points, const std::vector<double>& point) {
  const TuneSetting setting = points.parameters_of(point);
  return enqueued_trial({setting.begin(), setting.end()});
}

double seconds_since(TunerClock::time_point start) {
  return std::chrono::duration<double>(TunerClock::now() - start).count();
}

struct Shared {
  const TuneStudy& tune;
  const TunerOptions& options;
  const SpacePoints& points;
  TunerListener& listener;
  TunerClock::time_point start = TunerClock::now();
  std::mutex asking = {};  // one suggestion at a time: the next one knows of it
  std::mutex listening = {};
  std::mutex ending = {};  // of `stop`, `failed` and the summary
  std::atomic<bool> stopped = false;
  bool failed = false;
  TunerSummary summary = {};

  void end(TunerStop why) {
    const std::lock_guard lock(ending);
    if (!stopped.exchange(true)) summary.stop = why;
  }
  bool interrupted() {
    if (options.interrupted && options.interrupted()) end(TunerStop::kInterrupted);
    const std::lock_guard lock(ending);
    return stopped && (summary.stop == TunerStop::kInterrupted || failed);
  }
};

class Worker {
 public:
  Worker(Shared& shared, int number)
      : shared_(shared),
        number_(number),
        storage_(open_study_storage(shared.options.storage, shared.options.storage_options)),
        study_(storage_->open_study(shared.options.study)),
        history_(shared.points, directions_of(shared.tune),
                 program_varies(shared.tune.trial.command) ? NotStarted::kFailed : NotStarted::kLeftOut),
        sampler_(make_sampler(shared.tune.sampler, search_space())),
        pruner_(make_pruner(shared.tune.pruner)) {}

  void run() {
    while (!shared_.stopped) {
      if (shared_.interrupted()) return;
      if (shared_.options.time_limit && TunerClock::now() - shared_.start > *shared_.options.time_limit)
        return shared_.end(TunerStop::kTimeLimit);
      const auto begin = TunerClock::now();
      find_stale();
      std::vector<double> point;
      const auto trial = ask(point);
      if (!trial && !awaits_others_) return;
      if (!trial) {
        await_others();
        continue;
      }
      awaits_others_ = false;
      trial_seconds_ = 0;
      carry_out(*trial, point);
      const std::lock_guard lock(shared_.ending);
      ++shared_.summary.begun;
      shared_.summary.our_seconds += seconds_since(begin) - trial_seconds_;
    }
  }

 private:
  SearchSpace search_space() const {
    SearchSpace search = shared_.points.search_space();
    if (shared_.options.guide != nullptr)
      search.allowed = [constraints = search.allowed, this](std::span<const double> point) {
        return (!constraints || constraints(point)) && !shared_.options.guide->refusal(point);
      };
    return search;
  }

  // By one worker: the others would find the same.
  void find_stale() {
    if (number_ != 0 || TunerClock::now() < next_stale_) return;
    next_stale_ = TunerClock::now() + (awaits_others_ ? kAwaitedStaleInterval : kStaleInterval);
    // Before its trial is done again: two of them at a time would disturb each other.
    if (const std::size_t ended = end_orphaned_trials(); ended > 0)
      note(format("{} of a trial whose tuner is gone {} ended",
                  ended == 1 ? "a process" : format("{} processes", ended), ended == 1 ? "was" : "were"));
    for (const StaleTrial& stale : storage_->fail_stale_trials(
             study_, {.grace = shared_.options.stale_grace, .retries = kStaleRetries})) {
      note(format("trial {} is marked as failed: {}{}", stale.number, stale.reason,
                  stale.retry_number ? format("; trial {} does it again", *stale.retry_number) : ""));
    }
  }

  // std::nullopt where there is nothing to do, for now (awaits_others_) or for good.
  std::optional<TrialId> ask(std::vector<double>& point) {
    const std::lock_guard lock(shared_.asking);
    while (const auto waiting = storage_->claim_waiting_trial(study_)) {
      const StudyTrial trial = storage_->trial(*waiting);
      try {
        point = point_of_waiting(trial);
      } catch (const Error& error) {
        // Queued by another program, for another space.
        storage_->update_trial(*waiting,
                               {.user_attributes = attributes(TrialEnd::kNotStarted, error.message()),
                                .state = TrialState::kFail});
        continue;
      }
      if (trial.parameters.empty())
        storage_->update_trial(*waiting, {.parameters = shared_.points.trial_parameters(point)});
      return waiting;
    }
    for (int attempt = 0; attempt < kMostSuggestions; ++attempt) {
      history_.update(storage_->trials(study_));
      if (history_.counted() >= shared_.tune.trials) return ended(TunerStop::kDone);
      const auto suggested = sampler_->suggest(history_.view(), history_.next_number());
      if (!suggested) return ended(TunerStop::kExhausted);
      point = *suggested;
      bool full = false;
      const auto created = storage_->create_trial(
          study_, {.parameters = shared_.points.trial_parameters(point)},
          [&](std::span<const StudyTrial> trials) {
            full = std::ranges::count_if(trials.subspan(static_cast<std::size_t>(std::min<std::int64_t>(
                                             history_.next_number(), std::ssize(trials)))),
                                         counts_as_trial) +
                       history_.counted() >=
                   shared_.tune.trials;
            const bool current =
                std::ssize(trials) == history_.next_number() || attempt + 1 == kMostSuggestions;
            return !full && current;
          });
      if (created) return created;
      if (full) return ended(TunerStop::kDone);
    }
    return std::nullopt;
  }

  // Nothing is left to begin. Trials that run in other processes may still come back, when their process
  // dies: a study is done when they have ended, too.
  std::optional<TrialId> ended(TunerStop why) {
    const std::span<const StudyTrial> trials = storage_->trials(study_);
    const auto others = std::ranges::count_if(trials, runs_elsewhere);
    if (others == 0) {
      shared_.end(why);
      return std::nullopt;
    }
    if (!awaits_others_ && number_ == 0)
      note(format(
          "all trials have begun, {} of them in other processes: waiting for {} to end, or to be done again",
          others, others == 1 ? "it" : "them"));
    if (!awaits_others_) next_stale_ = TunerClock::now();
    awaits_others_ = true;
    return std::nullopt;
  }

  void await_others() {
    for (auto begin = TunerClock::now();
         TunerClock::now() - begin < kBetweenAttempts && !shared_.interrupted();)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (number_ != 0) return;
    const std::lock_guard lock(shared_.listening);
    shared_.listener.on_wait();
  }

  std::vector<double> point_of_waiting(const StudyTrial& trial) const {
    if (auto known = shared_.points.point_of(trial); known && !trial.parameters.empty()) return *known;
    TuneSetting setting;
    for (const auto& [name, value] : fixed_parameters(trial)) {
      if (shared_.tune.space.find(name) == nullptr)
        throw usage_error(
            format("the queued trial has a parameter '{}', which the space does not have", name));
      setting.emplace(name, value);
    }
    return shared_.points.point_of(setting);
  }

  static StudyAttributes attributes(TrialEnd outcome, const std::string& reason) {
    StudyAttributes all{{std::string(kOutcome), attribute_text(to_string(outcome))}};
    if (!reason.empty()) all.emplace(kReason, attribute_text(reason));
    return all;
  }

  void carry_out(TrialId id, const std::vector<double>& point) {
    const std::int64_t number = storage_->trial(id).number;
    {
      const std::lock_guard lock(shared_.listening);
      shared_.listener.on_start(number, shared_.points.text(point), number_);
    }
    history_.update(storage_->trials(study_));
    if (const auto same = history_.same_as(point, number))
      take_from_memory(id, *same);
    else
      run_command(id, number, point);
    const std::span<const StudyTrial> trials = storage_->trials(study_);
    {
      const std::lock_guard lock(shared_.listening);
      shared_.listener.on_end(trials[static_cast<std::size_t>(number)], trials, number_);
    }
    look_for_failing(trials, number);
  }

  void take_from_memory(TrialId id, std::int64_t same) {
    const std::vector<double> values = storage_->trials(study_)[static_cast<std::size_t>(same)].values;
    StudyAttributes all = attributes(TrialEnd::kComplete, "");
    all.emplace(kFromTrial, format("{}", same));
    storage_->update_trial(
        id, {.user_attributes = std::move(all), .state = TrialState::kComplete, .values = values});
    const std::lock_guard lock(shared_.ending);
    ++shared_.summary.from_memory;
  }

  void run_command(TrialId id, std::int64_t number, const std::vector<double>& point) {
    TrialRun run{.space = &shared_.tune.space, .setting = shared_.points.setting_of(point)};
    run.place = {.number = number, .folder = shared_.options.trials_folder / trial_folder_name(number)};
    if (shared_.options.keep_logs)
      run.log = shared_.options.trials_folder / (trial_folder_name(number) + ".log");
    pending_.clear();
    last_report_ = last_heartbeat_ = TunerClock::now();
    const auto begin = TunerClock::now();
    TrialResult result = run_trial(shared_.tune.trial, run,
                                   {.prune = [&](const auto& fresh) { return on_values(id, number, fresh); },
                                    .interrupted = [&] { return shared_.interrupted(); },
                                    .alive = [&] { on_alive(id); }});
    trial_seconds_ = std::min(result.seconds, seconds_since(begin));
    tell(id, run, result, point);
  }

  std::optional<std::string> on_values(TrialId id, std::int64_t number,
                                       const std::vector<MetricReader::Intermediate>& fresh) {
    for (const auto& [step, value] : fresh) pending_[step] = value;
    if (TunerClock::now() - last_report_ < kReportInterval) return std::nullopt;
    last_report_ = TunerClock::now();
    if (!is_written([&] { storage_->update_trial(id, {.intermediate_values = pending_}); }))
      return std::nullopt;
    pending_.clear();
    history_.update(storage_->trials(study_));
    const auto index = history_.index_of(number);
    return index ? pruner_->stop(history_.view(), *index) : std::nullopt;
  }

  void on_alive(TrialId id) {
    if (TunerClock::now() - last_heartbeat_ > shared_.options.stale_grace / 4) {
      last_heartbeat_ = TunerClock::now();
      is_written([&] { storage_->record_heartbeat(id); });
    }
    if (number_ == 0) {
      const std::lock_guard lock(shared_.listening);
      shared_.listener.on_wait();
    }
  }

  void note(const std::string& text) {
    const std::lock_guard lock(shared_.listening);
    shared_.listener.on_note(text);
  }

  // A disk that is full, or a file that others keep locked, is noted once: a trial may have cost hours.
  bool is_written(const std::function<void()>& write) {
    try {
      write();
      trouble_ = nullptr;
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kEnvironment) throw;
      if (!trouble_) note(format("{}; this is tried again", error.what()));
      trouble_ = std::current_exception();
      return false;
    }
  }

  void tell(TrialId id, const TrialRun& run, const TrialResult& result, const std::vector<double>& point) {
    TrialUpdate update{.intermediate_values = std::move(pending_),
                       .user_attributes = attributes(result.outcome, result.reason)};
    StudyAttributes& all = update.user_attributes;
    all.emplace(kSeconds, format("{:.6f}", result.seconds));
    if (!run.log.empty()) all.emplace(kLogFile, attribute_text(run.log.string()));
    if (result.noise) all.emplace(kNoise, Json(*result.noise).dump());
    if (result.peak_gpu_memory_mib) all.emplace(kGpuMemory, Json(*result.peak_gpu_memory_mib).dump());
    if (result.repetitions.size() > 1) {
      Json values = Json::array();
      for (const std::vector<double>& each : result.repetitions) values.push_back(each[0]);
      all.emplace(kRepetitions, values.dump());
    }
    if (shared_.options.guide != nullptr)
      if (const auto predicted = shared_.options.guide->predicted_seconds(point))
        all.emplace(kPredictedSeconds, Json(*predicted).dump());
    update.state = state_of(result.outcome);
    if (result.outcome == TrialEnd::kComplete) update.values = result.values;
    bool is_ours = true;
    const auto begin = TunerClock::now();
    while (!is_written([&] { is_ours = storage_->update_trial(id, update); })) {
      if (TunerClock::now() - begin > shared_.options.result_patience || shared_.interrupted())
        std::rethrow_exception(trouble_);
      std::this_thread::sleep_for(kBetweenAttempts);
    }
    if (!is_ours)
      note("another tuner took this one for dead and marked its trial as failed; the result is in the log");
    const bool no_program =
        result.outcome == TrialEnd::kNotStarted && !program_varies(shared_.tune.trial.command);
    if (result.outcome == TrialEnd::kInterrupted || no_program) queue_again(id, point);
  }

  // What was interrupted, or could not start, is done again by whoever resumes; a baseline stays the
  // baseline.
  void queue_again(TrialId id, const std::vector<double>& point) {
    NewTrial again = waiting_trial(shared_.points, point);
    if (const std::string* role = storage_->trial(id).user_attribute(kRole))
      again.user_attributes.emplace(kRole, *role);
    storage_->create_trial(study_, again);
  }

  static TrialState state_of(TrialEnd outcome) {
    switch (outcome) {
      case TrialEnd::kComplete:
        return TrialState::kComplete;
      case TrialEnd::kPruned:
      case TrialEnd::kTimedOut:
      case TrialEnd::kLimit:
        return TrialState::kPruned;
      case TrialEnd::kCrashed:
      case TrialEnd::kOutOfMemory:
      case TrialEnd::kNoMetric:
      case TrialEnd::kNotStarted:
      case TrialEnd::kInterrupted:
        return TrialState::kFail;
    }
    unreachable();
  }

  // A command that never works is a mistake in the command. A program that is not there will not be there
  // for the next trial, unless the values choose it: then so many in a row are too many.
  void look_for_failing(std::span<const StudyTrial> trials, std::int64_t number) {
    const StudyTrial& ended = trials[static_cast<std::size_t>(number)];
    if (could_not_start(ended)) {
      std::int64_t in_a_row = 0;
      for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial) {
        if (!is_finished(trial->state)) continue;
        if (!could_not_start(*trial)) break;
        ++in_a_row;
      }
      if (!program_varies(shared_.tune.trial.command) || in_a_row >= shared_.options.most_failures)
        return end_failing(text_attribute(ended, kReason).value_or(""));
    }
    std::int64_t failures = 0;
    std::string reason;
    for (const StudyTrial& trial : trials) {
      if (trial.state == TrialState::kComplete || trial.state == TrialState::kPruned) return;
      if (counts_as_trial(trial) && trial.state == TrialState::kFail) {
        ++failures;
        reason = text_attribute(trial, kReason).value_or("");
      }
      if (failures >= shared_.options.most_failures) break;
    }
    if (failures >= shared_.options.most_failures) end_failing(reason);
  }
  void end_failing(const std::string& reason) {
    shared_.end(TunerStop::kFailing);
    const std::lock_guard lock(shared_.ending);
    if (shared_.summary.reason.empty()) shared_.summary.reason = reason;
  }

  Shared& shared_;
  int number_;
  bool awaits_others_ = false;
  std::unique_ptr<StudyStorage> storage_;
  StudyId study_;
  StudyHistory history_;
  std::unique_ptr<TrialSampler> sampler_;
  std::unique_ptr<TrialPruner> pruner_;
  std::map<std::int64_t, double> pending_;  // values that are not written yet
  TunerClock::time_point last_report_, last_heartbeat_, next_stale_ = TunerClock::now();
  double trial_seconds_ = 0;
  std::exception_ptr trouble_ = {};  // of the last write, where it failed
};

}  // namespace

std::vector<NewTrial> first_trials(const TuneStudy& tune, const PlanGuide* guide,
                                   const std::optional<std::vector<double>>& first,
                                   const std::function<void(const GuideProgress&)>& progress) {
  std::vector<NewTrial> trials;
  const SpacePoints points(tune.space);
  std::vector<std::vector<double>> queued;
  const auto queue = [&](const std::vector<double>& point, std::string_view role) {
    const auto is_same = [&](const std::vector<double>& other) { return same_point(other, point); };
    if (std::ranges::any_of(queued, is_same)) return;
    queued.push_back(point);
    trials.push_back(waiting_trial(points, point));
    trials.back().user_attributes.emplace(kRole, attribute_text(role));
  };
  if (first) queue(*first, "plan");
  if (guide != nullptr) {
    const std::vector<std::vector<double>> ranked = guide->ranked(progress);
    if (!ranked.empty()) queue(ranked[0], "plan");
    if (tune.baseline) queue(points.point_of(TuneSetting{}), "baseline");
    // Half of the trials are the planner's, so that the sampler has something to learn from, and something to
    // add.
    for (std::size_t i = 1; i < ranked.size() && std::ssize(trials) < tune.trials / 2; ++i)
      queue(ranked[i], "plan");
  } else if (tune.baseline) {
    queue(points.point_of(TuneSetting{}), "baseline");
  }
  if (std::ssize(trials) > tune.trials) trials.resize(static_cast<std::size_t>(tune.trials));
  return trials;
}

Tuner::Tuner(const TuneStudy& tune, const TunerOptions& options) : tune_(tune), options_(options) {}

TunerSummary Tuner::run(TunerListener& listener) {
  const Adoption adoption;
  const SpacePoints points(tune_.space);
  Shared shared{.tune = tune_, .options = options_, .points = points, .listener = listener};
  run_workers(
      static_cast<std::size_t>(std::max(options_.workers, 1)),
      [&](std::size_t number) { Worker(shared, static_cast<int>(number)).run(); },
      [&] {
        shared.end(TunerStop::kInterrupted);
        const std::lock_guard lock(shared.ending);
        shared.failed = true;
      });
  return shared.summary;
}

}  // namespace nadi::inline tuning
