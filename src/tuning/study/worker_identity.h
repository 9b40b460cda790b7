// Which process runs a trial, written into the study so that other workers of the same machine see at once
// that it is gone. For sources of this room.
//
//   attributes[std::string(kWorkerAttribute)] = worker_text(trial_number);
//   if (const auto dead = dead_worker(text, trial_number)) ...      // "worker 4711 on node7 is gone"
//
// The number of a process alone says little: numbers are used again, containers count on their own, and a
// study lies on a disk of several machines. So the text has the machine's name, the id of its boot, the
// namespace of process numbers, and when the process started. Of a worker elsewhere nothing is known but its
// heartbeats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline tuning {

// System attribute of a trial.
inline constexpr std::string_view kWorkerAttribute = "nadi:worker";

// System attribute of a trial in a journal, which has no table of heartbeats: [number of the trial, seconds
// since 1970].
inline constexpr std::string_view kHeartbeatAttribute = "nadi:heartbeat";

// JSON. With the trial's number, since Optuna copies attributes to the trial that it retries one with.
std::string worker_text(std::int64_t trial_number);

// The reason, if the worker was a process that could be seen from here and does not exist any more;
// std::nullopt if it lives, is elsewhere, or if the text is of another trial or of no worker.
std::optional<std::string> dead_worker(std::string_view text, std::int64_t trial_number);

// "worker 4711 on node7", or "its worker" where the text does not say.
std::string describe_worker(std::string_view text);

}  // namespace nadi::inline tuning
