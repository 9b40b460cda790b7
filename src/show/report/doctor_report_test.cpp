#include "nadi/report/doctor_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace nadi::inline show {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Everything is there.
Machine whole_machine() {
  return {.program = [](std::string_view program,
                        std::string_view) { return ProgramAnswer{.line = std::string(program) + " 1.2"}; },
          .cpu = {.cores = 4, .instruction_set = "x86-64-v3", .matrix_library = "oneDNN 2.6.3"},
          .gpus = {{.name = "H200"}, {.name = "H200"}},
          .free_memory = 8_GiB,
          .free_disk = 8_GiB,
          .free_shared = 1_GiB,
          .open_files = 4096};
}

const MachineCheck& check_of(const std::vector<MachineCheck>& checks, std::string_view name) {
  const auto found = std::ranges::find(checks, name, &MachineCheck::name);
  EXPECT_NE(found, checks.end()) << name;
  return *found;
}

std::string text_of(const Machine& machine, std::size_t width = 100) {
  std::ostringstream out;
  print_doctor(check_machine(machine), out, {.width = width, .table_width = width});
  return out.str();
}

TEST(Doctor, SaysThatNothingIsLacking) {
  const std::string text = text_of(whole_machine());
  EXPECT_THAT(text, HasSubstr("nothing is lacking\n"));
  EXPECT_THAT(text, HasSubstr("2 x H200"));
  EXPECT_THAT(text, HasSubstr("dot 1.2"));
  EXPECT_THAT(text, Not(HasSubstr("lacks")));
  // One screen.
  EXPECT_LE(std::ranges::count(text, '\n'), 24);
}

TEST(Doctor, SaysWhatToInstallAndForWhichCommands) {
  Machine machine = whole_machine();
  machine.program = [](std::string_view program, std::string_view) -> std::optional<ProgramAnswer> {
    if (program == "dot" || program == "mpirun") return std::nullopt;
    if (program == "sbatch") return ProgramAnswer{.line = "sbatch: fatal: no configuration", .works = false};
    return ProgramAnswer{};
  };
  machine.why_no_cuda = cuda::WhyNoCuda{"no NVIDIA driver", "install one"};
  const std::vector<MachineCheck> checks = check_machine(machine);
  EXPECT_EQ(check_of(checks, "Graphviz").state, CheckState::kLacks);
  EXPECT_EQ(check_of(checks, "Graphviz").found, "no dot on PATH");
  EXPECT_EQ(check_of(checks, "nvidia-smi").found, "nvidia-smi");
  EXPECT_EQ(check_of(checks, "Slurm").state, CheckState::kLacks);
  EXPECT_EQ(check_of(checks, "Slurm").found, "sbatch: fatal: no configuration");
  EXPECT_EQ(check_of(checks, "GPU").found, "no NVIDIA driver");
  const std::string text = text_of(machine);
  EXPECT_THAT(text, HasSubstr("\nGraphviz        apt install graphviz (for draw, generate)\n"));
  EXPECT_THAT(text, HasSubstr("\nGPU             install one (for train, generate, calibrate)\n"));
  constexpr std::string_view kCommands[]{"models", "draw", "launch"};
  const Json json = doctor_json(checks, kCommands);
  EXPECT_EQ(json["commands"][0]["lacks"], Json::array());
  EXPECT_EQ(json["commands"][1]["lacks"], Json::array({"Graphviz"}));
  EXPECT_EQ(json["commands"][2]["lacks"], Json::array({"MPI"}));
}

TEST(Doctor, LooksAtRoomAndLimits) {
  Machine machine = whole_machine();
  machine.free_memory = 1_GiB;
  machine.free_disk = 1_GiB;
  machine.free_shared = 64_MiB;
  machine.open_files = 256;
  machine.processes = 100;
  machine.file_size = 1_GiB;
  machine.locked_memory = 8_MiB;
  const std::vector<MachineCheck> checks = check_machine(machine);
  std::vector<std::string> low;
  for (const MachineCheck& check : checks)
    if (check.state == CheckState::kLow) low.push_back(check.name);
  EXPECT_THAT(low, ElementsAre("memory", "disk", "shared memory", "limits"));
  EXPECT_EQ(check_of(checks, "limits").found,
            "open files 256, processes 100, size of files 1.00 GiB, locked memory 8.00 MiB");
  EXPECT_EQ(check_of(checks, "limits").advice,
            "ulimit -n 4096; ulimit -u 4096; ulimit -f unlimited; ulimit -l unlimited");
  // Nobody copies to a GPU that is not there.
  machine.why_no_cuda = cuda::WhyNoCuda{"no driver", ""};
  EXPECT_EQ(check_of(check_machine(machine), "limits").advice,
            "ulimit -n 4096; ulimit -u 4096; ulimit -f unlimited");
}

TEST(Doctor, FitsNarrowTerminals) {
  Machine machine = whole_machine();
  machine.program = [](std::string_view, std::string_view) { return std::optional<ProgramAnswer>(); };
  for (const std::size_t width : {40, 60, 80, 140}) {
    std::istringstream lines(text_of(machine, width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
}

}  // namespace
}  // namespace nadi::inline show
