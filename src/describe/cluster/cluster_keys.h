// The keys of cluster files, object by object: the reader refuses any other, and a test compares them with
// the schema.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace nadi::inline describe {

inline constexpr std::array<std::string_view, 9> kClusterKeys = {
    "$schema", "name", "summary", "devices", "nodes", "levels", "attention", "astra_sim", "sources"};
inline constexpr std::array<std::string_view, 8> kAstraKeys = {
    "all_reduce", "all_gather",    "reduce_scatter", "all_to_all", "local_bandwidth_aware",
    "splits",     "active_chunks", "endpoint_delay"};
inline constexpr std::array<std::string_view, 14> kDeviceKeys = {
    "base",  "product",         "type",  "matrix_peak", "vector_peak", "memory_bandwidth", "memory",
    "units", "launch_overhead", "price", "power",       "curve",       "measured",         "sources"};
inline constexpr std::array<std::string_view, 4> kProtocolKeys = {"name", "overhead", "step", "share"};
inline constexpr std::array<std::string_view, 9> kNodeKeys = {
    "name", "count", "device", "devices", "inside", "outside", "price", "alternatives", "alone_speedup"};
inline constexpr std::array<std::string_view, 12> kFabricKeys = {
    "kind",          "transport",     "topology",         "bandwidth",
    "latency",       "efficiency",    "device_bandwidth", "local_bandwidth",
    "compute_share", "busy_slowdown", "protocols",        "measured"};
inline constexpr std::array<std::string_view, 3> kLevelKeys = {"name", "members", "fabric"};

}  // namespace nadi::inline describe
