// How busy the devices of a node are, by its newest samples.
#pragma once

#include <optional>
#include <string>

#include "nadi/job_log/job_log.h"

namespace nadi::inline show {

// Use of the GPUs of a node, or of its CPUs where it has none.
struct NodeUse {
  std::size_t gpus = 0;
  std::optional<double> percent = {};          // mean
  std::optional<double> degrees = {};          // hottest
  std::optional<Bytes> used = {}, total = {};  // of the device with the largest share of memory in use
};
NodeUse use_of(const NodeLog& node);

std::string memory_text(const NodeUse& use);  // "20.1 of 22.2 GiB"; "-"
std::string device_use_text(
    const JobLog& log);  // "GPUs 97 %, memory 20.1 of 22.2 GiB", "CPUs 45 %"; "" without samples

}  // namespace nadi::inline show
