#include "nadi/megatron_log/log_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/input/chunked_input.h"
#include "nadi/megatron_log/log_line_reader.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr double kNanosecondsPerMillisecond = 1e6;
constexpr double kLongestMilliseconds = 1e12;  // 31 years: what is longer is no time
constexpr std::size_t kMostTimers = 1024;      // of an iteration
constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<double> parse_real(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  if (!read_number(text, value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  if (!read_number(text, value)) return std::nullopt;
  return value;
}

std::optional<Nanoseconds> parse_milliseconds(std::string_view text) {
  const std::optional<double> value = parse_real(text);
  if (!value || *value < 0 || *value > kLongestMilliseconds) return std::nullopt;
  return Nanoseconds{std::llround(*value * kNanosecondsPerMillisecond)};
}

// Times of timers have two digits behind the point, always: a line that was cut within them says another
// time.
bool has_two_decimals(std::string_view text) {
  text = trimmed(text);
  return text.size() > 3 && text[text.size() - 3] == '.' && is_digit(text[text.size() - 2]) &&
         is_digit(text.back());
}

// Seconds of the wall clock: too long a number for a double's nanoseconds.
std::optional<Nanoseconds> parse_seconds(std::string_view text) {
  constexpr std::int64_t kMostSeconds = 9'000'000'000;
  constexpr std::size_t kDigits = 9;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::optional<std::int64_t> whole = parse_integer(text.substr(0, point));
  if (!whole || *whole < 0 || *whole > kMostSeconds) return std::nullopt;
  std::int64_t fraction = 0;
  const std::string_view digits = point < text.size() ? text.substr(point + 1) : std::string_view{};
  if (!std::ranges::all_of(digits, is_digit)) return std::nullopt;
  for (std::size_t i = 0; i < kDigits; ++i)
    fraction = fraction * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return Nanoseconds{*whole * 1'000'000'000 + fraction};
}

// The text behind `marker`, where the line has it.
std::optional<std::string_view> behind(std::string_view line, std::string_view marker) {
  const std::size_t at = line.find(marker);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + marker.size());
}

// Names of timers, as programs choose them.
bool is_timer_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '/' || c == '.' || c == '&';
  });
}

struct SettingName {
  std::string_view argument;  // as Megatron lists its arguments
  std::string_view variable;  // as job scripts print theirs
  std::optional<std::int64_t> LoggedSettings::*value;
};
constexpr SettingName kSettings[] = {
    {"world_size", "WORLD_SIZE", &LoggedSettings::world_size},
    {"tensor_model_parallel_size", "TENSOR_MP_SIZE", &LoggedSettings::tensor_parallel},
    {"pipeline_model_parallel_size", "PIPELINE_MP_SIZE", &LoggedSettings::pipeline_parallel},
    {"data_parallel_size", "DP_SIZE", &LoggedSettings::data_parallel},
    {"context_parallel_size", "CP_SIZE", &LoggedSettings::context_parallel},
    {"virtual_pipeline_model_parallel_size", "VIRTUAL_PIPELINE_MP_SIZE", &LoggedSettings::virtual_stages},
    {"micro_batch_size", "MICRO_BATCH_SIZE", &LoggedSettings::micro_batch},
    {"global_batch_size", "GLOBAL_BATCH_SIZE", &LoggedSettings::global_batch},
};

class LogParser {
 public:
  void line(std::string_view text) {
    if (const auto settings = behind(text, "elapsed time per iteration (ms):")) return iteration(text);
    if (text.find("across ranks (ms)") != std::string_view::npos) return heading(text);
    if (const auto timers = behind(text, "time (ms) |")) return old_timers(*timers);
    if (in_block_ && timer_line(text)) return;
    setting(text);
  }

  TrainingLog take() { return std::move(log_); }

 private:
  enum class Block : std::uint8_t { kMax, kMinMax, kAll };

  void damaged() { ++log_.damaged_lines; }

  void iteration(std::string_view text) {
    in_block_ = false;
    const std::optional<IterationLine> line = parse_iteration_line(text);
    if (!line) return damaged();
    LoggedIteration found{.iteration = line->iteration,
                          .iterations = line->iterations,
                          .time = Nanoseconds{std::llround(line->seconds_per_iteration * 1e9)},
                          .tflops_per_rank = line->tflops_per_rank};
    if (line->global_batch > 0) found.global_batch = line->global_batch;
    if (line->loss && std::isfinite(*line->loss)) found.loss = line->loss;
    log_.iterations.push_back(std::move(found));
  }

