#include "nadi/base/processor_use.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace nadi::inline ground {
namespace {

constexpr Nanoseconds kTick{10'000'000};  // USER_HZ is 100 on every machine that we run on
// Lines of processors come first, some 80 bytes each.
constexpr std::size_t kReadBytes = 32768;

bool may_run_on(int processor) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return true;
  return processor >= CPU_SETSIZE || CPU_ISSET(static_cast<std::size_t>(processor), &set);
}

Nanoseconds nanoseconds_of(const timeval& time) {
  return Nanoseconds{std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000};
}

Nanoseconds now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return Nanoseconds{duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count()};
}

// Numbers of a line, separated by blanks; those that are missing are 0.
std::array<std::int64_t, 8> numbers_of(std::string_view line) {
  std::array<std::int64_t, 8> numbers{};
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::int64_t& number : numbers) {
    while (at != end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) break;
    at = next;
  }
  return numbers;
}

}  // namespace

ProcessorUse& ProcessorUse::operator+=(const ProcessorUse& other) {
  elapsed += other.elapsed;
  stolen += other.stolen;
  busy += other.busy;
  own += other.own;
  return *this;
}

ProcessorUse& ProcessorUse::operator-=(const ProcessorUse& other) {
  elapsed -= other.elapsed;
  stolen -= other.stolen;
  busy -= other.busy;
  own -= other.own;
  return *this;
}

std::optional<ProcessorLines> read_processor_lines(std::string_view text, bool (*counts)(int processor)) {
  constexpr std::string_view kStart = "cpu";
  ProcessorLines lines;
  while (text.starts_with(kStart)) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // the rest was not read
    const std::string_view line = text.substr(kStart.size(), end - kStart.size());
    text.remove_prefix(end + 1);
    if (line.starts_with(' ')) continue;  // the sum over all
    int processor = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), processor);
    if (error != std::errc{} || !counts(processor)) continue;
    // user, nice, system, idle, iowait, irq, softirq, steal; time of guests is part of user and nice.
    const auto n = numbers_of(line.substr(static_cast<std::size_t>(rest - line.data())));
    ++lines.processors;
    lines.busy += (n[0] + n[1] + n[2] + n[5] + n[6]) * kTick;
    lines.stolen += n[7] * kTick;
  }
  if (lines.processors == 0) return {};
  return lines;
}

std::optional<ProcessorUse> processor_use_so_far() {
  std::array<char, kReadBytes> text;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const int file = ::open("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file, text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  ::close(file);
  const std::optional<ProcessorLines> lines = read_processor_lines({text.data(), size}, may_run_on);
  rusage usage{};
  if (!lines || getrusage(RUSAGE_SELF, &usage) != 0) return {};
  return ProcessorUse{.elapsed = now() * lines->processors,
                      .stolen = lines->stolen,
                      .busy = lines->busy,
                      .own = nanoseconds_of(usage.ru_utime) + nanoseconds_of(usage.ru_stime)};
}

bool can_be_judged(const ProcessorUse& during) {
  return during.elapsed >= kShortestJudged;
}

double disturbed_share(const ProcessorUse& during) {
  if (during.elapsed <= Nanoseconds{}) return 0;
  const Nanoseconds others = std::max(Nanoseconds{}, during.busy - during.own);
  return static_cast<double>((during.stolen + others).count()) / static_cast<double>(during.elapsed.count());
}

}  // namespace nadi::inline ground
