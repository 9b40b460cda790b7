// Damaged, foreign, locked and full: what studies on disk go through. Runs under sanitizers, too
// (sanitized_study).

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/study/study_storage.h"
#if NADI_WITH_SQLITE
#include "nadi/study/sqlite_database.h"
#endif

namespace nadi::inline tuning {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A study with a little of everything: 6 trials.
void make_small_study(const std::filesystem::path& path) {
  const auto storage = open_study_storage(path, {.mode = StorageMode::kCreate});
  const StudyId study = storage->create_study({.name = "small"});
  storage->set_study_attributes(study, AttributeOwner::kUser, {{"a", "[1, \"é\"]"}});
  const auto share = [](ParameterDistribution d) {
    return std::make_shared<const ParameterDistribution>(std::move(d));
  };
  const std::vector<TrialParameter> parameters{
      {"x", 0.5, share(FloatDistribution{.low = 0, .high = 1})},
      {"n", 4, share(IntDistribution{.low = 1, .high = 8, .log = true})},
      {"kind", 1, share(CategoricalDistribution{{"a"s, "b"s, std::monostate{}}})}};
  for (int i = 0; i < 4; ++i) {
    const TrialId id = *storage->create_trial(study, {.parameters = parameters});
    storage->update_trial(id, {.intermediate_values = {{0, 1.0 * i}, {1, 0.5}}});
    storage->update_trial(id, {.user_attributes = {{"note", "\"x\""}},
                               .constraints = {0.5},
                               .state = TrialState::kComplete,
                               .values = {1.0 * i}});
  }
  storage->create_trial(study, enqueued_trial({{"x", 0.25}}));
  storage->create_trial(study, {.parameters = parameters});
}

// Reads all of it: the number of trials, or the Error, which must be one of input or environment.
std::string outcome(const std::filesystem::path& path) {
  try {
    const auto storage = open_study_storage(path, {.lock_timeout = 100ms});
    std::size_t trials = 0;
    for (const Study& study : storage->studies()) {
      for (const StudyTrial& trial : storage->trials(study.id)) {
        for (const TrialParameter& parameter : trial.parameters) parameter.external();
        fixed_parameters(trial);
        ++trials;
      }
    }
    return std::to_string(trials) + " trials";
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::kInput || error.kind() == ErrorKind::kEnvironment) << error.what();
    return error.what();
  }
}

class StudyDamage : public testing::Test {
 protected:
  TemporaryFolder folder_{"damage"};
  std::filesystem::path journal_ = folder_ / "study.log";
  std::filesystem::path database_ = folder_ / "study.db";
};

TEST_F(StudyDamage, JournalCutAnywhereHasTheWholeLines) {
  make_small_study(journal_);
  const std::string whole = bytes_of(journal_);
  ASSERT_EQ(outcome(journal_), "6 trials");
  std::int64_t before = 0;
  // Every byte of the last lines, and a part of the others.
  for (std::size_t length = 1; length <= whole.size(); length += length + 600 < whole.size() ? 29 : 1) {
    write_bytes(journal_, whole.substr(0, length));
    const std::string found = outcome(journal_);
    ASSERT_THAT(found, HasSubstr(" trials")) << "cut at " << length;
    const std::int64_t trials = std::stoll(found);
    ASSERT_GE(trials, before);
    before = trials;
  }
}

TEST_F(StudyDamage, JournalOfAKilledWriterIsContinued) {
  make_small_study(journal_);
  const std::string whole = bytes_of(journal_);
  // In the middle of a line, and with nothing missing but its newline.
  for (const std::size_t cut : {std::size_t{10}, std::size_t{1}}) {
    write_bytes(journal_, whole.substr(0, whole.size() - cut));
    const auto storage = open_study_storage(journal_, {.mode = StorageMode::kWrite});
    const StudyId study = storage->open_study("");
    ASSERT_THAT(storage->trials(study), SizeIs(5));
    EXPECT_EQ(storage->trial(*storage->create_trial(study, {})).number, 5);
    EXPECT_EQ(outcome(journal_), "6 trials");
    // The rest of the line is gone, or nobody could read what follows.
    EXPECT_EQ(bytes_of(journal_).find("}{"), std::string::npos);
  }
}

