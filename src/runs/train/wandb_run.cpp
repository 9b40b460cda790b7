#include "nadi/train/wandb_run.h"

#include <time.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cmath>
#include <random>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/chakra/protobuf_wire.h"

namespace nadi::inline runs {
namespace {

// Fields of the messages of wandb_internal.proto that are written here.
namespace wandb_field {
constexpr std::uint32_t kNumber = 1;  // of Record
constexpr std::uint32_t kHistory = 2, kSummary = 3, kStats = 7, kRun = 17, kExit = 18, kFinal = 20,
                        kHeader = 21, kFooter = 22;
constexpr std::uint32_t kVersionInfo = 1;  // of HeaderRecord
constexpr std::uint32_t kProducer = 1;     // of VersionInfo
constexpr std::uint32_t kRunId = 1, kEntity = 2, kProject = 3, kConfig = 4, kDisplayName = 8, kHost = 13,
                        kStartTime = 17;                     // of RunRecord
constexpr std::uint32_t kUpdate = 1;                         // of ConfigRecord and SummaryRecord
constexpr std::uint32_t kHistoryItem = 1, kHistoryStep = 2;  // of HistoryRecord
constexpr std::uint32_t kStepNumber = 1;                     // of HistoryStep
constexpr std::uint32_t kTimestamp = 2, kStatsItem = 3;      // of StatsRecord
constexpr std::uint32_t kKey = 1, kValueJson = 16;           // of all items
constexpr std::uint32_t kExitCode = 1, kRuntime = 2;         // of RunExitRecord
constexpr std::uint32_t kSeconds = 1, kNanoseconds = 2;      // of google.protobuf.Timestamp
}  // namespace wandb_field

constexpr std::int64_t kPerSecond = 1'000'000'000;
constexpr Nanoseconds kBetweenSystemFigures{15 * kPerSecond};  // as often as their own library writes them

// Begins a message, lets `content` fill it, ends it.
template <class Content>
void put_message(WireWriter& out, std::uint32_t number, const Content& content) {
  const WireWriter::Message message = out.begin_message(number, 1);
  content();
  out.end_message(message);
}

void put_time(WireWriter& out, std::uint32_t number, Nanoseconds time) {
  put_message(out, number, [&] {
    out.varint_field(wandb_field::kSeconds, static_cast<std::uint64_t>(time.count() / kPerSecond));
    out.varint_field(wandb_field::kNanoseconds, static_cast<std::uint64_t>(time.count() % kPerSecond));
  });
}

void put_item(WireWriter& out, std::uint32_t number, std::string_view key, const std::string& json) {
  put_message(out, number, [&] {
    out.bytes_field(wandb_field::kKey, key);
    out.bytes_field(wandb_field::kValueJson, json);
  });
}

// JSON has no such numbers; their library writes these texts.
std::string json_of(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return Json(value).dump();
}

std::string random_id() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string id;
  for (int i = 0; i < 8; ++i) id += kLetters[letter(device)];
  return id;
}

// "20260203_040506", on the clock of this machine.
std::string date_text(Nanoseconds time) {
  const time_t seconds = time.count() / kPerSecond;
  tm parts{};
  localtime_r(&seconds, &parts);
  return format("{:04}{:02}{:02}_{:02}{:02}{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "localhost";
}

}  // namespace

WandbRun::WandbRun(const WandbOptions& options) : now_(options.now), start_(now_()) {
  const std::string id = options.id.empty() ? random_id() : options.id;
  folder_ = options.folder / "wandb" / format("offline-run-{}-{}", date_text(start_), id);
  std::error_code failure;
  // Their program looks for files/ beside the log; it has nothing of ours.
  std::filesystem::create_directories(folder_ / "files", failure);
  if (failure)
    throw environment_error(format("cannot create the folder '{}': {}", folder_.string(), failure.message()));
  log_.emplace(folder_ / format("run-{}.wandb", id));
  append([&](WireWriter& out) {
    put_message(out, wandb_field::kHeader, [&] {
      put_message(out, wandb_field::kVersionInfo,
                  [&] { out.bytes_field(wandb_field::kProducer, format("nadi {}", version())); });
    });
  });
  append([&](WireWriter& out) {
    put_message(out, wandb_field::kRun, [&] {
      out.bytes_field(wandb_field::kRunId, id);
      if (!options.entity.empty()) out.bytes_field(wandb_field::kEntity, options.entity);
      out.bytes_field(wandb_field::kProject, options.project);
      put_message(out, wandb_field::kConfig, [&] {
        for (const auto& [key, value] : options.settings.items())
          put_item(out, wandb_field::kUpdate, key,
                   value.dump(-1, ' ', false, Json::error_handler_t::replace));
      });
      if (!options.name.empty()) out.bytes_field(wandb_field::kDisplayName, options.name);
      out.bytes_field(wandb_field::kHost, options.host.empty() ? host_name() : options.host);
      put_time(out, wandb_field::kStartTime, start_);
    });
  });
}

void WandbRun::append(const std::function<void(WireWriter&)>& content) {
  WireWriter record;
  record.varint_field(wandb_field::kNumber, static_cast<std::uint64_t>(++records_));
  content(record);
  log_->append(record.bytes());
}

double WandbRun::runtime() const {
  return static_cast<double>((now_() - start_).count()) / static_cast<double>(kPerSecond);
}

void WandbRun::put(const char* name, double value) {
  row_.emplace_back(name, value);
  summary_[name] = value;
}

void WandbRun::step(const StepReport& report) {
  flush_row();
  step_ = report.step;
  row_time_ = now_();
  put("train/loss", report.loss);
  put("train/learning_rate", report.learning_rate);
  if (report.grad_norm) put("train/grad_norm", *report.grad_norm);
  if (report.loss_scale) put("train/loss_scale", *report.loss_scale);
  if (report.experts)
    for (const auto& [name, value] : named_figures(*report.experts)) put(name, value);
  if (report.seconds > 0) put("train/tokens_per_second", static_cast<double>(report.tokens) / report.seconds);
  put("train/seconds", report.seconds);
  put("train/samples", static_cast<double>(report.consumed_samples));
  put("train/memory_bytes", static_cast<double>(report.memory.count()));
  if (!system_time_ || row_time_ - *system_time_ >= kBetweenSystemFigures) write_system();
}

void WandbRun::evaluated(const EvaluationReport& report) {
  if (step_ != report.step) {
    flush_row();
    step_ = report.step;
    row_time_ = now_();
  }
  put("validation/loss", report.loss);
}

void WandbRun::flush_row() {
  if (!step_) return;
  const double at = static_cast<double>(row_time_.count()) / static_cast<double>(kPerSecond);
  const double since = static_cast<double>((row_time_ - start_).count()) / static_cast<double>(kPerSecond);
  append([&](WireWriter& out) {
    put_message(out, wandb_field::kHistory, [&] {
      for (const auto& [name, value] : row_) put_item(out, wandb_field::kHistoryItem, name, json_of(value));
      put_item(out, wandb_field::kHistoryItem, "_step", format("{}", *step_));
      put_item(out, wandb_field::kHistoryItem, "_runtime", json_of(since));
      put_item(out, wandb_field::kHistoryItem, "_timestamp", json_of(at));
      put_message(out, wandb_field::kHistoryStep,
                  [&] { out.varint_field(wandb_field::kStepNumber, static_cast<std::uint64_t>(*step_)); });
    });
  });
  summary_["_step"] = static_cast<double>(*step_);
  summary_["_runtime"] = since;
  summary_["_timestamp"] = at;
  step_.reset();
  row_.clear();
}

void WandbRun::write_system() {
  system_time_ = now_();
  const auto figures = system_.now();
  if (figures.empty()) return;
  append([&](WireWriter& out) {
    put_message(out, wandb_field::kStats, [&] {
      put_time(out, wandb_field::kTimestamp, *system_time_);
      for (const auto& [name, value] : figures) put_item(out, wandb_field::kStatsItem, name, json_of(value));
    });
  });
}

void WandbRun::finish(int exit_code) {
  flush_row();
  write_system();
  append([&](WireWriter& out) {
    put_message(out, wandb_field::kSummary, [&] {
      for (const auto& [name, value] : summary_)
        put_item(out, wandb_field::kUpdate, name,
                 name == "_step" ? format("{}", static_cast<std::int64_t>(value)) : json_of(value));
    });
  });
  append([&](WireWriter& out) {
    put_message(out, wandb_field::kExit, [&] {
      out.varint_field(wandb_field::kExitCode, static_cast<std::uint64_t>(exit_code));
      out.varint_field(wandb_field::kRuntime, static_cast<std::uint64_t>(runtime()));
    });
  });
  append([](WireWriter& out) { put_message(out, wandb_field::kFinal, [] {}); });
  append([](WireWriter& out) { put_message(out, wandb_field::kFooter, [] {}); });
}

}  // namespace nadi::inline runs
