#include "nadi/study/sqlite_database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/read_error.h"
#include "nadi/base/resource_shortage.h"
#include "nadi/study/file_system_kind.h"
#include "nadi/study/study_time.h"

namespace nadi::inline tuning {
namespace {

using std::chrono::steady_clock;

// The disk is waited for at most this often.
constexpr std::chrono::milliseconds kSyncInterval{50};

constexpr SqlDialect kDialect{.name = "an SQLite database",
                              .row_id = "INTEGER NOT NULL",
                              .time = "DATETIME",
                              .direction = "VARCHAR(8)",
                              .trial_state = "VARCHAR(8)",
                              .value_type = "VARCHAR(7)",
                              .step_value_type = "VARCHAR(7)"};

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

class SqliteDatabase;

class SqliteStatement : public SqlStatement {
 public:
  SqliteStatement(SqliteDatabase& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  SqlStatement& bind(int parameter, std::int64_t value) override;
  SqlStatement& bind(int parameter, double value) override;
  SqlStatement& bind(int parameter, std::string_view value) override;
  SqlStatement& bind_null(int parameter) override;
  bool next() override;
  void done() override;
  bool is_null(int column) const override;
  std::int64_t integer(int column) const override;
  double number(int column) const override;
  std::string_view text(int column) const override;
  Error error(const std::string& message) const override;

 private:
  friend class SqliteDatabase;
  void require_type(int column, bool fits, std::string_view wanted) const;

  SqliteDatabase* database_;
  sqlite3_stmt* statement_;
};

class SqliteDatabase : public SqlDatabase {
 public:
  SqliteDatabase(std::filesystem::path path, Access access, std::chrono::milliseconds lock_timeout);
  ~SqliteDatabase() override;

  const std::filesystem::path& path() const override { return path_; }
  std::string optuna_url() const override { return "sqlite:///" + path_.string(); }
  const SqlDialect& dialect() const override { return kDialect; }
  SqlStatement& statement(const char* sql) override { return prepared(sql); }
  void execute(const std::string& sql) override;
  std::optional<std::string> query_text(const std::string& sql) override;
  bool has_table(std::string_view name) override;
  bool has_any_table() override { return query_text("SELECT name FROM sqlite_master").has_value(); }
  void make_types() override {}
  void settle(Access access) override;
  std::int64_t data_version() override;
  void write_heartbeat(std::int64_t trial) override;
  std::optional<std::chrono::microseconds> heartbeat_age(std::int64_t trial) override;
  void begin(TransactionKind kind, Durability durability) override;
  void commit() override;
  void roll_back() override;

  // The Error for SQLite's last result.
  Error failure(int code) const;

 private:
  static int wait_for_lock(void* self, int attempts);
  SqliteStatement& prepared(const char* sql);
  // False if the database is locked by others.
  bool try_execute(const std::string& sql);
  void check_integrity();
  void choose_log();

