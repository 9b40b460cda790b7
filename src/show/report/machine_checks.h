// What this machine has and lacks of what commands need: programs, a GPU, room, limits. For `nadi doctor`.
//
//   for (const MachineCheck& check : check_machine(machine_of_this_process())) ...
//
// Looking changes nothing, and asks no server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cpu/cpu_description.h"
#include "nadi/cuda/cuda_available.h"

namespace nadi::inline show {

enum class CheckState : std::uint8_t {
  kHas,
  kLow,    // it is there, and little of it
  kLacks,  // it is not there
};
std::string_view to_string(CheckState state);  // "has", "low", "lacks"

struct MachineCheck {
  std::string name;  // "Graphviz"
  CheckState state = CheckState::kHas;
  std::string found = {};                       // "dot - graphviz version 2.43.0", "12.3 GB free"
  std::string needed_for = {};                  // "drawings as .svg, .png and .pdf"
  std::vector<std::string_view> commands = {};  // that need it; without it they do less, or nothing
  std::string advice = {};                      // what to install or to do, where something is lacking
};

// What a program says about itself.
struct ProgramAnswer {
  std::string line = {};  // its version, or why it does not work; "" where it says nothing
  bool works = true;
};

// What is asked of a machine.
struct Machine {
  // Nothing where a program is not on PATH.
  std::function<std::optional<ProgramAnswer>(std::string_view program, std::string_view version_flag)>
      program;
  cpu::CpuDescription cpu = {};
  std::optional<cuda::WhyNoCuda> why_no_cuda = {};
  cuda::CudaDescription cuda = {};
  std::vector<cuda::GpuDescription> gpus = {};
  std::optional<Bytes> free_memory = {};
  std::optional<Bytes> free_disk = {};    // for files of this folder
  std::optional<Bytes> free_shared = {};  // in /dev/shm
  // Soft limits; nothing means without a limit.
  std::optional<std::int64_t> open_files = {}, processes = {};
  std::optional<Bytes> file_size = {}, locked_memory = {};
};
Machine machine_of_this_process();

std::vector<MachineCheck> check_machine(const Machine& machine);

}  // namespace nadi::inline show
