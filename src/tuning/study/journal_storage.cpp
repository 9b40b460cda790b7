#include "nadi/study/journal_storage.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/study/journal_file.h"
#include "nadi/study/journal_lock.h"
#include "nadi/study/journal_replay.h"
#include "nadi/study/python_json.h"
#include "nadi/study/study_time.h"
#include "nadi/study/trial_change.h"
#include "nadi/study/worker_identity.h"

namespace nadi::inline tuning {
namespace {

std::string journal_time(StudyTime time) {
  return format("\"{}\"", format_study_time(time, TimeZoneKind::kLocal, 'T'));
}

std::int64_t number_of_trial(TrialId id) {
  return static_cast<std::int64_t>(id);
}
std::int64_t number_of_study(StudyId id) {
  return static_cast<std::int64_t>(id);
}

// {"a": 1, "b": 2} from texts of JSON.
void append_object(const StudyAttributes& members, std::string& out) {
  out += '{';
  for (const auto& [name, text] : members) {
    if (out.back() != '{') out += ',';
    append_json_string(name, out);
    out += ':';
    out += text;
  }
  out += '}';
}

void append_list(std::span<const double> numbers, std::string& out) {
  out += '[';
  for (const double number : numbers) {
    if (out.back() != '[') out += ',';
    append_json_number(number, out);
  }
  out += ']';
}

// An attribute may hold newlines between its values, which would end the line. Inside of strings there are
// none.
StudyAttributes on_one_line(StudyAttributes attributes) {
  for (auto& [name, text] : attributes) std::ranges::replace(text, '\n', ' ');
  return attributes;
}

const StudyTrial* first_waiting(const JournalStudy& study) {
  for (std::size_t i = study.settled; i < study.trials.size(); ++i)
    if (study.trials[i].state == TrialState::kWaiting) return &study.trials[i];
  return nullptr;
}

std::string random_worker() {
  std::random_device random;
  return format("nadi-{:08x}{:08x}{:08x}", random(), random(), random());
}

class JournalStorage : public StudyStorage {
 public:
  JournalStorage(const std::filesystem::path& path, const StorageOptions& options)
      : options_(options), file_(path, options.mode), replay_(path.string()), worker_(random_worker()) {
    read_new();
  }

  const std::filesystem::path& path() const override { return file_.path(); }
  std::vector<Study> studies() override;
  Study study(StudyId id) override;
  StudyId create_study(const NewStudy& study) override;
  void set_study_attributes(StudyId id, AttributeOwner owner, const StudyAttributes& attributes) override;
  std::span<const StudyTrial> trials(StudyId id) override;
  std::optional<TrialId> create_trial(StudyId id, const NewTrial& trial, const Allowed& allowed) override;
  std::vector<TrialId> create_trials(StudyId id, std::span<const NewTrial> trials) override;
  std::optional<TrialId> claim_waiting_trial(StudyId id) override;
  const StudyTrial& trial(TrialId id) override;
  bool update_trial(TrialId id, const TrialUpdate& update) override;
  bool record_heartbeat(TrialId id) override;
  std::vector<StaleTrial> fail_stale_trials(StudyId id, const StaleOptions& options) override;

 private:
  class Transaction;

  void read_new();
  const JournalStudy& known_study(StudyId id) const;
  void append_new_trial(StudyId id, std::int64_t number, const NewTrial& trial, StudyTime now,
                        std::string& lines);
  void append_update(TrialId id, const TrialUpdate& update, StudyTime now, std::string& lines);
  std::string operation(int code) const;
  void append_attribute(TrialId id, AttributeOwner owner, const std::string& name, const std::string& text,
                        std::string& lines) const;
  static std::string heartbeat_text(std::int64_t number, StudyTime now);

  StorageOptions options_;
  JournalFile file_;
  JournalReplay replay_;
  std::string worker_;
};

// Nobody else writes while it exists, and everything that is in the file has been read.
class JournalStorage::Transaction {
 public:
  explicit Transaction(JournalStorage& storage)
      : storage_(storage),
        lock_((check_writable(storage), storage.path()), storage.file_.descriptor(),
              storage.options_.journal_lock, storage.options_.lock_timeout) {
    storage_.read_new();
  }
  void append(const std::string& lines, bool has_result) {
    storage_.file_.append(lines, has_result);
    storage_.read_new();
  }

