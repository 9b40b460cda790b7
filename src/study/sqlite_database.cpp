#include "nadi/study/sqlite_database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi {
namespace {

// No value of a study is larger. What a damaged file claims beyond it is refused before it is allocated.
constexpr int kLargestValue = 64 << 20;

constexpr std::chrono::microseconds kShortestWait{200};
constexpr std::chrono::microseconds kLongestWait{20000};

std::string type_name(int type) {
  switch (type) {
    case SQLITE_INTEGER:
      return "an integer";
    case SQLITE_FLOAT:
      return "a number";
    case SQLITE_TEXT:
      return "a text";
    case SQLITE_NULL:
      return "nothing";
    default:
      return "bytes";
  }
}

// The characters that have a meaning in SQLite's file names as URIs.
std::string file_uri(const std::filesystem::path& path, std::string_view parameters) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (c == '?' || c == '#' || c == '%') {
      uri += format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      uri += c;
    }
  }
  return uri += parameters;
}

}  // namespace

SqliteStatement& SqliteStatement::bind(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_, parameter, value);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, double value) {
  const int code = sqlite3_bind_double(statement_, parameter, value);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::string_view value) {
  const int code =
      sqlite3_bind_text64(statement_, parameter, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
}

SqliteStatement& SqliteStatement::bind_null(int parameter) {
  const int code = sqlite3_bind_null(statement_, parameter);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
}

void SqliteStatement::run() {
  while (next()) {
  }
}

bool SqliteStatement::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    done();
    return false;
  }
  Error error = database_->failure(code);
  done();
  throw error;
}

void SqliteStatement::done() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t SqliteStatement::integer(int column) const {
  require_type(column, sqlite3_column_type(statement_, column) == SQLITE_INTEGER, "an integer");
  return sqlite3_column_int64(statement_, column);
}

double SqliteStatement::number(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  require_type(column, type == SQLITE_INTEGER || type == SQLITE_FLOAT, "a number");
  return sqlite3_column_double(statement_, column);
}

std::string_view SqliteStatement::text(int column) const {
  require_type(column, sqlite3_column_type(statement_, column) == SQLITE_TEXT, "a text");
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void SqliteStatement::require_type(int column, bool fits, std::string_view wanted) const {
  if (fits) return;
  throw error(format("{} must be {}, found {}", sqlite3_column_name(statement_, column), wanted,
                     type_name(sqlite3_column_type(statement_, column))));
}

Error SqliteStatement::error(const std::string& message) const {
  // The table stands behind the first FROM.
  const std::string_view sql = sqlite3_sql(statement_);
  const std::size_t from = sql.find("FROM ");
  std::string_view table = from == std::string_view::npos ? "the database" : sql.substr(from + 5);
  table = table.substr(0, table.find(' '));
  Error error = input_error({.file = database_->path().string()},
                            format("row {} of {}: {}", sqlite3_column_int64(statement_, 0), table, message),
                            "the study is damaged, or was written by another program");
  // Whoever throws this leaves the loop over the rows.
  sqlite3_reset(statement_);
  return error;
}

SqliteDatabase::SqliteDatabase(std::filesystem::path path, Access access,
                               std::chrono::milliseconds lock_timeout)
    : path_(std::move(path)), lock_timeout_(lock_timeout), jitter_(static_cast<std::uint64_t>(getpid()) | 1) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path_, ignored);
  if (!exists && access != Access::kCreate)
    throw input_error({.file = path_.string()}, "cannot read: there is no such file");
  if (exists) expect_file_kind(path_, "a study", {FileKind::kSqlite, FileKind::kEmpty});
  // A reader with the rights to write has the database open for both and is told to change nothing: only so
  // it can finish what a killed worker left in the log, and remove the files beside the database that it
  // needs itself.
  const std::filesystem::path folder =
      path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const bool is_denied_writing =
      ::access(path_.c_str(), W_OK) != 0 || ::access(folder.c_str(), W_OK | X_OK) != 0;
  const int flags = access == Access::kRead && is_denied_writing ? SQLITE_OPEN_READONLY
                    : access == Access::kRead                    ? SQLITE_OPEN_READWRITE
                    : access == Access::kWrite                   ? SQLITE_OPEN_READWRITE
                                                                 : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const auto open_as = [&](std::string_view parameters) {
    const int code = sqlite3_open_v2(file_uri(path_, parameters).c_str(), &handle_,
                                     flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    if (code != SQLITE_OK) {
      Error error = failure(code);
      sqlite3_close(std::exchange(handle_, nullptr));
      throw error;
    }
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_handler(handle_, &SqliteDatabase::wait_for_lock, this);
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLargestValue);
    // A hostile file may have views, triggers and functions of its own.
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  };
  open_as("");
  // Reads the first page: now it shows whether this is a database that can be read at all.
  const int code = sqlite3_exec(handle_, "PRAGMA cell_size_check = 1; SELECT count(*) FROM sqlite_master",
                                nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) {
    if (access == Access::kRead) execute("PRAGMA query_only = 1");
    return;
  }
  Error error = failure(code);
  sqlite3_close(std::exchange(handle_, nullptr));
  // A reader of a database with a write-ahead log wants to make files beside it. Where it may not, and no log
  // is there, nobody writes either.
  const std::filesystem::path log = path_.string() + "-wal";
  const bool has_log = std::filesystem::exists(log, ignored) && std::filesystem::file_size(log, ignored) > 0;
  const bool is_denied = (code & 0xFF) == SQLITE_CANTOPEN || (code & 0xFF) == SQLITE_READONLY;
  if (access != Access::kRead || !is_denied || has_log) throw error;
  open_as("?immutable=1");
}

