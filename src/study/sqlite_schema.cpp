// The statements below make what SQLAlchemy makes of Optuna's classes: names, types and constraints of the
// columns are its interface, and its migrations count on them.

#include "nadi/study/sqlite_schema.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/version.h"

namespace nadi {
namespace {

struct TableEntry {
  std::string_view name;
  std::string_view columns;
};

constexpr std::array kTables{
    TableEntry{"studies",
               "study_id INTEGER NOT NULL, study_name VARCHAR(512) NOT NULL, PRIMARY KEY (study_id)"},
    TableEntry{"version_info",
               "version_info_id INTEGER NOT NULL, schema_version INTEGER, library_version VARCHAR(256), "
               "PRIMARY KEY (version_info_id), CHECK (version_info_id=1)"},
    TableEntry{
        "study_directions",
        "study_direction_id INTEGER NOT NULL, direction VARCHAR(8) NOT NULL, study_id INTEGER NOT NULL, "
        "objective INTEGER NOT NULL, PRIMARY KEY (study_direction_id), UNIQUE (study_id, objective), "
        "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{
        "study_user_attributes",
        "study_user_attribute_id INTEGER NOT NULL, study_id INTEGER, \"key\" VARCHAR(512), value_json TEXT, "
        "PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, \"key\"), "
        "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{"study_system_attributes",
               "study_system_attribute_id INTEGER NOT NULL, study_id INTEGER, \"key\" VARCHAR(512), "
               "value_json TEXT, "
               "PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, \"key\"), "
               "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{"trials",
               "trial_id INTEGER NOT NULL, number INTEGER, study_id INTEGER, state VARCHAR(8) NOT NULL, "
               "datetime_start DATETIME, datetime_complete DATETIME, PRIMARY KEY (trial_id), "
               "FOREIGN KEY(study_id) REFERENCES studies (study_id)"},
    TableEntry{
        "trial_user_attributes",
        "trial_user_attribute_id INTEGER NOT NULL, trial_id INTEGER, \"key\" VARCHAR(512), value_json TEXT, "
        "PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, \"key\"), "
        "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_system_attributes",
               "trial_system_attribute_id INTEGER NOT NULL, trial_id INTEGER, \"key\" VARCHAR(512), "
               "value_json TEXT, "
               "PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, \"key\"), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_params",
               "param_id INTEGER NOT NULL, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, "
               "distribution_json TEXT, PRIMARY KEY (param_id), UNIQUE (trial_id, param_name), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_values",
               "trial_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, objective INTEGER NOT NULL, "
               "value FLOAT, "
               "value_type VARCHAR(7) NOT NULL, PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective), "
               "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{
        "trial_intermediate_values",
        "trial_intermediate_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, step INTEGER NOT NULL, "
        "intermediate_value FLOAT, intermediate_value_type VARCHAR(7) NOT NULL, "
        "PRIMARY KEY (trial_intermediate_value_id), UNIQUE (trial_id, step), "
        "FOREIGN KEY(trial_id) REFERENCES trials (trial_id)"},
    TableEntry{"trial_heartbeats",
               "trial_heartbeat_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, heartbeat DATETIME NOT NULL, "
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

bool has_table(SqliteDatabase& database, std::string_view name) {
  return database
      .query_text(format("SELECT name FROM sqlite_master WHERE type = 'table' AND name = '{}' "
                         "AND sql NOT LIKE 'CREATE VIRTUAL%'",
                         name))
      .has_value();
}

std::size_t count_tables(SqliteDatabase& database) {
  return static_cast<std::size_t>(std::ranges::count_if(
      kTables, [&](const TableEntry& table) { return has_table(database, table.name); }));
}

void make_tables(SqliteDatabase& database) {
  for (const TableEntry& table : kTables)
    database.execute(format("CREATE TABLE IF NOT EXISTS {} ({})", table.name, table.columns));
  database.execute("CREATE UNIQUE INDEX IF NOT EXISTS ix_studies_study_name ON studies (study_name)");
  database.execute("CREATE INDEX IF NOT EXISTS ix_trials_study_id ON trials (study_id)");
  // Optuna shows the version in messages only. It says whose times these are (study_time.h).
  database.execute(format("INSERT OR IGNORE INTO version_info VALUES (1, {}, '5.0.0 (nadi {})')",
                          kSchemaNumber, version()));
  database.execute(format("INSERT OR IGNORE INTO alembic_version VALUES ('{}')", kSchemaVersion));
}

Error not_a_study(const SqliteDatabase& database) {
  return input_error({.file = database.path().string()},
                     "this is an SQLite database, but not one of studies: it has no table 'studies'",
                     "give the study a file of its own");
}

// Of a database that has tables of studies.
void check_version(SqliteDatabase& database) {
  const std::string file = database.path().string();
  const std::optional<std::string> number = database.query_text("SELECT version_num FROM alembic_version");
  if (number == kSchemaVersion) return;
  if (!number) throw input_error({.file = file}, "the study has no version: its creation was interrupted");
  const std::string made_by =
      has_table(database, "version_info")
          ? database.query_text("SELECT library_version FROM version_info").value_or("an unknown version")
          : "an unknown version";
  const bool is_older = std::ranges::find(kOlderVersions, *number) != kOlderVersions.end();
  throw input_error(
      {.file = file},
      format("the tables are of version {}, made by Optuna {}; version {} is read",
             quote_for_message(*number), quote_for_message(made_by), kSchemaVersion),
      is_older
          ? format("bring it up to date with Optuna: optuna storage upgrade --storage sqlite:///{}", file)
          : "a newer version of Optuna has changed the tables");
}

}  // namespace

void prepare_schema(SqliteDatabase& database, bool may_create) {
  const std::string file = database.path().string();
  if (has_table(database, "studies") && has_table(database, "alembic_version") &&
      database.query_text("SELECT version_num FROM alembic_version")) {
    check_version(database);
  } else if (may_create) {
    // Another worker may be making them now, or one may have been killed while Optuna made them, one at a
    // time.
    SqliteTransaction transaction(database, SqliteTransaction::Kind::kWrite);
    const bool is_empty = !database.query_text("SELECT name FROM sqlite_master").has_value();
    if (!is_empty && count_tables(database) == 0) throw not_a_study(database);
    const bool has_version = has_table(database, "alembic_version") &&
                             database.query_text("SELECT version_num FROM alembic_version").has_value();
    const std::optional<std::string> number =
        has_table(database, "version_info") ? database.query_text("SELECT schema_version FROM version_info")
                                            : std::nullopt;
    // Before alembic counted, the number said the version.
    if (!has_version && number && *number != std::to_string(kSchemaNumber))
      throw input_error(
          {.file = file}, format("the tables are of version {}, made by an old Optuna", *number),
          format("bring it up to date with Optuna: optuna storage upgrade --storage sqlite:///{}", file));
    if (!has_version) make_tables(database);
    check_version(database);
    transaction.commit();
  } else if (!database.query_text("SELECT name FROM sqlite_master")) {
    throw input_error({.file = file}, "the database is empty: there is no study in it");
  } else if (!has_table(database, "studies")) {
    throw not_a_study(database);
  } else {
    throw input_error({.file = file}, "the study has no version: its creation was interrupted");
  }
  for (const TableEntry& table : kTables) {
    if (!has_table(database, table.name))
      throw input_error({.file = file}, format("the study is damaged: table '{}' is missing", table.name));
  }
}

void check_integrity(SqliteDatabase& database) {
  const std::filesystem::path& path = database.path();
  const std::string hint = format(
      "what can be saved goes to a new file with: sqlite3 {} .recover | sqlite3 saved.db", path.string());
  std::error_code ignored;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  if (ignored || size > kLargestChecked) return;
  const std::string found = database.query_text("PRAGMA integrity_check(1)").value_or("");
  if (found != "ok")
    throw input_error({.file = path.string()},
                      format("the database is damaged: {}", quote_for_message(found)), hint);
  // SQLite takes what is missing of the last page for zeros. With a log, the page may be on its way.
  const std::filesystem::path log = path.string() + "-wal";
  const bool has_log = std::filesystem::exists(log, ignored) && std::filesystem::file_size(log, ignored) > 0;
  const std::int64_t page = std::atoll(database.query_text("PRAGMA page_size").value_or("0").c_str());
  if (!has_log && page > 0 && size % page != 0)
    throw input_error({.file = path.string(), .byte = size},
                      format("the database is damaged: its last page of {} bytes is cut", page), hint);
}

TimeZoneKind time_zone_of(SqliteDatabase& database) {
  const std::string made_by = database.query_text("SELECT library_version FROM version_info").value_or("");
  return std::atoi(made_by.c_str()) >= 5 ? TimeZoneKind::kUtc : TimeZoneKind::kLocal;
}

}  // namespace nadi
