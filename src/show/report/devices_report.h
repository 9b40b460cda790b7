// The devices of this machine and what this build has for them, and the catalogue: text and JSON of `nadi
// devices`.
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/cpu/cpu_description.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

struct DevicesView {
  cpu::CpuDescription cpu = {};
  cuda::CudaDescription cuda = {};
  std::optional<cuda::WhyNoCuda> why_no_cuda = {};  // nothing means CUDA can be used
  std::vector<cuda::GpuDescription> gpus = {};
};
// Looks at this machine.
DevicesView look_for_devices();

Json devices_json(const DevicesView& view);
void print_devices(const DevicesView& view, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
