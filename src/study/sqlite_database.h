// An open SQLite database: statements, transactions, and errors that say what happened. The one header of
// this room that knows SQLite's; for its sources only.
//
//   SqliteDatabase database(path, SqliteDatabase::Access::kWrite, 60s);
//   SqliteTransaction transaction(database, SqliteTransaction::Kind::kWrite);
//   SqliteStatement& insert = database.statement("INSERT INTO studies (study_name) VALUES (?)");
//   insert.bind(1, name).run();
//   transaction.commit();
//
// A transaction that writes takes the lock when it begins (BEGIN IMMEDIATE), so that two of them never wait
// for each other. Without commit(), the destructor takes everything back.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace nadi {

class Error;
class SqliteDatabase;

// A prepared statement; owned by its database, which keeps it for the next time.
class SqliteStatement {
 public:
  SqliteStatement(SqliteDatabase& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  // Parameters count from 1. Texts are copied.
  SqliteStatement& bind(int parameter, std::int64_t value);
  SqliteStatement& bind(int parameter, double value);
  SqliteStatement& bind(int parameter, std::string_view value);
  SqliteStatement& bind_null(int parameter);

  // For statements without rows.
  void run();

  // For those with rows: while (rows.next()) { ... }. After the last row the statement is ready for the next
  // use; when a loop is left early, call done().
  bool next();
  void done();

  // Columns of the current row count from 0. A value of another type is an Error (input) that names table and
  // row, which the statement's own text must have as the first column: SELECT param_id, ... FROM
  // trial_params.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;          // integers, too
  std::string_view text(int column) const;  // until the next row; UTF-8 is not checked

  // "row 12 of trial_params: <message>", of the current row.
  Error error(const std::string& message) const;

 private:
  friend class SqliteDatabase;
  void require_type(int column, bool fits, std::string_view wanted) const;

  SqliteDatabase* database_;
  sqlite3_stmt* statement_;
};

class SqliteDatabase {
 public:
  enum class Access { kRead, kWrite, kCreate };

  SqliteDatabase(std::filesystem::path path, Access access, std::chrono::milliseconds lock_timeout);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // `sql` must be a literal: statements are kept by its address.
  SqliteStatement& statement(const char* sql);

  // For SQL that returns nothing, or whose rows do not matter. False if the database is locked by others.
  void execute(const std::string& sql);
  bool try_execute(const std::string& sql);
  // The first column of the first row; std::nullopt without rows, "" for NULL.
  std::optional<std::string> query_text(const std::string& sql);

  std::int64_t last_inserted() const;
  bool in_transaction() const;

  // Changes whenever another connection has written.
  std::int64_t data_version();

  // The Error for SQLite's last result.
  Error failure(int code) const;

 private:
  friend class SqliteStatement;
  static int wait_for_lock(void* self, int attempts);

  std::filesystem::path path_;
  std::chrono::milliseconds lock_timeout_;
  std::chrono::steady_clock::time_point waiting_since_{};
  std::uint64_t jitter_ = 0;
  sqlite3* handle_ = nullptr;
  std::unordered_map<const void*, SqliteStatement> statements_;
};

class SqliteTransaction {
 public:
  enum class Kind { kRead, kWrite };
  SqliteTransaction(SqliteDatabase& database, Kind kind);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  void commit();

 private:
  SqliteDatabase& database_;
  bool open_ = true;
};

}  // namespace nadi
