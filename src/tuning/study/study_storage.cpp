#include "nadi/study/study_storage.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"
#include "nadi/study/journal_storage.h"
#include "nadi/study/python_json.h"
#include "nadi/study/worker_identity.h"
#if NADI_WITH_POSTGRES
#include "nadi/study/postgres_database.h"
#endif
#if NADI_WITH_SQLITE
#include "nadi/study/sqlite_database.h"
#endif
#if NADI_WITH_SQLITE || NADI_WITH_POSTGRES
#include "nadi/study/sql_storage.h"
#endif

namespace nadi::inline tuning {
namespace {

// By its content; a file that is not there or empty, by its name.
StorageFormat format_of(const std::filesystem::path& path) {
  switch (kind_of_file(path)) {
    case FileKind::kSqlite:
      return StorageFormat::kSqlite;
    case FileKind::kJson:
    case FileKind::kJsonLines:
      return StorageFormat::kJournal;
    default:
      break;
  }
  const std::string extension = path.extension().string();
  const bool is_journal = extension == ".log" || extension == ".journal" || extension == ".jsonl";
  return is_journal ? StorageFormat::kJournal : StorageFormat::kSqlite;
}

}  // namespace

NewTrial enqueued_trial(const std::map<std::string, ParameterValue>& values) {
  NewTrial trial;
  trial.state = TrialState::kWaiting;
  std::string& text = trial.system_attributes[std::string(kFixedParameters)];
  text = "{";
  for (const auto& [name, value] : values) {
    if (text.size() > 1) text += ", ";
    append_json_string(name, text);
    text += ": " + to_json_text(value);
  }
  text += "}";
  return trial;
}

bool runs_elsewhere(const StudyTrial& trial) {
  const auto worker = trial.system_attributes.find(std::string(kWorkerAttribute));
  return trial.state == TrialState::kRunning && worker != trial.system_attributes.end() &&
         worker->second != worker_text(trial.number);
}

std::optional<StudyId> StudyStorage::find_study(std::string_view name) {
  for (const Study& study : studies()) {
    if (study.name == name) return study.id;
  }
  return std::nullopt;
}

StudyId StudyStorage::open_study(std::string_view name) {
  const std::vector<Study> all = studies();
  if (all.empty()) throw input_error({.file = path().string()}, "there is no study in it");
  std::vector<std::string_view> names;
  for (const Study& study : all) {
    if (study.name == name) return study.id;
    names.push_back(study.name);
  }
  if (name.empty() && all.size() == 1) return all.front().id;
  if (name.empty())
    throw usage_error(format("{} has {} studies: name one of them", path().string(), all.size()),
                      format("known: {}", fmt::join(names, ", ")));
  throw usage_error(format("{} has no study {}", path().string(), quote_for_message(name)),
                    did_you_mean(name, names));
}

StudyId StudyStorage::open_or_create_study(const NewStudy& wanted) {
  for (int attempt = 0;; ++attempt) {
    for (const Study& study : studies()) {
      if (study.name != wanted.name) continue;
      if (study.directions != wanted.directions)
        throw usage_error(format("study {} exists, with other objectives", quote_for_message(study.name)),
                          "continue it with its own, or give the new study another name");
      return study.id;
    }
    try {
      return create_study(wanted);
    } catch (const Error& error) {
      // Another worker has just created it.
      if (error.kind() != ErrorKind::kUsage || attempt > 0 || !find_study(wanted.name)) throw;
    }
  }
}

bool is_study_server(std::string_view place) {
  const std::size_t end = place.find("://");
  if (end == std::string_view::npos) return false;
  const std::string_view scheme = place.substr(0, place.find_first_of("+:"));
  return scheme == "postgresql" || scheme == "postgres";
}

std::filesystem::path study_place(const std::string& place) {
  if (is_study_server(place)) return place;
  if (const std::size_t end = place.find("://"); end != std::string::npos)
    throw usage_error(format("no studies are kept at {}:// addresses", place.substr(0, end)),
                      "give a file (study.db, study.journal), or postgresql://USER@HOST/DATABASE");
  return std::filesystem::absolute(place);
}

bool has_sqlite() {
  return NADI_WITH_SQLITE != 0;
}

bool has_postgres() {
  return NADI_WITH_POSTGRES != 0;
}

std::unique_ptr<StudyStorage> open_study_storage(const std::filesystem::path& path,
                                                 const StorageOptions& options) {
  if (is_study_server(path.string())) {
#if NADI_WITH_POSTGRES
    return make_sql_storage(
        open_postgres_database(path.string(), access_of(options.mode), options.lock_timeout), options.mode);
#else
    throw environment_error("this build cannot keep studies on a PostgreSQL server",
                            "build it where libpq is installed (libpq-dev), or give the study a file");
#endif
  }
  const StorageFormat kind = options.format == StorageFormat::kDetect ? format_of(path) : options.format;
  if (kind == StorageFormat::kJournal) return open_journal_storage(path, options);
#if NADI_WITH_SQLITE
  return make_sql_storage(open_sqlite_database(path, access_of(options.mode), options.lock_timeout),
                          options.mode);
#else
  throw environment_error("this build has no SQLite, so that it keeps studies only in journals",
                          "give the study a file name that ends with .journal, or build with SQLite");
#endif
}

}  // namespace nadi::inline tuning
