// What the environment says about who started this process, and with how many others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace nadi {

// The value of a variable, or nothing.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;
EnvironmentLookup process_environment();

// How many ranks mpirun or srun started together, this one included; 0 when neither started it.
std::int64_t ranks_started(const EnvironmentLookup& environment);

// How many of them are on this host; 0 when the launcher does not say.
std::int64_t ranks_on_host(const EnvironmentLookup& environment);

}  // namespace nadi
