// The keys of a job file: what the reader takes, the writer writes and the schema lists.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nadi::inline jobs {

inline constexpr std::int64_t kJobFileVersion = 1;

inline constexpr std::array<std::string_view, 37> kJobFileKeys = {
    "$schema",       "nadi_job",    "name",           "scheduler",     "run",
    "plan",          "nodes",       "ranks_per_node", "gpus_per_node", "gpu_type",
    "cpus_per_rank", "memory",      "partition",      "constraint",    "exclude",
    "nodelist",      "groups",      "processes",      "mixing",        "mpi",
    "account",       "qos",         "reservation",    "dependency",    "time",
    "exclusive",     "options",     "container",      "environment",   "profile",
    "requeue",       "sweep",       "sample_every",   "outputs",       "master_address",
    "master_port",   "comm_timeout"};
inline constexpr std::array<std::string_view, 6> kJobRunKeys = {"train",   "megatron", "command",
                                                                "program", "folder",   "setup"};
inline constexpr std::array<std::string_view, 11> kJobGroupKeys = {
    "kind",   "nodes",     "ranks_per_node", "gpus_per_node", "gpu_type", "cpus_per_rank",
    "memory", "partition", "constraint",     "exclude",       "nodelist"};
inline constexpr std::array<std::string_view, 4> kJobContainerKeys = {"kind", "image", "mounts", "folder"};
inline constexpr std::array<std::string_view, 3> kJobEnvironmentKeys = {"inherit", "pass", "set"};
inline constexpr std::array<std::string_view, 3> kJobProfileKeys = {"nsys", "ncu", "trace"};
inline constexpr std::array<std::string_view, 2> kJobProfilerKeys = {"steps", "ranks"};
inline constexpr std::array<std::string_view, 5> kJobRequeueKeys = {"before_end", "signal", "max_restarts",
                                                                    "on_failure", "exclude_failed_nodes"};
inline constexpr std::array<std::string_view, 2> kJobSweepKeys = {"values", "at_once"};
inline constexpr std::array<std::string_view, 5> kJobSignals = {"TERM", "INT", "USR1", "USR2", "HUP"};

}  // namespace nadi::inline jobs
