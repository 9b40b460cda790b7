// The statements below make what SQLAlchemy makes of Optuna's classes: names, types and constraints of the
// columns are its interface, and its migrations count on them.

#include "nadi/study/sql_schema.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/version.h"

namespace nadi::inline tuning {
namespace {

struct TableEntry {
  std::string_view name;
  std::string_view columns;
};

constexpr std::array kTables{
    TableEntry{"studies", "study_id @id, study_name VARCHAR(512) NOT NULL, PRIMARY KEY (study_id)"},
    TableEntry{"version_info",
               "version_info_id INTEGER NOT NULL, schema_version INTEGER, library_version VARCHAR(256), "
               "PRIMARY KEY (version_info_id), CHECK (version_info_id=1)"},
    TableEntry{"study_directions",
               "study_direction_id @id, direction @direction NOT NULL, study_id INTEGER NOT NULL, "
               "objective INTEGER NOT NULL, PRIMARY KEY (study_direction_id), UNIQUE (study_id, objective), "
               "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{"study_user_attributes",
               "study_user_attribute_id @id, study_id INTEGER, \"key\" VARCHAR(512), value_json TEXT, "
               "PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, \"key\"), "
               "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{"study_system_attributes",
               "study_system_attribute_id @id, study_id INTEGER, \"key\" VARCHAR(512), "
               "value_json TEXT, "
               "PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, \"key\"), "
               "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{"trials",
               "trial_id @id, number INTEGER, study_id INTEGER, state @state NOT NULL, "
               "datetime_start @time, datetime_complete @time, PRIMARY KEY (trial_id), "
               "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{"trial_user_attributes",
               "trial_user_attribute_id @id, trial_id INTEGER, \"key\" VARCHAR(512), value_json TEXT, "
               "PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, \"key\"), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_system_attributes",
               "trial_system_attribute_id @id, trial_id INTEGER, \"key\" VARCHAR(512), "
               "value_json TEXT, "
               "PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, \"key\"), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_params",
               "param_id @id, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, "
               "distribution_json TEXT, PRIMARY KEY (param_id), UNIQUE (trial_id, param_name), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_values",
               "trial_value_id @id, trial_id INTEGER NOT NULL, objective INTEGER NOT NULL, "
               "value FLOAT, "
               "value_type @value_type NOT NULL, PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_intermediate_values",
               "trial_intermediate_value_id @id, trial_id INTEGER NOT NULL, step INTEGER NOT NULL, "
               "intermediate_value FLOAT, intermediate_value_type @step_value_type NOT NULL, "
               "PRIMARY KEY (trial_intermediate_value_id), UNIQUE (trial_id, step), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_heartbeats",
               "trial_heartbeat_id @id, trial_id INTEGER NOT NULL, heartbeat @time NOT NULL, "
               "PRIMARY KEY (trial_heartbeat_id), UNIQUE (trial_id), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"alembic_version",
               "version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)"},
};

// Versions before ours, which Optuna's own command brings up to date.
constexpr std::array<std::string_view, 9> kOlderVersions{"v0.9.0.a", "v1.2.0.a", "v1.3.0.a",
                                                         "v2.4.0.a", "v2.6.0.a", "v3.0.0.a",
                                                         "v3.0.0.b", "v3.0.0.c", "v3.0.0.d"};

constexpr int kSchemaNumber = 12;  // has not changed since alembic counts versions

std::size_t count_tables(SqlDatabase& database) {
  return static_cast<std::size_t>(std::ranges::count_if(
      kTables, [&](const TableEntry& table) { return database.has_table(table.name); }));
}

// The columns with the types of the dialect in place of @words.
std::string columns_of(const TableEntry& table, const SqlDialect& dialect) {
  const std::array<std::pair<std::string_view, std::string_view>, 6> words{{
      {"@id", dialect.row_id},
      {"@time", dialect.time},
      {"@direction", dialect.direction},
      {"@state", dialect.trial_state},
      {"@value_type", dialect.value_type},
      {"@step_value_type", dialect.step_value_type},
  }};
  std::string text;
  std::string_view rest = table.columns;
  for (std::size_t at = rest.find('@'); at != std::string_view::npos; at = rest.find('@')) {
    text += rest.substr(0, at);
    rest.remove_prefix(at);
    const std::string_view word = rest.substr(0, rest.find_first_of(" ,"));
    const auto* const found =
        std::ranges::find(words, word, &std::pair<std::string_view, std::string_view>::first);
    check(found != words.end(), "every word of a table's columns must be in the dialect");
    text += found->second;
    rest.remove_prefix(word.size());
  }
  return text += rest;
}

void make_tables(SqlDatabase& database) {
  database.make_types();
  for (const TableEntry& table : kTables)
    database.execute(
        format("CREATE TABLE IF NOT EXISTS {} ({})", table.name, columns_of(table, database.dialect())));
  database.execute("CREATE UNIQUE INDEX IF NOT EXISTS ix_studies_study_name ON studies (study_name)");
  database.execute("CREATE INDEX IF NOT EXISTS ix_trials_study_id ON trials (study_id)");
  // Optuna shows the version in messages only. It says whose times these are (study_time.h).
  database.execute(format("INSERT INTO version_info VALUES (1, {}, '5.0.0 (nadi {})') ON CONFLICT DO NOTHING",
                          kSchemaNumber, version()));
  database.execute(
      format("INSERT INTO alembic_version VALUES ('{}') ON CONFLICT DO NOTHING", kSchemaVersion));
}

Error not_a_study(const SqlDatabase& database) {
  return input_error(
      {.file = database.path().string()},
      format("this is {}, but not one of studies: it has no table 'studies'", database.dialect().name),
      database.dialect().holds_other_tables ? "" : "give the study a file of its own");
}

// For a database that has tables of studies.
void check_version(SqlDatabase& database) {
  const std::string file = database.path().string();
  const std::optional<std::string> number = database.query_text("SELECT version_num FROM alembic_version");
  if (number == kSchemaVersion) return;
  if (!number) throw input_error({.file = file}, "the study has no version: its creation was interrupted");
  const std::string made_by =
      database.has_table("version_info")
          ? database.query_text("SELECT library_version FROM version_info").value_or("an unknown version")
          : "an unknown version";
  const bool is_older = std::ranges::find(kOlderVersions, *number) != kOlderVersions.end();
  throw input_error({.file = file},
                    format("the tables are of version {}, made by Optuna {}; version {} is read",
                           quote_for_message(*number), quote_for_message(made_by), kSchemaVersion),
                    is_older ? format("bring it up to date with Optuna: optuna storage upgrade --storage {}",
                                      database.optuna_url())
                             : "a newer version of Optuna has changed the tables");
}

}  // namespace

void prepare_schema(SqlDatabase& database, bool may_create) {
  const std::string file = database.path().string();
  if (database.has_table("studies") && database.has_table("alembic_version") &&
      database.query_text("SELECT version_num FROM alembic_version")) {
    check_version(database);
  } else if (may_create) {
    // Another worker may be making them now, or one may have been killed while Optuna made them, one at a
    // time.
    SqlTransaction transaction(database, TransactionKind::kWrite);
    if (!database.dialect().holds_other_tables && database.has_any_table() && count_tables(database) == 0)
      throw not_a_study(database);
    const bool has_version = database.has_table("alembic_version") &&
                             database.query_text("SELECT version_num FROM alembic_version").has_value();
    const std::optional<std::string> number =
        database.has_table("version_info") ? database.query_text("SELECT schema_version FROM version_info")
                                           : std::nullopt;
    // Before alembic counted, the number said the version.
    if (!has_version && number && *number != std::to_string(kSchemaNumber))
      throw input_error({.file = file},
                        format("the tables are of version {}, made by an old Optuna", *number),
                        format("bring it up to date with Optuna: optuna storage upgrade --storage {}",
                               database.optuna_url()));
    if (!has_version) make_tables(database);
    check_version(database);
    transaction.commit();
  } else if (!database.has_any_table()) {
    throw input_error({.file = file}, "the database is empty: there is no study in it");
  } else if (!database.has_table("studies")) {
    throw not_a_study(database);
  } else {
    throw input_error({.file = file}, "the study has no version: its creation was interrupted");
  }
  for (const TableEntry& table : kTables) {
    if (!database.has_table(table.name))
      throw input_error({.file = file}, format("the study is damaged: table '{}' is missing", table.name));
  }
}

TimeZoneKind time_zone_of(SqlDatabase& database) {
  const std::string made_by = database.query_text("SELECT library_version FROM version_info").value_or("");
  return std::atoi(made_by.c_str()) >= 5 ? TimeZoneKind::kUtc : TimeZoneKind::kLocal;
}

}  // namespace nadi::inline tuning