TEST_F(StudyDamage, JournalLinesAreNamed) {
  make_small_study(journal_);
  const std::string whole = bytes_of(journal_);
  const auto with_line = [&](const std::string& line) {
    write_bytes(journal_, whole + line + "\n" + R"({"op_code":10,"worker_id":"w"})" + "\n");
    return outcome(journal_);
  };
  const std::string place = "study.log:" + std::to_string(std::ranges::count(whole, '\n') + 1);
  EXPECT_THAT(with_line("{\"op_code\":"), HasSubstr(place + ":12: damaged journal: expected a value"));
  EXPECT_THAT(with_line("{}"), HasSubstr("'op_code' is missing"));
  EXPECT_THAT(with_line("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(with_line(R"({"op_code":11})"), HasSubstr("unknown operation 11"));
  EXPECT_THAT(with_line(R"({"op_code":"x"})"), HasSubstr("expected an integer"));
  EXPECT_THAT(with_line(R"({"op_code":0,"study_name":"s","directions":[3]})"),
              HasSubstr("unknown direction 3"));
  EXPECT_THAT(with_line(R"({"op_code":0,"study_name":"s","directions":[]})"), HasSubstr("no objective"));
  EXPECT_THAT(with_line(R"({"op_code":4,"study_id":0,"datetime_start":"yesterday"})"),
              HasSubstr("not a time"));
  EXPECT_THAT(with_line(R"({"op_code":4,"study_id":0,"datetime_start":null,"state":9})"),
              HasSubstr("unknown state 9"));
  EXPECT_THAT(with_line(R"({"op_code":4,"study_id":0,"datetime_start":null,"state":1})"),
              HasSubstr("has no value"));
  EXPECT_THAT(with_line(R"({"op_code":4,"study_id":0,"datetime_start":null,"state":1,"values":[1,2]})"),
              HasSubstr("2 values for 1 objectives"));
  EXPECT_THAT(
      with_line(R"({"op_code":4,"study_id":0,"datetime_start":null,"params":{"x":1},"distributions":{}})"),
      HasSubstr("'x' has no distribution"));
  EXPECT_THAT(with_line(R"({"op_code":6,"trial_id":5,"state":1,"values":[NaN],"datetime_complete":null})"),
              HasSubstr("NaN"));
  EXPECT_THAT(
      with_line(R"({"op_code":5,"trial_id":5,"param_name":"k","param_value_internal":7,"distribution":)"
                R"("{\"name\":\"CategoricalDistribution\",\"attributes\":{\"choices\":[1]}}"})"),
      HasSubstr("7 is not a value"));
  EXPECT_THAT(with_line(R"({"op_code":9,"trial_id":5,"system_attr":{"constraints":"a"}})"),
              HasSubstr("expected a list"));
  EXPECT_THAT(with_line(std::string(300, '[')), HasSubstr("damaged journal"));
  EXPECT_THAT(with_line(R"({"op_code":8,"a":)" + std::string(300, '[')), HasSubstr("deeper than 200"));
  // Without effect in Optuna, and so here.
  EXPECT_EQ(with_line(R"({"op_code":6,"trial_id":99,"state":1,"values":[1],"datetime_complete":null})"),
            "6 trials");
  EXPECT_EQ(with_line(R"({"op_code":4,"study_id":99,"datetime_start":null})"), "6 trials");
  EXPECT_EQ(with_line(R"({"op_code":8,"trial_id":-1,"user_attr":{"a":1}})"), "6 trials");
  EXPECT_EQ(with_line(R"({"op_code":1,"study_id":0})"), "0 trials");
}

TEST_F(StudyDamage, TwoOperationsOnOneLineAreExplained) {
  make_small_study(journal_);
  const std::string whole = bytes_of(journal_);
  write_bytes(journal_, whole + R"({"op_code":8,"wor{"op_code":10,"worker_id":"w"})" + "\n");
  try {
    open_study_storage(journal_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("a writer that was killed"));
  }
}

TEST_F(StudyDamage, JournalWithFlippedBits) {
  make_small_study(journal_);
  const std::string whole = bytes_of(journal_);
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::string damaged = whole;
    for (int flips = 1 + i % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    write_bytes(journal_, damaged);
    outcome(journal_);
  }
}

TEST_F(StudyDamage, JournalWithoutNewlinesIsRefused) {
  write_bytes(journal_, "{\"op_code\":");
  std::filesystem::resize_file(journal_, std::uintmax_t{70} << 20);
  EXPECT_THAT(outcome(journal_), HasSubstr("longer than 64 MiB"));
}

TEST_F(StudyDamage, JournalCutWhileInUse) {
  make_small_study(journal_);
  const auto storage = open_study_storage(journal_, {.mode = StorageMode::kWrite});
  const StudyId study = storage->open_study("");
  std::filesystem::resize_file(journal_, 20);
  EXPECT_THROW(storage->trials(study), Error);
  EXPECT_THROW(storage->create_trial(study, {}), Error);
  EXPECT_EQ(std::filesystem::file_size(journal_), 20u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "study.log.lock"));
}

TEST_F(StudyDamage, JournalReplacedWhileInUse) {
  make_small_study(journal_);
  const auto storage = open_study_storage(journal_, {.mode = StorageMode::kWrite});
  const StudyId study = storage->open_study("");
  std::filesystem::rename(journal_, folder_ / "aside.log");
  make_small_study(journal_);
  EXPECT_THROW(storage->create_trial(study, {}), Error);
  EXPECT_EQ(outcome(journal_), "6 trials");
}

std::string creation_error(const std::filesystem::path& path) {
  try {
    const auto storage = open_study_storage(path, {.mode = StorageMode::kWrite, .lock_timeout = 200ms});
    storage->create_trial(storage->open_study(""), {});
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    return error.message();
  }
}

TEST_F(StudyDamage, LocksOfOptunaAreRespected) {
  make_small_study(journal_);
  const std::filesystem::path lock = folder_ / "study.log.lock";
  std::filesystem::create_symlink(journal_, lock);
  EXPECT_EQ(creation_error(journal_), "locked by another process for 0.2 s");
  std::filesystem::remove(lock);
  write_bytes(lock, "");  // of the other kind
  EXPECT_EQ(creation_error(journal_), "locked by another process for 0.2 s");
  std::filesystem::remove(lock);
  EXPECT_EQ(creation_error(journal_), "none");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(lock)));
}

