#include "nadi/study/sql_storage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/study/python_json.h"
#include "nadi/study/sql_database.h"
#include "nadi/study/sql_schema.h"
#include "nadi/study/sql_trials.h"
#include "nadi/study/study_time.h"
#include "nadi/study/trial_change.h"
#include "nadi/study/worker_identity.h"

namespace nadi::inline tuning {
namespace {

std::int64_t number_of(TrialId id) {
  return static_cast<std::int64_t>(id);
}
std::int64_t number_of(StudyId id) {
  return static_cast<std::int64_t>(id);
}

// For a statement that inserts one row: the number that the database gave it.
std::int64_t inserted_id(SqlStatement& insert) {
  check(insert.next(), "an insert that returns must have a row");
  const std::int64_t id = insert.integer(0);
  insert.done();
  return id;
}

class SqlStorage : public StudyStorage {
 public:
  SqlStorage(std::unique_ptr<SqlDatabase> database, StorageMode mode);

  const std::filesystem::path& path() const override { return database_->path(); }
  std::vector<Study> studies() override;
  Study study(StudyId id) override;
  StudyId create_study(const NewStudy& study) override;
  void set_study_attributes(StudyId id, AttributeOwner owner, const StudyAttributes& attributes) override;
  std::span<const StudyTrial> trials(StudyId id) override;
  std::optional<TrialId> create_trial(StudyId id, const NewTrial& trial, const Allowed& allowed) override;
  std::vector<TrialId> create_trials(StudyId id, std::span<const NewTrial> trials) override;
  std::optional<TrialId> claim_waiting_trial(StudyId id) override;
  const StudyTrial& trial(TrialId id) override;
  bool update_trial(TrialId id, const TrialUpdate& update) override;
  bool record_heartbeat(TrialId id) override;
  std::vector<StaleTrial> fail_stale_trials(StudyId id, const StaleOptions& options) override;

 private:
  struct CachedStudy {
    SqlTrials trials;
    std::int64_t data_version = -1;  // of the database when the trials were read
  };

  Study read_study(StudyId id);  // in a transaction
  CachedStudy& cached(StudyId id);
  CachedStudy& refreshed(StudyId id);  // in a transaction
  SqlTrials& trials_of(TrialId id);
  // In a transaction that writes. Returns the trial with its id; the cache does not have it yet.
  StudyTrial insert_trial(StudyId study, std::int64_t number, const NewTrial& trial, StudyTime now);
  void insert_parameters(TrialId id, std::span<const TrialParameter> parameters);
  void insert_values(TrialId id, std::span<const double> values);
  void insert_steps(TrialId id, const std::map<std::int64_t, double>& steps);
  void insert_attributes(TrialId id, const StudyAttributes& user, const StudyAttributes& system);
  void write_state(TrialId id, TrialState state, std::optional<StudyTime> start,
                   std::optional<StudyTime> complete);
  // In a transaction that writes: the state of a trial, which nobody changes until the end of the
  // transaction.
  TrialState lock_trial(TrialId id);
  // Likewise, nobody creates trials in the study until then.
  void lock_study(StudyId id);
  std::string time_text(StudyTime time) const { return format_study_time(time, zone_, ' '); }
  // With the lock. Error (environment) where the study was opened for reading.
  SqlTransaction begin_write(Durability durability);

