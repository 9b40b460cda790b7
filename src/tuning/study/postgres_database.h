// A database of studies on a server of PostgreSQL's, which workers on several machines share. For sources of
// this room.
//
// A server restarts, a network fails: a transaction that finds the connection lost when it begins connects
// again, for as long as it would wait for a lock. One that loses it half-way is an Error, and nothing of it
// was written.
//
// A worker that stands still within a transaction (SIGSTOP, a laptop that sleeps) would keep the lock from
// all others; the server ends such a transaction after kLongestIdle.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "nadi/study/sql_database.h"

namespace nadi::inline tuning {

// "postgresql://user:password@host:5432/database", with "postgres" and SQLAlchemy's "postgresql+psycopg2",
// too; what is left out comes from the environment and the files of libpq (PGHOST, PGPASSWORD, ~/.pgpass,
// ...). Error (usage) for other texts, (environment) where the server cannot be reached or refuses.
std::unique_ptr<SqlDatabase> open_postgres_database(std::string_view url, SqlDatabase::Access access,
                                                    std::chrono::milliseconds lock_timeout);

inline constexpr std::chrono::seconds kLongestIdle{60};

}  // namespace nadi::inline tuning
