// The tables of Optuna's databases: made in a new file, recognised in an old one. For sources of this room.
#pragma once

#include "nadi/study/sqlite_database.h"
#include "nadi/study/study_time.h"

namespace nadi {

// The version of the tables that we read and write: Optuna 3.2 to 5.0 at least.
inline constexpr std::string_view kSchemaVersion = "v3.2.0.a";

// Makes the tables where there are none and the database may be written. Error (input) for a database of
// something else, for tables of another version, and for an empty file that is to be read.
void prepare_schema(SqliteDatabase& database, bool may_create);

// Looks for damage that would otherwise hide trials: an index that lacks rows, half a page at the end of the
// file. Error (input) with what was found. Reads all of the file, 5 ms for a MB; files beyond kLargestChecked
// are not looked at.
void check_integrity(SqliteDatabase& database);
inline constexpr std::int64_t kLargestChecked = std::int64_t{128} << 20;

// Of the times in the trials: by the version of Optuna that made the file (study_time.h).
TimeZoneKind time_zone_of(SqliteDatabase& database);

}  // namespace nadi
