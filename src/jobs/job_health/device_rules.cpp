// Rules over the samples of GPUs, CPUs and memory.
//
// Samples of our own sampler have times; those of gpustat may have none, and then the newest kFewSamples
// stand for "now". A single sample decides nothing.
#include <algorithm>
#include <map>

#include "nadi/base/format.h"
#include "nadi/job_health/health_rules.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::seconds;

constexpr std::size_t kFewSamples = 6;
constexpr std::size_t kLeastSamples = 3;

// NVML's reasons for lower clocks that are no normal operation. The others: idle, clocks chosen by the user,
// the power limit (which a busy GPU reaches as a matter of course), boost in step with other GPUs, display.
struct ThrottleReason {
  std::uint64_t bit;
  std::string_view text;
};
constexpr ThrottleReason kReasons[] = {{0x08, "hardware slowdown"},
                                       {0x20, "thermal slowdown by software"},
                                       {0x40, "thermal slowdown by hardware"},
                                       {0x80, "power brake"}};

std::string reasons_of(std::uint64_t bits) {
  std::string text;
  for (const auto& [bit, name] : kReasons)
    if ((bits & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

// How many samples "now" takes: those of the last `span`, at least kLeastSamples; without times kFewSamples.
std::vector<const DeviceSample*> newest_samples(const DeviceLog& device, seconds span) {
  std::vector<const DeviceSample*> samples;
  for (std::size_t i = device.recent.size(); i-- > 0;) {
    const DeviceSample& sample = device.recent[i];
    const bool timed = sample.time && device.last.time;
    const bool old = timed ? *device.last.time - *sample.time > span.count() : samples.size() >= kFewSamples;
    if (old && samples.size() >= kLeastSamples) break;
    samples.push_back(&sample);
  }
  return samples;
}

// How long the GPU has been idle at the end of its samples; nothing when it is not, or too few say so.
struct IdleTime {
  std::size_t samples = 0;
  std::optional<seconds> time = {};
};
std::optional<IdleTime> idle_time(const DeviceLog& device, const HealthLimits& limits) {
  IdleTime longest;
  // The merged series reaches further back, the recent samples are finer.
  for (const std::vector<DeviceSample>* series : {&device.recent, &device.samples}) {
    IdleTime idle;
    std::optional<std::int64_t> since;
    for (std::size_t i = series->size(); i-- > 0;) {
      const DeviceSample& sample = (*series)[i];
      if (!sample.utilisation) continue;
      if (*sample.utilisation > limits.idle_percent) break;
      ++idle.samples;
      if (sample.time) since = sample.time;
    }
    if (since && device.last.time) idle.time = seconds(*device.last.time - *since);
    if (idle.samples > longest.samples) longest.samples = idle.samples;
    if (idle.time > longest.time) longest.time = idle.time;
  }
  if (longest.samples < kLeastSamples) return std::nullopt;
  return longest;
}

std::string device_text(const NodeLog& node, const DeviceLog& device) {
  return device.kind == DeviceLog::Kind::kCpu ? node.name : format("GPU {} of {}", device.index, node.name);
}

std::string percent_text(const std::optional<float>& value) {
  return value ? format("{:.0f} %", *value) : "unknown";
}

std::string place_of_samples(const NodeLog& node) {
  return node.gpu.path.filename().string();
}

}  // namespace

void find_idle_gpus(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings) {
  if (!runs_now(seen)) return;
  const JobProgress progress = progress_of(seen);
  if (progress.done) return;
  std::size_t gpus = 0, idle_gpus = 0;
  std::vector<std::string> idle_nodes;
  HealthFinding one{.rule = HealthRule::kIdleGpus, .severity = HealthSeverity::kWarning};
  std::vector<HealthEvidence> evidence;
  std::optional<seconds> shortest;
  bool few = false;  // samples without times
  for (const NodeLog& node : seen.log.nodes) {
    std::size_t of_node = 0, idle_of_node = 0;
    for (const DeviceLog& device : node.devices) {
      if (device.kind != DeviceLog::Kind::kGpu) continue;
      ++of_node;
      const std::optional<IdleTime> idle = idle_time(device, limits);
      const bool long_enough =
          idle && (idle->time ? *idle->time >= limits.idle_time : idle->samples >= kFewSamples);
      if (!long_enough) continue;
      ++idle_of_node;
      if (idle->time) shortest = std::min(shortest.value_or(*idle->time), *idle->time);
      few = few || !idle->time;
      evidence.push_back(
          {.place = place_of_samples(node),
           .text = idle->time ? format("{}: at most {:.0f} % for {} s", device_text(node, device),
                                       limits.idle_percent, idle->time->count())
                              : format("{}: at most {:.0f} % in the last {} samples",
                                       device_text(node, device), limits.idle_percent, idle->samples)});
    }
    gpus += of_node;
    idle_gpus += idle_of_node;
    if (of_node > 0 && idle_of_node > 0) idle_nodes.push_back(node.name);
  }
  if (idle_gpus == 0) return;
  // Loading, compiling and the first checkpoint come before the first iteration.
  const bool starting =
      progress.iteration == 0 && (seen.status ? seen.status->elapsed < limits.startup : false);
  if (starting) return;
  // A checkpoint or an evaluation on the CPU: idle for not much longer than usual between two lines.
  if (progress.last_seen && shortest && progress.iteration_time) {
    const seconds since = seen.now - *progress.last_seen;
    if (since < std::max(limits.idle_time, *shortest)) return;
  }
  if (few && progress.last_seen && seen.now - *progress.last_seen < limits.idle_time) return;
  constexpr std::size_t kShown = 8;
  one.nodes = idle_nodes;
  if (evidence.size() > kShown) evidence.resize(kShown);
  one.evidence = std::move(evidence);
  if (idle_gpus == gpus) {
    one.severity = HealthSeverity::kProblem;
    one.text = format("the job runs, and nothing happens on its {} GPUs", gpus);
  } else {
    one.text = format("{} of {} GPUs are idle, on {}", idle_gpus, gpus, names_of(idle_nodes));
  }
  findings.push_back(std::move(one));
}

std::optional<BusyGpus> busy_gpus(const JobLog& log, seconds span) {
  constexpr float kBusyPercent = 80;
  BusyGpus busy{.least_percent = 100};
  for (const NodeLog& node : log.nodes)
    for (const DeviceLog& device : node.devices) {
      if (device.kind != DeviceLog::Kind::kGpu) continue;
      ++busy.gpus;
      const std::vector<const DeviceSample*> newest = newest_samples(device, span);
      if (newest.size() < kLeastSamples) return std::nullopt;
      for (const DeviceSample* sample : newest) {
        if (sample->utilisation.value_or(0) < kBusyPercent) return std::nullopt;
        busy.least_percent = std::min<double>(busy.least_percent, *sample->utilisation);
      }
      if (busy.evidence.place.empty())
        busy.evidence = {.place = place_of_samples(node),
                         .text = format("{}: {} in each of the last {} samples", device_text(node, device),
                                        percent_text(device.last.utilisation), newest.size())};
    }
  return busy.gpus == 0 ? std::nullopt : std::optional(busy);
}

void find_device_trouble(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings) {
  HealthFinding throttled{.rule = HealthRule::kThrottledGpu, .severity = HealthSeverity::kWarning};
  HealthFinding hot{.rule = HealthRule::kHotGpu, .severity = HealthSeverity::kWarning};
  HealthFinding full{.rule = HealthRule::kMemoryFull, .severity = HealthSeverity::kWarning};
  const auto add = [](HealthFinding& finding, const NodeLog& node, std::string text) {
    if (finding.nodes.empty() || finding.nodes.back() != node.name) finding.nodes.push_back(node.name);
    constexpr std::size_t kShown = 8;
    if (finding.evidence.size() < kShown)
      finding.evidence.push_back({.place = place_of_samples(node), .text = std::move(text)});
  };
  std::size_t throttled_count = 0, hot_count = 0, full_count = 0;
  for (const NodeLog& node : seen.log.nodes)
    for (const DeviceLog& device : node.devices) {
      const std::vector<const DeviceSample*> newest = newest_samples(device, limits.idle_time);
      if (newest.size() < kLeastSamples) continue;
      std::uint64_t always = ~std::uint64_t{0};
      float coolest = 1e9F;
      for (const DeviceSample* sample : newest) {
        always &= sample->throttle;
        coolest = std::min(coolest, sample->temperature.value_or(0));
      }
      if (const std::string reasons = reasons_of(always); !reasons.empty()) {
        ++throttled_count;
        add(throttled, node,
            format("{}: {} ({} at {})", device_text(node, device), reasons,
                   percent_text(device.last.utilisation),
                   device.last.clock ? format("{:.0f} MHz", *device.last.clock) : "an unknown clock"));
      }
      if (coolest >= limits.hot_degrees) {
        ++hot_count;
        add(hot, node,
            format("{}: {:.0f} degrees or more in the last {} samples", device_text(node, device), coolest,
                   newest.size()));
      }
      if (device.memory_total && device.memory_total->count() > 0) {
        const auto share = [&](const DeviceSample* sample) {
          return sample->memory_used ? static_cast<double>(sample->memory_used->count()) /
                                           static_cast<double>(device.memory_total->count())
                                     : 0;
        };
        if (std::ranges::all_of(
                newest, [&](const DeviceSample* sample) { return share(sample) >= limits.memory_share; })) {
          ++full_count;
          add(full, node,
              format(
                  "{}: {} of {}",
                  device.kind == DeviceLog::Kind::kCpu ? "memory of " + node.name : device_text(node, device),
                  to_string(device.last.memory_used.value_or(Bytes{})), to_string(*device.memory_total)));
        }
      }
    }
  if (throttled_count > 0) {
    throttled.text = format("{} lower clocks for heat or power: {}",
                            throttled_count == 1 ? "one GPU has" : format("{} GPUs have", throttled_count),
                            names_of(throttled.nodes));
    findings.push_back(std::move(throttled));
  }
  if (hot_count > 0) {
    hot.text = format("{} hot: {}", hot_count == 1 ? "one GPU is" : format("{} GPUs are", hot_count),
                      names_of(hot.nodes));
    findings.push_back(std::move(hot));
  }
  if (full_count > 0) {
    full.text = format("memory is nearly full: {}", names_of(full.nodes));
    findings.push_back(std::move(full));
  }
}

}  // namespace nadi::inline jobs
