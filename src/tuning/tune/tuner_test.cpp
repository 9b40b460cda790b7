#include "nadi/tune/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"
#include "nadi/tune/study_view.h"

namespace nadi::inline tuning {
namespace {

using testing::Contains;
using testing::HasSubstr;

class SilentListener : public TunerListener {
 public:
  void on_start(std::int64_t, const std::string&, int) override {}
  void on_end(const StudyTrial&, std::span<const StudyTrial>, int) override { ++ended; }
  void on_note(const std::string& text) override { notes.push_back(text); }
  std::atomic<int> ended = 0;
  std::vector<std::string> notes;
};

class TunerTest : public testing::Test {
 protected:
  TuneStudy study(const std::string& script, std::vector<std::string> parameters) {
    TuneStudy tune;
    for (const std::string& text : parameters) tune.space.add(parameter_of_text(text));
    tune.space.check();
    tune.trial.command.words = {"sh", "-c", script, "sh"};
    for (const TuneParameter& parameter : tune.space.parameters)
      tune.trial.command.words.push_back("{{" + parameter.name + "}}");
    tune.trial.metrics = {metric_of_text("cost ([0-9.-]+)")};
    tune.sampler.name = "random";
    tune.trials = 8;
    return tune;
  }
  void create(const TuneStudy& tune) {
    const auto storage = open_study_storage(path_, {.mode = StorageMode::kCreate});
    const StudyId id = storage->create_study({.name = "s", .directions = directions_of(tune)});
    storage->set_study_attributes(id, AttributeOwner::kUser,
                                  {{std::string(kTuneAttribute), tune_study_json(tune)}});
    const std::vector<NewTrial> first = first_trials(tune, nullptr);
    if (!first.empty()) storage->create_trials(id, first);
  }
  TunerSummary run(const TuneStudy& tune, int workers = 1) {
    const TunerOptions options{
        .storage = path_, .study = "s", .workers = workers, .trials_folder = folder_.path() / "t"};
    return Tuner(tune, options).run(listener_);
  }
  StudyView view() {
    const auto storage = open_study_storage(path_);
    return view_of_study(*storage, storage->open_study("s"), "s.db");
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "s.db";
  SilentListener listener_;
};

TEST_F(TunerTest, RunsAsManyTrialsAsAskedForAndKnowsTheBest) {
  TuneStudy tune = study("echo cost $(( ($1 - 3) * ($1 - 3) ))", {"n=1..9"});
  tune.space.set_fallback("n", std::int64_t{9});
  tune.baseline = true;
  create(tune);
  EXPECT_EQ(run(tune).stop, TunerStop::kDone);
  const StudyView seen = view();
  ASSERT_EQ(seen.trials.size(), 8u);
  EXPECT_EQ(seen.baseline, 0);
  EXPECT_EQ(seen.trials[0].values[0], 36);  // (9 - 3)^2
  std::set<std::string> settings;
  for (const StudyTrial& trial : seen.trials) {
    EXPECT_EQ(trial.state, TrialState::kComplete);
    settings.insert(setting_text(trial));
  }
  EXPECT_EQ(settings.size(), 8u) << "no setting twice";
  const StudyTrial& best = seen.trials[static_cast<std::size_t>(seen.best[0])];
  EXPECT_LE(best.values[0], 1) << "eight of nine values have 3 or a neighbour of it";
  EXPECT_NEAR(*seen.improvement(), (36 - best.values[0]) / 36, 1e-12);
  EXPECT_THAT(shell_text(*command_of_trial(seen, best)), HasSubstr("sh -c"));
  EXPECT_THAT(read_text(folder_.path() / "t/00000.log"), HasSubstr("cost 36"));
}

TEST_F(TunerTest, ASpaceThatIsTriedOutEndsTheStudy) {
  TuneStudy tune = study("echo cost $1", {"n=1,2,3"});
  create(tune);
  EXPECT_EQ(run(tune).stop, TunerStop::kExhausted);
  EXPECT_EQ(view().trials.size(), 3u);
}

TEST_F(TunerTest, FailuresAreTrialsAndDoNotEndTheStudy) {
  TuneStudy tune = study("[ $1 -lt 4 ] || exit 9; echo cost $1", {"n=1..8"});
  create(tune);
  EXPECT_EQ(run(tune).stop, TunerStop::kDone);
  const StudyView seen = view();
  EXPECT_EQ(std::ranges::count(seen.trials, TrialState::kFail, &StudyTrial::state), 5);
  for (const StudyTrial& trial : seen.trials)
    if (trial.state == TrialState::kFail) {
      EXPECT_EQ(text_attribute(trial, kOutcome), "crashed");
      EXPECT_EQ(text_attribute(trial, kReason), "exit code 9");
    }
}

TEST_F(TunerTest, ACommandThatNeverWorksEndsTheStudy) {
  TuneStudy tune = study("echo broken >&2; exit 2", {"n=1..100"});
  tune.trials = 50;
  create(tune);
  const TunerSummary summary = run(tune);
  EXPECT_EQ(summary.stop, TunerStop::kFailing);
  EXPECT_EQ(summary.reason, "exit code 2: broken");
  EXPECT_EQ(view().trials.size(), 10u);
}

// There is no program: the first trial ends the study. It is no result, and is done again when there is one.
TEST_F(TunerTest, ACommandThatCannotStartEndsTheStudyAtOnceAndCountsNothing) {
  TuneStudy tune = study("", {"n=1..9"});
  const std::string program = (folder_.path() / "later").string();
  tune.trial.command.words = {program, "{{n}}"};
  tune.trials = 3;
  create(tune);
  const TunerSummary none = run(tune);
  EXPECT_EQ(none.stop, TunerStop::kFailing);
  EXPECT_EQ(none.begun, 1);
  EXPECT_THAT(none.reason, HasSubstr("there is no such program"));
  write_text(program, "#!/bin/sh\necho cost $1\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_EQ(run(tune).stop, TunerStop::kDone);
  const StudyView all = view();
  // The trial without a program, and three with one.
  EXPECT_EQ(all.trials.size(), 4u);
  EXPECT_EQ(std::ranges::count(all.trials, TrialState::kComplete, &StudyTrial::state), 3);
  // Its point was queued again.
  EXPECT_EQ(all.trials[1].find("n")->value, all.trials[0].find("n")->value);
}

// Where the program is a parameter, the others go on, and too many in a row end the study.
TEST_F(TunerTest, AProgramOfTheSpaceThatIsMissingIsPassedOver) {
  TuneStudy tune = study("", {"program=echo,/nosuch/program", "n=1..4"});
  tune.trial.command.words = {"{{program}}", "cost", "{{n}}"};
  tune.sampler.name = "grid";
  tune.trials = 8;
  create(tune);
  run(tune);
  const StudyView all = view();
  EXPECT_EQ(std::ranges::count(all.trials, TrialState::kComplete, &StudyTrial::state), 4);
  EXPECT_EQ(std::ranges::count(all.trials, TrialState::kFail, &StudyTrial::state), 4);
}

TEST_F(TunerTest, WorkersShareTheStudy) {
  TuneStudy tune = study("sleep 0.05; echo cost $1", {"n=1..1000"});
  tune.trials = 24;
  create(tune);
  EXPECT_EQ(run(tune, 4).stop, TunerStop::kDone);
  const StudyView seen = view();
  EXPECT_EQ(seen.trials.size(), 24u);
  std::set<std::string> settings;
  for (const StudyTrial& trial : seen.trials) settings.insert(setting_text(trial));
  EXPECT_EQ(settings.size(), 24u);
  EXPECT_EQ(listener_.ended, 24);
}

TEST_F(TunerTest, TrialsOfAProcessThatDiesAreDoneBeforeTheEnd) {
  TuneStudy tune = study("echo cost $1", {"n=1..9"});
  tune.trials = 3;
  create(tune);
  const auto file_of_child = folder_.path() / "runs";
  const pid_t child = fork();
  if (child == 0) {
    // A worker with a trial that dies after the others have nothing left to begin.
    const auto storage = open_study_storage(path_, {.mode = StorageMode::kWrite});
    const SpacePoints points(tune.space);
    storage->create_trial(storage->open_study("s"),
                          {.parameters = points.trial_parameters(std::vector<double>{5})});
    std::ofstream(file_of_child) << "yes";
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    _exit(0);
  }
  while (!std::filesystem::exists(file_of_child)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // Nobody waits for the child before: a process that is gone but not waited for counts as gone.
  EXPECT_EQ(run(tune).stop, TunerStop::kDone);
  waitpid(child, nullptr, 0);
  const StudyView seen = view();
  EXPECT_EQ(std::ranges::count(seen.trials, TrialState::kComplete, &StudyTrial::state), 3);
  EXPECT_EQ(std::ranges::count(seen.trials, TrialState::kRunning, &StudyTrial::state), 0);
  ASSERT_EQ(seen.trials[0].state, TrialState::kFail);
  EXPECT_THAT(text_attribute(seen.trials[0], kReason).value_or(""), HasSubstr("is gone"));
  EXPECT_THAT(listener_.notes, Contains(HasSubstr("1 of them in other processes: waiting for it to end")));
  EXPECT_EQ(setting_text(seen.trials.back()), setting_text(seen.trials[0])) << "what was lost is done again";
}

TEST_F(TunerTest, ResumingGoesOnWithTheSame) {
  TuneStudy tune = study("echo cost $1", {"n=1..1000"});
  create(tune);
  run(tune);
  const auto storage = open_study_storage(path_);
  TuneStudy again = tune_study_of(storage->study(storage->open_study("s")), "s.db");
  EXPECT_EQ(tune_study_json(again), tune_study_json(tune));
  again.trials = 12;
  EXPECT_EQ(run(again).stop, TunerStop::kDone);
  EXPECT_EQ(view().trials.size(), 12u);
}

TEST_F(TunerTest, WhatIsKnownIsTakenFromMemory) {
  TuneStudy tune = study("echo x >> " + (folder_.path() / "runs").string() + "; echo cost $1", {"n=1,2"});
  create(tune);
  run(tune);
  {
    const auto storage = open_study_storage(path_, {.mode = StorageMode::kWrite});
    storage->create_trial(storage->open_study("s"), enqueued_trial({{"n", std::int64_t{2}}}));
  }
  const TunerSummary summary = run(tune);
  EXPECT_EQ(summary.from_memory, 1);
  const StudyView seen = view();
  ASSERT_EQ(seen.trials.size(), 3u);
  EXPECT_EQ(seen.trials[2].values, std::vector<double>{2});
  EXPECT_TRUE(number_attribute(seen.trials[2], kFromTrial));
  EXPECT_EQ(read_text(folder_.path() / "runs"), "x\nx\n");
}

TEST_F(TunerTest, AnInterruptedTrialIsDoneAgainByWhoResumes) {
  TuneStudy tune = study("sleep $2; echo cost $1", {"n=1..1000", "s=30"});
  tune.trials = 2;
  create(tune);
  std::atomic<bool> interrupted = false;
  TunerOptions options{.storage = path_, .study = "s", .trials_folder = folder_.path() / "t"};
  int asked = 0;
  options.interrupted = [&] { return ++asked > 20; };
  EXPECT_EQ(Tuner(tune, options).run(listener_).stop, TunerStop::kInterrupted);
  StudyView seen = view();
  ASSERT_EQ(seen.trials.size(), 2u);
  EXPECT_EQ(text_attribute(seen.trials[0], kOutcome), "interrupted");
  EXPECT_EQ(seen.trials[1].state, TrialState::kWaiting);
  tune.trial.command.words[2] = "echo cost $1";
  EXPECT_EQ(run(tune).stop, TunerStop::kDone);
  seen = view();
  EXPECT_EQ(seen.trials.size(), 3u) << "the interrupted one does not count";
  EXPECT_EQ(setting_text(seen.trials[1]), setting_text(seen.trials[0]));
}

TEST_F(TunerTest, AnInterruptedBaselineIsTheBaselineAgain) {
  TuneStudy tune = study("sleep 30; echo cost $1", {"n=1..9"});
  tune.baseline = true;
  tune.trials = 3;
  create(tune);
  TunerOptions options{.storage = path_, .study = "s", .trials_folder = folder_.path() / "t"};
  int asked = 0;
  options.interrupted = [&] { return ++asked > 20; };
  Tuner(tune, options).run(listener_);
  tune.trial.command.words[2] = "echo cost $1";
  run(tune);
  EXPECT_EQ(view().baseline, 1) << "trial 0 was interrupted";
}

TEST_F(TunerTest, AResultWaitsForAFileThatIsLocked) {
  path_ = folder_.path() / "s.journal";
  const std::filesystem::path lock = folder_.path() / "s.journal.lock";
  // Another program takes the lock while the trial runs, and keeps it for a while after its end.
  TuneStudy tune = study("echo cost 3; ln -s s.journal " + lock.string() + "; : $1", {"n=1..9"});
  tune.trials = 1;
  create(tune);
  std::thread other([&] {
    while (!std::filesystem::is_symlink(lock)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    std::filesystem::remove(lock);
  });
  TunerOptions options{.storage = path_, .study = "s", .trials_folder = folder_.path() / "t"};
  options.storage_options.lock_timeout = std::chrono::milliseconds(100);
  EXPECT_EQ(Tuner(tune, options).run(listener_).stop, TunerStop::kDone);
  other.join();
  EXPECT_EQ(view().trials.at(0).values, std::vector<double>{3});
  ASSERT_EQ(listener_.notes.size(), 1u) << "once";
  EXPECT_THAT(listener_.notes[0], HasSubstr("this is tried again"));
  // Without patience it is an error.
  options.result_patience = std::chrono::seconds(0);
  tune.trials = 2;
  EXPECT_THROW(Tuner(tune, options).run(listener_), Error);
  EXPECT_TRUE(std::filesystem::remove(lock));
}

TEST_F(TunerTest, TheLogGrowsWhileATrialRuns) {
  TuneStudy tune = study("echo early; sleep 30; echo cost $1", {"n=1..9"});
  create(tune);
  TunerOptions options{.storage = path_, .study = "s", .trials_folder = folder_.path() / "t"};
  const std::filesystem::path log = folder_.path() / "t/00000.log";
  int asked = 0;
  bool seen = false;
  options.interrupted = [&] {
    seen = seen || (std::filesystem::exists(log) && read_text(log).find("early") != std::string::npos);
    return seen || ++asked > 200;
  };
  Tuner(tune, options).run(listener_);
  EXPECT_TRUE(seen);
}

TEST_F(TunerTest, ALossThatIsNoNumberIsPruned) {
  TuneStudy tune = study("for i in 1 2 3 4; do echo cost $1; sleep 0.3; done; sleep 30", {"n=nan"});
  tune.trial.metrics = {metric_of_text("cost ([a-z0-9]+)")};
  tune.pruner = {.name = "threshold", .upper = 9};
  tune.trials = 1;
  create(tune);
  run(tune);
  const StudyView seen = view();
  EXPECT_EQ(seen.trials[0].state, TrialState::kPruned);
  EXPECT_LT(*number_attribute(seen.trials[0], kSeconds), 20);
}

TEST_F(TunerTest, TheCommandOfATrialHasItsFolder) {
  TuneStudy tune = study("echo cost $1; [ -d $2 ]", {"n=1..9"});
  tune.trial.command.words.push_back("{{folder}}");
  tune.trials = 1;
  create(tune);
  EXPECT_EQ(run(tune).stop, TunerStop::kDone);
  const auto storage = open_study_storage(path_);
  const StudyView seen = view_of_study(*storage, storage->open_study("s"), path_.string());
  EXPECT_EQ(command_of_trial(seen, seen.trials[0])->words.back(),
            (folder_.path() / "s.s.trials/00000").string());
  EXPECT_EQ(trials_folder_of("/a/b.db", "tune"), "/a/b.trials");
  EXPECT_EQ(trials_folder_of("/a/b.db", "x/ü"), "/a/b.x%2f%c3%bc.trials");
}

TEST_F(TunerTest, HopelessTrialsAreEndedEarly) {
  TuneStudy tune = study("for i in 1 2 3 4 5 6; do echo cost $1; sleep 0.25; done", {"n=1..1000"});
  tune.pruner.name = "median";
  tune.trials = 14;
  tune.sampler.seed = 3;
  create(tune);
  run(tune, 4);
  const StudyView seen = view();
  EXPECT_GT(std::ranges::count(seen.trials, TrialState::kPruned, &StudyTrial::state), 0);
  for (const StudyTrial& trial : seen.trials) {
    if (trial.state != TrialState::kPruned) continue;
    EXPECT_FALSE(trial.intermediate_values.empty());
    EXPECT_FALSE(text_attribute(trial, kReason).value_or("").empty());
  }
}

TEST_F(TunerTest, AStudyOfAnotherProgramIsShownButNotContinued) {
  {
    const auto storage = open_study_storage(path_, {.mode = StorageMode::kCreate});
    const StudyId id = storage->create_study({.name = "s", .directions = {StudyDirection::kMaximize}});
    const auto range = std::make_shared<const ParameterDistribution>(FloatDistribution{.low = 0, .high = 1});
    for (const double x : {0.25, 0.75})
      storage->create_trial(id,
                            {.parameters = {{"x", x, range}}, .state = TrialState::kComplete, .values = {x}});
  }
  const StudyView seen = view();
  EXPECT_FALSE(seen.tune);
  EXPECT_THAT(seen.best, testing::ElementsAre(1));
  EXPECT_EQ(seen.parameters[0].name, "x");
  const auto storage = open_study_storage(path_);
  EXPECT_THROW(tune_study_of(storage->study(storage->open_study("")), "s.db"), Error);
}

}  // namespace
}  // namespace nadi::inline tuning
