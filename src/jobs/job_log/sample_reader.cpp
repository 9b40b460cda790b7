#include "nadi/job_log/sample_reader.h"

#include <algorithm>
#include <array>

#include "nadi/job_log/log_text.h"

namespace nadi::inline jobs {
namespace {

constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;
constexpr std::size_t kLongestDeviceName = 80;

std::optional<Bytes> bytes_of_megabytes(std::string_view text) {
  const auto count = number_in<double>(text);
  constexpr double kMost = 1e9;  // a petabyte
  if (!count || !(*count >= 0) || *count > kMost) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(*count * static_cast<double>(kMegabyte))};
}

std::optional<float> figure(std::string_view text, float most) {
  const auto value = number_in<float>(text);
  if (!value || !(*value >= 0) || *value > most) return std::nullopt;
  return value;
}

constexpr float kMostPercent = 100, kMostDegrees = 200, kMostWatts = 1e5F, kMostMegahertz = 1e5F;

void mix(std::optional<float>& into, std::int64_t samples, const std::optional<float>& next,
         std::int64_t next_samples) {
  if (!next) return;
  if (!into) {
    into = next;
    return;
  }
  *into = static_cast<float>((static_cast<double>(*into) * static_cast<double>(samples) +
                              static_cast<double>(*next) * static_cast<double>(next_samples)) /
                             static_cast<double>(samples + next_samples));
}

void merge_samples(DeviceSample& into, DeviceSample&& next) {
  mix(into.utilisation, into.samples, next.utilisation, next.samples);
  mix(into.power, into.samples, next.power, next.samples);
  mix(into.clock, into.samples, next.clock, next.samples);
  if (next.temperature)
    into.temperature = std::max(into.temperature.value_or(*next.temperature), *next.temperature);
  if (next.memory_used)
    into.memory_used = std::max(into.memory_used.value_or(*next.memory_used), *next.memory_used);
  into.throttle |= next.throttle;
  into.process_seen |= next.process_seen;
  into.sequence = next.sequence;
  into.time = next.time;
  into.samples += next.samples;
}

// As text.find(), for the few bytes between two marks: a call of memchr costs more.
std::size_t find_near(std::string_view text, char mark, std::size_t from) {
  while (from < text.size() && text[from] != mark) ++from;
  return from < text.size() ? from : std::string_view::npos;
}

// The fields between commas; nothing when there are fewer than wanted.
template <std::size_t kMost>
std::size_t split_fields(std::string_view text, std::array<std::string_view, kMost>& fields) {
  std::size_t count = 0;
  while (count < kMost) {
    const std::size_t comma = count + 1 < kMost ? text.find(',') : std::string_view::npos;
    fields[count++] = trimmed_text(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return count;
}

// "gpu 1700000000 " or "cpu 1700000000 " in front of the fields.
std::optional<std::int64_t> take_time(std::string_view& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto time = number_in<std::int64_t>(text.substr(0, space));
  if (!time || *time <= 0) return std::nullopt;
  text.remove_prefix(space + 1);
  return time;
}

void keep_recent(DeviceLog& device) {
  if (device.recent.size() > kRecentSamples)
    device.recent.erase(device.recent.begin(),
                        device.recent.end() - static_cast<std::ptrdiff_t>(kRecentSamples));
}

}  // namespace

void SampleReader::settle(NodeLog& node) {
  for (DeviceLog& device : node.devices) keep_recent(device);
}

void SampleReader::restart(NodeLog& node) {
  *this = SampleReader();
  node.devices.clear();
}

bool SampleReader::parse_gpustat(std::string_view text, Parsed& parsed) {
  const std::size_t close = find_near(text, ']', 0);
  if (close == std::string_view::npos) return false;
  const auto index = number_in<std::int64_t>(text.substr(1, close - 1));
  if (!index || *index < 0) return false;
  std::array<std::size_t, 3> bars{};
  std::size_t before = close;
  for (std::size_t& bar : bars) {
    bar = find_near(text, '|', before + 1);
    if (bar == std::string_view::npos) return false;
    before = bar;
  }
  const auto [first, second, third] = bars;
  parsed.index = *index;
  parsed.name = trimmed_text(text.substr(close + 1, first - close - 1));
  const std::string_view state = text.substr(first + 1, second - first - 1);
  const std::size_t comma = find_near(state, ',', 0);
  if (comma == std::string_view::npos) return false;
  std::string_view degrees = trimmed_text(state.substr(0, comma));
  if (degrees.ends_with('C')) {
    degrees.remove_suffix(1);
    for (const std::string_view sign : {std::string_view("'"), std::string_view("°")})
      if (degrees.ends_with(sign)) {
        degrees.remove_suffix(sign.size());
        break;
      }
  }
  parsed.sample.temperature = figure(degrees, kMostDegrees);
  std::string_view percent = state.substr(comma + 1);
  percent = percent.substr(0, find_near(percent, '%', 0));
  parsed.sample.utilisation = figure(percent, kMostPercent);
  const std::string_view memory = text.substr(second + 1, third - second - 1);
  const std::size_t slash = find_near(memory, '/', 0);
  if (slash == std::string_view::npos) return false;
  parsed.sample.memory_used = bytes_of_megabytes(memory.substr(0, slash));
  std::string_view total = trimmed_text(memory.substr(slash + 1));
  if (total.ends_with("MB")) total.remove_suffix(2);
  parsed.memory_total = bytes_of_megabytes(total);
  parsed.sample.process_seen = find_near(text, '(', third) != std::string_view::npos;
  return true;
}

// index, name, temperature, utilisation, memory used, memory total[, reasons of lower clocks[, clock[,
// power]]].
bool SampleReader::parse_csv(std::string_view text, Parsed& parsed) {
  constexpr std::size_t kFields = 9, kLeast = 6;
  std::array<std::string_view, kFields> fields;
  const std::size_t count = split_fields(text, fields);
  const auto index = number_in<std::int64_t>(fields[0]);
  if (count < kLeast || !index || *index < 0 || fields[1].empty()) return false;
  parsed.index = *index;
  parsed.name = fields[1];
  parsed.sample.temperature = figure(fields[2], kMostDegrees);
  parsed.sample.utilisation = figure(fields[3], kMostPercent);
  parsed.sample.memory_used = bytes_of_megabytes(fields[4]);
  parsed.memory_total = bytes_of_megabytes(fields[5]);
  if (count > 6 && fields[6].starts_with("0x")) {
    const std::string_view digits = fields[6].substr(2);
    std::from_chars(digits.data(), digits.data() + digits.size(), parsed.sample.throttle, 16);
  }
  if (count > 7) parsed.sample.clock = figure(fields[7], kMostMegahertz);
  if (count > 8) parsed.sample.power = figure(fields[8], kMostWatts);
  return true;
}

// cores, utilisation, memory used, memory total, load.
bool SampleReader::parse_cpu(std::string_view text, Parsed& parsed) {
  std::array<std::string_view, 5> fields;
  const std::size_t count = split_fields(text, fields);
  const auto cores = number_in<std::int64_t>(fields[0]);
  if (count < fields.size() || !cores || *cores < 1) return false;
  parsed.kind = DeviceLog::Kind::kCpu;
  parsed.name = fields[0];
  parsed.sample.utilisation = figure(fields[1], kMostPercent);
  parsed.sample.memory_used = bytes_of_megabytes(fields[2]);
  parsed.memory_total = bytes_of_megabytes(fields[3]);
  return true;
}

void SampleReader::line(NodeLog& node, std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\r')) text.remove_prefix(1);
  if (text.empty()) return;
  Parsed parsed;
  bool good = false;
  if (text.front() == '[' && text.size() > 1 && is_digit(text[1])) {
    good = parse_gpustat(text, parsed);
    parsed.sample.time = header_time_;
  } else if (is_digit(text.front())) {
    good = parse_csv(text, parsed);
  } else if (text.starts_with("gpu ") || text.starts_with("cpu ")) {
    const bool cpu = text.front() == 'c';
    text.remove_prefix(4);
    parsed.sample.time = take_time(text);
    good = parsed.sample.time && (cpu ? parse_cpu(text, parsed) : parse_csv(text, parsed));
  } else {
    if (const auto time = find_spoken_date(text)) header_time_ = time;
    return;
  }
  if (!good) {
    ++node.gpu.damaged_lines;
    return;
  }
  add(node, parsed);
}

void SampleReader::add(NodeLog& node, const Parsed& parsed) {
  const bool timed = parsed.sample.time.has_value() && parsed.sample.time != header_time_;
  // A new sample begins with a new time, or where the numbers of the devices start again.
  if (last_index_ >= 0 && (timed ? parsed.sample.time != last_time_ : parsed.index <= last_index_))
    ++sequence_;
  last_time_ = parsed.sample.time;
  last_index_ = parsed.index;
  const auto place = std::ranges::find_if(node.devices, [&](const DeviceLog& device) {
    return device.index == parsed.index && device.kind == parsed.kind;
  });
  std::size_t at = static_cast<std::size_t>(place - node.devices.begin());
  if (place == node.devices.end()) {
    if (node.devices.size() >= kMostDevices) {
      ++node.gpu.damaged_lines;
      return;
    }
    DeviceLog device{.kind = parsed.kind, .index = parsed.index};
    device.name = parsed.kind == DeviceLog::Kind::kCpu
                      ? std::string(parsed.name) + (parsed.name == "1" ? " core" : " cores")
                      : std::string(parsed.name.substr(0, kLongestDeviceName));
    const auto order = [](const DeviceLog& one) { return std::pair(one.kind, one.index); };
    const auto insert_at = std::ranges::upper_bound(node.devices, order(device), {}, order);
    at = static_cast<std::size_t>(insert_at - node.devices.begin());
    node.devices.insert(insert_at, std::move(device));
    limits_.insert(limits_.begin() + static_cast<std::ptrdiff_t>(at), SeriesLimit{.most = kMostSamples});
  }
  DeviceLog& device = node.devices[at];
  if (parsed.memory_total) device.memory_total = parsed.memory_total;
  device.last = parsed.sample;
  device.last.sequence = sequence_;
  // Room for many, so that the few that stay are moved seldom; settle() leaves kRecentSamples.
  constexpr std::size_t kRoom = 8 * kRecentSamples;
  if (device.recent.size() >= kRoom) keep_recent(device);
  device.recent.push_back(device.last);
  limits_[at].add(device.samples, device.last, merge_samples);
}

}  // namespace nadi::inline jobs
