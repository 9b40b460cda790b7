// Every storage, by one set of tests. On a PostgreSQL server where NADI_TEST_POSTGRES has its address
// (tests/postgres/postgres_test.sh): each test in a schema of its own, t0, t1, ...

#include "nadi/study/study_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"

namespace nadi::inline tuning {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

SharedDistribution shared(ParameterDistribution distribution) {
  return std::make_shared<const ParameterDistribution>(std::move(distribution));
}

TrialParameter some_float(double value) {
  return {"x", value, shared(FloatDistribution{.low = 0, .high = 1})};
}

enum class Place { kSqlite, kJournal, kPostgres };

class StudyStorageOf : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (GetParam() == Place::kSqlite && !has_sqlite()) GTEST_SKIP() << "this build has no SQLite";
    if (GetParam() != Place::kPostgres) return;
    const char* const server = std::getenv("NADI_TEST_POSTGRES");
    if (server == nullptr || !has_postgres()) GTEST_SKIP() << "no PostgreSQL server; see tests/postgres";
    static int schema = 0;
    server_ = std::string(server) + "?options=-csearch_path%3Dt" + std::to_string(schema++);
  }
  std::filesystem::path file() const {
    if (GetParam() == Place::kPostgres) return server_;
    return folder_ / (GetParam() == Place::kSqlite ? "study.db" : "study.log");
  }
  std::unique_ptr<StudyStorage> open(StorageMode mode = StorageMode::kCreate) const {
    return open_study_storage(file(), {.mode = mode, .lock_timeout = 5s});
  }
  // Error (kind) with the message, or "none".
  template <typename Action>
  static std::string error_of(ErrorKind kind, const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.message();
    }
    return "none";
  }

  TemporaryFolder folder_{"study"};
  std::string server_;
};

INSTANTIATE_TEST_SUITE_P(Places, StudyStorageOf,
                         testing::Values(Place::kSqlite, Place::kJournal, Place::kPostgres),
                         [](const auto& info) {
                           return info.param == Place::kSqlite    ? "Sqlite"
                                  : info.param == Place::kJournal ? "Journal"
                                                                  : "Postgres";
                         });

TEST_P(StudyStorageOf, KeepsAStudy) {
  {
    const auto storage = open();
    EXPECT_THAT(storage->studies(), IsEmpty());
    const StudyId id = storage->create_study(
        {.name = "naïve \"one\"", .directions = {StudyDirection::kMinimize, StudyDirection::kMaximize}});
    storage->set_study_attributes(id, AttributeOwner::kUser, {{"a", "1"}, {"b", "[NaN, \"é\"]"}});
    storage->set_study_attributes(id, AttributeOwner::kUser, {{"a", "2"}});
    storage->set_study_attributes(id, AttributeOwner::kSystem, {{"study:metric_names", "[\"s\",\n \"t\"]"}});
    EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { storage->create_study({.name = "naïve \"one\""}); }),
              "there is a study named 'naïve \"one\"' already");
  }
  const auto storage = open(StorageMode::kRead);
  const StudyId id = storage->open_study("");
  const Study study = storage->study(id);
  EXPECT_EQ(study.name, "naïve \"one\"");
  EXPECT_THAT(study.directions, ElementsAre(StudyDirection::kMinimize, StudyDirection::kMaximize));
  EXPECT_EQ(study.user_attributes, (StudyAttributes{{"a", "2"}, {"b", "[NaN, \"é\"]"}}));
  EXPECT_THAT(study.system_attributes.at("study:metric_names"), HasSubstr("\"t\"]"));
}