  void heading(std::string_view text) {
    in_block_ = true;
    timer_ = nullptr;
    block_ = text.find("(min, max)") != std::string_view::npos ? Block::kMinMax
             : text.find("max time") != std::string_view::npos ? Block::kMax
                                                               : Block::kAll;
  }

  // Nothing before the first iteration: what is added there is thrown away.
  LoggedTimer* add_timer(std::string_view name) {
    if (log_.iterations.empty()) return nullptr;
    std::vector<LoggedTimer>& timers = log_.iterations.back().timers;
    if (const auto known = std::ranges::find(timers, name, &LoggedTimer::name); known != timers.end())
      return &*known;
    if (timers.size() >= kMostTimers) return damaged(), nullptr;
    return &timers.emplace_back(LoggedTimer{.name = std::string(name)});
  }

  void old_timers(std::string_view text) {
    in_block_ = false;
    while (!text.empty()) {
      const std::size_t bar = std::min(text.find('|'), text.size());
      const std::string_view part = trimmed(text.substr(0, bar));
      text.remove_prefix(std::min(bar + 1, text.size()));
      if (part.empty()) continue;
      const std::size_t colon = part.rfind(':');
      const std::string_view name =
          colon == std::string_view::npos ? std::string_view{} : trimmed(part.substr(0, colon));
      const auto time = name.empty() ? std::nullopt : parse_milliseconds(part.substr(colon + 1));
      if (!time || !is_timer_name(name)) {
        damaged();
        continue;
      }
      if (LoggedTimer* timer = add_timer(name)) timer->most = *time;
    }
  }

  // Whether the line belongs to the block.
  bool timer_line(std::string_view text) {
    return block_ == Block::kAll ? line_of_all(without_label(text)) : line_of_extremes(without_label(text));
  }

  // "3: " in front, which is the label of a task.
  static std::string_view without_label(std::string_view text) {
    std::size_t at = text.find_first_not_of(' ');
    if (at == std::string_view::npos || !is_digit(text[at])) return text;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at < text.size() && text[at] == ':' ? text.substr(at + 1) : text;
  }

  bool line_of_extremes(std::string_view text) {
    const std::size_t dots = text.find(" .");
    const std::size_t colon = text.find(": ", dots == std::string_view::npos ? 0 : dots);
    if (colon == std::string_view::npos) return false;
    const std::string_view name = trimmed(text.substr(0, std::min(dots, colon)));
    if (!is_timer_name(name)) return false;
    const std::string_view value = trimmed(text.substr(colon + 2));
    if (block_ == Block::kMax) {
      const auto most = has_two_decimals(value) ? parse_milliseconds(value) : std::nullopt;
      if (!most) return damaged(), true;
      if (LoggedTimer* timer = add_timer(name)) timer->most = *most;
      return true;
    }
    const std::size_t comma = value.find(',');
    if (comma == std::string_view::npos || !value.starts_with('(') || !value.ends_with(')')) return false;
    const auto least = parse_milliseconds(value.substr(1, comma - 1));
    const auto most = parse_milliseconds(value.substr(comma + 1, value.size() - comma - 2));
    if (!least || !most || *least > *most) return damaged(), true;
    if (LoggedTimer* timer = add_timer(name)) {
      timer->least = *least;
      timer->most = *most;
    }
    return true;
  }

  bool line_of_all(std::string_view text) {
    const std::string_view content = trimmed(text);
    if (const auto rest = behind(content, "rank "); rest && content.starts_with("rank ")) {
      rank_line(*rest);
      return true;
    }
    for (const bool start : {true, false})
      if (const auto list = behind(content, start ? " start time lst:" : " end time lst:")) {
        list_line(*list, start);
        return true;
      }
    if (!content.ends_with(':')) return false;
    const std::string_view name = content.substr(0, content.size() - 1);
    if (!is_timer_name(name)) return false;
    timer_ = add_timer(name);
    return true;
  }

  void rank_line(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return damaged();
    const auto rank = parse_integer(text.substr(0, colon));
    const std::string_view value = text.substr(colon + 1);
    const auto time = has_two_decimals(value) ? parse_milliseconds(value) : std::nullopt;
    if (!rank || !time || *rank < 0 || *rank >= kMostRanks) return damaged();
    if (timer_ == nullptr) return;
    std::vector<LoggedRank>& ranks = timer_->ranks;
    if (ranks.empty() || ranks.back().rank < *rank)
      ranks.push_back({.rank = *rank, .time = *time});
    else
      damaged();
  }

