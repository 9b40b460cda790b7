// The SQLite export of Nsight Systems (nsys export --type sqlite), as the events that Kineto would have
// written.
//
//   const std::string json = nsys_as_kineto("run.sqlite");       // read_kineto() does so for such files
//
// Kernels, copies and memsets are device events with device, stream and correlation; calls of the CUDA
// runtime and driver are theirs, without the version behind their names (cudaLaunchKernel_v7000); NVTX ranges
// are annotations on their threads, those of NCCL (ncclAllReduce) too, and ops those of PyTorch's emit_nvtx()
// ("aten::mm, seq = 12, op_id = 7"). Times are exact: both count nanoseconds.
//
// Threads and launches of several processes are told apart: correlations of all but the first have the process
// above bit 32. Error
// (input) for a database that is not of Nsight Systems; Error (environment) in a build without SQLite, and
// where names and events take more than `memory` (base/memory_limit.h): a small file can name a long text for
// each of many events, or compute its texts.
#pragma once

#include <filesystem>
#include <string>

#include "nadi/base/memory_limit.h"

namespace nadi::inline traces {

std::string nsys_as_kineto(const std::filesystem::path& path, const MemoryLimit& memory = {});

}  // namespace nadi::inline traces
