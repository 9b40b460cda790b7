#include "nadi/study/journal_replay.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/study/python_json.h"
#include "nadi/study/study_time.h"

namespace nadi::inline tuning {
namespace {

// Numbers of Optuna's JournalOperation.
enum class Operation : std::int64_t {
  kCreateStudy = 0,
  kDeleteStudy = 1,
  kSetStudyUserAttribute = 2,
  kSetStudySystemAttribute = 3,
  kCreateTrial = 4,
  kSetTrialParameter = 5,
  kSetTrialState = 6,
  kSetTrialIntermediateValue = 7,
  kSetTrialUserAttribute = 8,
  kSetTrialSystemAttribute = 9,
  kDiscardTrials = 10,  // of another program; without effect for Optuna, so for us
};

bool is_null(std::string_view value) {
  return json_type(value) == JsonType::kNull;
}

std::vector<double> read_numbers(std::string_view list) {
  std::vector<double> numbers;
  for (const std::string_view element : json_elements(list)) numbers.push_back(json_number(element));
  return numbers;
}

std::optional<StudyTime> read_time(std::string_view value) {
  if (is_null(value)) return std::nullopt;
  const std::string text = json_string(value);
  const std::optional<StudyTime> time = parse_study_time(text, TimeZoneKind::kLocal);
  if (!time) throw PythonJsonError(format("not a time: {}", quote_for_message(text)), value.data());
  return time;
}

TrialState read_state(std::string_view value) {
  const std::int64_t number = json_integer(value);
  if (number < 0 || number > static_cast<std::int64_t>(TrialState::kWaiting))
    throw PythonJsonError(format("unknown state {}", number), value.data());
  return static_cast<TrialState>(number);
}

}  // namespace

// An operation: its members by name.
class JournalReplay::Line {
 public:
  explicit Line(std::string_view text) : text_(text), members_(json_members(text)) {}

  std::string_view at(std::string_view key) const {
    if (const JsonMember* member = find_member(members_, key)) return member->value;
    throw PythonJsonError(format("'{}' is missing", key), text_.data());
  }
  // nullptr where it is absent or null.
  const std::string_view* find(std::string_view key) const {
    const JsonMember* member = find_member(members_, key);
    return member == nullptr || is_null(member->value) ? nullptr : &member->value;
  }
  [[noreturn]] void fail(const std::string& message) const { throw PythonJsonError(message, text_.data()); }