 private:
  static void check_writable(const JournalStorage& storage) {
    if (!storage.file_.is_writable())
      throw Error(ErrorKind::kEnvironment, {.file = storage.path().string()},
                  "cannot write: the study was opened for reading");
  }
  JournalStorage& storage_;
  JournalFileLock lock_;
};

void JournalStorage::read_new() {
  file_.read_new([this](std::string_view line, std::int64_t number) { replay_.apply(line, number); });
}

const JournalStudy& JournalStorage::known_study(StudyId id) const {
  const JournalStudy* study = replay_.find_study(id);
  if (study == nullptr)
    throw input_error({.file = path().string()},
                      format("there is no study with the id {}", number_of_study(id)),
                      "it was deleted while it was in use");
  return *study;
}

std::string JournalStorage::operation(int code) const {
  return format(R"({{"op_code":{},"worker_id":"{}")", code, worker_);
}

std::vector<Study> JournalStorage::studies() {
  read_new();
  std::vector<Study> found;
  for (const JournalStudy& study : replay_.studies()) {
    if (!study.is_deleted) found.push_back(study.study);
  }
  return found;
}

Study JournalStorage::study(StudyId id) {
  read_new();
  return known_study(id).study;
}

StudyId JournalStorage::create_study(const NewStudy& study) {
  check_new_study(study);
  Transaction transaction(*this);
  for (const JournalStudy& other : replay_.studies()) {
    if (!other.is_deleted && other.study.name == study.name)
      throw usage_error(format("there is a study named {} already", quote_for_message(study.name)));
  }
  const StudyId id = replay_.next_study();
  std::string line = operation(0) + R"(,"study_name":)";
  append_json_string(study.name, line);
  line += R"(,"directions":[)";
  for (const StudyDirection direction : study.directions) {
    if (line.back() != '[') line += ',';
    line += direction == StudyDirection::kMinimize ? '1' : '2';
  }
  line += "]}\n";
  transaction.append(line, true);
  return id;
}

void JournalStorage::set_study_attributes(StudyId id, AttributeOwner owner,
                                          const StudyAttributes& attributes) {
  check_attributes(attributes);
  Transaction transaction(*this);
  known_study(id);
  std::string lines;
  // One for each: Optuna expects one name.
  for (const auto& [name, text] : on_one_line(attributes)) {
    lines += operation(owner == AttributeOwner::kUser ? 2 : 3);
    lines += format(R"(,"study_id":{},"{}":)", number_of_study(id),
                    owner == AttributeOwner::kUser ? "user_attr" : "system_attr");
    append_object({{name, text}}, lines);
    lines += "}\n";
  }
  if (!lines.empty()) transaction.append(lines, false);
}

std::span<const StudyTrial> JournalStorage::trials(StudyId id) {
  read_new();
  return known_study(id).trials;
}

std::string JournalStorage::heartbeat_text(std::int64_t number, StudyTime now) {
  return format("[{}, {:.3f}]", number, static_cast<double>(now.time_since_epoch().count()) / 1e6);
}

void JournalStorage::append_new_trial(StudyId id, std::int64_t number, const NewTrial& from, StudyTime now,
                                      std::string& lines) {
  StudyTrial trial = trial_from(from, now);
  if (trial.state == TrialState::kRunning) {
    trial.system_attributes[std::string(kWorkerAttribute)] = worker_text(number);
    trial.system_attributes[std::string(kHeartbeatAttribute)] = heartbeat_text(number, now);
  }
  lines += operation(4);
  lines += format(R"(,"study_id":{},"datetime_start":{},"state":{})", number_of_study(id),
                  trial.start ? journal_time(*trial.start) : "null", static_cast<int>(trial.state));
  if (trial.complete) lines += format(R"(,"datetime_complete":{})", journal_time(*trial.complete));
  // One value or several, never both.
  lines += R"(,"value":)";
  if (trial.values.size() == 1) {
    append_json_number(trial.values.front(), lines);
  } else {
    lines += "null";
  }
  lines += R"(,"values":)";
  if (trial.values.size() > 1) {
    append_list(trial.values, lines);
  } else {
    lines += "null";
  }
  StudyAttributes distributions;
  lines += R"(,"params":{)";
  for (const TrialParameter& parameter : trial.parameters) {
    if (lines.back() != '{') lines += ',';
    append_json_string(parameter.name, lines);
    lines += ':';
    append_json_number(parameter.value, lines);
    append_json_string(replay_.distributions().text_of(parameter.distribution),
                       distributions[parameter.name]);
  }
  lines += R"(},"distributions":)";
  append_object(distributions, lines);
  lines += R"(,"user_attrs":)";
  append_object(on_one_line(std::move(trial.user_attributes)), lines);
  lines += R"(,"system_attrs":)";
  append_object(on_one_line(std::move(trial.system_attributes)), lines);
  lines += R"(,"intermediate_values":{)";
  for (const auto& [step, value] : trial.intermediate_values) {
    if (lines.back() != '{') lines += ',';
    lines += format("\"{}\":", step);
    append_json_number(value, lines);
  }
  lines += "}}\n";
}

std::optional<TrialId> JournalStorage::create_trial(StudyId id, const NewTrial& trial,
                                                    const Allowed& allowed) {
  Transaction transaction(*this);
  const JournalStudy& study = known_study(id);
  if (allowed && !allowed(study.trials)) return std::nullopt;
  check_new_trial(trial, study.study, study.first_distributions);
  const TrialId created = replay_.next_trial();
  std::string lines;
  append_new_trial(id, static_cast<std::int64_t>(study.trials.size()), trial, study_time_now(), lines);
  transaction.append(lines, is_finished(trial.state));
  return created;
}

std::vector<TrialId> JournalStorage::create_trials(StudyId id, std::span<const NewTrial> trials) {
  Transaction transaction(*this);
  const JournalStudy& study = known_study(id);
  FirstDistributions first = study.first_distributions;
  std::vector<TrialId> created;
  std::string lines;
  for (const NewTrial& trial : trials) {
    check_new_trial(trial, study.study, first);
    for (const TrialParameter& parameter : trial.parameters)
      first.emplace(parameter.name, parameter.distribution);
    const auto before = static_cast<std::int64_t>(created.size());
    append_new_trial(id, static_cast<std::int64_t>(study.trials.size()) + before, trial, study_time_now(),
                     lines);
    created.push_back(TrialId{number_of_trial(replay_.next_trial()) + before});
  }
  if (!lines.empty()) transaction.append(lines, true);
  return created;
}

std::optional<TrialId> JournalStorage::claim_waiting_trial(StudyId id) {
  read_new();
  if (first_waiting(known_study(id)) == nullptr) return std::nullopt;
  Transaction transaction(*this);
  const StudyTrial* const found = first_waiting(known_study(id));
  if (found == nullptr) return std::nullopt;
  const TrialId claimed = found->id;
  const std::int64_t number = found->number;
  const StudyTime now = study_time_now();
  // The state last: killed in between, the trial still waits.
  std::string lines;
  append_attribute(claimed, AttributeOwner::kSystem, std::string(kWorkerAttribute), worker_text(number),
                   lines);
  append_attribute(claimed, AttributeOwner::kSystem, std::string(kHeartbeatAttribute),
                   heartbeat_text(number, now), lines);
  lines += operation(6);
  lines += format(R"(,"trial_id":{},"state":0,"values":null,"datetime_start":{}}})", number_of_trial(claimed),
                  journal_time(now));
  lines += '\n';
  transaction.append(lines, false);
  return claimed;
}

const StudyTrial& JournalStorage::trial(TrialId id) {
  const StudyTrial* found = replay_.find_trial(id);
  if (found == nullptr) {
    read_new();
    found = replay_.find_trial(id);
  }
  if (found == nullptr) throw usage_error(format("there is no trial with the id {}", number_of_trial(id)));
  return *found;
}

void JournalStorage::append_attribute(TrialId id, AttributeOwner owner, const std::string& name,
                                      const std::string& text, std::string& lines) const {
  const bool is_user = owner == AttributeOwner::kUser;
  lines += operation(is_user ? 8 : 9);
  lines += format(R"(,"trial_id":{},"{}":)", number_of_trial(id), is_user ? "user_attr" : "system_attr");
  append_object(on_one_line({{name, text}}), lines);
  lines += "}\n";
}

void JournalStorage::append_update(TrialId id, const TrialUpdate& update, StudyTime now, std::string& lines) {
  const std::int64_t trial = number_of_trial(id);
  for (const TrialParameter& parameter : update.parameters) {
    lines += operation(5) + format(R"(,"trial_id":{},"param_name":)", trial);
    append_json_string(parameter.name, lines);
    lines += R"(,"param_value_internal":)";
    append_json_number(parameter.value, lines);
    lines += R"(,"distribution":)";
    append_json_string(replay_.distributions().text_of(parameter.distribution), lines);
    lines += "}\n";
  }
  for (const auto& [step, value] : update.intermediate_values) {
    lines += operation(7) + format(R"(,"trial_id":{},"step":{},"intermediate_value":)", trial, step);
    append_json_number(value, lines);
    lines += "}\n";
  }
  for (const auto& [name, text] : update.user_attributes)
    append_attribute(id, AttributeOwner::kUser, name, text, lines);
  for (const auto& [name, text] : system_attributes_of(update))
    append_attribute(id, AttributeOwner::kSystem, name, text, lines);
  if (!update.state && update.values.empty()) return;
  // Values come with a state only.
  const TrialState state = update.state.value_or(TrialState::kRunning);
  lines += operation(6) + format(R"(,"trial_id":{},"state":{},"values":)", trial, static_cast<int>(state));
  if (update.values.empty()) {
    lines += "null";
  } else {
    append_list(update.values, lines);
  }
  if (is_finished(state)) lines += format(R"(,"datetime_complete":{})", journal_time(now));
  lines += "}\n";
}

bool JournalStorage::update_trial(TrialId id, const TrialUpdate& update) {
  check(update.state || update.values.empty(), "values of a trial come with its state");
  Transaction transaction(*this);
  const StudyTrial& before = trial(id);
  if (is_finished(before.state)) return false;
  const JournalStudy& study = *replay_.study_of(id);
  check_update(before, update, study.study, study.first_distributions);
  std::string lines;
  append_update(id, update, study_time_now(), lines);
  if (!lines.empty()) transaction.append(lines, update.state && is_finished(*update.state));
  return true;
}

bool JournalStorage::record_heartbeat(TrialId id) {
  Transaction transaction(*this);
  const StudyTrial& before = trial(id);
  if (is_finished(before.state)) return false;
  std::string lines;
  append_attribute(id, AttributeOwner::kSystem, std::string(kHeartbeatAttribute),
                   heartbeat_text(before.number, study_time_now()), lines);
  transaction.append(lines, false);
  return true;
}

// The last sign of the worker of a trial.
std::optional<StudyTime> heartbeat_of(const StudyTrial& trial) {
  const std::string* text = trial.system_attribute(kHeartbeatAttribute);
  if (text == nullptr) return std::nullopt;
  try {
    const std::vector<std::string_view> parts = json_elements(*text);
    // Another number means that Optuna copied it from the trial that this one retries.
    if (parts.size() != 2 || json_integer(parts[0]) != trial.number) return std::nullopt;
    const double seconds = json_number(parts[1]);
    constexpr double kYear9999 = 253402300800.0;
    if (!(seconds >= 0 && seconds < kYear9999)) return std::nullopt;
    return StudyTime(std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
  } catch (const PythonJsonError&) {
    return std::nullopt;  // not ours
  }
}

std::vector<StaleTrial> JournalStorage::fail_stale_trials(StudyId id, const StaleOptions& options) {
  const auto runs = [](const StudyTrial& trial) { return trial.state == TrialState::kRunning; };
  if (std::ranges::none_of(trials(id), runs)) return {};
  Transaction transaction(*this);
  const JournalStudy& study = known_study(id);
  const StudyTime now = study_time_now();
  std::vector<StaleTrial> stale;
  std::string lines;
  auto number = static_cast<std::int64_t>(study.trials.size());
  for (const StudyTrial& trial : study.trials) {
    const std::optional<std::string> reason = staleness(trial, heartbeat_of(trial), now, options.grace);
    if (!reason) continue;
    TrialUpdate update;
    update.state = TrialState::kFail;
    append_json_string(*reason, update.user_attributes[std::string(kReason)]);
    append_update(trial.id, update, now, lines);
    stale.push_back({trial.id, trial.number, *reason, std::nullopt});
    if (const std::optional<NewTrial> retry = retry_of(trial, options.retries)) {
      append_new_trial(id, number, *retry, now, lines);
      stale.back().retry_number = number++;
    }
  }
  if (!lines.empty()) transaction.append(lines, false);
  return stale;
}

}  // namespace

std::unique_ptr<StudyStorage> open_journal_storage(const std::filesystem::path& path,
                                                   const StorageOptions& options) {
  return std::make_unique<JournalStorage>(path, options);
}

}  // namespace nadi::inline tuning
