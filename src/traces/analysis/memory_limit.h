// The rate beyond which no kernel of a trace can have moved memory: that of the device that the trace names
// (`device_name` of its metadata, as profilers write it: "NVIDIA H100 80GB HBM3"), or of the fastest device
// of the catalogue (nadi devices) where it names none, or one that the catalogue does not have.
#pragma once

#include <string_view>

#include "nadi/base/rates.h"

namespace nadi::inline traces {

class Trace;

ByteRate memory_limit(const Trace& trace);
ByteRate memory_limit(std::string_view device_name);

}  // namespace nadi::inline traces
