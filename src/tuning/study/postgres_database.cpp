#include "nadi/study/postgres_database.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/read_number.h"
#include "nadi/study/postgres_library.h"

namespace nadi::inline tuning {
namespace {

using std::chrono::steady_clock;

constexpr SqlDialect kDialect{.name = "a PostgreSQL database",
                              .row_id = "SERIAL NOT NULL",
                              .time = "TIMESTAMP WITHOUT TIME ZONE",
                              .direction = "studydirection",
                              .trial_state = "trialstate",
                              .value_type = "trialvaluetype",
                              .step_value_type = "trialintermediatevaluetype",
                              .has_row_locks = true,
                              .holds_other_tables = true};

// The lock of transactions that write: any number that no other program is likely to have. "nadistdy" as
// bytes.
constexpr std::int64_t kWriteLock = 0x6E61646973746479;

// Between two tries to reach a server that went away.
constexpr std::chrono::milliseconds kReconnectInterval{200};

// What SQLAlchemy makes of Optuna's enumerations.
struct EnumEntry {
  std::string_view name;
  std::string_view words;
};
constexpr std::array kEnums{
    EnumEntry{"studydirection", "'NOT_SET', 'MINIMIZE', 'MAXIMIZE'"},
    EnumEntry{"trialstate", "'RUNNING', 'COMPLETE', 'PRUNED', 'FAIL', 'WAITING'"},
    EnumEntry{"trialvaluetype", "'FINITE', 'INF_POS', 'INF_NEG'"},
    EnumEntry{"trialintermediatevaluetype", "'FINITE', 'INF_POS', 'INF_NEG', 'NAN'"},
};

struct ConnectionDeleter {
  void operator()(PGconn* connection) const { postgres_library().PQfinish(connection); }
};
struct ResultDeleter {
  void operator()(PGresult* result) const { postgres_library().PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultDeleter>;

// "?" outside of quotes as $1, $2, ...
std::string numbered_parameters(std::string_view sql, int& count) {
  std::string text;
  bool quoted = false;
  count = 0;
  for (const char c : sql) {
    if (c == '\'') quoted = !quoted;
    if (c == '?' && !quoted) {
      text += format("${}", ++count);
    } else {
      text += c;
    }
  }
  return text;
}

// The first line of one of libpq's messages, without what introduces it.
std::string first_line(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  for (const std::string_view start : {"ERROR:", "FATAL:"}) {
    if (message.starts_with(start)) message.remove_prefix(start.size());
  }
  while (message.starts_with(' ')) message.remove_prefix(1);
  return std::string(message);
}

// As libpq takes it: without SQLAlchemy's name of a driver.
std::string libpq_url(std::string_view url) {
  const std::size_t plus = url.find('+');
  const std::size_t colon = url.find("://");
  if (colon != std::string_view::npos && plus < colon)
    return std::string(url.substr(0, plus)) + std::string(url.substr(colon));
  return std::string(url);
}

// The address for messages: user, host, port and database, never a password.
std::string shown_url(const std::string& url) {
  char* fault = nullptr;
  PQconninfoOption* const options = postgres_library().PQconninfoParse(url.c_str(), &fault);
  if (options == nullptr) {
    // libpq quotes the address in its message, and a password may be in it.
    postgres_library().PQfreemem(fault);
    throw usage_error(
        "the address of the PostgreSQL server cannot be read",
        "write it as postgresql://USER@HOST:PORT/DATABASE, with special characters as %XX; the password "
        "goes into ~/.pgpass or PGPASSWORD");
  }
  const auto value_of = [&](std::string_view key) -> std::string {
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
      if (key == option->keyword) return option->val == nullptr ? "" : option->val;
    }
    return "";
  };
  const std::string user = value_of("user");
  const std::string port = value_of("port");
  std::string shown = "postgresql://";
  if (!user.empty()) shown += user + "@";
  shown += value_of("host");
  if (!port.empty()) shown += ":" + port;
  shown += "/" + value_of("dbname");
  postgres_library().PQconninfoFree(options);
  return shown;
}

class PostgresDatabase;

class PostgresStatement : public SqlStatement {
 public:
  PostgresStatement(PostgresDatabase& database, std::string_view sql, std::string name)
      : database_(&database), name_(std::move(name)) {
    int parameters = 0;
    sql_ = numbered_parameters(sql, parameters);
    values_.resize(static_cast<std::size_t>(parameters));
  }