TEST_F(StudyDamage, LockOfADeadWorkerIsBroken) {
  make_small_study(journal_);
  std::filesystem::create_symlink(".//study.log", folder_ / "study.log.lock");
  EXPECT_EQ(creation_error(journal_), "none");
  write_bytes(folder_ / "study.log.lock", "nadi\n");
  EXPECT_EQ(creation_error(journal_), "none");
  EXPECT_THAT(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(StudyDamage, LockAsAFile) {
  make_small_study(journal_);
  const auto storage = open_study_storage(
      journal_, {.mode = StorageMode::kWrite, .journal_lock = JournalLock::kExclusiveFile});
  const StudyId study = storage->open_study("");
  storage->create_trial(study, {}, [&](std::span<const StudyTrial>) {
    EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "study.log.lock"));
    return true;
  });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "study.log.lock"));
}

// What a function says that runs in a process of its own, whose limits and mounts end with it.
std::string said_by_child(const std::function<std::string()>& work) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = work();
    } catch (const std::exception& error) {
      text = error.what();
    }
    _exit(write(pipe_ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  close(pipe_ends[1]);
  std::string text(4096, '\0');
  const ssize_t count = read(pipe_ends[0], text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

const NewTrial kLargeTrial{.user_attributes = {{"large", "\"" + std::string(100000, 'x') + "\""}}};

// As on a full disk: files may not grow beyond what they have now and a little.
std::string error_without_room(const std::filesystem::path& path) {
  return said_by_child([&] {
    std::string text = "none";
    const auto storage = open_study_storage(path, {.mode = StorageMode::kWrite});
    const StudyId study = storage->open_study("");
    const std::size_t before = storage->trials(study).size();
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{std::filesystem::file_size(path) + 100, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      for (int i = 0; i < 1000; ++i) storage->create_trial(study, kLargeTrial);
    } catch (const Error& error) {
      text = error.message();
    }
    // Still of use for reading.
    if (storage->trials(study).size() < before) text = "trials are lost";
    return text;
  });
}

// A disk of 4 MiB that is really full, in a mount namespace of its own. What is said: "skip" where this
// process may not mount, else what went wrong, else "fine".
std::string said_on_full_disk(const std::filesystem::path& folder, const std::string& name) {
  return said_by_child([&]() -> std::string {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") != 0)
      return "skip";
    const std::filesystem::path path = folder / name;
    make_small_study(path);
    write_bytes(folder / "ballast", std::string(1 << 20, 'x'));
    std::size_t told = 6;  // trials of which a call said that they are written
    std::string message;
    const auto storage = open_study_storage(path, {.mode = StorageMode::kWrite});
    const StudyId study = storage->open_study("");
    try {
      for (int i = 0; i < 1000; ++i, ++told) storage->create_trial(study, kLargeTrial);
    } catch (const Error& error) {
      message = error.message();
    }
    if (message != "cannot write: the disk is full") return "the message is: " + message;
    if (storage->trials(study).size() != told) return "the writer has lost trials";
    const std::string read = outcome(path);
    if (read != std::to_string(told) + " trials") return read + " of " + std::to_string(told) + " are there";
    // With room again the same storage goes on.
    std::filesystem::remove(folder / "ballast");
    storage->create_trial(study, {});
    const std::string more = outcome(path);
    return more == std::to_string(told + 1) + " trials" ? "fine" : more + " after there was room";
  });
}

TEST_F(StudyDamage, ADiskThatIsReallyFullLosesNothing) {
  for (const char* name : {"study.log", "study.db"}) {
    if (name == "study.db"s && !has_sqlite()) continue;
    const std::string said = said_on_full_disk(folder_.path(), name);
    if (said == "skip") GTEST_SKIP() << "this process may not mount a small disk";
    EXPECT_EQ(said, "fine") << name;
  }
}

TEST_F(StudyDamage, FullDiskLosesNothing) {
  make_small_study(journal_);
  EXPECT_EQ(error_without_room(journal_), "cannot write: File too large");
  EXPECT_EQ(outcome(journal_), "6 trials");
  EXPECT_EQ(creation_error(journal_), "none");
  EXPECT_EQ(outcome(journal_), "7 trials");
  if (!has_sqlite()) return;
  make_small_study(database_);
  EXPECT_THAT(error_without_room(database_),
              AnyOf(HasSubstr("input or output failed"), HasSubstr("the disk is full")));
  EXPECT_THAT(outcome(database_), HasSubstr(" trials"));
  const auto trials = std::stoi(outcome(database_));
  EXPECT_EQ(creation_error(database_), "none");
  EXPECT_EQ(outcome(database_), std::to_string(trials + 1) + " trials");
}

#if NADI_WITH_SQLITE

TEST_F(StudyDamage, WorkersThatBeginAtOnceMakeOneStudy) {
  std::vector<pid_t> workers;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int status = 0;
      try {
        for (const auto& path : {database_, journal_}) {
          const auto storage = open_study_storage(path, {.mode = StorageMode::kCreate});
          storage->create_trial(storage->open_or_create_study({.name = "one"}), {});
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
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(outcome(database_), "8 trials");
  EXPECT_EQ(outcome(journal_), "8 trials");
}

TEST_F(StudyDamage, DatabaseCutAnywhere) {
  make_small_study(database_);
  const std::string whole = bytes_of(database_);
  for (std::size_t length = 0; length < whole.size(); length += length < 4096 ? 251 : 1777) {
    write_bytes(database_, whole.substr(0, length));
    EXPECT_THAT(outcome(database_), testing::Not(HasSubstr(" trials"))) << "cut at " << length;
  }
}

TEST_F(StudyDamage, DatabaseWithFlippedBits) {
  make_small_study(database_);
  const std::string whole = bytes_of(database_);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = whole;
    for (int flips = 1 + i % 20; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    write_bytes(database_, damaged);
    outcome(database_);
  }
}

TEST_F(StudyDamage, RowsAreNamed) {
  const auto after = [&](const std::string& sql) {
    std::filesystem::remove(database_);
    make_small_study(database_);
    open_sqlite_database(database_, SqlDatabase::Access::kWrite, 1s)
        ->execute("PRAGMA foreign_keys = 0; " + sql);
    return outcome(database_);
  };
  EXPECT_EQ(after(""), "6 trials");
  EXPECT_THAT(after("UPDATE trials SET state = 'DONE' WHERE trial_id = 3"),
              HasSubstr("study.db: row 3 of trials: unknown state 'DONE'"));
  EXPECT_THAT(after("UPDATE trials SET state = x'00' WHERE trial_id = 3"),
              HasSubstr("state must be a text, found bytes"));
  EXPECT_THAT(after("UPDATE trials SET number = 'a'"), HasSubstr("number must be an integer, found a text"));
  EXPECT_THAT(after("UPDATE trials SET number = -1"), HasSubstr("the number of the trial is -1"));
  EXPECT_THAT(after("UPDATE trials SET number = NULL"), HasSubstr("found nothing"));
  EXPECT_THAT(after("UPDATE trials SET datetime_start = 'noon' WHERE trial_id = 2"),
              HasSubstr("not a time: 'noon'"));
  EXPECT_THAT(after("UPDATE trials SET datetime_start = '2026-02-30 00:00:00' WHERE trial_id = 2"),
              HasSubstr("not a time"));
  EXPECT_THAT(after("UPDATE trial_params SET param_value = 3 WHERE param_name = 'kind'"),
              HasSubstr("3 is not a value of its distribution"));
  EXPECT_THAT(after("UPDATE trial_params SET param_value = 'x'"), HasSubstr("param_value must be a number"));
  EXPECT_THAT(after("UPDATE trial_params SET distribution_json = '{'"),
              HasSubstr("of trial_params: not a distribution"));
  EXPECT_THAT(after("UPDATE trial_params SET distribution_json = NULL"), HasSubstr("must be a text"));
  EXPECT_THAT(after("UPDATE trial_values SET value_type = 'NAN', value = NULL"), HasSubstr("NaN"));
  EXPECT_THAT(after("UPDATE trial_values SET value = NULL"),
              HasSubstr("value must be a number, found nothing"));
  EXPECT_THAT(after("UPDATE trial_values SET value_type = 'INF_POS'"), HasSubstr("has a number"));
  EXPECT_THAT(after("UPDATE trial_values SET value_type = 'X', value = NULL"), HasSubstr("unknown type 'X'"));
  EXPECT_THAT(after("UPDATE trial_values SET objective = 5"), HasSubstr("expected objective 0, found 5"));
  EXPECT_THAT(after("DELETE FROM trial_values"), HasSubstr("trial 0: it is complete and has no value"));
  EXPECT_THAT(
      after("INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (1, 1, 1, 'FINITE')"),
      HasSubstr("2 values for 1 objectives"));
  EXPECT_THAT(after("UPDATE trial_intermediate_values SET step = 'x' WHERE step = 1"),
              HasSubstr("step must be an integer"));
  EXPECT_THAT(after("UPDATE trial_user_attributes SET value_json = 'x'"),
              HasSubstr("of trial_user_attributes: not JSON"));
  EXPECT_THAT(after("UPDATE trial_system_attributes SET value_json = '[[]]' WHERE key = 'constraints'"),
              HasSubstr("constraints of trial 0"));
  EXPECT_THAT(after("UPDATE trial_system_attributes SET value_json = '3' WHERE key = 'fixed_params'"),
              HasSubstr("'fixed_params' of trial 4"));
  EXPECT_THAT(after("UPDATE study_directions SET direction = 'NOT_SET'"),
              HasSubstr("unknown direction 'NOT_SET'"));
  EXPECT_THAT(after("DELETE FROM study_directions"), HasSubstr("has no objective"));
  EXPECT_THAT(after("UPDATE study_user_attributes SET value_json = ''"), HasSubstr("not JSON"));
  EXPECT_THAT(after("DROP TABLE trial_values"), HasSubstr("table 'trial_values' is missing"));
  EXPECT_THAT(after("ALTER TABLE trial_values RENAME COLUMN value TO v"),
              HasSubstr("not a study as Optuna makes it"));
  EXPECT_THAT(after("DROP TABLE trial_values; CREATE VIEW trial_values AS SELECT 1"),
              HasSubstr("is missing"));
}

std::string hint_of(const std::filesystem::path& path) {
  try {
    open_study_storage(path, {.mode = StorageMode::kCreate});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.hint();
  }
  return "none";
}

TEST_F(StudyDamage, OtherVersionsAreRefusedWithTheWayOut) {
  make_small_study(database_);
  const auto run = [&](const std::string& sql) {
    open_sqlite_database(database_, SqlDatabase::Access::kWrite, 1s)->execute(sql);
  };
  run("UPDATE alembic_version SET version_num = 'v2.6.0.a'");
  EXPECT_THAT(outcome(database_),
              HasSubstr("the tables are of version 'v2.6.0.a', made by Optuna '5.0.0 (nadi"));
  EXPECT_THAT(hint_of(database_),
              HasSubstr("optuna storage upgrade --storage sqlite:///" + database_.string()));
  run("UPDATE alembic_version SET version_num = 'v9.0.0.a'");
  EXPECT_THAT(hint_of(database_), HasSubstr("newer version"));
  run("DELETE FROM alembic_version; UPDATE version_info SET schema_version = 9");
  EXPECT_THAT(hint_of(database_), HasSubstr("optuna storage upgrade"));
  EXPECT_THAT(outcome(database_), HasSubstr("no version"));
}

TEST_F(StudyDamage, InterruptedCreationIsFinished) {
  // Optuna makes its tables one by one, and may be killed in between.
  open_sqlite_database(database_, SqlDatabase::Access::kCreate, 1s)
      ->execute(
          "CREATE TABLE studies (study_id INTEGER NOT NULL, study_name VARCHAR(512) NOT NULL, PRIMARY KEY "
          "(study_id))");
  EXPECT_THAT(outcome(database_), HasSubstr("creation was interrupted"));
  make_small_study(database_);
  EXPECT_EQ(outcome(database_), "6 trials");
}

TEST_F(StudyDamage, ForeignDatabaseStaysAsItIs) {
  open_sqlite_database(database_, SqlDatabase::Access::kCreate, 1s)
      ->execute("CREATE TABLE accounts (id INTEGER)");
  const std::string before = bytes_of(database_);
  EXPECT_THAT(outcome(database_), HasSubstr("this is an SQLite database, but not one of studies"));
  EXPECT_THAT(hint_of(database_), HasSubstr("a file of its own"));
  EXPECT_EQ(bytes_of(database_), before);
}

TEST_F(StudyDamage, EmptyFiles) {
  write_bytes(database_, "");
  EXPECT_THAT(outcome(database_), HasSubstr("the database is empty"));
  make_small_study(database_);
  EXPECT_EQ(outcome(database_), "6 trials");
  write_bytes(journal_, "");
  EXPECT_EQ(outcome(journal_), "0 trials");
}

TEST_F(StudyDamage, LockedDatabase) {
  make_small_study(database_);
  const auto other = open_sqlite_database(database_, SqlDatabase::Access::kWrite, 1s);
  {
    SqlTransaction transaction(*other, TransactionKind::kWrite);
    EXPECT_EQ(creation_error(database_), "locked by another process for 0.2 s");
    EXPECT_EQ(outcome(database_), "6 trials");  // readers do not wait
  }
  EXPECT_EQ(creation_error(database_), "none");
}

TEST_F(StudyDamage, StudyDeletedWhileInUse) {
  make_small_study(database_);
  const auto storage = open_study_storage(database_, {.mode = StorageMode::kWrite});
  const StudyId study = storage->open_study("");
  EXPECT_THAT(storage->trials(study), SizeIs(6));
  open_sqlite_database(database_, SqlDatabase::Access::kWrite, 1s)
      ->execute("DELETE FROM trials; DELETE FROM studies");
  EXPECT_THROW(storage->trials(study), Error);
  EXPECT_THROW(storage->study(study), Error);
  EXPECT_THROW(storage->set_study_attributes(study, AttributeOwner::kUser, {{"a", "1"}}), Error);
}

#endif

}  // namespace
}  // namespace nadi::inline tuning
