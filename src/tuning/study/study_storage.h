// Where studies are kept: an SQLite database, a journal file, or a PostgreSQL server for workers on several
// machines; each readable and writable by Optuna, and by any number of workers at once.
//
//   const auto storage = open_study_storage("study.db", {.mode = StorageMode::kCreate});
//   const StudyId study = storage->open_or_create_study({.name = "threads"});
//   // Ask: one transaction.
//   std::optional<TrialId> trial = storage->claim_waiting_trial(study);
//   if (!trial) trial = storage->create_trial(study, {.parameters = ...});
//   storage->update_trial(*trial, {.intermediate_values = {{step, loss}}});
//   // Tell: one transaction.
//   storage->update_trial(*trial, {.user_attributes = {{"log", "\"trial-7.log\""}},
//                                  .state = TrialState::kComplete, .values = {loss}});
//   for (const StudyTrial& each : storage->trials(study)) ...
//
// Every call that writes is one transaction: done as a whole or, with an Error, not at all. What a call wrote
// survives the end of this process by any signal. Results (a finished state) are on the disk when the call
// returns, others within the next one; see kSyncInterval in the sources.
//
// A trial belongs to the worker that created or claimed it. Other workers only declare it dead
// (fail_stale_trials), after which update_trial() answers false and writes nothing.
//
// Errors: input for a file that is no study, is damaged, or has another version of the schema; environment
// for a full disk, a file that others keep locked, one that may not be written, or a server that cannot be
// reached.
//
// One storage is for one thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/study/trial.h"

namespace nadi::inline tuning {

// Parts of a trial to write. Attributes replace those of the same name; so do intermediate values of the same
// step.
struct TrialUpdate {
  std::vector<TrialParameter> parameters = {};  // of names that the trial does not have
  std::map<std::int64_t, double> intermediate_values = {};
  StudyAttributes user_attributes = {};
  StudyAttributes system_attributes = {};
  std::vector<double> constraints = {};  // written as the system attribute `constraints`
  std::optional<TrialState> state = {};  // not kRunning: that is claim_waiting_trial()
  std::vector<double> values = {};       // one for each objective, without NaN, or none
};

// A trial to create. As it is, the trial runs, with this process as its worker; `state` makes it wait for a
// worker (kWaiting) or takes a finished trial into the study.
struct NewTrial {
  std::vector<TrialParameter> parameters = {};
  StudyAttributes user_attributes = {};
  StudyAttributes system_attributes = {};
  std::vector<double> constraints = {};
  TrialState state = TrialState::kRunning;
  // For finished trials.
  std::vector<double> values = {};
  std::map<std::int64_t, double> intermediate_values = {};
  std::optional<StudyTime> start = {};  // now, where it is not given and the trial does not wait
  std::optional<StudyTime> complete = {};
};

// A trial that waits, with these parameters fixed and the rest for the sampler; `values` are external.
NewTrial enqueued_trial(const std::map<std::string, ParameterValue>& values);

struct NewStudy {
  std::string name = {};
  std::vector<StudyDirection> directions = {StudyDirection::kMinimize};
};

enum class AttributeOwner { kUser, kSystem };

struct StaleOptions {
  // A running trial is stale when its worker has been silent for this long, or when the worker was a process
  // of this machine that is no more. Trials without a heartbeat (of Optuna without heartbeat_interval) are
  // never stale.
  std::chrono::seconds grace{120};
  // The trial is put into the queue again, at most so many times. 0 means it is not.
  int retries = 0;
};

struct StaleTrial {
  TrialId id{};
  std::int64_t number = 0;
  std::string reason;                        // "worker 4711 on node7 is gone"
  std::optional<std::int64_t> retry_number;  // of the trial that waits in its place
};

// Whether a trial runs in another process of ours, on this machine or another: when that process dies,
// fail_stale_trials() finds the trial.
bool runs_elsewhere(const StudyTrial& trial);

class StudyStorage {
 public:
  virtual ~StudyStorage() = default;

  // The file, or the address of the server without a password.
  virtual const std::filesystem::path& path() const = 0;

