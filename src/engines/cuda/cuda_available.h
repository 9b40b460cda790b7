// What there is of CUDA, asked without using it: `nadi devices` prints it. Works in every build.
//
//   if (const auto why = why_no_cuda()) throw environment_error(why->reason, why->hint);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline engines::cuda {

struct WhyNoCuda {
  std::string reason;  // "this build has no CUDA", "no NVIDIA driver", ...
  std::string hint;
};
// Nothing where programs can run on a GPU.
std::optional<WhyNoCuda> why_no_cuda();

struct GpuDescription {
  int number = 0;  // among those that the process sees
  std::string name = {};
  int compute_capability = 0;  // major * 10 + minor
  int multiprocessors = 0;
  Bytes memory = {};
  Bytes free = {};
  std::string uuid = {};
  std::string pci_bus = {};
};
std::vector<GpuDescription> gpus();  // none where CUDA cannot be used
// The one that this rank takes (device_choice.h). Error (environment) where CUDA cannot be used.
GpuDescription gpu_of_this_rank();

// A library that kernels or communication use.
struct LibraryDescription {
  std::string name;          // "cuBLASLt"
  std::string used_for;      // "matrix products"
  std::string version = {};  // empty where it was not found
  std::string path = {};     // of the file
  std::string why_not = {};  // where it was not found, in the words of the system
};

struct CudaDescription {
  bool built = false;        // with CUDA
  std::string toolkit = {};  // version that it was built with
  std::string runtime = {};
  std::string driver = {};  // the newest CUDA that the driver serves; empty means there is no driver
  std::vector<int> architectures = {};  // machine code is there for
  std::vector<LibraryDescription> libraries = {};
};
CudaDescription describe_cuda();

}  // namespace nadi::inline engines::cuda