  SqlStatement& bind(int parameter, std::int64_t value) override {
    return bind(parameter, std::string_view(std::to_string(value)));
  }
  SqlStatement& bind(int parameter, double value) override {
    return bind(parameter, std::string_view(format("{}", value)));
  }
  SqlStatement& bind(int parameter, std::string_view value) override {
    values_.at(static_cast<std::size_t>(parameter - 1)) = std::string(value);
    return *this;
  }
  SqlStatement& bind_null(int parameter) override {
    values_.at(static_cast<std::size_t>(parameter - 1)).reset();
    return *this;
  }

  bool next() override;
  void done() override {
    result_.reset();
    std::ranges::fill(values_, std::nullopt);
  }
  bool is_null(int column) const override {
    return postgres_library().PQgetisnull(result_.get(), row_, column) != 0;
  }
  std::int64_t integer(int column) const override { return value<std::int64_t>(column, "an integer"); }
  double number(int column) const override { return value<double>(column, "a number"); }
  std::string_view text(int column) const override {
    if (is_null(column))
      throw error(
          format("{} must be a text, found nothing", postgres_library().PQfname(result_.get(), column)));
    return {postgres_library().PQgetvalue(result_.get(), row_, column),
            static_cast<std::size_t>(postgres_library().PQgetlength(result_.get(), row_, column))};
  }
  Error error(const std::string& message) const override;

 private:
  template <typename Number>
  Number value(int column, std::string_view wanted) const {
    const std::string_view text = is_null(column) ? std::string_view() : this->text(column);
    Number number{};
    if (!read_number(text, number))
      throw error(format("{} must be {}, found {}", postgres_library().PQfname(result_.get(), column), wanted,
                         is_null(column) ? "nothing" : quote_for_message(text)));
    return number;
  }

  PostgresDatabase* database_;
  std::string sql_;
  std::string name_;
  int prepared_on_ = -1;  // the number of the connection that knows the statement
  std::vector<std::optional<std::string>> values_;
  Result result_;
  int row_ = 0;
};

class PostgresDatabase : public SqlDatabase {
 public:
  PostgresDatabase(std::string_view url, Access access, std::chrono::milliseconds lock_timeout);

  const std::filesystem::path& path() const override { return path_; }
  std::string optuna_url() const override { return path_.string(); }
  const SqlDialect& dialect() const override { return kDialect; }
  SqlStatement& statement(const char* sql) override {
    const auto found = statements_.find(sql);
    if (found != statements_.end()) return found->second;
    return statements_.try_emplace(sql, *this, sql, format("s{}", statements_.size())).first->second;
  }
  void execute(const std::string& sql) override {
    checked(postgres_library().PQexec(connection_.get(), sql.c_str()));
  }
  std::optional<std::string> query_text(const std::string& sql) override;
  bool has_table(std::string_view name) override;
  bool has_any_table() override;
  void make_types() override;
  void settle(Access /*access*/) override {}
  std::int64_t data_version() override;
  void write_heartbeat(std::int64_t trial) override;
  std::optional<std::chrono::microseconds> heartbeat_age(std::int64_t trial) override;
  void begin(TransactionKind kind, Durability durability) override;
  void commit() override { execute("COMMIT"); }
  void roll_back() override;

  PGconn* connection() const { return connection_.get(); }
  int connection_number() const { return connection_number_; }
  // Throws for a result that is an error.
  Result checked(PGresult* result);

 private:
  void connect();
  bool is_lost() const {
    return connection_ == nullptr || postgres_library().PQstatus(connection_.get()) != CONNECTION_OK;
  }
  Error failure(std::string_view state, const std::string& message) const;
  void try_begin(TransactionKind kind, Durability durability);