TEST_P(StudyStorageOf, FindsStudiesByName) {
  const auto storage = open();
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { storage->open_study(""); }), HasSubstr("no study in it"));
  const StudyId first = storage->open_or_create_study({.name = "first"});
  const StudyId second = storage->open_or_create_study({.name = "second"});
  EXPECT_NE(first, second);
  EXPECT_EQ(storage->open_or_create_study({.name = "first"}), first);
  EXPECT_EQ(storage->open_study("second"), second);
  EXPECT_EQ(storage->find_study("third"), std::nullopt);
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { storage->open_study(""); }), HasSubstr("has 2 studies"));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { storage->open_study("frist"); }),
              HasSubstr("no study 'frist'"));
  EXPECT_THAT(
      error_of(ErrorKind::kUsage,
               [&] {
                 storage->open_or_create_study({.name = "first", .directions = {StudyDirection::kMaximize}});
               }),
      HasSubstr("other objectives"));
  // Numbers count within a study, ids over all of them.
  const TrialId a = *storage->create_trial(first, {});
  const TrialId b = *storage->create_trial(second, {});
  const TrialId c = *storage->create_trial(first, {});
  EXPECT_EQ(storage->trial(b).number, 0);
  EXPECT_EQ(storage->trial(c).number, 1);
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
}

TEST_P(StudyStorageOf, KeepsEverythingOfATrial) {
  TrialId id{};
  {
    const auto storage = open();
    const StudyId study = storage->create_study({.name = "s"});
    NewTrial created;
    created.parameters = {
        some_float(0.1),
        {"n", 8, shared(IntDistribution{.low = 1, .high = 64, .log = true})},
        {"kind", 1,
         shared(CategoricalDistribution{{"ring"s, std::monostate{}, 2.5, true, OtherJson{"[1, 2]"}}})}};
    created.user_attributes = {{"note", "\"naïve\""}};
    id = *storage->create_trial(study, created);
    EXPECT_TRUE(storage->update_trial(id, {.intermediate_values = {{0, 1.5}, {10, kNan}}}));
    EXPECT_TRUE(
        storage->update_trial(id, {.intermediate_values = {{10, 2.5}, {20, kInfinity}, {-3, -kInfinity}}}));
    TrialUpdate last;
    last.parameters = {{"late", 0.5, shared(FloatDistribution{.low = 0, .high = 1, .step = 0.25})}};
    last.user_attributes = {{"note", "\"new\""}, {"more", "{\"a\": [1, null]}"}};
    last.constraints = {-1, 0.5};
    last.state = TrialState::kComplete;
    last.values = {kInfinity};
    EXPECT_TRUE(storage->update_trial(id, last));
    EXPECT_FALSE(storage->update_trial(id, {.user_attributes = {{"late", "1"}}}));
    EXPECT_FALSE(storage->record_heartbeat(id));
  }
  const auto storage = open(StorageMode::kRead);
  const auto trials = storage->trials(storage->open_study("s"));
  ASSERT_THAT(trials, SizeIs(1));
  const StudyTrial& trial = trials[0];
  EXPECT_EQ(trial.id, id);
  EXPECT_EQ(trial.number, 0);
  EXPECT_EQ(trial.state, TrialState::kComplete);
  EXPECT_THAT(trial.values, ElementsAre(kInfinity));
  EXPECT_THAT(trial.constraints, ElementsAre(-1, 0.5));
  EXPECT_FALSE(trial.is_feasible());
  ASSERT_THAT(trial.parameters, SizeIs(4));
  EXPECT_EQ(trial.parameters[0].value, 0.1);
  EXPECT_TRUE(trial.find("n")->external() == ParameterValue{std::int64_t{8}});
  EXPECT_TRUE(trial.find("kind")->external() == ParameterValue{std::monostate{}});
  EXPECT_EQ(std::get<FloatDistribution>(*trial.find("late")->distribution).step, 0.25);
  EXPECT_EQ(trial.find("none"), nullptr);
  EXPECT_EQ(trial.intermediate_values,
            (std::map<std::int64_t, double>{{-3, -kInfinity}, {0, 1.5}, {10, 2.5}, {20, kInfinity}}));
  EXPECT_EQ(trial.user_attributes, (StudyAttributes{{"more", "{\"a\": [1, null]}"}, {"note", "\"new\""}}));
  ASSERT_TRUE(trial.start && trial.complete);
  EXPECT_LE(*trial.start, *trial.complete);
  EXPECT_LT(std::chrono::system_clock::now() - *trial.complete, 60s);
}