  // By id, with attributes as they are now.
  virtual std::vector<Study> studies() = 0;
  virtual Study study(StudyId id) = 0;
  // std::nullopt when absent.
  std::optional<StudyId> find_study(std::string_view name);
  // The one with this name; for an empty name, the only one. Error (usage) with the names that there are.
  StudyId open_study(std::string_view name);
  // Error (usage) if the name is taken.
  virtual StudyId create_study(const NewStudy& study) = 0;
  // Error (usage) if it exists with other directions.
  StudyId open_or_create_study(const NewStudy& study);
  virtual void set_study_attributes(StudyId id, AttributeOwner owner, const StudyAttributes& attributes) = 0;

  // All trials in the order of their numbers, as they are in the file now. Only what changed is read. Valid
  // until the next call of any function of this storage.
  virtual std::span<const StudyTrial> trials(StudyId id) = 0;

  // Creates a trial with the next number. `allowed` is asked while no other worker can write, with all trials
  // as they are then; where it says no, nothing is created: so 8 workers stop after exactly 500 trials.
  using Allowed = std::function<bool(std::span<const StudyTrial>)>;
  virtual std::optional<TrialId> create_trial(StudyId id, const NewTrial& trial,
                                              const Allowed& allowed = {}) = 0;

  // Several at once, in one transaction: the queue of a grid, or an import.
  virtual std::vector<TrialId> create_trials(StudyId id, std::span<const NewTrial> trials) = 0;

  // Takes the first trial that waits, for this worker alone.
  virtual std::optional<TrialId> claim_waiting_trial(StudyId id) = 0;

  // The trial as it was read or written last; it must exist. Valid until the next call.
  virtual const StudyTrial& trial(TrialId id) = 0;

  // False, and nothing is written, if the trial is finished: by this worker, or by another that took this one
  // for dead. Error (usage) for a parameter with an incompatible distribution, for NaN among the values, or a
  // wrong number of them.
  virtual bool update_trial(TrialId id, const TrialUpdate& update) = 0;

  // Tells the others that this worker lives. Call it every heartbeat interval (a third of the grace or less)
  // for each trial that runs; false if the trial is finished.
  virtual bool record_heartbeat(TrialId id) = 0;

  // Finds the trials of dead workers, marks them as failed with the reason, and queues them again if asked
  // to.
  virtual std::vector<StaleTrial> fail_stale_trials(StudyId id, const StaleOptions& options) = 0;
};

enum class StorageMode {
  kRead,    // the file exists and is not changed
  kWrite,   // the file exists
  kCreate,  // the file is made if it does not exist
};

enum class StorageFormat {
  kDetect,  // of a file that exists by its content, else by its name: .log, .journal and .jsonl are journals
  kSqlite,
  kJournal,
};

// How a journal is locked against other writers. Both exclude each other and Optuna's locks of either kind.
enum class JournalLock {
  kSymbolicLink,   // Optuna's default; works on any network file system
  kExclusiveFile,  // for file systems without symbolic links
};

struct StorageOptions {
  StorageMode mode = StorageMode::kRead;
  StorageFormat format = StorageFormat::kDetect;
  JournalLock journal_lock = JournalLock::kSymbolicLink;
  std::chrono::milliseconds lock_timeout{60000};  // how long to wait for other writers before it is an Error
};

// `path` is a file, or the address of a PostgreSQL server: "postgresql://user@host:5432/database". There the
// tables of studies are made with kCreate, beside what the database may have besides; format and journal_lock
// do not matter.
std::unique_ptr<StudyStorage> open_study_storage(const std::filesystem::path& path,
                                                 const StorageOptions& options = {});

// Whether `place` is the address of a server and not a file.
bool is_study_server(std::string_view place);
// The absolute path of a file, or the address of a server as it is. Error (usage) for other addresses.
std::filesystem::path study_place(const std::string& place);

// Whether this build has SQLite and libpq. Without them, opening such a database is an Error (environment).
bool has_sqlite();
bool has_postgres();

}  // namespace nadi::inline tuning
