// An open database of studies, whichever program keeps it: statements, transactions, and errors that say what
// happened. SQLite's (sqlite_database.h) and PostgreSQL's (postgres_database.h) implement it; the tables and
// the SQL above it (sql_schema.h, sql_trials.h, sql_storage.h) are the same for both. For sources of this
// room.
//
//   const std::unique_ptr<SqlDatabase> database = open_sqlite_database(path, Access::kWrite, 60s);
//   SqlTransaction transaction(*database, TransactionKind::kWrite);
//   SqlStatement& insert = database->statement("INSERT INTO studies (study_name) VALUES (?) RETURNING
//   study_id"); insert.bind(1, name); if (insert.next()) id = insert.integer(0); insert.done();
//   transaction.commit();
//
// One transaction that writes runs at a time: each takes the lock when it begins, so that two of them
// never wait for each other, and what it reads is the newest. One that reads sees one state of the database
// throughout. Without commit(), the destructor of a transaction takes everything back.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline ground {
class Error;
}  // namespace nadi::inline ground

namespace nadi::inline tuning {

// A prepared statement; owned by its database, which keeps it for the next time.
class SqlStatement {
 public:
  virtual ~SqlStatement() = default;

  // Parameters, `?` in the text, count from 1. Texts are copied.
  virtual SqlStatement& bind(int parameter, std::int64_t value) = 0;
  virtual SqlStatement& bind(int parameter, double value) = 0;
  virtual SqlStatement& bind(int parameter, std::string_view value) = 0;
  virtual SqlStatement& bind_null(int parameter) = 0;

  // For statements without rows.
  void run() {
    while (next()) {
    }
  }

  // For those with rows: while (rows.next()) { ... }. After the last row the statement is ready for the next
  // use; when a loop is left early, call done().
  virtual bool next() = 0;
  virtual void done() = 0;

  // Columns of the current row count from 0. A value of another type is an Error (input) that names table and
  // row, which the statement's own text must have as the first column: SELECT param_id, ... FROM
  // trial_params.
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double number(int column) const = 0;          // integers, too
  virtual std::string_view text(int column) const = 0;  // until the next row; UTF-8 is not checked

  // "row 12 of trial_params: <message>", of the current row.
  virtual Error error(const std::string& message) const = 0;
};

// How the tables of studies are written for one kind of database.
struct SqlDialect {
  std::string_view name;       // with its article: "an SQLite database"
  std::string_view row_id;     // type of a column that numbers the rows by itself
  std::string_view time;       // type of a time without a zone
  std::string_view direction;  // types of columns with one of a few words
  std::string_view trial_state;
  std::string_view value_type;
  std::string_view step_value_type;
  // Rows can be locked one by one (SELECT ... FOR UPDATE), which programs that do not know our lock do.
  bool has_row_locks = false;
  // Tables of others beside ours are usual, as on a server; in a file they mean that it is the wrong one.
  bool holds_other_tables = false;
};

enum class TransactionKind { kRead, kWrite };

// Whether a transaction has results: when those are committed, they survive a loss of power.
enum class Durability { kUsual, kResult };

class SqlDatabase {
 public:
  enum class Access { kRead, kWrite, kCreate };

  SqlDatabase() = default;
  virtual ~SqlDatabase() = default;
  SqlDatabase(const SqlDatabase&) = delete;
  SqlDatabase& operator=(const SqlDatabase&) = delete;

  // What messages call it: the file, or the server's address without its password.
  virtual const std::filesystem::path& path() const = 0;
  // As Optuna's commands take it: "sqlite:///study.db".
  virtual std::string optuna_url() const = 0;
  virtual const SqlDialect& dialect() const = 0;

  // `sql` must be a literal: statements are kept by its address.
  virtual SqlStatement& statement(const char* sql) = 0;

  // For SQL that returns nothing, or whose rows do not matter.
  virtual void execute(const std::string& sql) = 0;
  // The first column of the first row; std::nullopt without rows, "" for NULL.
  virtual std::optional<std::string> query_text(const std::string& sql) = 0;

  virtual bool has_table(std::string_view name) = 0;
  virtual bool has_any_table() = 0;
  // Makes what the types of the dialect need, before tables are made with them.
  virtual void make_types() = 0;
  // To be called once the tables are there: looks for damage, and chooses how transactions are kept.
  virtual void settle(Access access) = 0;

  // Another number, probably, whenever another connection has written. In a transaction.
  virtual std::int64_t data_version() = 0;

  // Signs of life of workers, by the database's own clock where workers of several machines share it. In a
  // transaction.
  virtual void write_heartbeat(std::int64_t trial) = 0;
  // How long ago the last one was; std::nullopt where a trial has none.
  virtual std::optional<std::chrono::microseconds> heartbeat_age(std::int64_t trial) = 0;

  // By SqlTransaction.
  virtual void begin(TransactionKind kind, Durability durability) = 0;
  virtual void commit() = 0;
  virtual void roll_back() = 0;  // never throws; does nothing outside a transaction
};

class SqlTransaction {
 public:
  SqlTransaction(SqlDatabase& database, TransactionKind kind, Durability durability = Durability::kUsual)
      : database_(database) {
    database_.begin(kind, durability);
  }
  ~SqlTransaction() {
    if (open_) database_.roll_back();
  }
  SqlTransaction(const SqlTransaction&) = delete;
  SqlTransaction& operator=(const SqlTransaction&) = delete;
  void commit() {
    database_.commit();
    open_ = false;
  }

 private:
  SqlDatabase& database_;
  bool open_ = true;
};

}  // namespace nadi::inline tuning
