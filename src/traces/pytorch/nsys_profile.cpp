#include "nadi/pytorch/nsys_profile.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_number.h"

#if NADI_WITH_SQLITE
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#endif

namespace nadi::inline traces {

#if NADI_WITH_SQLITE

namespace {

// The numbers of processes and threads are packed into one: 8 bits, 8 bits, process (24), thread (24).
constexpr std::int64_t kIdBits = 24;
constexpr std::int64_t kIdMask = (std::int64_t{1} << kIdBits) - 1;

// Columns may be computed by an expression that the file brings along. Names of kernels have kilobytes.
constexpr int kLongestValue = 16 << 20;  // bytes

// Kinds of NVTX events that are ranges: pushed and popped, started and ended.
constexpr std::string_view kRangeTypes = "(59, 60)";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// One row of a query, column by column.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const {
    const unsigned char* const bytes = sqlite3_column_text(statement_, column);
    return bytes == nullptr ? ""
                            : std::string(reinterpret_cast<const char*>(bytes),
                                          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  sqlite3_stmt* statement_;
};

class NsysProfile {
 public:
  NsysProfile(const std::filesystem::path& path, const MemoryLimit& memory)
      : file_(path.string()), allowed_(memory.for_file(file_, std::filesystem::file_size(path))) {
    sqlite3* opened = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(opened);
    if (code != SQLITE_OK) fail();
    // A file from elsewhere may have functions and views of its own.
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLongestValue);
  }

  std::string json() {
    if (!has_table("StringIds") || !(has_table("CUPTI_ACTIVITY_KIND_KERNEL") ||
                                     has_table("CUPTI_ACTIVITY_KIND_RUNTIME") || has_table("NVTX_EVENTS")))
      throw input_error({.file = file_}, "this is an SQLite database, not an export of Nsight Systems",
                        "nsys export --type sqlite FILE.nsys-rep writes one");
    for_each("SELECT id, value FROM StringIds", [&](const Row& row) {
      std::string text = row.text(1);
      hold(text.size() + kPerText);
      texts_.emplace(row.integer(0), std::move(text));
    });
    add_devices();
    add_device_events();
    add_calls();
    add_ranges();
    return format("{{{}\"traceEvents\": [\n{}\n]}}\n", devices_, events_);
  }

 private:
  [[noreturn]] void fail() const {
    if (sqlite3_errcode(database_.get()) == SQLITE_NOTADB)  // its first bytes alone are those of one
      throw input_error({.file = file_},
                        "this is an SQLite database, not an export of Nsight Systems, and damaged");
    throw input_error({.file = file_}, format("SQLite: {}", sqlite3_errmsg(database_.get())));
  }

