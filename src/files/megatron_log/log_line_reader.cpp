#include "nadi/megatron_log/log_line_reader.h"

#include <cmath>

#include "nadi/base/read_number.h"

namespace nadi::inline files {
namespace {

constexpr double kMillisecondsPerSecond = 1e3;
constexpr double kLongestLoggedSeconds = 1e9;  // 31 years: what is longer is no time

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  text = without_spaces(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  if (!read_number(text, value)) return std::nullopt;
  return value;
}

// "name: value" of what stands between two bars.
struct LineField {
  std::string_view name, value;
};

// The next field; `rest` moves behind its bar. A last field without a bar is there, too: the caller decides
// whether a cut number counts.
LineField next_field(std::string_view& rest) {
  const std::size_t bar = rest.find('|');
  const std::string_view part = rest.substr(0, bar);
  rest = bar == std::string_view::npos ? std::string_view{} : rest.substr(bar + 1);
  const std::size_t colon = part.find(':');
  if (colon == std::string_view::npos) return {.name = without_spaces(part), .value = {}};
  return {.name = without_spaces(part.substr(0, colon)), .value = without_spaces(part.substr(colon + 1))};
}

template <typename Number>
void take(std::string_view value, Number& into) {
  if (const auto number = number_of<Number>(value)) into = *number;
}

std::optional<Bytes> megabytes(std::string_view text) {
  constexpr double kMegabyte = 1024.0 * 1024.0;  // as Megatron counts
  constexpr double kMost = 1e12;
  const auto value = number_of<double>(text);
  if (!value || !(*value >= 0) || *value > kMost) return std::nullopt;
  return Bytes{std::llround(*value * kMegabyte)};
}

}  // namespace

std::optional<IterationLine> parse_iteration_line(std::string_view text) {
  constexpr std::string_view kStart = "iteration ";
  constexpr std::size_t kLongestHead = 128;  // label, date and number
  const std::size_t start = text.substr(0, kLongestHead).find(kStart);
  if (start == std::string_view::npos) return std::nullopt;
  IterationLine line;
  const std::string_view head = text.substr(0, start);
  if (const std::size_t open = head.rfind('['), close = head.rfind(']');
      open != std::string_view::npos && close != std::string_view::npos && open < close)
    line.date = std::string(head.substr(open + 1, close - open - 1));
  std::string_view rest = text.substr(start + kStart.size());
  const std::size_t slash = rest.find('/'), bar = rest.find('|');
  if (slash == std::string_view::npos || bar == std::string_view::npos || slash > bar) return std::nullopt;
  const auto number = number_of<std::int64_t>(rest.substr(0, slash));
  const auto total = number_of<std::int64_t>(rest.substr(slash + 1, bar - slash - 1));
  if (!number || !total || *number < 0) return std::nullopt;
  line.iteration = *number;
  line.iterations = *total;
  rest.remove_prefix(bar + 1);
  bool timed = false;
  while (!rest.empty()) {
    const bool whole = rest.find('|') != std::string_view::npos;
    const auto [name, value] = next_field(rest);
    if (!whole || name.empty()) continue;  // "lm loss: 1.0" may be the beginning of 1.0E+01
    if (name.starts_with("elapsed time per iteration")) {
      if (timed) break;  // another writer's line follows on this one
      const auto milliseconds = number_of<double>(value);
      if (!milliseconds) return std::nullopt;
      line.seconds_per_iteration = *milliseconds / kMillisecondsPerSecond;
      if (!(line.seconds_per_iteration >= 0) || line.seconds_per_iteration > kLongestLoggedSeconds)
        return std::nullopt;
      timed = true;
    } else if (name == "consumed samples") {
      take(value, line.consumed_samples);
    } else if (name.starts_with("throughput per GPU")) {
      line.tflops_per_rank = number_of<double>(value);
    } else if (name == "learning rate") {
      take(value, line.learning_rate);
    } else if (name == "global batch size") {
      take(value, line.global_batch);
    } else if (name == "lm loss") {
      line.loss = number_of<double>(value);
    } else if (name == "loss scale") {
      take(value, line.loss_scale);
    } else if (name == "grad norm") {
      take(value, line.grad_norm);
    } else if (name == "number of skipped iterations") {
      take(value, line.skipped);
    } else if (name == "number of nan iterations") {
      take(value, line.nan);
    }
  }
  return timed ? std::optional(std::move(line)) : std::nullopt;
}

std::optional<LoggedMemory> parse_memory_line(std::string_view text) {
  constexpr std::string_view kStart = "[Rank ", kAfter = "] (after ", kEnd = " iterations) memory (MB) |";
  const std::size_t start = text.find(kStart);
  if (start == std::string_view::npos) return std::nullopt;
  const std::size_t after = text.find(kAfter, start), end = text.find(kEnd, start);
  if (after == std::string_view::npos || end == std::string_view::npos || after > end) return std::nullopt;
  const std::size_t rank_at = start + kStart.size(), iteration_at = after + kAfter.size();
  const auto rank = number_of<std::int64_t>(text.substr(rank_at, after - rank_at));
  const auto iteration = number_of<std::int64_t>(text.substr(iteration_at, end - iteration_at));
  if (!rank || *rank < 0 || !iteration) return std::nullopt;
  LoggedMemory memory{.rank = *rank, .iteration = *iteration};
  std::string_view rest = text.substr(end + kEnd.size());
  int found = 0;
  while (!rest.empty()) {
    const auto [name, value] = next_field(rest);
    Bytes LoggedMemory::*const field = name == "allocated"       ? &LoggedMemory::allocated
                                       : name == "max allocated" ? &LoggedMemory::most_allocated
                                       : name == "reserved"      ? &LoggedMemory::reserved
                                       : name == "max reserved"  ? &LoggedMemory::most_reserved
                                                                 : nullptr;
    if (field == nullptr) continue;
    const auto size = megabytes(value);
    if (!size) return std::nullopt;
    memory.*field = *size;
    ++found;
  }
  constexpr int kFields = 4;
  return found == kFields ? std::optional(memory) : std::nullopt;
}

std::optional<ValidationLine> parse_validation_line(std::string_view text) {
  constexpr std::string_view kStart = "validation loss at iteration ";
  const std::size_t start = text.find(kStart);
  if (start == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(start + kStart.size());
  const std::size_t bar = rest.find('|');
  if (bar == std::string_view::npos) return std::nullopt;
  const auto iteration = number_of<std::int64_t>(rest.substr(0, bar));
  rest.remove_prefix(bar + 1);
  if (!iteration || rest.find('|') == std::string_view::npos) return std::nullopt;
  const auto [name, value] = next_field(rest);
  const auto loss = name == "lm loss value" ? number_of<double>(value) : std::nullopt;
  if (!loss) return std::nullopt;
  return ValidationLine{.iteration = *iteration, .loss = *loss};
}

}  // namespace nadi::inline files
