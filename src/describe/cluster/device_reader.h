// Devices of cluster files. For our own sources: cluster_file.h is what others use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/cluster/device.h"

namespace nadi::inline describe {

// What "base" names; nullptr for nothing.
using DeviceLookup = std::function<const DeviceSpec*(std::string_view)>;

// `object` has the devices by name. A device with "base" starts as that one and says what differs; one
// without must have all that a simulation needs.
std::vector<DeviceSpec> read_devices(const JsonValue& object, const DeviceLookup& lookup,
                                     const std::vector<std::string>& known);

// {"figure": "source"}.
std::vector<FigureSource> read_sources(const JsonValue& object);

Json device_json(const DeviceSpec& device);
Json sources_json(const std::vector<FigureSource>& sources);

}  // namespace nadi::inline describe