  template <typename Take>
  void for_each(const std::string& query, const Take& take) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &prepared, nullptr) != SQLITE_OK) fail();
    const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(prepared);
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(prepared)) == SQLITE_ROW) take(Row(prepared));
    if (code != SQLITE_DONE) fail();
  }

  bool has_table(std::string_view name) {
    bool found = false;
    for_each(format("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{}'", name),
             [&](const Row&) { found = true; });
    return found;
  }
  bool has_column(std::string_view table, std::string_view column) {
    bool found = false;
    for_each(format("SELECT 1 FROM pragma_table_info('{}') WHERE name = '{}'", table, column),
             [&](const Row&) { found = true; });
    return found;
  }

  void hold(std::size_t bytes) {
    held_ += static_cast<std::int64_t>(bytes);
    allowed_.expect(Bytes{held_}, std::nullopt, "the profile");
  }

  std::string text_of(std::int64_t id) const {
    const auto found = texts_.find(id);
    return found == texts_.end() ? "" : found->second;
  }

  static std::string quoted(const std::string& text) {
    return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
  }

  struct Event {
    std::string_view category;
    std::string name;
    std::int64_t process = 0, thread = 0, start = 0, end = 0;
    std::string arguments = {};
  };
  void add(const Event& event) {
    constexpr std::int64_t kPerMicrosecond = 1000;
    if (event.start < 0 || event.end < event.start) return;  // had not ended when the profile did
    const std::int64_t lasts = event.end - event.start;
    const std::size_t before = events_.size();
    events_ += format(
        R"({}{{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}.{:03}, "dur": {}.{:03}, "args": {{{}}}}})",
        events_.empty() ? "" : ",\n", event.category, quoted(event.name), event.process, event.thread,
        event.start / kPerMicrosecond, event.start % kPerMicrosecond, lasts / kPerMicrosecond,
        lasts % kPerMicrosecond, event.arguments);
    hold(events_.size() - before);
  }

  void add_devices() {
    if (!has_table("TARGET_INFO_GPU") || !has_column("TARGET_INFO_GPU", "name")) return;
    std::string list;
    for_each("SELECT name FROM TARGET_INFO_GPU", [&](const Row& row) {
      const std::string device = format(R"({}{{"name": {}}})", list.empty() ? "" : ", ", quoted(row.text(0)));
      hold(device.size());
      list += device;
    });
    if (!list.empty()) devices_ = format("\"deviceProperties\": [{}],\n", list);
  }

  // Calls and device events of a process have the same correlation, and processes use the same numbers.
  std::uint64_t correlation_of(std::int64_t global_id, std::int64_t correlation) {
    constexpr int kCorrelationBits = 32;
    if (!tells_processes_) return static_cast<std::uint64_t>(correlation);
    const std::size_t process = processes_.try_emplace(global_id >> kIdBits, processes_.size()).first->second;
    return (std::uint64_t{process} << kCorrelationBits) + static_cast<std::uint32_t>(correlation);
  }

  void add_device_events() {
    const auto place = [&](const Row& row, std::string_view more) {
      return format(R"("device": {}, "stream": {}, "correlation": {}{})", row.integer(2), row.integer(3),
                    correlation_of(row.integer(5), row.integer(4)), more);
    };
    const auto query = [&](std::string_view table, std::string_view more) {
      const std::string_view process = tells_processes_ ? "globalPid" : "0";
      return format("SELECT start, end, deviceId, streamId, correlationId, {}, {} FROM {} ORDER BY start",
                    process, more, table);
    };
    constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
    constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
    constexpr std::string_view kFills = "CUPTI_ACTIVITY_KIND_MEMSET";
    tells_processes_ = true;
    for (const std::string_view table : {kKernels, kCopies, kFills})
      tells_processes_ = tells_processes_ && (!has_table(table) || has_column(table, "globalPid"));
    if (has_table(kKernels))
      for_each(query(kKernels, "demangledName"), [&](const Row& row) {
        add({"kernel", text_of(row.integer(6)), row.integer(2), row.integer(3), row.integer(0),
             row.integer(1), place(row, "")});
      });
    if (has_table(kCopies))
      for_each(query(kCopies, "copyKind, bytes"), [&](const Row& row) {
        add({"gpu_memcpy", copy_name(row.integer(6)), row.integer(2), row.integer(3), row.integer(0),
             row.integer(1), place(row, format(R"(, "bytes": {})", row.integer(7)))});
      });
    if (has_table(kFills))
      for_each(query(kFills, "bytes"), [&](const Row& row) {
        add({"gpu_memset", "Memset (Device)", row.integer(2), row.integer(3), row.integer(0), row.integer(1),
             place(row, format(R"(, "bytes": {})", row.integer(6)))});
      });
  }

  // CUPTI's kinds of copies, named as Kineto does.
  static std::string copy_name(std::int64_t kind) {
    constexpr std::array<std::string_view, 11> kNames{"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                      "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    const bool known = kind > 0 && kind < static_cast<std::int64_t>(kNames.size());
    return format("Memcpy {}", known ? kNames[static_cast<std::size_t>(kind)] : "of unknown kind");
  }

  // "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
  static std::string without_version(std::string name) {
    const std::size_t at = name.rfind("_v");
    if (at != std::string::npos && at + 2 < name.size() &&
        name.find_first_not_of("0123456789", at + 2) == std::string::npos)
      name.resize(at);
    return name;
  }

  void add_calls() {
    if (!has_table("CUPTI_ACTIVITY_KIND_RUNTIME")) return;
    for_each(
        "SELECT start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start",
        [&](const Row& row) {
          const std::string name = without_version(text_of(row.integer(4)));
          const bool driver = name.starts_with("cu") && !name.starts_with("cuda");
          add({driver ? "cuda_driver" : "cuda_runtime", name, (row.integer(2) >> kIdBits) & kIdMask,
               row.integer(2) & kIdMask, row.integer(0), row.integer(1),
               format(R"("correlation": {})", correlation_of(row.integer(2), row.integer(3)))});
        });
  }

  // PyTorch's emit_nvtx() writes of an op "aten::mm, seq = 12, op_id = 7, sizes = [[8, 4], [4, 4]], ...".
  static Event op_or_range(std::string name) {
    constexpr std::string_view kSequence = ", seq = ";
    constexpr std::string_view kId = ", op_id = ";
    constexpr std::string_view kSizes = ", sizes = ";
    constexpr std::string_view kInputs = ", input_op_ids = ";
    const std::size_t behind = std::min(name.find(kSequence), name.find(kId));
    if (behind == std::string::npos) return {"user_annotation", std::move(name)};
    const auto value = [&](std::string_view key) -> std::string_view {
      const std::size_t at = name.find(key, behind);
      if (at == std::string::npos) return {};
      const std::string_view rest = std::string_view(name).substr(at + key.size());
      return key == kSizes ? rest.substr(0, rest.find(kInputs)) : rest.substr(0, rest.find(','));
    };
    std::string arguments;
    std::int64_t sequence = 0;
    if (read_number(value(kSequence), sequence)) arguments = format(R"("Sequence number": {})", sequence);
    if (const Json sizes = Json::parse(value(kSizes), nullptr, /*allow_exceptions=*/false); sizes.is_array())
      arguments += format(R"({}"Input Dims": {})", arguments.empty() ? "" : ", ", sizes.dump());
    name.resize(behind);
    return {.category = "cpu_op", .name = std::move(name), .arguments = std::move(arguments)};
  }

  void add_ranges() {
    if (!has_table("NVTX_EVENTS")) return;
    const std::string text_id = has_column("NVTX_EVENTS", "textId") ? "textId" : "NULL";
    for_each(
        format("SELECT start, end, globalTid, text, {} FROM NVTX_EVENTS WHERE eventType IN {} AND end IS "
               "NOT NULL ORDER BY start, end DESC",
               text_id, kRangeTypes),
        [&](const Row& row) {
          Event range = op_or_range(row.is_null(3) ? text_of(row.integer(4)) : row.text(3));
          range.process = (row.integer(2) >> kIdBits) & kIdMask;
          range.thread = row.integer(2) & kIdMask;
          range.start = row.integer(0);
          range.end = row.integer(1);
          add(range);
        });
  }

  static constexpr std::size_t kPerText = 64;  // of texts_, besides the text

  std::string file_;
  MemoryAllowance allowed_;
  std::int64_t held_ = 0;  // bytes
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::unordered_map<std::int64_t, std::string> texts_;      // StringIds
  std::unordered_map<std::int64_t, std::size_t> processes_;  // in the order of their first event
  bool tells_processes_ = false;                             // device events have a globalPid
  std::string devices_;
  std::string events_;
};

}  // namespace

std::string nsys_as_kineto(const std::filesystem::path& path, const MemoryLimit& memory) {
  return NsysProfile(path, memory).json();
}

#else

std::string nsys_as_kineto(const std::filesystem::path& path, const MemoryLimit& /*memory*/) {
  throw environment_error(
      format("{}: this build of Nadi cannot read SQLite exports: it was built without SQLite", path.string()),
      "install libsqlite3-dev and build again");
}

#endif

}  // namespace nadi::inline traces