TEST_P(StudyStorageOf, RefusesWhatCannotBeReadBack) {
  const auto storage = open();
  const StudyId study = storage->create_study({.name = "s"});
  const TrialId id = *storage->create_trial(study, {.parameters = {some_float(0.5)}});
  const auto refused = [&](const TrialUpdate& update) {
    return error_of(ErrorKind::kUsage, [&] { storage->update_trial(id, update); });
  };
  EXPECT_THAT(refused({.state = TrialState::kComplete, .values = {kNan}}), HasSubstr("NaN"));
  EXPECT_THAT(refused({.state = TrialState::kComplete, .values = {1, 2}}), HasSubstr("2 values"));
  EXPECT_THAT(refused({.state = TrialState::kComplete}), HasSubstr("no value"));
  EXPECT_THAT(refused({.parameters = {some_float(0.5)}}), HasSubstr("already"));
  EXPECT_THAT(refused({.parameters = {{"k", 2, shared(CategoricalDistribution{{"a"s}})}}}),
              HasSubstr("not a value"));
  EXPECT_THAT(refused({.parameters = {{"k", kNan, shared(FloatDistribution{})}}}), HasSubstr("not a value"));
  EXPECT_THAT(refused({.user_attributes = {{"a", "{"}}}), HasSubstr("'a'"));
  EXPECT_THAT(refused({.system_attributes = {{"constraints", "[\"x\"]"}}}), HasSubstr("'constraints'"));
  EXPECT_THAT(refused({.constraints = {kNan}}), HasSubstr("NaN"));
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [&] {
                         storage->create_trial(
                             study, {.parameters = {{"x", 1, shared(IntDistribution{.low = 0, .high = 1})}}});
                       }),
              HasSubstr("another kind of range"));
  EXPECT_THAT(storage->trials(study), SizeIs(1));
  EXPECT_TRUE(storage->trials(study)[0].user_attributes.empty());
  EXPECT_TRUE(storage->update_trial(id, {.state = TrialState::kPruned}));
}

TEST_P(StudyStorageOf, OneWorkerGetsAWaitingTrial) {
  const auto first = open();
  const StudyId study = first->create_study({.name = "s"});
  EXPECT_EQ(first->claim_waiting_trial(study), std::nullopt);
  const std::vector<NewTrial> queue{enqueued_trial({{"x", 0.25}, {"k", "a\"b"s}}),
                                    enqueued_trial({{"x", 0.75}})};
  const auto queued = first->create_trials(study, queue);
  ASSERT_THAT(queued, SizeIs(2));
  const auto second = open();
  EXPECT_EQ(second->trials(study)[0].state, TrialState::kWaiting);
  EXPECT_FALSE(second->trials(study)[0].start.has_value());
  const auto fixed = fixed_parameters(second->trials(study)[0]);
  EXPECT_TRUE(fixed.at("x") == ParameterValue{0.25});
  EXPECT_TRUE(fixed.at("k") == ParameterValue{"a\"b"s});
  EXPECT_EQ(second->claim_waiting_trial(study), queued[0]);
  EXPECT_EQ(first->claim_waiting_trial(study), queued[1]);
  EXPECT_EQ(second->claim_waiting_trial(study), std::nullopt);
  EXPECT_EQ(first->trials(study)[0].state, TrialState::kRunning);
  EXPECT_TRUE(first->trials(study)[0].start.has_value());
}

TEST_P(StudyStorageOf, SeesWhatOthersWrote) {
  const auto first = open();
  const StudyId study = first->create_study({.name = "s"});
  const auto second = open();
  for (int i = 0; i < 100; ++i) {
    const TrialId id = *first->create_trial(study, {.parameters = {some_float(i / 100.0)}});
    ASSERT_THAT(second->trials(study), SizeIs(i + 1));
    ASSERT_EQ(second->trials(study)[i].state, TrialState::kRunning);
    first->update_trial(id, {.intermediate_values = {{1, 0.5}}});
    ASSERT_EQ(second->trials(study)[i].intermediate_values.size(), 1u);
    first->update_trial(id, {.state = TrialState::kComplete, .values = {double(i)}});
    ASSERT_THAT(second->trials(study)[i].values, ElementsAre(i));
    ASSERT_EQ(second->trials(study)[i].number, i);
  }
  // All at once.
  EXPECT_THAT(open(StorageMode::kRead)->trials(study), SizeIs(100));
}

