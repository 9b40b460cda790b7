// Whether the memory of a device grows all the time, as that of a leak does.
//
// The first quarter of the samples is the start. The rest is cut into four parts, and their medians must rise from part to
// part, by a tenth of the whole rise at least, and by kLeastRise of the device's memory together: what an allocator keeps
// after its largest step rises once and stays.
#include <algorithm>
#include <array>
#include <cmath>

#include "nadi/base/format.h"
#include "nadi/job_health/health_rules.h"
#include "nadi/job_health/spoken_duration.h"

namespace nadi::inline jobs {
namespace {

constexpr std::size_t kParts = 4, kLeastOfPart = 3;
constexpr double kLeastRise = 0.05, kLeastStep = 0.1;

struct Growth {
  double from = 0, to = 0;                        // bytes, medians of the first and the last part
  std::optional<std::chrono::seconds> left = {};  // until all of the memory is taken, at this rate
};

std::optional<Growth> growth_of(const DeviceLog& device) {
  if (!device.memory_total || device.memory_total->count() <= 0) return std::nullopt;
  std::vector<const DeviceSample*> samples;
  for (const DeviceSample& sample : device.samples)
    if (sample.memory_used) samples.push_back(&sample);
  samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 4));
  if (samples.size() < kParts * kLeastOfPart) return std::nullopt;
  std::array<double, kParts> medians{};
  for (std::size_t part = 0; part < kParts; ++part) {
    std::vector<std::int64_t> used;
    for (std::size_t i = samples.size() * part / kParts; i < samples.size() * (part + 1) / kParts; ++i)
      used.push_back(samples[i]->memory_used->count());
    const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
    std::ranges::nth_element(used, middle);
    medians[part] = static_cast<double>(*middle);
  }
  const double rise = medians.back() - medians.front(),
               total = static_cast<double>(device.memory_total->count());
  if (rise < kLeastRise * total) return std::nullopt;
  for (std::size_t part = 1; part < kParts; ++part)
    if (medians[part] - medians[part - 1] < kLeastStep * rise) return std::nullopt;
  Growth growth{.from = medians.front(), .to = medians.back()};
  if (samples.front()->time && samples.back()->time && *samples.back()->time > *samples.front()->time) {
    // Three quarters of the time lie between the middles of the first and the last part.
    const double seconds = 0.75 * static_cast<double>(*samples.back()->time - *samples.front()->time);
    const double left = (total - static_cast<double>(samples.back()->memory_used->count())) / rise * seconds;
    if (left >= 0 && left < 1e9) growth.left = std::chrono::seconds(std::llround(left));
  }
  return growth;
}

}  // namespace

void find_memory_growth(const JobObservation& seen, const HealthLimits&, HealthFindings& findings) {
  constexpr std::size_t kShown = 8;
  HealthFinding finding{.rule = HealthRule::kMemoryGrows, .severity = HealthSeverity::kWarning};
  std::size_t devices = 0;
  std::optional<std::chrono::seconds> left;
  for (const NodeLog& node : seen.log.nodes)
    for (const DeviceLog& device : node.devices) {
      const std::optional<Growth> growth = growth_of(device);
      if (!growth) continue;
      ++devices;
      if (growth->left) left = std::min(left.value_or(*growth->left), *growth->left);
      if (finding.nodes.empty() || finding.nodes.back() != node.name) finding.nodes.push_back(node.name);
      if (finding.evidence.size() >= kShown) continue;
      const std::string name = device.kind == DeviceLog::Kind::kCpu
                                   ? "memory of " + node.name
                                   : format("GPU {} of {}", device.index, node.name);
      finding.evidence.push_back(
          {.place = node.gpu.path.filename().string(),
           .text = format("{}: from {} to {} of {}", name, to_string(Bytes{std::llround(growth->from)}),
                          to_string(Bytes{std::llround(growth->to)}), to_string(*device.memory_total))});
    }
  if (devices == 0) return;
  finding.text = format("memory grows all the time on {}", names_of(finding.nodes));
  if (left) finding.text += format(": it is full in about {}", spoken_duration(*left));
  findings.push_back(std::move(finding));
}

}  // namespace nadi::inline jobs
