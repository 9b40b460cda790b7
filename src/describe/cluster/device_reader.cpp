#include "nadi/cluster/device_reader.h"

#include <algorithm>
#include <array>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/cluster/cluster_keys.h"
#include "nadi/cluster/cluster_values.h"
#include "nadi/cluster/measured_json.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kMostUnits = 1'000'000;

constexpr std::array kPeakTypes = {DType::kF32,    DType::kBF16, DType::kF16, DType::kF8E4M3,
                                   DType::kF8E5M2, DType::kI32,  DType::kI64};

std::vector<std::string_view> peak_type_names() {
  std::vector<std::string_view> names;
  for (const DType dtype : kPeakTypes) names.push_back(to_string(dtype));
  return names;
}

void read_matrix_peak(const JsonValue& object, DeviceSpec& device) {
  const std::vector<std::string_view> names = peak_type_names();
  object.refuse_keys_except(names);
  for (std::size_t i = 0; i < kPeakTypes.size(); ++i)
    if (const auto value = object.find(names[i]))
      device.matrix_peak[static_cast<std::size_t>(kPeakTypes[i])] = flop_rate_of(*value);
}

void read_curve(const JsonValue& object, DeviceCurve& curve) {
  std::vector<std::string_view> names;
  for (const CurveConstant& constant : curve_constants()) names.push_back(constant.name);
  object.refuse_keys_except(names);
  for (const CurveConstant& constant : curve_constants())
    if (const auto value = object.find(constant.name))
      curve.*constant.value = number_of(*value, constant.least, constant.most);
}

DeviceType type_of(const JsonValue& value) {
  static constexpr std::array<std::string_view, 2> kTypes = {"gpu", "cpu"};
  if (value.as_string() == kTypes[0]) return DeviceType::kGpu;
  if (value.as_string() == kTypes[1]) return DeviceType::kCpu;
  throw error_at(value, format("unknown type of device '{}'", value.as_string()),
                 did_you_mean(value.as_string(), kTypes));
}

void forget_source(DeviceSpec& device, std::string_view figure) {
  std::erase_if(device.sources, [&](const FigureSource& source) { return source.figure == figure; });
}

// A figure that is said here is no longer the base's, and so is not from the base's source.
template <typename Read>
void override_with(const JsonValue& object, std::string_view key, DeviceSpec& device, const Read& read) {
  const auto value = object.find(key);
  if (!value) return;
  read(*value);
  forget_source(device, key);
}

void read_figures(const JsonValue& object, DeviceSpec& device) {
  const auto with = [&](std::string_view key, const auto& read) { override_with(object, key, device, read); };
  with("product", [&](const JsonValue& value) { device.product = value.as_string(); });
  with("type", [&](const JsonValue& value) { device.type = type_of(value); });
  with("matrix_peak", [&](const JsonValue& value) { read_matrix_peak(value, device); });
  with("vector_peak", [&](const JsonValue& value) { device.vector_peak = flop_rate_of(value); });
  with("memory_bandwidth", [&](const JsonValue& value) { device.memory_bandwidth = byte_rate_of(value); });
  with("memory", [&](const JsonValue& value) { device.memory = size_of_value(value); });
  with("units", [&](const JsonValue& value) { device.units = count_of(value, 1, kMostUnits); });
  with("launch_overhead", [&](const JsonValue& value) { device.launch_overhead = duration_of(value); });
  with("price", [&](const JsonValue& value) { device.price_per_hour = price_of(value); });
  with("power", [&](const JsonValue& value) { device.power_watts = power_of(value); });
  with("curve", [&](const JsonValue& value) { read_curve(value, device.curve); });
  with("measured", [&](const JsonValue& value) { device.measured = read_measured_ops(value); });
  if (const auto sources = object.find("sources"))
    for (FigureSource& source : read_sources(*sources)) {
      forget_source(device, source.figure);
      device.sources.push_back(std::move(source));
    }
}

DeviceSpec read_device(const JsonValue& object, std::string_view name, const DeviceLookup& lookup,
                       const std::vector<std::string>& known) {
  object.refuse_keys_except(kDeviceKeys);
  DeviceSpec device;
  if (const auto base = object.find("base")) {
    const DeviceSpec* found = lookup(base->as_string());
    if (found == nullptr)
      throw error_at(*base, format("unknown device '{}'", base->as_string()),
                     did_you_mean(base->as_string(), known));
    device = *found;
  } else {
    for (const std::string_view key : {"matrix_peak", "vector_peak", "memory_bandwidth", "memory"})
      if (!object.has(key))
        throw error_at_key(object, format("device '{}' has no key '{}'", name, key),
                           "say it, or name a similar device of the catalogue as \"base\"");
    device.product = name;
  }
  device.name = name;
  read_figures(object, device);
  return device;
}

}  // namespace

std::vector<FigureSource> read_sources(const JsonValue& object) {
  std::vector<FigureSource> sources;
  for (const auto& [figure, source] : object.items())
    sources.push_back({.figure = std::string(figure), .source = source.as_string()});
  return sources;
}

std::vector<DeviceSpec> read_devices(const JsonValue& object, const DeviceLookup& lookup,
                                     const std::vector<std::string>& known) {
  std::vector<DeviceSpec> devices;
  for (const auto& [name, value] : object.items()) {
    if (name.empty()) throw error_at_key(value, "a device has an empty name");
    // A device may be based on one before it in the same file, which comes before the catalogue's.
    const auto find = [&](std::string_view base) -> const DeviceSpec* {
      const auto own = std::ranges::find(devices, base, &DeviceSpec::name);
      return own != devices.end() ? &*own : lookup(base);
    };
    devices.push_back(read_device(value, name, find, known));
  }
  return devices;
}

}  // namespace nadi::inline describe
