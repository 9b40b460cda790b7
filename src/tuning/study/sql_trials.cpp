#include "nadi/study/sql_trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/study/python_json.h"

namespace nadi::inline tuning {
namespace {

constexpr std::array<std::pair<std::string_view, TrialState>, 5> kStateNames{{
    {"RUNNING", TrialState::kRunning},
    {"COMPLETE", TrialState::kComplete},
    {"PRUNED", TrialState::kPruned},
    {"FAIL", TrialState::kFail},
    {"WAITING", TrialState::kWaiting},
}};

// From here, one pass over a range of trials is faster than asking for each.
constexpr std::size_t kManyTrials = 32;

std::optional<StudyTime> time_in_row(const SqlStatement& row, int column, TimeZoneKind zone) {
  if (row.is_null(column)) return std::nullopt;
  const std::string_view text = row.text(column);
  const std::optional<StudyTime> time = parse_study_time(text, zone);
  if (!time) throw row.error(format("not a time: {}", quote_for_message(text)));
  return time;
}

// A number and its kind are in two columns, since SQLite has no NaN and Optuna wants no infinities.
double number_in(const SqlStatement& row, int value, int kind) {
  const std::string_view name = row.text(kind);
  if (name == "FINITE") return row.number(value);
  if (!row.is_null(value))
    throw row.error(format("a value of type {} has a number", quote_for_message(name)));
  if (name == "INF_POS") return std::numeric_limits<double>::infinity();
  if (name == "INF_NEG") return -std::numeric_limits<double>::infinity();
  if (name == "NAN") return std::numeric_limits<double>::quiet_NaN();
  throw row.error(format("unknown type {} of a value", quote_for_message(name)));
}

}  // namespace

TrialState state_in_row(const SqlStatement& row, int column) {
  const std::string_view name = row.text(column);
  for (const auto& [known, state] : kStateNames) {
    if (known == name) return state;
  }
  throw row.error(format("unknown state {}", quote_for_message(name)));
}

std::string_view state_name(TrialState state) {
  for (const auto& [name, known] : kStateNames) {
    if (known == state) return name;
  }
  unreachable();
}

SqlTrials::SqlTrials(SqlDatabase& database, DistributionTable& distributions, Study study, TimeZoneKind zone)
    : database_(database), distributions_(distributions), study_(std::move(study)), zone_(zone) {}

StudyTrial* SqlTrials::find(TrialId id) {
  const auto found = std::ranges::lower_bound(trials_, id, {}, &StudyTrial::id);
  return found == trials_.end() || found->id != id ? nullptr : &*found;
}

const StudyTrial* SqlTrials::first_waiting() {
  for (const TrialId id : unfinished_) {
    const StudyTrial* const trial = find(id);
    if (trial->state == TrialState::kWaiting) return trial;
  }
  return nullptr;
}

void SqlTrials::refresh() {
  std::vector<TrialId> changed;
  read_changed(changed);
  read_new(changed);
  try {
    read_details(changed);
  } catch (...) {
    // Half-read trials must not pass for whole ones: the next refresh reads all of them again.
    trials_.clear();
    unfinished_.clear();
    first_distributions_.clear();
    throw;
  }
  for (const TrialId id : changed) remember(*find(id));
}

void SqlTrials::add(StudyTrial trial) {
  check(trials_.empty() || trials_.back().id < trial.id, "ids of trials must ascend");
  const TrialId id = trial.id;
  trials_.push_back(std::move(trial));
  remember(*find(id));
}

void SqlTrials::replace(StudyTrial trial) {
  StudyTrial* const place = find(trial.id);
  check(place != nullptr, "only a known trial is replaced");
  *place = std::move(trial);
  remember(*place);
}

void SqlTrials::note(TrialId id) {
  remember(*find(id));
}

void SqlTrials::own(TrialId id) {
  own_.insert(id);
}

void SqlTrials::remember(const StudyTrial& trial) {
  for (const TrialParameter& parameter : trial.parameters)
    first_distributions_.emplace(parameter.name, parameter.distribution);
  if (is_finished(trial.state)) {
    unfinished_.erase(trial.id);
    own_.erase(trial.id);
  } else {
    unfinished_.insert(trial.id);
  }
}

void SqlTrials::read_head(SqlStatement& row, StudyTrial& trial) const {
  trial.number = row.integer(1);
  if (trial.number < 0) throw row.error(format("the number of the trial is {}", trial.number));
  trial.state = state_in_row(row, 2);
  trial.start = time_in_row(row, 3, zone_);
  trial.complete = time_in_row(row, 4, zone_);
}

// Trials that were not finished when they were read last. A few are asked for one by one; many, as a queue of
// a grid has, by one pass over their range.
void SqlTrials::read_changed(std::vector<TrialId>& changed) {
  const auto take = [&](SqlStatement& row, TrialId id) {
    StudyTrial& trial = *find(id);
    const TrialState before = trial.state;
    read_head(row, trial);
    const bool is_read = trial.state == before && (before == TrialState::kWaiting || own_.contains(id));
    if (!is_read) changed.push_back(id);
  };
  const auto gone = [&](TrialId id) {
    return input_error(
        {.file = database_.path().string()},
        format("trial {} of study {} has disappeared", find(id)->number, quote_for_message(study_.name)),
        "the study was deleted while it was in use");
  };
  if (unfinished_.size() < kManyTrials) {
    SqlStatement& row = database_.statement(
        "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE trial_id = ?");
    for (const TrialId id : unfinished_) {
      row.bind(1, static_cast<std::int64_t>(id));
      if (!row.next()) throw gone(id);
      take(row, id);
      row.done();
    }
    return;
  }
  SqlStatement& row = database_.statement(
      "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials "
      "WHERE study_id = ? AND trial_id BETWEEN ? AND ? ORDER BY trial_id");
  row.bind(1, static_cast<std::int64_t>(study_.id))
      .bind(2, static_cast<std::int64_t>(*unfinished_.begin()))
      .bind(3, static_cast<std::int64_t>(*unfinished_.rbegin()));
  auto expected = unfinished_.begin();
  while (row.next()) {
    const TrialId id{row.integer(0)};
    if (expected == unfinished_.end() || id < *expected) continue;
    if (id != *expected) {
      row.done();
      throw gone(*expected);
    }
    take(row, id);
    ++expected;
  }
  if (expected != unfinished_.end()) throw gone(*expected);
}

void SqlTrials::read_new(std::vector<TrialId>& changed) {
  SqlStatement& row = database_.statement(
      "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials "
      "WHERE study_id = ? AND trial_id > ? ORDER BY trial_id");
  row.bind(1, static_cast<std::int64_t>(study_.id))
      .bind(2, trials_.empty() ? std::int64_t{-1} : static_cast<std::int64_t>(trials_.back().id));
  while (row.next()) {
    StudyTrial trial;
    trial.id = TrialId{row.integer(0)};
    read_head(row, trial);
    changed.push_back(trial.id);
    trials_.push_back(std::move(trial));
  }
}

void SqlTrials::read_details(std::span<const TrialId> ids) {
  for (const TrialId id : ids) {
    StudyTrial& trial = *find(id);
    trial.values.clear();
    trial.parameters.clear();
    trial.intermediate_values.clear();
    trial.user_attributes.clear();
    trial.system_attributes.clear();
    trial.constraints.clear();
  }
  if (ids.size() < kManyTrials) {
    for (const TrialId id : ids) read_details(id, id, [](TrialId) { return true; });
    return;
  }
  std::vector<TrialId> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  read_details(sorted.front(), sorted.back(),
               [&](TrialId id) { return std::ranges::binary_search(sorted, id); });
}

void SqlTrials::read_details(TrialId first, TrialId last, const std::function<bool(TrialId)>& wanted) {
  // Rows come by trial, so the one before is nearly always the one that is looked for.
  StudyTrial* current = nullptr;
  const auto trial_of = [&](const SqlStatement& row) -> StudyTrial* {
    const TrialId id{row.integer(1)};
    if (current == nullptr || current->id != id) {
      current = find(id);
      if (current != nullptr && !wanted(id)) current = nullptr;
    }
    return current;
  };
  const auto rows_of = [&](const char* sql) -> SqlStatement& {
    return database_.statement(sql)
        .bind(1, static_cast<std::int64_t>(first))
        .bind(2, static_cast<std::int64_t>(last));
  };

  SqlStatement& parameters = rows_of(
      "SELECT param_id, trial_id, param_name, param_value, distribution_json FROM trial_params "
      "WHERE trial_id BETWEEN ? AND ? ORDER BY trial_id, param_id");
  while (parameters.next()) {
    StudyTrial* const trial = trial_of(parameters);
    if (trial == nullptr) continue;
    TrialParameter parameter;
    parameter.name = parameters.text(2);
    parameter.value = parameters.number(3);
    try {
      parameter.distribution = distributions_.find_or_parse(parameters.text(4));
    } catch (const PythonJsonError& error) {
      throw parameters.error(format("not a distribution: {}", error.what()));
    }
    if (!external_value(*parameter.distribution, parameter.value))
      throw parameters.error(format("{} is not a value of its distribution", parameter.value));
    trial->parameters.push_back(std::move(parameter));
  }

  SqlStatement& values = rows_of(
      "SELECT trial_value_id, trial_id, objective, value, value_type FROM trial_values "
      "WHERE trial_id BETWEEN ? AND ? ORDER BY trial_id, objective");
  while (values.next()) {
    StudyTrial* const trial = trial_of(values);
    if (trial == nullptr) continue;
    const std::int64_t objective = values.integer(2);
    if (objective != static_cast<std::int64_t>(trial->values.size()))
      throw values.error(format("expected objective {}, found {}", trial->values.size(), objective));
    const double value = number_in(values, 3, 4);
    if (std::isnan(value)) throw values.error("the value of a trial is NaN");
    trial->values.push_back(value);
  }

  SqlStatement& steps = rows_of(
      "SELECT trial_intermediate_value_id, trial_id, step, intermediate_value, intermediate_value_type "
      "FROM trial_intermediate_values WHERE trial_id BETWEEN ? AND ? ORDER BY trial_id, step");
  while (steps.next()) {
    StudyTrial* const trial = trial_of(steps);
    if (trial == nullptr) continue;
    const double value = number_in(steps, 3, 4);
    trial->intermediate_values.emplace_hint(trial->intermediate_values.end(), steps.integer(2), value);
  }

  const auto read_attributes = [&](SqlStatement& rows, StudyAttributes StudyTrial::*member) {
    while (rows.next()) {
      StudyTrial* const trial = trial_of(rows);
      if (trial == nullptr) continue;
      try {
        (trial->*member)[std::string(rows.text(2))] = check_json(rows.text(3));
      } catch (const PythonJsonError& error) {
        throw rows.error(format("not JSON: {}", error.what()));
      }
    }
  };
  read_attributes(
      rows_of("SELECT trial_user_attribute_id, trial_id, key, value_json FROM trial_user_attributes "
              "WHERE trial_id BETWEEN ? AND ? ORDER BY trial_id"),
      &StudyTrial::user_attributes);
  read_attributes(
      rows_of("SELECT trial_system_attribute_id, trial_id, key, value_json FROM trial_system_attributes "
              "WHERE trial_id BETWEEN ? AND ? ORDER BY trial_id"),
      &StudyTrial::system_attributes);
  for (auto it = std::ranges::lower_bound(trials_, first, {}, &StudyTrial::id);
       it != trials_.end() && it->id <= last; ++it) {
    if (!wanted(it->id)) continue;
    if (const std::string fault = fault_of_values(*it, study_); !fault.empty())
      throw input_error({.file = database_.path().string()}, format("trial {}: {}", it->number, fault));
    try {
      read_constraints(*it);
    } catch (const PythonJsonError& error) {
      throw input_error({.file = database_.path().string()},
                        format("constraints of trial {}: {}", it->number, error.what()));
    }
  }
}

}  // namespace nadi::inline tuning
