#include "nadi/job_log/out_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "nadi/job_log/log_text.h"

namespace nadi::inline jobs {
namespace {

constexpr std::size_t kLongestSetting = 4096;
constexpr std::int64_t kMostLoggedRanks = std::int64_t{1} << 16;
constexpr std::size_t kMostStarts = 1000;

// Words before a colon that are levels of messages, not names of settings.
constexpr std::array<std::string_view, 10> kLevels{"WARNING", "WARN",     "INFO", "DEBUG", "ERROR",
                                                   "FATAL",   "CRITICAL", "NOTE", "TODO",  "NOTICE"};

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

void mix(std::optional<double>& into, std::int64_t lines, const std::optional<double>& next,
         std::int64_t next_lines) {
  if (!next) return;
  if (!into) {
    into = next;
    return;
  }
  *into = (*into * static_cast<double>(lines) + *next * static_cast<double>(next_lines)) /
          static_cast<double>(lines + next_lines);
}

void merge_points(IterationPoint& into, IterationPoint&& next) {
  mix(into.tflops_per_rank, into.lines, next.tflops_per_rank, next.lines);
  mix(into.tokens_per_second, into.lines, next.tokens_per_second, next.lines);
  if (next.learning_rate) into.learning_rate = next.learning_rate;
  mix(into.grad_norm, into.lines, next.grad_norm, next.lines);
  if (next.loss_scale) into.loss_scale = next.loss_scale;
  if (next.timed_lines > 0) {
    into.least = into.timed_lines > 0 ? std::min(into.least, next.least) : next.least;
    into.most = std::max(into.most, next.most);
    into.total += next.total;
    into.timed_lines += next.timed_lines;
  }
  into.last = next.last;
  into.iterations = next.iterations;
  into.lines += next.lines;
  into.start = next.start;
  if (next.loss) into.loss = next.loss;
  into.bad_losses += next.bad_losses;
  if (next.global_batch > 0) into.global_batch = next.global_batch;
  into.skipped += next.skipped;
  into.nan += next.nan;
  if (next.date) into.date = next.date;
  into.left = next.left;
  into.line = next.line;
  into.offset = next.offset;
}

// "0:07 left", "12:05 left", "3:12:05 left" at the end of a line.
std::optional<Nanoseconds> left_of(std::string_view text) {
  text = trimmed_text(text);
  text.remove_suffix(std::min<std::size_t>(text.size(), 5));
  text = text.substr(text.find_last_of(' ') + 1);  // no space: npos + 1 is 0
  std::int64_t seconds = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    const auto part = number_in<std::int64_t>(text.substr(0, colon));
    constexpr std::int64_t kMost = 100'000'000;
    if (!part || *part < 0 || *part > kMost || seconds > kMost) return std::nullopt;
    seconds = seconds * 60 + *part;
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  return Nanoseconds{seconds * 1'000'000'000};
}

}  // namespace

void OutReader::restart(NodeLog& node) {
  *this = OutReader();
  node.settings.clear();
  node.settings_left_out = 0;
  node.starts.clear();
  node.points.clear();
  node.newest.reset();
  node.done = false;
  node.memory.clear();
  node.validations.clear();
}

void OutReader::unfinished_line(NodeLog& node, std::string_view text, std::int64_t offset) {
  const std::string_view bare = without_label(text);
  const std::string_view rest = trimmed_text(bare);
  constexpr std::size_t kLongestDate = 48;
  if (rest.starts_with("iteration ") || rest.starts_with("step ") ||
      (rest.starts_with('[') && rest.substr(0, kLongestDate).find("] iteration ") != std::string_view::npos))
    line(node, text, offset);
}

void OutReader::line(NodeLog& node, std::string_view text, std::int64_t offset) {
  if (node.starts.empty()) node.starts.push_back({.line = 1});
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  if (at == text.size()) return;
  char letter = text[at];
  if (is_digit(letter) || letter == '[') {
    const std::string_view bare = without_label(text);
    if (bare.size() != text.size()) {
      offset += static_cast<std::int64_t>(text.size() - bare.size());
      text = bare;
      at = std::min(text.find_first_not_of(' '), text.size());
      if (at == text.size()) return;
      letter = text[at];
    }
  }
  const std::string_view rest = text.substr(at);
  switch (letter) {
    case 'i':
      if (rest.starts_with("iteration ") && !iteration(node, text, offset)) ++node.out.damaged_lines;
      return;
    case '[': {
      if (rest.starts_with("[Rank ")) {
        if (const auto memory = parse_memory_line(rest)) {
          const auto place = std::ranges::lower_bound(node.memory, memory->rank, {}, &LoggedMemory::rank);
          if (place != node.memory.end() && place->rank == memory->rank)
            *place = *memory;
          else if (memory->rank < kMostLoggedRanks)
            node.memory.insert(place, *memory);
        } else if (rest.find("memory (MB)") != std::string_view::npos) {
          ++node.out.damaged_lines;
        }
        return;
      }
      constexpr std::size_t kLongestDate = 48;
      if (rest.substr(0, kLongestDate).find("] iteration ") != std::string_view::npos &&
          !iteration(node, text, offset))
        ++node.out.damaged_lines;
      return;
    }
    case 'v':
      if (!rest.starts_with("validation loss at iteration ")) break;
      if (const auto validation = parse_validation_line(rest)) {
        if (node.validations.size() >= kMostPoints) node.validations.erase(node.validations.begin());
        node.validations.push_back({.iteration = validation->iteration, .loss = validation->loss});
      } else {
        ++node.out.damaged_lines;
      }
      return;
    case 's':
      if (rest.starts_with("step ")) {
        own_step(node, rest, offset);
        return;
      }
      break;
    case 'd':
      if (rest.starts_with("done after ") && rest.find(" steps") != std::string_view::npos) {
        node.done = true;
        return;
      }
      break;
    default:
      break;
  }
  if (is_upper(letter)) return variable(node, rest);
  if (is_lower(letter)) return argument(node, rest);
}

// "NODE_RANK: 1".
void OutReader::variable(NodeLog& node, std::string_view text) {
  constexpr std::size_t kLongestVariable = 64;
  std::size_t end = 1;
  while (end < text.size() && end <= kLongestVariable &&
         (is_upper(text[end]) || is_digit(text[end]) || text[end] == '_'))
    ++end;
  if (end < 2 || end > kLongestVariable || end >= text.size() || text[end] != ':') return;
  if (end + 1 < text.size() && text[end + 1] != ' ' && text[end + 1] != '\r') return;
  const std::string_view name = text.substr(0, end);
  if (std::ranges::find(kLevels, name) != kLevels.end()) return;
  const std::string_view value = trimmed_text(text.substr(end + 1));
  if (name == "SLURM_RESTART_COUNT" || name == "RESTART_COUNT") {
    start(node, number_in<std::int64_t>(value).value_or(0));
  } else if (name == "NODE_RANK" && !counts_restarts_ && iterated_) {
    start(node, std::nullopt);
  }
  setting(node, name, value);
}

// "  micro_batch_size ............ 4", as Megatron lists its arguments.
void OutReader::argument(NodeLog& node, std::string_view text) {
  constexpr std::size_t kLongestArgument = 96;
  std::size_t end = 1;
  while (end < text.size() && end <= kLongestArgument &&
         (is_lower(text[end]) || is_digit(text[end]) || text[end] == '_'))
    ++end;
  if (end > kLongestArgument || end + 2 >= text.size() || text[end] != ' ' || text[end + 1] != '.') return;
  const std::size_t dots = text.find_first_not_of('.', end + 1);
  if (dots == std::string_view::npos || text[dots] != ' ') return;  // ':' ends the dots of a timer
  setting(node, text.substr(0, end), trimmed_text(text.substr(dots)));
}

void OutReader::setting(NodeLog& node, std::string_view name, std::string_view value) {
  const auto known = setting_index_.find(std::string(name));
  if (known != setting_index_.end()) {
    PrintedSetting& printed = node.settings[known->second];
    printed.value = std::string(value.substr(0, kLongestSetting));
    printed.line = node.out.lines;
    return;
  }
  if (node.settings.size() >= kMostSettings) {
    ++node.settings_left_out;
    return;
  }
  setting_index_.emplace(std::string(name), node.settings.size());
  node.settings.push_back({.name = std::string(name),
                           .value = std::string(value.substr(0, kLongestSetting)),
                           .line = node.out.lines});
}

// Several tasks on a node may each print the count: the same count again is the same start.
void OutReader::start(NodeLog& node, std::optional<std::int64_t> restarts) {
  if (restarts && !counts_restarts_ && !iterated_) {
    counts_restarts_ = true;
    node.starts.back() = {.line = node.out.lines, .restarts = restarts};
    return;
  }
  if (restarts && counts_restarts_ && node.starts.back().restarts == restarts) return;
  if (restarts) counts_restarts_ = true;
  iterated_ = false;
  last_iteration_ = -1;
  node.done = false;
  if (node.starts.size() >= kMostStarts)
    node.starts.back() = {};
  else
    node.starts.emplace_back();
  node.starts.back() = {.line = node.out.lines, .restarts = restarts};
}

void OutReader::add(NodeLog& node, IterationPoint point) {
  if (point.last < last_iteration_) start(node, std::nullopt);
  last_iteration_ = point.last;
  iterated_ = true;
  point.start = static_cast<int>(node.starts.size()) - 1;
  point.line = node.out.lines;
  node.newest = point;
  limit_.add(node.points, std::move(point), merge_points);
}

// A line that was cut has its fields up to the cut: each ends with a bar, so that none is half a number. It
// counts as damaged all the same, and is nothing without its time. Two writers may also leave the rest of one
// line behind the beginning of another.
bool OutReader::iteration(NodeLog& node, std::string_view text, std::int64_t offset) {
  constexpr std::string_view kTime = "elapsed time per iteration", kHead = " iteration ",
                             kLast = "number of nan iterations:";
  bool whole = true;
  if (const std::size_t time = text.find(kTime); time != std::string_view::npos) {
    const std::size_t again = text.find(kTime, time + kTime.size());
    const std::size_t head =
        again == std::string_view::npos ? again : text.rfind(kHead, again - kTime.size());
    if (head != std::string_view::npos && head > time) {
      whole = iteration(node, text.substr(0, head), offset);
      return iteration(node, text.substr(head), offset + static_cast<std::int64_t>(head)) && whole;
    }
  }
  const auto has = [&](std::string_view field) {
    const std::size_t at = text.find(field);
    return at != std::string_view::npos && text.find('|', at) != std::string_view::npos;
  };
  whole = has(kLast);
  const auto line = parse_iteration_line(text);
  if (!line) return false;
  const Nanoseconds time{std::llround(line->seconds_per_iteration * 1e9)};
  IterationPoint point{.first = line->iteration,
                       .last = line->iteration,
                       .iterations = line->iterations,
                       .timed_lines = 1,
                       .total = time,
                       .least = time,
                       .most = time,
                       .loss = line->loss,
                       .tflops_per_rank = line->tflops_per_rank,
                       .global_batch = line->global_batch,
                       .skipped = line->skipped,
                       .nan = line->nan,
                       .offset = offset};
  if (has("learning rate:")) point.learning_rate = line->learning_rate;
  if (has("grad norm:")) point.grad_norm = line->grad_norm;
  if (has("loss scale:")) point.loss_scale = line->loss_scale;
  if (line->loss && !std::isfinite(*line->loss)) point.bad_losses = 1;
  if (line->date) point.date = parse_log_date(*line->date);
  add(node, std::move(point));
  return whole;
}

// nadi train's own lines: "step 10/100, epoch 1: loss 3.1234, lr 1.000e-04, grad norm 1.234, 0.5123 s/step,
// 1234 tokens/s, 0:12 left" (older ones without the time) and "step 10: validation loss 3.1234".
bool OutReader::own_step(NodeLog& node, std::string_view text, std::int64_t offset) {
  constexpr std::string_view kStep = "step ", kLoss = ": loss ", kValidation = ": validation loss ";
  text.remove_prefix(kStep.size());
  const auto up_to = [](std::string_view part, std::string_view ends) {
    return part.substr(0, part.find_first_of(ends));
  };
  if (const std::size_t at = text.find(kValidation); at != std::string_view::npos) {
    const auto step = number_in<std::int64_t>(text.substr(0, at));
    const auto loss = number_in<double>(up_to(text.substr(at + kValidation.size()), ", "));
    if (!step || !loss) return false;
    if (node.validations.size() >= kMostPoints) node.validations.erase(node.validations.begin());
    node.validations.push_back({.iteration = *step, .loss = *loss});
    return true;
  }
  const std::size_t slash = text.find('/'), comma = text.find(", epoch ");
  if (slash == std::string_view::npos || comma == std::string_view::npos || slash > comma) return false;
  const auto step = number_in<std::int64_t>(text.substr(0, slash));
  const auto steps = number_in<std::int64_t>(text.substr(slash + 1, comma - slash - 1));
  if (!step || !steps) return false;
  // A line that was cut may end within a number: its last field does not count.
  const bool whole = trimmed_text(text).ends_with(" left");
  if (!whole) {
    ++node.out.damaged_lines;
    text = text.substr(0, text.rfind(", ") + 1);
  }
  const std::size_t loss_at = text.find(kLoss);
  if (loss_at == std::string_view::npos) return false;
  const auto loss = number_in<double>(up_to(text.substr(loss_at + kLoss.size()), ", "));
  if (!loss) {
    if (whole) ++node.out.damaged_lines;
    return false;
  }
  IterationPoint point{.first = *step, .last = *step, .iterations = *steps, .loss = loss, .offset = offset};
  if (!std::isfinite(*loss)) point.bad_losses = 1;
  const auto after = [&](std::string_view marker) -> std::optional<double> {
    const std::size_t at = text.find(marker);
    if (at == std::string_view::npos) return std::nullopt;
    return number_in<double>(up_to(text.substr(at + marker.size()), ", "));
  };
  if (const std::size_t unit = text.find(" s/step"); unit != std::string_view::npos) {
    const std::size_t begin = text.rfind(' ', unit - 1);
    const auto seconds = begin == std::string_view::npos
                             ? std::nullopt
                             : number_in<double>(text.substr(begin + 1, unit - begin - 1));
    constexpr double kMostSeconds = 1e9;
    if (seconds && *seconds >= 0 && *seconds <= kMostSeconds) {
      point.timed_lines = 1;
      point.total = point.least = point.most = Nanoseconds{std::llround(*seconds * 1e9)};
    }
  }
  point.learning_rate = after(", lr ");
  if (whole) point.left = left_of(text);
  point.grad_norm = after("grad norm ");
  point.loss_scale = after("loss scale ");
  if (const std::size_t tokens = text.find(" tokens/s"); tokens != std::string_view::npos) {
    const std::size_t begin = text.rfind(' ', tokens - 1);
    if (begin != std::string_view::npos)
      point.tokens_per_second = number_in<double>(text.substr(begin + 1, tokens - begin - 1));
  }
  if (const std::size_t unit = text.find(" TFLOP/s per GPU"); unit != std::string_view::npos) {
    const std::size_t begin = text.rfind(' ', unit - 1);
    if (begin != std::string_view::npos)
      point.tflops_per_rank = number_in<double>(text.substr(begin + 1, unit - begin - 1));
  }
  add(node, std::move(point));
  return true;
}

}  // namespace nadi::inline jobs