  void list_line(std::string_view text, bool start) {
    if (timer_ == nullptr || timer_->ranks.empty()) return;
    LoggedRank& rank = timer_->ranks.back();
    std::vector<Nanoseconds>& list = start ? rank.starts : rank.ends;
    list.clear();
    constexpr std::string_view kSeparators = " ,[]\t\r";
    while (true) {
      const std::size_t begin = text.find_first_not_of(kSeparators);
      if (begin == std::string_view::npos) break;
      const std::size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
      const auto time = parse_seconds(text.substr(begin, end - begin));
      if (!time) {
        damaged();
        rank.starts.clear();
        rank.ends.clear();
        return;
      }
      list.push_back(*time);
      text.remove_prefix(end);
    }
    if (!start && rank.starts.size() != rank.ends.size()) {
      damaged();
      rank.starts.clear();
      rank.ends.clear();
    }
  }

  void setting(std::string_view line) {
    constexpr std::size_t kLongestSetting = 4096;
    if (line.size() > kLongestSetting) return;
    for (const bool labelled : {false, true}) {
      const std::string_view text = trimmed(labelled ? without_label(line) : line);
      const std::size_t end = text.find_first_of(" :");
      if (end == std::string_view::npos) return;
      const std::string_view name = text.substr(0, end);
      std::string_view value = text.substr(end);
      if (value.starts_with(" ."))
        value.remove_prefix(std::min(value.find_first_not_of(" ."), value.size()));
      else if (value.starts_with(":"))
        value.remove_prefix(1);
      else
        continue;
      if (name == "MODEL" && log_.settings.model.empty()) log_.settings.model = std::string(trimmed(value));
      for (const SettingName& known : kSettings)
        if (name == known.argument || name == known.variable)
          if (const auto number = parse_integer(value); number && *number >= 1)
            log_.settings.*known.value = number;
    }
  }

  TrainingLog log_;
  bool in_block_ = false;
  Block block_ = Block::kAll;
  LoggedTimer* timer_ = nullptr;  // of a block of all ranks; valid until the next timer is added
};

TrainingLog parse(ChunkedInput& input) {
  LogParser parser;
  std::int64_t number = 0;
  while (!input.ahead(1).empty()) {
    ++number;
    std::string_view window = input.ahead(1);
    std::size_t end = window.find('\n');
    for (std::size_t wanted = window.size(); end == std::string_view::npos; end = window.find('\n', wanted)) {
      if (window.size() > kLongestLine)
        throw input_error({.file = input.name(), .line = number},
                          format("a line of more than {}", to_string(Bytes{kLongestLine})), "this is no log");
      wanted = window.size();
      window = input.ahead(2 * wanted);
      if (window.size() == wanted) break;
    }
    const bool last = end == std::string_view::npos;
    parser.line(window.substr(0, last ? window.size() : end));
    input.consume(last ? window.size() : end + 1);
  }
  return parser.take();
}

}  // namespace

const LoggedTimer* LoggedIteration::find(std::string_view timer) const {
  const auto found = std::ranges::find(timers, timer, &LoggedTimer::name);
  return found == timers.end() ? nullptr : &*found;
}

TrainingLog read_training_log(const std::filesystem::path& path) {
  ChunkedInput input(path);
  return parse(input);
}

TrainingLog parse_training_log(std::string_view text, const std::string& name) {
  ChunkedInput input(text, name);
  return parse(input);
}

TrainingLog merged(std::vector<TrainingLog> logs) {
  TrainingLog all;
  std::map<std::int64_t, LoggedIteration> iterations;
  for (TrainingLog& log : logs) {
    for (const SettingName& name : kSettings)
      if (log.settings.*name.value && !(all.settings.*name.value))
        all.settings.*name.value = log.settings.*name.value;
    if (all.settings.model.empty()) all.settings.model = log.settings.model;
    all.damaged_lines += log.damaged_lines;
    for (LoggedIteration& iteration : log.iterations) {
      const auto [known, is_new] = iterations.try_emplace(iteration.iteration);
      if (is_new || iteration.timers.size() > known->second.timers.size())
        known->second = std::move(iteration);
    }
  }
  for (auto& [number, iteration] : iterations) all.iterations.push_back(std::move(iteration));
  return all;
}

}  // namespace nadi::inline files
