#include "nadi/megatron/batch_sizes.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/base/units.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kGlobal = "--global-batch-size", kMicro = "--batch-size",
                           kRampUp = "--rampup-batch-size", kSteps = "--step-batch-size-schedule",
                           kDecrease = "--decrease-batch-size-if-needed";

std::int64_t micro_batch(const Flags& flags, std::string_view wanted_by) {
  if (flags.given("--gradient-accumulation-steps"))
    throw usage_error(format("{} and --gradient-accumulation-steps contradict each other", wanted_by),
                      "how many batches are added up follows from the size of the step");
  const auto micro = flags.integer(kMicro);
  if (!micro)
    throw usage_error(format("{} needs --micro-batch-size", wanted_by),
                      "a step grows by micro-batches, whose size stays");
  return *micro;
}

// Python's numbers may have underscores between digits: 9_765_625.
std::int64_t count_of(const std::string& word) {
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (word[i] != '_' || i == 0 || i + 1 == word.size() || word[i - 1] == '_') digits += word[i];
  std::int64_t value = 0;
  if (!read_number(digits, value) || value < 0)
    throw usage_error(
        format("{}: '{}' is not a count", kRampUp, word),
        "it takes three: the first batch size, by how much it grows, and over how many samples");
  return value;
}

BatchSchedule ramp_up(const Flags& flags, std::int64_t multiple) {
  const std::vector<std::string>& words = flags.texts(kRampUp);
  if (words.size() != 3)
    throw usage_error(
        format("{} takes three numbers, not {}", kRampUp, words.size()),
        "START INCREMENT SAMPLES: the first batch size, by how much it grows, and over how many "
        "samples");
  const auto global = flags.integer(kGlobal);
  if (!global)
    throw usage_error(format("{} needs {}", kRampUp, kGlobal), "the size to which the batch grows");
  return BatchSchedule::ramp_up({.start = count_of(words[0]),
                                 .increment = count_of(words[1]),
                                 .samples = count_of(words[2]),
                                 .size = *global,
                                 .multiple_of = flags.given(kDecrease) ? multiple : 1});
}

// "250B": a number, which may have a fraction, with a letter for thousands, millions, and so on.
std::int64_t scaled_count(std::string_view word, std::string_view entry) {
  double factor = 1;
  if (!word.empty()) {
    constexpr std::array<std::pair<char, double>, 4> kLetters{
        {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}}};
    for (const auto& [letter, value] : kLetters)
      if ((word.back() & ~0x20) == letter) factor = value;
    if (factor != 1) word.remove_suffix(1);
  }
  double value = 0;
  constexpr double kMost = 1e15;
  if (!read_number(word, value) || !(value >= 0 && value * factor <= kMost))
    throw usage_error(format("{}: '{}' is no entry TOKENS:SIZE", kSteps, entry),
                      "for example \"0:768 250B:1536\": K, M, B and T stand for thousands to trillions");
  return static_cast<std::int64_t>(value * factor);
}

BatchSchedule stepwise(const Flags& flags, std::int64_t seq_length) {
  for (const std::string_view other : {kGlobal, kRampUp, kDecrease})
    if (flags.given(other)) throw usage_error(format("{} and {} contradict each other", kSteps, other));
  std::vector<BatchSchedule::Change> changes;
  for (const std::string& words : flags.texts(kSteps)) {
    std::size_t at = 0;
    while ((at = words.find_first_not_of(", ", at)) != std::string::npos) {
      const std::size_t end = std::min(words.find_first_of(", ", at), words.size());
      const std::string_view entry = std::string_view(words).substr(at, end - at);
      const std::size_t colon = std::min(entry.find(':'), entry.size() - 1);
      changes.push_back({.from_samples = scaled_count(entry.substr(0, colon), entry) / seq_length,
                         .size = scaled_count(entry.substr(colon + 1), entry)});
      at = end;
    }
  }
  return BatchSchedule::stepwise(changes);
}

}  // namespace

bool has_changing_batches(const Flags& flags) {
  return flags.given(kRampUp) || flags.given(kSteps);
}

ChangingBatches changing_batches(const Flags& flags, std::int64_t dp, std::int64_t seq_length) {
  const bool ramps = flags.given(kRampUp);
  const std::int64_t micro = micro_batch(flags, ramps ? kRampUp : kSteps);
  const std::int64_t least = checked_multiply(micro, dp, "samples");
  BatchSchedule schedule = flags.given(kSteps) ? stepwise(flags, seq_length) : ramp_up(flags, least);
  for (const BatchSchedule::Phase& phase : schedule.phases())
    if (phase.size % least != 0)
      throw usage_error(
          format("a global batch of {}, from step {} on, does not divide into micro-batches of {} on {} "
                 "data-parallel rank{}",
                 phase.size, phase.first_step, micro, dp, dp == 1 ? "" : "s"),
          format("every size is a multiple of {} x {}{}", micro, dp,
                 ramps ? format("; {} rounds down", kDecrease) : ""));
  return {micro, std::move(schedule)};
}

}  // namespace nadi::inline show
