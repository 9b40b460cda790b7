// A study storage in a database (study_storage.h), of SQLite or PostgreSQL. For sources of this room.
//
//   auto storage = make_sql_storage(open_sqlite_database(path, access_of(mode), timeout), mode);
#pragma once

#include <memory>

#include "nadi/study/sql_database.h"
#include "nadi/study/study_storage.h"

namespace nadi::inline tuning {

SqlDatabase::Access access_of(StorageMode mode);

// Makes or checks the tables.
std::unique_ptr<StudyStorage> make_sql_storage(std::unique_ptr<SqlDatabase> database, StorageMode mode);

}  // namespace nadi::inline tuning