  StorageMode mode_;
  std::unique_ptr<SqlDatabase> database_;
  DistributionTable distributions_;
  TimeZoneKind zone_ = TimeZoneKind::kUtc;
  std::map<StudyId, CachedStudy> cache_;
};

SqlStorage::SqlStorage(std::unique_ptr<SqlDatabase> database, StorageMode mode)
    : mode_(mode), database_(std::move(database)) {
  prepare_schema(*database_, mode == StorageMode::kCreate);
  database_->settle(access_of(mode));
  zone_ = time_zone_of(*database_);
}

SqlTransaction SqlStorage::begin_write(Durability durability) {
  if (mode_ == StorageMode::kRead)
    throw Error(ErrorKind::kEnvironment, {.file = path().string()},
                "cannot write: the study was opened for reading");
  return SqlTransaction(*database_, TransactionKind::kWrite, durability);
}

Study SqlStorage::read_study(StudyId id) {
  Study study;
  study.id = id;
  SqlStatement& row = database_->statement("SELECT study_id, study_name FROM studies WHERE study_id = ?");
  row.bind(1, number_of(id));
  if (!row.next())
    throw input_error({.file = path().string()}, format("there is no study with the id {}", number_of(id)),
                      "it was deleted while it was in use");
  study.name = row.text(1);
  row.done();
  SqlStatement& directions = database_->statement(
      "SELECT study_direction_id, objective, direction FROM study_directions WHERE study_id = ? ORDER BY "
      "objective");
  directions.bind(1, number_of(id));
  while (directions.next()) {
    if (directions.integer(1) != static_cast<std::int64_t>(study.directions.size()))
      throw directions.error(format("expected objective {}", study.directions.size()));
    const std::string_view name = directions.text(2);
    if (name != "MINIMIZE" && name != "MAXIMIZE")
      throw directions.error(format("unknown direction {}", quote_for_message(name)));
    study.directions.push_back(name == "MINIMIZE" ? StudyDirection::kMinimize : StudyDirection::kMaximize);
  }
  if (study.directions.empty())
    throw input_error({.file = path().string()},
                      format("study {} has no objective", quote_for_message(study.name)));
  const auto read_attributes = [&](SqlStatement& rows, StudyAttributes& attributes) {
    rows.bind(1, number_of(id));
    while (rows.next()) {
      try {
        attributes[std::string(rows.text(1))] = check_json(rows.text(2));
      } catch (const PythonJsonError& error) {
        throw rows.error(format("not JSON: {}", error.what()));
      }
    }
  };
  read_attributes(
      database_->statement("SELECT study_user_attribute_id, key, value_json FROM study_user_attributes "
                           "WHERE study_id = ?"),
      study.user_attributes);
  read_attributes(
      database_->statement("SELECT study_system_attribute_id, key, value_json FROM study_system_attributes "
                           "WHERE study_id = ?"),
      study.system_attributes);
  return study;
}

std::vector<Study> SqlStorage::studies() {
  SqlTransaction transaction(*database_, TransactionKind::kRead);
  std::vector<StudyId> ids;
  SqlStatement& rows = database_->statement("SELECT study_id FROM studies ORDER BY study_id");
  while (rows.next()) ids.push_back(StudyId{rows.integer(0)});
  std::vector<Study> found;
  for (const StudyId id : ids) found.push_back(read_study(id));
  transaction.commit();
  return found;
}

Study SqlStorage::study(StudyId id) {
  SqlTransaction transaction(*database_, TransactionKind::kRead);
  Study found = read_study(id);
  transaction.commit();
  return found;
}

StudyId SqlStorage::create_study(const NewStudy& study) {
  check_new_study(study);
  SqlTransaction transaction = begin_write(Durability::kResult);
  SqlStatement& same = database_->statement("SELECT study_id FROM studies WHERE study_name = ?");
  same.bind(1, study.name);
  if (same.next()) {
    same.done();
    throw usage_error(format("there is a study named {} already", quote_for_message(study.name)));
  }
  SqlStatement& insert =
      database_->statement("INSERT INTO studies (study_name) VALUES (?) RETURNING study_id");
  const std::int64_t id = inserted_id(insert.bind(1, study.name));
  for (std::size_t objective = 0; objective < study.directions.size(); ++objective) {
    const bool minimize = study.directions[objective] == StudyDirection::kMinimize;
    database_->statement("INSERT INTO study_directions (direction, study_id, objective) VALUES (?, ?, ?)")
        .bind(1, minimize ? "MINIMIZE" : "MAXIMIZE")
        .bind(2, id)
        .bind(3, static_cast<std::int64_t>(objective))
        .run();
  }
  transaction.commit();
  return StudyId{id};
}

void SqlStorage::set_study_attributes(StudyId id, AttributeOwner owner, const StudyAttributes& attributes) {
  check_attributes(attributes);
  SqlTransaction transaction = begin_write(Durability::kUsual);
  read_study(id);  // an Error if it is gone
  SqlStatement& insert = database_->statement(
      owner == AttributeOwner::kUser
          ? "INSERT INTO study_user_attributes (study_id, key, value_json) VALUES (?, ?, ?) "
            "ON CONFLICT (study_id, key) DO UPDATE SET value_json = excluded.value_json"
          : "INSERT INTO study_system_attributes (study_id, key, value_json) VALUES (?, ?, ?) "
            "ON CONFLICT (study_id, key) DO UPDATE SET value_json = excluded.value_json");
  for (const auto& [name, text] : attributes) insert.bind(1, number_of(id)).bind(2, name).bind(3, text).run();
  transaction.commit();
}

SqlStorage::CachedStudy& SqlStorage::cached(StudyId id) {
  const auto found = cache_.find(id);
  if (found != cache_.end()) return found->second;
  return cache_.emplace(id, CachedStudy{SqlTrials(*database_, distributions_, read_study(id), zone_)})
      .first->second;
}

SqlStorage::CachedStudy& SqlStorage::refreshed(StudyId id) {
  CachedStudy& study = cached(id);
  const std::int64_t version = database_->data_version();
  if (study.data_version != version) {
    study.trials.refresh();
    study.data_version = version;
  }
  return study;
}

std::span<const StudyTrial> SqlStorage::trials(StudyId id) {
  SqlTransaction transaction(*database_, TransactionKind::kRead);
  CachedStudy& study = refreshed(id);
  transaction.commit();
  return study.trials.all();
}

SqlTrials& SqlStorage::trials_of(TrialId id) {
  for (auto& [study, cached_study] : cache_) {
    if (cached_study.trials.find(id) != nullptr) return cached_study.trials;
  }
  SqlTransaction transaction(*database_, TransactionKind::kRead);
  SqlStatement& row = database_->statement("SELECT trial_id, study_id FROM trials WHERE trial_id = ?");
  row.bind(1, number_of(id));
  if (!row.next()) throw usage_error(format("there is no trial with the id {}", number_of(id)));
  const StudyId study{row.integer(1)};
  row.done();
  SqlTrials& trials = refreshed(study).trials;
  transaction.commit();
  return trials;
}

const StudyTrial& SqlStorage::trial(TrialId id) {
  return *trials_of(id).find(id);
}

void SqlStorage::insert_parameters(TrialId id, std::span<const TrialParameter> parameters) {
  for (const TrialParameter& parameter : parameters)
    database_
        ->statement(
            "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, "
            "?, ?)")
        .bind(1, number_of(id))
        .bind(2, parameter.name)
        .bind(3, parameter.value)
        .bind(4, distributions_.text_of(parameter.distribution))
        .run();
}

// Binds a number and its kind, at `parameter` and the one behind it.
void bind_number(SqlStatement& statement, int parameter, double value) {
  if (std::isfinite(value)) {
    statement.bind(parameter, value).bind(parameter + 1, "FINITE");
    return;
  }
  const std::string_view kind = std::isnan(value) ? "NAN" : value > 0 ? "INF_POS" : "INF_NEG";
  statement.bind_null(parameter).bind(parameter + 1, kind);
}

void SqlStorage::insert_values(TrialId id, std::span<const double> values) {
  for (std::size_t objective = 0; objective < values.size(); ++objective) {
    SqlStatement& insert = database_->statement(
        "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (trial_id, objective) DO UPDATE SET value = excluded.value, value_type = "
        "excluded.value_type");
    insert.bind(1, number_of(id)).bind(2, static_cast<std::int64_t>(objective));
    bind_number(insert, 3, values[objective]);
    insert.run();
  }
}

void SqlStorage::insert_steps(TrialId id, const std::map<std::int64_t, double>& steps) {
  for (const auto& [step, value] : steps) {
    SqlStatement& insert = database_->statement(
        "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type) "
        "VALUES (?, ?, ?, ?) ON CONFLICT (trial_id, step) DO UPDATE SET "
        "intermediate_value = excluded.intermediate_value, intermediate_value_type = "
        "excluded.intermediate_value_type");
    insert.bind(1, number_of(id)).bind(2, step);
    bind_number(insert, 3, value);
    insert.run();
  }
}

void SqlStorage::insert_attributes(TrialId id, const StudyAttributes& user, const StudyAttributes& system) {
  for (const auto& [name, text] : user)
    database_
        ->statement(
            "INSERT INTO trial_user_attributes (trial_id, key, value_json) VALUES (?, ?, ?) "
            "ON CONFLICT (trial_id, key) DO UPDATE SET value_json = excluded.value_json")
        .bind(1, number_of(id))
        .bind(2, name)
        .bind(3, text)
        .run();
  for (const auto& [name, text] : system)
    database_
        ->statement(
            "INSERT INTO trial_system_attributes (trial_id, key, value_json) VALUES (?, ?, ?) "
            "ON CONFLICT (trial_id, key) DO UPDATE SET value_json = excluded.value_json")
        .bind(1, number_of(id))
        .bind(2, name)
        .bind(3, text)
        .run();
}

// Times that are not given stay as they are.
void SqlStorage::write_state(TrialId id, TrialState state, std::optional<StudyTime> start,
                             std::optional<StudyTime> complete) {
  SqlStatement& update = database_->statement(
      "UPDATE trials SET state = ?, datetime_start = coalesce(?, datetime_start), "
      "datetime_complete = coalesce(?, datetime_complete) WHERE trial_id = ?");
  update.bind(1, state_name(state));
  start ? update.bind(2, time_text(*start)) : update.bind_null(2);
  complete ? update.bind(3, time_text(*complete)) : update.bind_null(3);
  update.bind(4, number_of(id)).run();
}

StudyTrial SqlStorage::insert_trial(StudyId study, std::int64_t number, const NewTrial& from, StudyTime now) {
  StudyTrial trial = trial_from(from, now);
  trial.number = number;
  if (trial.state == TrialState::kRunning)
    trial.system_attributes[std::string(kWorkerAttribute)] = worker_text(number);
  SqlStatement& insert = database_->statement(
      "INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) VALUES (?, ?, ?, ?, "
      "?) RETURNING trial_id");
  insert.bind(1, number).bind(2, number_of(study)).bind(3, state_name(trial.state));
  trial.start ? insert.bind(4, time_text(*trial.start)) : insert.bind_null(4);
  trial.complete ? insert.bind(5, time_text(*trial.complete)) : insert.bind_null(5);
  trial.id = TrialId{inserted_id(insert)};
  insert_parameters(trial.id, trial.parameters);
  insert_values(trial.id, trial.values);
  insert_steps(trial.id, trial.intermediate_values);
  insert_attributes(trial.id, trial.user_attributes, trial.system_attributes);
  if (trial.state == TrialState::kRunning) database_->write_heartbeat(number_of(trial.id));
  return trial;
}

// The number of a new trial. Trials are never deleted alone, so that the last one has the largest.
std::int64_t next_number(std::span<const StudyTrial> trials) {
  return trials.empty() ? 0 : trials.back().number + 1;
}

std::optional<TrialId> SqlStorage::create_trial(StudyId id, const NewTrial& trial, const Allowed& allowed) {
  SqlTransaction transaction =
      begin_write(is_finished(trial.state) ? Durability::kResult : Durability::kUsual);
  lock_study(id);
  CachedStudy& study = refreshed(id);
  if (allowed && !allowed(study.trials.all())) return std::nullopt;
  check_new_trial(trial, study.trials.study(), study.trials.first_distributions());
  StudyTrial created = insert_trial(id, next_number(study.trials.all()), trial, study_time_now());
  transaction.commit();
  const TrialId created_id = created.id;
  study.trials.add(std::move(created));
  if (trial.state == TrialState::kRunning) study.trials.own(created_id);
  return created_id;
}

std::vector<TrialId> SqlStorage::create_trials(StudyId id, std::span<const NewTrial> trials) {
  SqlTransaction transaction = begin_write(Durability::kResult);
  lock_study(id);
  CachedStudy& study = refreshed(id);
  std::vector<StudyTrial> created;
  std::int64_t number = next_number(study.trials.all());
  FirstDistributions first = study.trials.first_distributions();
  for (const NewTrial& trial : trials) {
    check_new_trial(trial, study.trials.study(), first);
    for (const TrialParameter& parameter : trial.parameters)
      first.emplace(parameter.name, parameter.distribution);
    created.push_back(insert_trial(id, number++, trial, study_time_now()));
  }
  transaction.commit();
  std::vector<TrialId> ids;
  for (StudyTrial& trial : created) {
    ids.push_back(trial.id);
    const bool runs = trial.state == TrialState::kRunning;
    study.trials.add(std::move(trial));
    if (runs) study.trials.own(ids.back());
  }
  return ids;
}

std::optional<TrialId> SqlStorage::claim_waiting_trial(StudyId id) {
  // Nearly always none waits: a look without the lock is enough for that.
  trials(id);
  if (cached(id).trials.first_waiting() == nullptr) return std::nullopt;
  SqlTransaction transaction = begin_write(Durability::kUsual);
  CachedStudy& study = refreshed(id);
  const StudyTrial* found = study.trials.first_waiting();
  while (found != nullptr && lock_trial(found->id) != TrialState::kWaiting) {
    study.trials.refresh();  // Optuna was faster
    found = study.trials.first_waiting();
  }
  if (found == nullptr) return std::nullopt;
  StudyTrial claimed = *found;
  const StudyTime now = study_time_now();
  claimed.state = TrialState::kRunning;
  claimed.start = now;
  const StudyAttributes worker{{std::string(kWorkerAttribute), worker_text(claimed.number)}};
  claimed.system_attributes[std::string(kWorkerAttribute)] = worker.begin()->second;
  write_state(claimed.id, claimed.state, now, std::nullopt);
  insert_attributes(claimed.id, {}, worker);
  database_->write_heartbeat(number_of(claimed.id));
  transaction.commit();
  const TrialId claimed_id = claimed.id;
  study.trials.replace(std::move(claimed));
  study.trials.own(claimed_id);
  return claimed_id;
}

// Optuna numbers a new trial with the row of its study locked.
void SqlStorage::lock_study(StudyId id) {
  if (!database_->dialect().has_row_locks) return;
  SqlStatement& row = database_->statement("SELECT study_id FROM studies WHERE study_id = ? FOR UPDATE");
  row.bind(1, number_of(id)).run();
}

// Optuna changes the state of a trial with its row locked, and does not know our lock.
TrialState SqlStorage::lock_trial(TrialId id) {
  SqlStatement& row = database_->statement(
      database_->dialect().has_row_locks ? "SELECT trial_id, state FROM trials WHERE trial_id = ? FOR UPDATE"
                                         : "SELECT trial_id, state FROM trials WHERE trial_id = ?");
  row.bind(1, number_of(id));
  if (!row.next())
    throw input_error({.file = path().string()}, "a trial has disappeared",
                      "the study was deleted while it was in use");
  const TrialState state = state_in_row(row, 1);
  row.done();
  return state;
}

bool SqlStorage::update_trial(TrialId id, const TrialUpdate& update) {
  SqlTrials& trials = trials_of(id);
  const bool has_result = update.state && is_finished(*update.state);
  SqlTransaction transaction = begin_write(has_result ? Durability::kResult : Durability::kUsual);
  if (is_finished(lock_trial(id))) return false;
  // Another worker may have given a new parameter another kind of range.
  if (!update.parameters.empty()) refreshed(trials.study().id);
  StudyTrial& trial = *trials.find(id);
  check_update(trial, update, trials.study(), trials.first_distributions());
  const StudyTime now = study_time_now();
  insert_parameters(id, update.parameters);
  insert_steps(id, update.intermediate_values);
  insert_attributes(id, update.user_attributes, system_attributes_of(update));
  insert_values(id, update.values);
  if (update.state)
    write_state(id, *update.state, std::nullopt, has_result ? std::optional(now) : std::nullopt);
  transaction.commit();
  apply_update(update, now, trial);
  trials.note(id);
  return true;
}

bool SqlStorage::record_heartbeat(TrialId id) {
  SqlTransaction transaction = begin_write(Durability::kUsual);
  if (is_finished(lock_trial(id))) return false;
  database_->write_heartbeat(number_of(id));
  transaction.commit();
  return true;
}

std::vector<StaleTrial> SqlStorage::fail_stale_trials(StudyId id, const StaleOptions& options) {
  const auto runs = [](const StudyTrial& trial) { return trial.state == TrialState::kRunning; };
  if (std::ranges::none_of(trials(id), runs)) return {};
  SqlTransaction transaction = begin_write(Durability::kUsual);
  lock_study(id);
  CachedStudy& study = refreshed(id);
  const StudyTime now = study_time_now();
  std::vector<StaleTrial> stale;
  std::vector<StudyTrial> failed;
  std::vector<StudyTrial> retries;
  std::int64_t number = next_number(study.trials.all());
  for (const StudyTrial& trial : study.trials.all()) {
    if (!runs(trial)) continue;
    const auto age = database_->heartbeat_age(number_of(trial.id));
    const std::optional<StudyTime> heartbeat = age ? std::optional(now - *age) : std::nullopt;
    const std::optional<std::string> reason = staleness(trial, heartbeat, now, options.grace);
    if (!reason || lock_trial(trial.id) != TrialState::kRunning) continue;
    TrialUpdate update;
    update.state = TrialState::kFail;
    append_json_string(*reason, update.user_attributes[std::string(kReason)]);
    StudyTrial changed = trial;
    apply_update(update, now, changed);
    insert_attributes(trial.id, update.user_attributes, {});
    write_state(trial.id, TrialState::kFail, std::nullopt, now);
    stale.push_back({trial.id, trial.number, *reason, std::nullopt});
    if (const std::optional<NewTrial> retry = retry_of(trial, options.retries)) {
      retries.push_back(insert_trial(id, number, *retry, now));
      stale.back().retry_number = number++;
    }
    failed.push_back(std::move(changed));
  }
  transaction.commit();
  for (StudyTrial& trial : failed) study.trials.replace(std::move(trial));
  for (StudyTrial& trial : retries) study.trials.add(std::move(trial));
  return stale;
}

}  // namespace

SqlDatabase::Access access_of(StorageMode mode) {
  switch (mode) {
    case StorageMode::kRead:
      return SqlDatabase::Access::kRead;
    case StorageMode::kWrite:
      return SqlDatabase::Access::kWrite;
    case StorageMode::kCreate:
      return SqlDatabase::Access::kCreate;
  }
  unreachable();
}

std::unique_ptr<StudyStorage> make_sql_storage(std::unique_ptr<SqlDatabase> database, StorageMode mode) {
  return std::make_unique<SqlStorage>(std::move(database), mode);
}

}  // namespace nadi::inline tuning
