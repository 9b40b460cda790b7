#include "nadi/study/study_storage.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"
#include "nadi/study/journal_storage.h"
#include "nadi/study/python_json.h"
#if NADI_WITH_SQLITE
#include "nadi/study/sqlite_storage.h"
#endif

namespace nadi {
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

bool has_sqlite() {
  return NADI_WITH_SQLITE != 0;
}

std::unique_ptr<StudyStorage> open_study_storage(const std::filesystem::path& path,
                                                 const StorageOptions& options) {
  const StorageFormat kind = options.format == StorageFormat::kDetect ? format_of(path) : options.format;
  if (kind == StorageFormat::kJournal) return open_journal_storage(path, options);
#if NADI_WITH_SQLITE
  return open_sqlite_storage(path, options);
#else
  throw environment_error("this build has no SQLite, so that it keeps studies only in journals",
                          "give the study a file name that ends with .journal, or build with SQLite");
#endif
}

}  // namespace nadi
