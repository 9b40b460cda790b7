// The tables of Optuna's databases: made in a new one, recognised in an old one. For sources of this room.
#pragma once

#include "nadi/study/sql_database.h"
#include "nadi/study/study_time.h"

namespace nadi::inline tuning {

// The version of the tables that we read and write: Optuna 3.2 to 5.0 at least.
inline constexpr std::string_view kSchemaVersion = "v3.2.0.a";

// Makes the tables where there are none and the database may be written. Error (input) for a database of
// something else, for tables of another version, and for an empty file that is to be read.
void prepare_schema(SqlDatabase& database, bool may_create);

// Zone of the times in the trials: by the version of Optuna that made the file (study_time.h).
TimeZoneKind time_zone_of(SqlDatabase& database);

}  // namespace nadi::inline tuning
