// A program for tests that use studies from outside: with Optuna on the other side (tests/optuna_test.py), or
// with workers that are killed (tests/study_kill_test.py).
//
//   study_tool dump FILE                            all studies as JSON, as Python writes it
//   study_tool make FILE SEED TRIALS                a study named "made" with everything that a study can
//   have, at random study_tool continue FILE STUDY SEED TRIALS      runs what waits, and then new trials
//   study_tool work FILE STUDY TRIALS MICROSECONDS  a worker: until the study has so many finished trials
//   that are not stale study_tool bench FILE TRIALS                    time of the storage alone, for each
//   trial

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/study/python_json.h"
#include "nadi/study/study_storage.h"

namespace {

using namespace nadi;
using namespace std::string_literals;

std::string json_quoted(std::string_view text) {
  std::string out;
  append_json_string(text, out);
  return out;
}

std::string number_text(double number) {
  std::string out;
  append_json_number(number, out);
  return out;
}

std::string attributes_text(const StudyAttributes& attributes) {
  std::string out;
  for (const auto& [name, text] : attributes)
    out += (out.empty() ? "" : ", ") + json_quoted(name) + ": " + text;
  return "{" + out + "}";
}

std::string numbers_text(std::span<const double> numbers) {
  std::string out;
  for (const double number : numbers) out += (out.empty() ? "" : ", ") + number_text(number);
  return "[" + out + "]";
}

std::string time_text(const std::optional<StudyTime>& time) {
  return time ? std::to_string(time->time_since_epoch().count()) : "null";
}

std::string trial_text(const StudyTrial& trial) {
  std::string parameters;
  for (const TrialParameter& parameter : trial.parameters)
    parameters += format("{}{}: [{}, {}, {}]", parameters.empty() ? "" : ", ", json_quoted(parameter.name),
                         to_json_text(parameter.external()), number_text(parameter.value),
                         distribution_to_json(*parameter.distribution));
  std::string steps;
  for (const auto& [step, value] : trial.intermediate_values)
    steps += format("{}\"{}\": {}", steps.empty() ? "" : ", ", step, number_text(value));
  return format(
      R"({{"number": {}, "id": {}, "state": "{}", "values": {}, "params": {{{}}}, "intermediate": {{{}}}, "user": {}, )"
      R"("system": {}, "constraints": {}, "start": {}, "complete": {}}})",
      trial.number, static_cast<std::int64_t>(trial.id), to_string(trial.state), numbers_text(trial.values),
      parameters, steps, attributes_text(trial.user_attributes), attributes_text(trial.system_attributes),
      numbers_text(trial.constraints), time_text(trial.start), time_text(trial.complete));
}

void dump(StudyStorage& storage) {
  std::string out = "[";
  for (const Study& study : storage.studies()) {
    std::string directions;
    for (const StudyDirection direction : study.directions)
      directions += format("{}\"{}\"", directions.empty() ? "" : ", ", to_string(direction));
    out += format(R"({}{{"name": {}, "directions": [{}], "user": {}, "system": {}, "trials": [)",
                  out.size() > 1 ? ",\n" : "", json_quoted(study.name), directions,
                  attributes_text(study.user_attributes), attributes_text(study.system_attributes));
    bool first = true;
    for (const StudyTrial& trial : storage.trials(study.id)) {
      out += (first ? "\n" : ",\n") + trial_text(trial);
      first = false;
    }
    out += "]}";
  }
  std::puts((out + "]").c_str());
}

// Everything at random, of a seed.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_bits(seed_, drawn_++) % limit; }
  bool chance(double probability) { return uniform() < probability; }
  double uniform() { return static_cast<double>(random_bits(seed_, drawn_++) >> 11) * 0x1p-53; }

  double value(bool may_be_nan) {
    switch (below(12)) {
      case 0:
        return std::numeric_limits<double>::infinity();
      case 1:
        return -std::numeric_limits<double>::infinity();
      case 2:
        return may_be_nan ? std::numeric_limits<double>::quiet_NaN() : 0.0;
      case 3:
        return -0.0;
      case 4:
        return 1e308 * uniform();
      case 5:
        return 5e-324;
      default:
        return (uniform() - 0.5) * std::exp(20 * uniform());
    }
  }

  StudyAttributes attributes() {
    StudyAttributes made;
    const std::vector<std::string> texts{"1",
                                         "NaN",
                                         "[-Infinity, null, {\"é\": []}]",
                                         json_quoted("naïve 😀 \"quoted\"\n\t\x01 line"),
                                         "123456789012345678901234567890",
                                         R"("\ud83d\ude00 \u00e9")",
                                         "{}",
                                         number_text(uniform())};
    for (std::uint64_t i = below(4); i > 0; --i)
      made[(chance(0.3) ? "schlüssel "s : "key") + std::to_string(below(5))] = texts[below(texts.size())];
    return made;
  }