  std::filesystem::path path_;
  std::chrono::milliseconds lock_timeout_;
  steady_clock::time_point waiting_since_{};
  std::uint64_t jitter_ = 0;
  sqlite3* handle_ = nullptr;
  std::unordered_map<const void*, SqliteStatement> statements_;
  bool has_log_ = false;
  bool is_full_sync_ = false;
  bool commits_result_ = false;
  steady_clock::time_point last_sync_{};
};

SqlStatement& SqliteStatement::bind(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_, parameter, value);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
}

SqlStatement& SqliteStatement::bind(int parameter, double value) {
  const int code = sqlite3_bind_double(statement_, parameter, value);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
}

SqlStatement& SqliteStatement::bind(int parameter, std::string_view value) {
  const int code =
      sqlite3_bind_text64(statement_, parameter, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
}

SqlStatement& SqliteStatement::bind_null(int parameter) {
  const int code = sqlite3_bind_null(statement_, parameter);
  if (code != SQLITE_OK) throw database_->failure(code);
  return *this;
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
  if (!exists && access != Access::kCreate) throw no_such_file(path_.string());
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

SqliteStatement& SqliteDatabase::prepared(const char* sql) {
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

std::int64_t SqliteDatabase::data_version() {
  SqliteStatement& version = prepared("PRAGMA data_version");
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
      if (const auto shortage = resource_shortage(system_error, "open", {.file = file})) return *shortage;
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

bool SqliteDatabase::has_table(std::string_view name) {
  return query_text(format("SELECT name FROM sqlite_master WHERE type = 'table' AND name = '{}' "
                           "AND sql NOT LIKE 'CREATE VIRTUAL%'",
                           name))
      .has_value();
}

void SqliteDatabase::settle(Access access) {
  check_integrity();
  if (access != Access::kRead) choose_log();
}

// Damage that would otherwise hide trials: an index that lacks rows, half a page at the end of the file.
void SqliteDatabase::check_integrity() {
  const std::string hint = format(
      "what can be saved goes to a new file with: sqlite3 {} .recover | sqlite3 saved.db", path_.string());
  std::error_code ignored;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path_, ignored));
  if (ignored || size > kLargestChecked) return;
  const std::string found = query_text("PRAGMA integrity_check(1)").value_or("");
  if (found != "ok")
    throw input_error({.file = path_.string()},
                      format("the database is damaged: {}", quote_for_message(found)), hint);
  // SQLite takes what is missing of the last page for zeros. With a log, the page may be on its way.
  const std::filesystem::path log = path_.string() + "-wal";
  const bool has_log = std::filesystem::exists(log, ignored) && std::filesystem::file_size(log, ignored) > 0;
  const std::int64_t page = std::atoll(query_text("PRAGMA page_size").value_or("0").c_str());
  if (!has_log && page > 0 && size % page != 0)
    throw input_error({.file = path_.string(), .byte = size},
                      format("the database is damaged: its last page of {} bytes is cut", page), hint);
}

// A write-ahead log where all workers are on this machine, none elsewhere. A file of Optuna's keeps the way
// it has.
void SqliteDatabase::choose_log() {
  const bool is_local = is_on_local_disk(path_);
  const bool is_new = !query_text("SELECT study_id FROM studies").has_value();
  has_log_ = query_text("PRAGMA journal_mode") == "wal";
  if (has_log_ && !is_local) {
    if (!try_execute("PRAGMA journal_mode = DELETE"))
      throw Error(ErrorKind::kEnvironment, {.file = path_.string()},
                  "the study has a write-ahead log, which does not work on a file system of several "
                  "machines, and another "
                  "process has it open",
                  "end the other workers first");
    has_log_ = false;
  } else if (!has_log_ && is_local && is_new) {
    // Another worker that does the same at this moment may be in the way; then it stays as it is, and is
    // slower.
    has_log_ = try_execute("PRAGMA journal_mode = WAL") && query_text("PRAGMA journal_mode") == "wal";
  }
  execute(has_log_ ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
}

void SqliteDatabase::write_heartbeat(std::int64_t trial) {
  // UTC in every version: Optuna asks the database for CURRENT_TIMESTAMP.
  statement(
      "INSERT INTO trial_heartbeats (trial_id, heartbeat) VALUES (?, ?) "
      "ON CONFLICT (trial_id) DO UPDATE SET heartbeat = excluded.heartbeat")
      .bind(1, trial)
      .bind(2, format_study_time(study_time_now(), TimeZoneKind::kUtc, ' '))
      .run();
}

std::optional<std::chrono::microseconds> SqliteDatabase::heartbeat_age(std::int64_t trial) {
  SqlStatement& row =
      statement("SELECT trial_heartbeat_id, heartbeat FROM trial_heartbeats WHERE trial_id = ?");
  row.bind(1, trial);
  if (!row.next()) return std::nullopt;
  const std::optional<StudyTime> heartbeat = parse_study_time(row.text(1), TimeZoneKind::kUtc);
  if (!heartbeat) throw row.error(format("not a time: {}", quote_for_message(row.text(1))));
  row.done();
  return study_time_now() - *heartbeat;
}

void SqliteDatabase::begin(TransactionKind kind, Durability durability) {
  commits_result_ = durability == Durability::kResult;
  if (kind == TransactionKind::kWrite && has_log_) {
    const bool wants_sync = commits_result_ && steady_clock::now() - last_sync_ >= kSyncInterval;
    if (wants_sync != is_full_sync_) {
      execute(wants_sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
      is_full_sync_ = wants_sync;
    }
  }
  statement(kind == TransactionKind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN").run();
}

void SqliteDatabase::commit() {
  statement("COMMIT").run();
  if (commits_result_ && is_full_sync_) last_sync_ = steady_clock::now();
}

void SqliteDatabase::roll_back() {
  if (sqlite3_get_autocommit(handle_) != 0) return;
  try {
    execute("ROLLBACK");
  } catch (const Error&) {
    // The connection takes back by itself what it could not now.
  }
}

}  // namespace

std::unique_ptr<SqlDatabase> open_sqlite_database(std::filesystem::path path, SqlDatabase::Access access,
                                                  std::chrono::milliseconds lock_timeout) {
  return std::make_unique<SqliteDatabase>(std::move(path), access, lock_timeout);
}

}  // namespace nadi::inline tuning