  std::string url_;
  std::filesystem::path path_;
  Access access_;
  std::chrono::milliseconds lock_timeout_;
  std::unique_ptr<PGconn, ConnectionDeleter> connection_;
  int connection_number_ = 0;
  std::unordered_map<const void*, PostgresStatement> statements_;
};

bool PostgresStatement::next() {
  if (result_ != nullptr) {
    if (++row_ < postgres_library().PQntuples(result_.get())) return true;
    done();
    return false;
  }
  PGconn* const connection = database_->connection();
  try {
    if (prepared_on_ != database_->connection_number()) {
      database_->checked(postgres_library().PQprepare(connection, name_.c_str(), sql_.c_str(), 0, nullptr));
      prepared_on_ = database_->connection_number();
    }
    std::vector<const char*> texts;
    for (const std::optional<std::string>& value : values_) texts.push_back(value ? value->c_str() : nullptr);
    result_ = database_->checked(postgres_library().PQexecPrepared(
        connection, name_.c_str(), static_cast<int>(texts.size()), texts.data(), nullptr, nullptr, 0));
  } catch (const Error&) {
    done();
    throw;
  }
  row_ = 0;
  if (postgres_library().PQntuples(result_.get()) > 0) return true;
  done();
  return false;
}

Error PostgresStatement::error(const std::string& message) const {
  // The table stands behind the first FROM.
  const std::size_t from = sql_.find("FROM ");
  std::string_view table =
      from == std::string::npos ? std::string_view("the database") : std::string_view(sql_).substr(from + 5);
  table = table.substr(0, table.find(' '));
  const std::string row = result_ == nullptr ? "?" : postgres_library().PQgetvalue(result_.get(), row_, 0);
  return input_error({.file = database_->path().string()}, format("row {} of {}: {}", row, table, message),
                     "the study is damaged, or was written by another program");
}

PostgresDatabase::PostgresDatabase(std::string_view url, Access access,
                                   std::chrono::milliseconds lock_timeout)
    : url_(libpq_url(url)), path_(shown_url(url_)), access_(access), lock_timeout_(lock_timeout) {
  connect();
}

void PostgresDatabase::connect() {
  // The last one of a key that comes twice counts, so that the address may say otherwise.
  const std::array<const char*, 7> keys{"application_name",
                                        "connect_timeout",
                                        "keepalives_idle",
                                        "keepalives_interval",
                                        "client_encoding",
                                        "dbname",
                                        nullptr};
  const std::array<const char*, 7> values{"nadi", "10", "30", "10", "UTF8", url_.c_str(), nullptr};
  connection_.reset(postgres_library().PQconnectdbParams(keys.data(), values.data(), 1));
  ++connection_number_;
  if (connection_ == nullptr) throw environment_error("out of memory");
  if (is_lost()) {
    const std::string message = first_line(postgres_library().PQerrorMessage(connection_.get()));
    throw Error(
        ErrorKind::kEnvironment, {.file = path_.string()}, format("cannot open the database: {}", message),
        "is the server running, and does the address have its host, port, user and database? 'createdb NAME' "
        "makes a database");
  }
  postgres_library().PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);  // "relation exists, skipping" goes nowhere
  // Times are without a zone, and numbers are the shortest texts that give them back.
  execute(
      format("SET datestyle = 'ISO, YMD'; SET extra_float_digits = 1; SET standard_conforming_strings = on; "
             "SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}",
             lock_timeout_.count(), std::chrono::milliseconds(kLongestIdle).count()));
  if (access_ == Access::kRead) execute("SET default_transaction_read_only = on");
}

Result PostgresDatabase::checked(PGresult* raw) {
  Result result(raw);
  const ExecStatusType status = postgres_library().PQresultStatus(result.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return result;
  const char* const state = postgres_library().PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  const char* const message = postgres_library().PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
  throw failure(
      state == nullptr ? "" : state,
      message == nullptr ? first_line(postgres_library().PQerrorMessage(connection_.get())) : message);
}

// By the classes of SQLSTATE.
Error PostgresDatabase::failure(std::string_view state, const std::string& message) const {
  const auto environment = [&](const std::string& text, const std::string& hint = "") {
    return Error(ErrorKind::kEnvironment, {.file = path_.string()}, text, hint);
  };
  if (is_lost() || state.starts_with("08") || state.starts_with("57P"))
    return environment(format("the connection to the server is lost: {}", message),
                       "nothing of the last change was written; continue when the server is there again");
  if (state == "55P03")
    return environment(
        format("locked by another process for {:g} s", static_cast<double>(lock_timeout_.count()) / 1e3),
        "a program that keeps a transaction open, or a stopped worker, holds the lock");
  if (state == "53100")
    return environment("cannot write: the server's disk is full", "make room and continue");
  if (state.starts_with("53") || state.starts_with("58") || state.starts_with("40"))
    return environment(format("the server cannot do it now: {}", message));
  if (state == "25006")
    return environment("cannot write: the study was opened for reading, or the server is a copy");
  if (state == "42501") return environment(format("the server refuses: {}", message));
  if (state.starts_with("22")) return usage_error(format("the server cannot keep a value: {}", message));
  return input_error({.file = path_.string()},
                     format("not a study as Optuna makes it: {}", quote_for_message(message)));
}

std::optional<std::string> PostgresDatabase::query_text(const std::string& sql) {
  const Result result = checked(postgres_library().PQexec(connection_.get(), sql.c_str()));
  if (postgres_library().PQntuples(result.get()) == 0) return std::nullopt;
  return std::string(postgres_library().PQgetvalue(result.get(), 0, 0));
}

// In the schema where tables would be made: the first of the search path that exists.
bool PostgresDatabase::has_table(std::string_view name) {
  return query_text(
             format("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = '{}'", name))
      .has_value();
}

bool PostgresDatabase::has_any_table() {
  return query_text("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() LIMIT 1").has_value();
}

void PostgresDatabase::make_types() {
  for (const EnumEntry& entry : kEnums) {
    const std::string known = format(
        "SELECT 1 FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace "
        "WHERE n.nspname = current_schema() AND t.typname = '{}'",
        entry.name);
    if (!query_text(known)) execute(format("CREATE TYPE {} AS ENUM ({})", entry.name, entry.words));
  }
}

// The snapshot names the transactions that are visible: as long as it is the same, nothing was committed.
std::int64_t PostgresDatabase::data_version() {
  const std::string snapshot = query_text("SELECT pg_current_snapshot()::text").value_or("");
  return static_cast<std::int64_t>(std::hash<std::string>{}(snapshot));
}

// As Optuna writes it: the server's clock, in the time zone that the server has for its users.
void PostgresDatabase::write_heartbeat(std::int64_t trial) {
  statement(
      "INSERT INTO trial_heartbeats (trial_id, heartbeat) VALUES (?, clock_timestamp()) "
      "ON CONFLICT (trial_id) DO UPDATE SET heartbeat = excluded.heartbeat")
      .bind(1, trial)
      .run();
}

std::optional<std::chrono::microseconds> PostgresDatabase::heartbeat_age(std::int64_t trial) {
  SqlStatement& row = statement(
      "SELECT trial_heartbeat_id, (extract(epoch FROM clock_timestamp()::timestamp - heartbeat) * "
      "1000000)::bigint "
      "FROM trial_heartbeats WHERE trial_id = ?");
  row.bind(1, trial);
  if (!row.next()) return std::nullopt;
  const std::chrono::microseconds age(row.integer(1));
  row.done();
  return age;
}

void PostgresDatabase::try_begin(TransactionKind kind, Durability durability) {
  if (is_lost()) connect();
  if (kind == TransactionKind::kRead) {
    execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    return;
  }
  // Each statement behind the lock sees what was committed before it (READ COMMITTED). What is no result does
  // not wait for the server's disk.
  execute(format("BEGIN ISOLATION LEVEL READ COMMITTED{}; SELECT pg_advisory_xact_lock({})",
                 durability == Durability::kResult ? "" : "; SET LOCAL synchronous_commit = off",
                 kWriteLock));
}

void PostgresDatabase::begin(TransactionKind kind, Durability durability) {
  const auto start = steady_clock::now();
  while (true) {
    try {
      try_begin(kind, durability);
      return;
    } catch (const Error& error) {
      roll_back();
      if (!is_lost() || steady_clock::now() - start >= lock_timeout_) throw;
    }
    std::this_thread::sleep_for(kReconnectInterval);
  }
}

void PostgresDatabase::roll_back() {
  if (is_lost()) return;
  const PGTransactionStatusType status = postgres_library().PQtransactionStatus(connection_.get());
  if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR)
    Result(postgres_library().PQexec(connection_.get(),
                                     "ROLLBACK"));  // a server that cannot do it has lost the transaction
}

}  // namespace

std::unique_ptr<SqlDatabase> open_postgres_database(std::string_view url, SqlDatabase::Access access,
                                                    std::chrono::milliseconds lock_timeout) {
  return std::make_unique<PostgresDatabase>(url, access, lock_timeout);
}

}  // namespace nadi::inline tuning