  // Conditional: some are left out.
  std::vector<TrialParameter> parameters() {
    const auto share = [](ParameterDistribution made) {
      return std::make_shared<const ParameterDistribution>(std::move(made));
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<TrialParameter> made;
    made.push_back({"float", uniform() * 3 - 1, share(FloatDistribution{.low = -1, .high = 2})});
    made.push_back(
        {"log", std::exp(-10 * uniform()), share(FloatDistribution{.low = 1e-5, .high = 1, .log = true})});
    made.push_back({"step", 0.25 * static_cast<double>(below(5)),
                    share(FloatDistribution{.low = 0, .high = 1, .step = 0.25})});
    made.push_back({"int", static_cast<double>(below(10)), share(IntDistribution{.low = 0, .high = 9})});
    made.push_back({"int log", static_cast<double>(1 + below(64)),
                    share(IntDistribution{.low = 1, .high = 64, .log = true})});
    made.push_back({"int step", static_cast<double>(4 * below(4)),
                    share(IntDistribution{.low = 0, .high = 12, .step = 4})});
    made.push_back({"choice ü", static_cast<double>(below(7)),
                    share(CategoricalDistribution{
                        {"ring"s, "b\"aum\\"s, std::monostate{}, true, std::int64_t{-3}, 0.5, nan}})});
    std::erase_if(made, [&](const TrialParameter&) { return chance(0.2); });
    return made;
  }

  NewTrial trial(std::size_t objectives) {
    NewTrial made;
    made.parameters = parameters();
    made.user_attributes = attributes();
    made.system_attributes = attributes();
    if (chance(0.5)) made.constraints = {uniform() - 0.5, -1.0};
    switch (below(5)) {
      case 0:
        made.state = TrialState::kWaiting;
        break;
      case 1:
        made.state = TrialState::kFail;
        break;
      case 2:
        made.state = TrialState::kPruned;
        if (chance(0.5)) made.values = values(objectives);
        break;
      default:
        made.state = TrialState::kComplete;
        made.values = values(objectives);
        break;
    }
    if (made.state != TrialState::kWaiting) made.intermediate_values = steps();
    return made;
  }

  std::vector<double> values(std::size_t objectives) {
    std::vector<double> made;
    while (made.size() < objectives) made.push_back(value(false));
    return made;
  }

  std::map<std::int64_t, double> steps() {
    std::map<std::int64_t, double> made;
    for (std::uint64_t i = below(6); i > 0; --i) made[static_cast<std::int64_t>(below(100))] = value(true);
    return made;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;

  // splitmix64 of the seed and the number of the draw.
  static std::uint64_t random_bits(std::uint64_t seed, std::uint64_t draw) {
    std::uint64_t bits = seed * 0x9E3779B97F4A7C15u + (draw + 1) * 0xD1B54A32D192ED03u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
  }
};

void add_trials(StudyStorage& storage, StudyId study, Maker& maker, int count) {
  const std::size_t objectives = storage.study(study).directions.size();
  for (int i = 0; i < count; ++i) {
    if (maker.chance(0.2)) {
      storage.create_trial(study, enqueued_trial({{"float", 0.5}, {"choice ü", "ring"s}}));
      continue;
    }
    if (maker.chance(0.4)) {
      storage.create_trial(study, maker.trial(objectives));
      continue;
    }
    // Step by step, as a worker does.
    NewTrial begun;
    begun.user_attributes = maker.attributes();
    std::vector<TrialParameter> parameters = maker.parameters();
    const bool at_once = maker.chance(0.5);
    if (at_once) begun.parameters = parameters;
    const TrialId id = *storage.create_trial(study, begun);
    if (!at_once) storage.update_trial(id, {.parameters = parameters});
    storage.update_trial(id, {.intermediate_values = maker.steps()});
    storage.record_heartbeat(id);
    if (maker.chance(0.1)) continue;  // still runs
    TrialUpdate last;
    last.system_attributes = maker.attributes();
    if (maker.chance(0.3)) last.constraints = {maker.uniform() - 0.5};
    last.state = maker.chance(0.6)   ? TrialState::kComplete
                 : maker.chance(0.5) ? TrialState::kPruned
                                     : TrialState::kFail;
    if (last.state == TrialState::kComplete) last.values = maker.values(objectives);
    storage.update_trial(id, last);
  }
}

void make(StudyStorage& storage, std::uint64_t seed, int trials) {
  Maker maker(seed);
  NewStudy made{.name = "made"};
  if (maker.chance(0.4)) made.directions = {StudyDirection::kMaximize, StudyDirection::kMinimize};
  const StudyId study = storage.create_study(made);
  storage.create_study({.name = "zweite Studie"});
  storage.set_study_attributes(study, AttributeOwner::kUser, maker.attributes());
  storage.set_study_attributes(study, AttributeOwner::kSystem, maker.attributes());
  add_trials(storage, study, maker, trials);
}

void go_on(StudyStorage& storage, std::string_view name, std::uint64_t seed, int trials) {
  Maker maker(seed);
  const StudyId study = storage.open_study(name);
  const std::size_t objectives = storage.study(study).directions.size();
  while (const auto id = storage.claim_waiting_trial(study)) {
    if (maker.chance(0.3)) continue;
    storage.update_trial(*id, {.intermediate_values = maker.steps(),
                               .state = TrialState::kComplete,
                               .values = maker.values(objectives)});
  }
  add_trials(storage, study, maker, trials);
}

// Trials that count: all but those of workers that were killed.
std::size_t counted(std::span<const StudyTrial> trials) {
  return static_cast<std::size_t>(std::ranges::count_if(
      trials, [](const StudyTrial& trial) { return trial.state != TrialState::kFail; }));
}

void work(StudyStorage& storage, std::string_view name, std::size_t trials, int microseconds) {
  const StudyId study = storage.open_study(name);
  Maker maker(static_cast<std::uint64_t>(getpid()));
  const auto allowed = [&](std::span<const StudyTrial> all) { return counted(all) < trials; };
  for (int round = 0;; ++round) {
    for (const StaleTrial& stale : storage.fail_stale_trials(study, {.grace = std::chrono::seconds(60)}))
      std::printf("stale %lld: %s\n", static_cast<long long>(stale.number), stale.reason.c_str());
    std::optional<TrialId> id = storage.claim_waiting_trial(study);
    if (!id) id = storage.create_trial(study, {.parameters = maker.parameters()}, allowed);
    if (!id) {
      // The budget is used up. Others that still run may die yet; then their trials are to be done again.
      const auto all = storage.trials(study);
      if (std::ranges::none_of(all, [](const StudyTrial& t) { return t.state == TrialState::kRunning; }))
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    const double result = maker.uniform();
    for (int step = 0; step < 3; ++step) {
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds / 3));
      storage.update_trial(*id, {.intermediate_values = {{step, result + step}}});
    }
    storage.record_heartbeat(*id);
    storage.update_trial(*id, {.user_attributes = {{"worker", std::to_string(getpid())}},
                               .state = TrialState::kComplete,
                               .values = {result}});
    // The other side of the check: what a worker has said is done must be in the study.
    std::printf("done %lld %.17g\n", static_cast<long long>(storage.trial(*id).number), result);
    std::fflush(stdout);
  }
}

void bench(StudyStorage& storage, int trials) {
  const StudyId study = storage.open_or_create_study({.name = "bench"});
  Maker maker(1);
  const auto begin = std::chrono::steady_clock::now();
  auto last = begin;
  for (int i = 0; i < trials; ++i) {
    const auto all = storage.trials(study);
    static_cast<void>(all);
    storage.fail_stale_trials(study, {});
    std::optional<TrialId> id = storage.claim_waiting_trial(study);
    if (!id) id = storage.create_trial(study, {.parameters = maker.parameters()});
    storage.update_trial(*id, {.intermediate_values = {{0, 1.0}}});
    storage.update_trial(
        *id, {.user_attributes = {{"a", "1"}}, .state = TrialState::kComplete, .values = {maker.uniform()}});
    if ((i + 1) % (trials / 10 > 0 ? trials / 10 : 1) == 0) {
      const auto now = std::chrono::steady_clock::now();
      std::printf("%d trials: %.3f ms each\n", i + 1,
                  std::chrono::duration<double, std::milli>(now - last).count() /
                      (trials / 10 > 0 ? trials / 10 : 1));
      last = now;
    }
  }
  std::printf(
      "all: %.3f ms each\n",
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / trials);
}

int run(const std::vector<std::string>& words) {
  const auto at = [&](std::size_t i) -> const std::string& {
    if (i >= words.size()) throw usage_error("too few words");
    return words[i];
  };
  const std::string& command = at(0);
  const auto mode = command == "dump"                            ? StorageMode::kRead
                    : command == "continue" || command == "work" ? StorageMode::kWrite
                                                                 : StorageMode::kCreate;
  const auto storage = open_study_storage(at(1), {.mode = mode});
  if (command == "dump") {
    dump(*storage);
  } else if (command == "make") {
    make(*storage, std::stoull(at(2)), std::stoi(at(3)));
  } else if (command == "continue") {
    go_on(*storage, at(2), std::stoull(at(3)), std::stoi(at(4)));
  } else if (command == "work") {
    work(*storage, at(2), std::stoull(at(3)), std::stoi(at(4)));
  } else if (command == "bench") {
    bench(*storage, std::stoi(at(2)));
  } else {
    throw usage_error("unknown word " + command);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n%s\n", error.what(), error.hint().c_str());
    return exit_code(error.kind());
  }
}