SqliteDatabase::~SqliteDatabase() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement.statement_);
  sqlite3_close(handle_);
}

int SqliteDatabase::wait_for_lock(void* self, int attempts) {
  auto& database = *static_cast<SqliteDatabase*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (attempts == 0) database.waiting_since_ = now;
  if (now - database.waiting_since_ >= database.lock_timeout_) return 0;
  // Longer and longer, and different in each process, so that workers do not come back all at once.
  const auto longest = std::min(kLongestWait, kShortestWait * (1 << std::min(attempts, 7)));
  database.jitter_ ^= database.jitter_ << 13;
  database.jitter_ ^= database.jitter_ >> 7;
  database.jitter_ ^= database.jitter_ << 17;
  const auto span = static_cast<std::uint64_t>(longest.count());
  std::this_thread::sleep_for(std::chrono::microseconds(span / 2 + database.jitter_ % (span / 2)));
  return 1;
}

SqliteStatement& SqliteDatabase::statement(const char* sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return found->second;
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code == SQLITE_ERROR)
    throw input_error({.file = path_.string()}, format("not a study as Optuna makes it: {}",
                                                       quote_for_message(sqlite3_errmsg(handle_))));
  if (code != SQLITE_OK) throw failure(code);
  return statements_.emplace(sql, SqliteStatement(*this, prepared)).first->second;
}

void SqliteDatabase::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw failure(code);
}

bool SqliteDatabase::try_execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return true;
  if ((code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED) return false;
  throw failure(code);
}

std::optional<std::string> SqliteDatabase::query_text(const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  int code = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &prepared, nullptr);
  if (code != SQLITE_OK) throw failure(code);
  std::optional<std::string> text;
  code = sqlite3_step(prepared);
  if (code == SQLITE_ROW) {
    const auto* found = reinterpret_cast<const char*>(sqlite3_column_text(prepared, 0));
    text = found == nullptr ? "" : found;
  }
  const bool failed = code != SQLITE_ROW && code != SQLITE_DONE;
  std::optional<Error> error;
  if (failed) error = failure(code);
  sqlite3_finalize(prepared);
  if (error) throw *error;
  return text;
}

std::int64_t SqliteDatabase::last_inserted() const {
  return sqlite3_last_insert_rowid(handle_);
}

bool SqliteDatabase::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

std::int64_t SqliteDatabase::data_version() {
  SqliteStatement& version = statement("PRAGMA data_version");
  version.next();
  const std::int64_t number = sqlite3_column_int64(version.statement_, 0);
  version.done();
  return number;
}

Error SqliteDatabase::failure(int code) const {
  const std::string file = path_.string();
  const int system_error = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  const std::string detail = handle_ == nullptr ? sqlite3_errstr(code) : std::string(sqlite3_errmsg(handle_));
  const auto environment = [&](const std::string& message, const std::string& hint = "") {
    return Error(ErrorKind::kEnvironment, {.file = file}, message, hint);
  };
  // A full disk shows up as several codes, depending on what was being written.
  if ((code & 0xFF) == SQLITE_FULL ||
      ((code & 0xFF) == SQLITE_IOERR && (system_error == ENOSPC || system_error == EDQUOT)))
    return environment("cannot write: the disk is full",
                       "make room and continue; the study is as it was before");
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return environment(
          format("locked by another process for {:g} s", static_cast<double>(lock_timeout_.count()) / 1e3),
          "a program that keeps a transaction open, or a stopped worker, holds the lock");
    case SQLITE_READONLY:
      return environment("cannot write: the file or its folder is read-only");
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return environment("cannot open: permission denied");
    case SQLITE_CANTOPEN:
      return environment(system_error == 0 ? "cannot open"
                                           : "cannot open: " + std::generic_category().message(system_error));
    case SQLITE_IOERR:
      return environment(system_error == 0
                             ? format("input or output failed: {}", detail)
                             : "input or output failed: " + std::generic_category().message(system_error));
    case SQLITE_NOMEM:
      return environment("out of memory");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return input_error(
          {.file = file}, format("the database is damaged: {}", detail),
          format("what can be saved goes to a new file with: sqlite3 {} .recover | sqlite3 saved.db", file));
    case SQLITE_TOOBIG:
      return input_error({.file = file}, format("a value is larger than {} MiB", kLargestValue >> 20));
    default:
      return input_error({.file = file},
                         format("not a study as Optuna makes it: {}", quote_for_message(detail)));
  }
}

SqliteTransaction::SqliteTransaction(SqliteDatabase& database, Kind kind) : database_(database) {
  database_.statement(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN").run();
}

SqliteTransaction::~SqliteTransaction() {
  if (!open_ || !database_.in_transaction()) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // The connection takes back by itself what it could not now.
  }
}

void SqliteTransaction::commit() {
  database_.statement("COMMIT").run();
  open_ = false;
}

}  // namespace nadi
