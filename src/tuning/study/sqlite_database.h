// A database of studies in a file of SQLite's. For sources of this room.
//
// Durability: on a local disk the database has a write-ahead log. A transaction is in the file when the call
// returns, so the end of the process does no harm; the disk itself is waited for when a trial finishes, but
// not more often than every 50 ms. A loss of power so costs the results of the last 50 ms at most,
// and trials of a few milliseconds do not wait for the disk every time. Other file systems have no
// write-ahead log (it needs memory that all workers share), and there every transaction waits.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>

#include "nadi/study/sql_database.h"

namespace nadi::inline tuning {

// Error (input) for a file that is no database or, without kCreate, not there; Error (environment) for one
// that may not be opened.
std::unique_ptr<SqlDatabase> open_sqlite_database(std::filesystem::path path, SqlDatabase::Access access,
                                                  std::chrono::milliseconds lock_timeout);

// Files beyond this size are not looked through for damage: that takes 5 ms for a MB.
inline constexpr std::int64_t kLargestChecked = std::int64_t{128} << 20;

}  // namespace nadi::inline tuning
