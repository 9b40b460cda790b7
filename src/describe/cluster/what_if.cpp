#include "nadi/cluster/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/parse_bytes.h"
#include "nadi/base/parse_duration.h"
#include "nadi/base/parse_rate.h"
#include "nadi/base/read_number.h"

namespace nadi::inline describe {
namespace {

constexpr std::array<std::string_view, 3> kLinkFigures = {"bandwidth", "latency", "efficiency"};
constexpr std::array<std::string_view, 6> kDeviceFigures = {
    "matrix_peak", "vector_peak", "memory_bandwidth", "memory", "launch_overhead", "price"};

struct WhatIf {
  std::string_view text, kind, name, figure, value;
  std::optional<double> factor;
};

Error bad_change(const WhatIf& change, std::string message, std::string hint) {
  return usage_error(format("'{}': {}", change.text, message), std::move(hint));
}

std::optional<double> number_before(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  if (text.ends_with(' ')) text.remove_suffix(1);
  double number = 0;
  if (!read_number(text, number) || !(number > 0) || number > 1e9) return std::nullopt;
  return number;
}

WhatIf parse_what_if(std::string_view text) {
  WhatIf change;
  change.text = text;
  const std::size_t equals = text.find('=');
  const std::string_view path = text.substr(0, equals);
  const std::size_t first = path.find('.');
  const std::size_t last = path.rfind('.');
  if (equals == std::string_view::npos || first == std::string_view::npos || first == last)
    throw bad_change(change, "a change is THING.NAME.FIGURE=VALUE",
                     "for example link.nvlink.bandwidth=2x, or device.a10.memory_bandwidth=1TB/s");
  change.kind = path.substr(0, first);
  change.name = path.substr(first + 1, last - first - 1);
  change.figure = path.substr(last + 1);
  change.value = text.substr(equals + 1);
  change.factor = number_before(change.value, "x");
  return change;
}

template <typename Rate, typename Parse>
Rate changed_rate(const WhatIf& change, Rate rate, const Parse& parse, std::string_view example) {
  if (change.factor) return rate * *change.factor;
  if (const auto value = parse(change.value)) return *value;
  throw bad_change(change, format("'{}' is neither a factor nor a quantity", change.value),
                   format("for example 2x or {}", example));
}

Nanoseconds changed_time(const WhatIf& change, Nanoseconds time) {
  if (change.factor) return from_seconds(to_seconds(time) * *change.factor);
  if (const auto value = parse_duration(change.value)) return *value;
  throw bad_change(change, format("'{}' is neither a factor nor a duration", change.value),
                   "for example 0.5x or 2us");
}

double changed_number(const WhatIf& change, double number, std::string_view unit, double most) {
  const auto value = change.factor ? number * *change.factor : number_before(change.value, unit);
  if (!value || *value > most)
    throw bad_change(change, format("'{}' is no factor and no number up to {}", change.value, most),
                     format("for example 1.1x or 0.9{}", unit));
  return *value;
}

void change_fabric(const WhatIf& change, Fabric& fabric) {
  if (change.figure == "bandwidth") {
    const ByteRate before = fabric.bandwidth;
    fabric.bandwidth = changed_rate(change, before, parse_byte_rate, "200Gbit/s");
    // The cards of a device become as much faster as those of its node.
    if (before > ByteRate{})
      fabric.device_bandwidth =
          fabric.device_bandwidth * (fabric.bandwidth.per_second() / before.per_second());
  } else if (change.figure == "latency") {
    fabric.latency = changed_time(change, fabric.latency);
  } else {
    fabric.efficiency = changed_number(change, fabric.efficiency, "", 1);
  }
  fabric.measured = {};
}

void change_device(const WhatIf& change, DeviceSpec& device) {
  if (change.figure == "matrix_peak") {
    for (FlopRate& peak : device.matrix_peak)
      if (peak > FlopRate{}) peak = changed_rate(change, peak, parse_flop_rate, "300TFLOP/s");
  } else if (change.figure == "vector_peak") {
    device.vector_peak = changed_rate(change, device.vector_peak, parse_flop_rate, "20TFLOP/s");
  } else if (change.figure == "memory_bandwidth") {
    device.memory_bandwidth = changed_rate(change, device.memory_bandwidth, parse_byte_rate, "1TB/s");
  } else if (change.figure == "memory") {
    if (change.factor) {
      device.memory = Bytes{std::llround(static_cast<double>(device.memory.count()) * *change.factor)};
    } else if (const auto size = parse_bytes(change.value); size && size->count() > 0) {
      device.memory = *size;
    } else {
      throw bad_change(change, format("'{}' is neither a factor nor a size", change.value),
                       "for example 2x or 40GiB");
    }
  } else if (change.figure == "launch_overhead") {
    device.launch_overhead = changed_time(change, device.launch_overhead);
  } else {
    device.price_per_hour = changed_number(change, device.price_per_hour.value_or(0), "$/h", 1e9);
  }
  // What was measured is that of the device as it was; its memory and price change no time.
  if (change.figure != "memory" && change.figure != "price") device.measured = {};
}

void check_figure(const WhatIf& change, std::span<const std::string_view> known) {
  if (std::ranges::find(known, change.figure) == known.end())
    throw bad_change(change, format("unknown figure '{}'", change.figure),
                     did_you_mean(change.figure, known));
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

[[noreturn]] void refuse_name(const WhatIf& change, const std::vector<std::string>& names) {
  throw bad_change(change, format("the cluster has no {} '{}'", change.kind, change.name),
                   did_you_mean(change.name, names));
}

void change_links(const WhatIf& change, Cluster& cluster) {
  check_figure(change, kLinkFigures);
  std::vector<std::string> names;
  bool found = false;
  const auto visit = [&](Fabric& fabric, const std::string& place) {
    if (fabric.bandwidth == ByteRate{}) return;  // a node with one device
    add_name(names, fabric.kind);
    add_name(names, place);
    // An NVSwitch is what NVLinks lead to: who asks for faster NVLinks means these, too.
    const bool nvlink = change.name == "nvlink" && fabric.kind == "nvswitch";
    if (change.name != "*" && change.name != fabric.kind && change.name != place && !nvlink) return;
    change_fabric(change, fabric);
    found = true;
  };
  for (NodeSpec& node : cluster.kinds) visit(node.inside, "inside");
  for (NodeSpec& node : cluster.kinds)
    if (node.outside) visit(*node.outside, "outside");
  for (ClusterLevel& level : cluster.levels) visit(level.fabric, level.name);
  if (!found) refuse_name(change, names);
}

void change_devices(const WhatIf& change, Cluster& cluster) {
  check_figure(change, kDeviceFigures);
  std::vector<std::string> names;
  bool found = false;
  for (DeviceSpec& device : cluster.devices) {
    add_name(names, device.name);
    if (change.name != "*" && change.name != device.name) continue;
    change_device(change, device);
    found = true;
  }
  if (!found) refuse_name(change, names);
}

}  // namespace

void apply_what_if(Cluster& cluster, std::string_view text) {
  static constexpr std::array<std::string_view, 2> kThings = {"link", "device"};
  const WhatIf change = parse_what_if(text);
  if (change.kind == "link") return change_links(change, cluster);
  if (change.kind == "device") return change_devices(change, cluster);
  throw bad_change(change, format("unknown thing '{}'", change.kind), did_you_mean(change.kind, kThings));
}

}  // namespace nadi::inline describe