TEST_P(StudyStorageOf, StopsAfterTheBudget) {
  const auto storage = open();
  const StudyId study = storage->create_study({.name = "s"});
  const auto fewer_than_three = [](std::span<const StudyTrial> trials) { return trials.size() < 3; };
  int created = 0;
  while (storage->create_trial(study, {}, fewer_than_three)) ++created;
  EXPECT_EQ(created, 3);
}

TEST_P(StudyStorageOf, ManyWorkersShareAStudy) {
  const StudyId study = open()->create_study({.name = "s"});
  constexpr int kWorkers = 6;
  constexpr std::size_t kTrials = 60;
  std::vector<pid_t> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    const pid_t child = fork();
    if (child == 0) {
      int status = 0;
      try {
        const auto storage = open_study_storage(file(), {.mode = StorageMode::kCreate, .lock_timeout = 60s});
        const auto allowed = [](std::span<const StudyTrial> trials) { return trials.size() < kTrials; };
        while (const auto id = storage->create_trial(study, {.parameters = {some_float(0.5)}}, allowed)) {
          storage->update_trial(*id, {.intermediate_values = {{0, 1.0 * worker}}});
          storage->update_trial(*id, {.state = TrialState::kComplete, .values = {1.0 * worker}});
        }
      } catch (const std::exception& error) {
        fprintf(stderr, "worker: %s\n", error.what());
        status = 1;
      }
      _exit(status);
    }
    workers.push_back(child);
  }
  for (const pid_t worker : workers) {
    int status = 0;
    waitpid(worker, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const auto storage = open(StorageMode::kRead);
  const auto trials = storage->trials(study);
  ASSERT_THAT(trials, SizeIs(kTrials));
  for (std::size_t i = 0; i < kTrials; ++i) {
    EXPECT_EQ(trials[i].number, static_cast<std::int64_t>(i));
    EXPECT_EQ(trials[i].state, TrialState::kComplete);
    EXPECT_EQ(trials[i].values[0], trials[i].intermediate_values.at(0));
  }
}

TEST_P(StudyStorageOf, DeadWorkerIsFoundAtOnce) {
  const StudyId study = open()->create_study({.name = "s"});
  const pid_t child = fork();
  if (child == 0) {
    const auto storage = open();
    storage->create_trial(study, {.parameters = {some_float(0.5)}});
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto storage = open();
  ASSERT_THAT(storage->trials(study), SizeIs(1));
  // One of this process is not stale, nor one of Optuna, which has no heartbeat.
  const TrialId alive = *storage->create_trial(study, {});
  const auto stale = storage->fail_stale_trials(study, {.grace = 1h, .retries = 1});
  ASSERT_THAT(stale, SizeIs(1));
  EXPECT_EQ(stale[0].number, 0);
  EXPECT_THAT(stale[0].reason, HasSubstr("is gone"));
  EXPECT_EQ(stale[0].retry_number, 2);
  const auto trials = storage->trials(study);
  EXPECT_EQ(trials[0].state, TrialState::kFail);
  EXPECT_THAT(*trials[0].user_attribute(kReason), HasSubstr("is gone"));
  EXPECT_TRUE(trials[0].complete.has_value());
  EXPECT_EQ(trials[1].state, TrialState::kRunning);
  EXPECT_EQ(trials[2].state, TrialState::kWaiting);
  EXPECT_EQ(trials[2].find("x")->value, 0.5);
  EXPECT_EQ(*trials[2].system_attribute(kFailedTrial), "0");
  EXPECT_EQ(*trials[2].system_attribute(kRetryHistory), "[0]");
  EXPECT_EQ(trials[2].user_attribute(kReason), nullptr);
  EXPECT_THAT(storage->fail_stale_trials(study, {.grace = 1h}), IsEmpty());
  EXPECT_TRUE(storage->record_heartbeat(alive));
}

TEST_P(StudyStorageOf, SilentWorkerIsStaleAfterTheGrace) {
  const auto storage = open();
  const StudyId study = storage->create_study({.name = "s"});
  const TrialId id = *storage->create_trial(study, {});
  EXPECT_THAT(storage->fail_stale_trials(study, {.grace = 1h}), IsEmpty());
  std::this_thread::sleep_for(10ms);
  const auto stale = storage->fail_stale_trials(study, {.grace = 0s});
  ASSERT_THAT(stale, SizeIs(1));
  EXPECT_THAT(stale[0].reason, HasSubstr("silent for 0 s"));
  EXPECT_EQ(stale[0].retry_number, std::nullopt);
  // The worker itself lives, and learns of it.
  EXPECT_FALSE(storage->update_trial(id, {.state = TrialState::kComplete, .values = {1}}));
  EXPECT_FALSE(storage->record_heartbeat(id));
}

TEST_P(StudyStorageOf, ImportsFinishedTrials) {
  const auto storage = open();
  const StudyId study = storage->create_study(
      {.name = "s", .directions = {StudyDirection::kMinimize, StudyDirection::kMinimize}});
  NewTrial trial;
  trial.state = TrialState::kComplete;
  trial.values = {1, -kInfinity};
  trial.intermediate_values = {{5, kNan}};
  trial.start = StudyTime(1234567890123456us);
  trial.complete = StudyTime(1234567899000000us);
  storage->create_trial(study, trial);
  trial.state = TrialState::kFail;
  trial.values = {};
  storage->create_trial(study, trial);
  const auto again = open(StorageMode::kRead);
  const auto trials = again->trials(study);
  ASSERT_THAT(trials, SizeIs(2));
  EXPECT_THAT(trials[0].values, ElementsAre(1, -kInfinity));
  EXPECT_TRUE(std::isnan(trials[0].intermediate_values.at(5)));
  EXPECT_EQ(trials[0].start, trial.start);
  EXPECT_EQ(trials[0].complete, trial.complete);
  EXPECT_EQ(trials[1].state, TrialState::kFail);
  EXPECT_THAT(trials[1].values, IsEmpty());
}

TEST_P(StudyStorageOf, ReadingDoesNotWrite) {
  if (GetParam() == Place::kPostgres) {
    // A database without tables stays without.
    EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open(StorageMode::kRead); }),
                HasSubstr("there is no study in it"));
    EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open(StorageMode::kRead); }),
                HasSubstr("there is no study in it"));
    return;
  }
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open(StorageMode::kRead); }), HasSubstr("no such file"));
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open(StorageMode::kWrite); }), HasSubstr("no such file"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  const StudyId study = open()->create_study({.name = "s"});
  const auto storage = open(StorageMode::kRead);
  EXPECT_THAT(error_of(ErrorKind::kEnvironment, [&] { storage->create_trial(study, {}); }),
              HasSubstr("cannot write"));
}

TEST_P(StudyStorageOf, ForeignFilesAreNamed) {
  if (GetParam() == Place::kPostgres) return;  // no files
  std::ofstream(file()) << "\x89PNG\r\n\x1a\n0000000000";
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open(); }), HasSubstr("this is a PNG image, not a study"));
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open(); }), HasSubstr("this is a folder, not a study"));
}

TEST_P(StudyStorageOf, ManyIntermediateValues) {
  const auto storage = open();
  const StudyId study = storage->create_study({.name = "s"});
  const TrialId id = *storage->create_trial(study, {});
  std::map<std::int64_t, double> steps;
  for (int step = 0; step < 5000; ++step) steps[step] = std::sin(step);
  storage->update_trial(id, {.intermediate_values = steps});
  EXPECT_EQ(open(StorageMode::kRead)->trials(study)[0].intermediate_values, steps);
}

}  // namespace
}  // namespace nadi::inline tuning