 private:
  std::string_view text_;
  std::vector<JsonMember> members_;
};

void JournalReplay::apply(std::string_view text, std::int64_t number) {
  try {
    const Line line(text);
    const std::int64_t operation = json_integer(line.at("op_code"));
    switch (static_cast<Operation>(operation)) {
      case Operation::kCreateStudy:
        return create_study(line);
      case Operation::kDeleteStudy:
        if (JournalStudy* study = study_for(line)) study->is_deleted = true;
        return;
      case Operation::kSetStudyUserAttribute:
        if (JournalStudy* study = study_for(line))
          set_attribute(line, "user_attr", study->study.user_attributes);
        return;
      case Operation::kSetStudySystemAttribute:
        if (JournalStudy* study = study_for(line))
          set_attribute(line, "system_attr", study->study.system_attributes);
        return;
      case Operation::kCreateTrial:
        return create_trial(line);
      case Operation::kSetTrialParameter:
        return set_parameter(line);
      case Operation::kSetTrialState:
        return set_state(line);
      case Operation::kSetTrialIntermediateValue:
        if (StudyTrial* trial = trial_for(line))
          trial->intermediate_values[json_integer(line.at("step"))] =
              json_number(line.at("intermediate_value"));
        return;
      case Operation::kSetTrialUserAttribute:
        if (StudyTrial* trial = trial_for(line)) set_attribute(line, "user_attr", trial->user_attributes);
        return;
      case Operation::kSetTrialSystemAttribute:
        if (StudyTrial* trial = trial_for(line)) {
          StudyAttributes attributes;
          set_attribute(line, "system_attr", attributes);
          const bool has_constraints =
              std::ranges::any_of(attributes, [](const auto& a) { return is_constraint(a.first); });
          attributes.merge(trial->system_attributes);  // the new ones stay
          std::swap(trial->system_attributes, attributes);
          if (has_constraints) read_constraints(*trial);
        }
        return;
      case Operation::kDiscardTrials:
        return;
    }
    line.fail(format("unknown operation {}", operation));
  } catch (const PythonJsonError& error) {
    // The place of a text inside of a text is not in the line.
    const bool is_inside = error.at() >= text.data() && error.at() <= text.data() + text.size();
    std::string hint;
    if (number == 1) {
      hint =
          "a study is an SQLite database or a journal of Optuna's, with one operation in JSON on each line";
    } else if (text.find("{\"op_code\"", 1) != std::string_view::npos) {
      hint =
          "the start of the line is left of a writer that was killed, and another operation follows on the "
          "same line: remove "
          "what stands before the last {\"op_code\"";
    }
    throw input_error(
        {.file = file_,
         .line = number,
         .column = is_inside ? std::optional<std::int64_t>(error.at() - text.data() + 1) : std::nullopt},
        format("damaged journal: {}", error.what()), hint);
  }
}

const JournalStudy* JournalReplay::find_study(StudyId id) const {
  const auto index = static_cast<std::size_t>(id);
  return index >= studies_.size() || studies_[index].is_deleted ? nullptr : &studies_[index];
}

const StudyTrial* JournalReplay::find_trial(TrialId id) const {
  const auto index = static_cast<std::size_t>(id);
  if (index >= places_.size()) return nullptr;
  return &studies_[places_[index].study].trials[places_[index].trial];
}

const JournalStudy* JournalReplay::study_of(TrialId id) const {
  const auto index = static_cast<std::size_t>(id);
  return index >= places_.size() ? nullptr : &studies_[places_[index].study];
}

JournalStudy* JournalReplay::study_for(const Line& line) {
  const std::int64_t id = json_integer(line.at("study_id"));
  if (id < 0) return nullptr;
  return const_cast<JournalStudy*>(find_study(StudyId{id}));
}

StudyTrial* JournalReplay::trial_for(const Line& line) {
  const std::int64_t id = json_integer(line.at("trial_id"));
  if (id < 0) return nullptr;
  auto* const trial = const_cast<StudyTrial*>(find_trial(TrialId{id}));
  return trial == nullptr || is_finished(trial->state) ? nullptr : trial;
}

void JournalReplay::set_attribute(const Line& line, std::string_view key, StudyAttributes& attributes) const {
  for (JsonMember& member : json_members(line.at(key))) attributes[std::move(member.key)] = member.value;
}

void JournalReplay::create_study(const Line& line) {
  JournalStudy created;
  created.study.id = next_study();
  created.study.name = json_string(line.at("study_name"));
  for (const std::string_view element : json_elements(line.at("directions"))) {
    const std::int64_t direction = json_integer(element);
    if (direction != 1 && direction != 2) line.fail(format("unknown direction {}", direction));
    created.study.directions.push_back(direction == 1 ? StudyDirection::kMinimize
                                                      : StudyDirection::kMaximize);
  }
  if (created.study.directions.empty()) line.fail("a study has no objective");
  for (const JournalStudy& other : studies_) {
    if (!other.is_deleted && other.study.name == created.study.name) return;
  }
  studies_.push_back(std::move(created));
}

TrialParameter JournalReplay::parameter(const std::string& name, std::string_view value,
                                        const std::string& distribution) {
  TrialParameter parameter{name, json_number(value), distributions_.find_or_parse(distribution)};
  if (!external_value(*parameter.distribution, parameter.value))
    throw PythonJsonError(format("{} is not a value of the distribution of parameter {}", parameter.value,
                                 quote_for_message(name)),
                          value.data());
  return parameter;
}

void JournalReplay::create_trial(const Line& line) {
  JournalStudy* const study = study_for(line);
  if (study == nullptr) return;
  StudyTrial trial;
  trial.id = next_trial();
  trial.number = static_cast<std::int64_t>(study->trials.size());
  if (const std::string_view* state = line.find("state")) trial.state = read_state(*state);
  trial.start = read_time(line.at("datetime_start"));
  if (const std::string_view* time = line.find("datetime_complete")) trial.complete = read_time(*time);
  if (const std::string_view* value = line.find("value")) trial.values = {json_number(*value)};
  if (const std::string_view* values = line.find("values")) trial.values = read_numbers(*values);
  if (const std::string_view* parameters = line.find("params")) {
    const std::vector<JsonMember> distributions = json_members(line.at("distributions"));
    for (const JsonMember& member : json_members(*parameters)) {
      const JsonMember* distribution = find_member(distributions, member.key);
      if (distribution == nullptr)
        line.fail(format("parameter {} has no distribution", quote_for_message(member.key)));
      trial.parameters.push_back(parameter(member.key, member.value, json_string(distribution->value)));
    }
  }
  if (const std::string_view* steps = line.find("intermediate_values")) {
    for (const JsonMember& member : json_members(*steps))
      trial.intermediate_values[json_integer(member.key)] = json_number(member.value);
  }
  if (line.find("user_attrs") != nullptr) set_attribute(line, "user_attrs", trial.user_attributes);
  if (line.find("system_attrs") != nullptr) set_attribute(line, "system_attrs", trial.system_attributes);
  read_constraints(trial);
  if (const std::string fault = fault_of_values(trial, study->study); !fault.empty())
    line.fail(format("trial {}: {}", trial.number, fault));
  for (const TrialParameter& each : trial.parameters)
    study->first_distributions.emplace(each.name, each.distribution);
  places_.push_back({static_cast<std::size_t>(study - studies_.data()), study->trials.size()});
  study->trials.push_back(std::move(trial));
  settle(*study);
}

void JournalReplay::set_parameter(const Line& line) {
  StudyTrial* const trial = trial_for(line);
  if (trial == nullptr) return;
  TrialParameter added = parameter(json_string(line.at("param_name")), line.at("param_value_internal"),
                                   json_string(line.at("distribution")));
  JournalStudy& study = studies_[places_[static_cast<std::size_t>(trial->id)].study];
  const auto first = study.first_distributions.emplace(added.name, added.distribution).first;
  if (first->second != added.distribution && !are_compatible(*first->second, *added.distribution)) return;
  const auto same = std::ranges::find(trial->parameters, added.name, &TrialParameter::name);
  if (same != trial->parameters.end()) {
    *same = std::move(added);
  } else {
    trial->parameters.push_back(std::move(added));
  }
}

void JournalReplay::set_state(const Line& line) {
  StudyTrial* const trial = trial_for(line);
  if (trial == nullptr) return;
  const TrialState state = read_state(line.at("state"));
  if (state == TrialState::kRunning && trial->state == TrialState::kRunning) return;
  StudyTrial checked;  // so that a damaged line has no effect at all
  checked.state = state;
  checked.values = trial->values;
  if (const std::string_view* values = line.find("values")) checked.values = read_numbers(*values);
  JournalStudy& study = studies_[places_[static_cast<std::size_t>(trial->id)].study];
  if (const std::string fault = fault_of_values(checked, study.study); !fault.empty())
    line.fail(format("trial {}: {}", trial->number, fault));
  if (state == TrialState::kRunning) trial->start = read_time(line.at("datetime_start"));
  if (is_finished(state)) trial->complete = read_time(line.at("datetime_complete"));
  trial->state = state;
  trial->values = std::move(checked.values);
  settle(study);
}

void JournalReplay::settle(JournalStudy& study) {
  while (study.settled < study.trials.size() && is_finished(study.trials[study.settled].state))
    ++study.settled;
}

}  // namespace nadi::inline tuning
