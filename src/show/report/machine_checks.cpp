#include "nadi/report/machine_checks.h"

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/process/find_program.h"
#include "nadi/process/free_memory.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// A program that commands start or that their results are for.
struct NeededProgram {
  std::string_view name;
  std::vector<std::string_view> programs;  // any of them
  std::string_view version_flag;           // "": its version is not asked for
  std::string_view needed_for;
  std::vector<std::string_view> commands;
  std::string_view advice;
};

const std::vector<NeededProgram>& needed_programs() {
  static const std::vector<NeededProgram> kPrograms{
      {"compiler",
       {"g++", "c++", "clang++"},
       "--version",
       "building Nadi and programs with its library",
       {},
       "apt install g++ cmake ninja-build"},
      {"MPI",
       {"mpirun"},
       "--version",
       "several ranks",
       {"launch", "train", "generate", "calibrate", "job submit"},
       "apt install openmpi-bin"},
      {"ssh", {"ssh"}, "", "ranks on several hosts", {"launch"}, "apt install openssh-client"},
      {"Slurm",
       {"sbatch"},
       "--version",
       "jobs on a cluster; jobs on this machine need none",
       {"job init", "job submit", "job list", "job status", "job cancel", "job resume"},
       "apt install slurm-client, and the cluster's slurm.conf"},
      {"nvidia-smi",
       {"nvidia-smi"},
       "",
       "use and memory of GPUs while something runs",
       {"tune", "job submit"},
       "it comes with NVIDIA's driver"},
      {"Nsight",
       {"nsys", "ncu"},
       "",
       "profiles of jobs and kernels: --nsys, --ncu",
       {"job submit"},
       "install nsight-systems and nsight-compute from NVIDIA's repository"},
      {"Graphviz",
       {"dot"},
       "-V",
       "drawings as .svg, .png and .pdf; .html needs none",
       {"draw", "generate"},
       "apt install graphviz"},
      {"browser",
       {"chromium", "chromium-browser", "google-chrome", "firefox"},
       "",
       "looking at pages (.html), here or on another machine",
       {"timeline", "analyze", "draw", "compare", "simulate", "plan", "job report", "tune report"},
       "apt install chromium"},
      {"npm", {"npm"}, "", "vocabularies of GPT-2 and BERT", {"data get"}, "apt install npm"},
      {"curl", {"curl", "wget"}, "", "data from an address: --from URL", {"data get"}, "apt install curl"},
  };
  return kPrograms;
}

MachineCheck check_program(const Machine& machine, const NeededProgram& needed) {
  MachineCheck check{.name = std::string(needed.name),
                     .state = CheckState::kLacks,
                     .found = format("no {} on PATH", needed.programs[0]),
                     .needed_for = std::string(needed.needed_for),
                     .commands = needed.commands,
                     .advice = std::string(needed.advice)};
  for (const std::string_view program : needed.programs) {
    const auto answer = machine.program(program, needed.version_flag);
    if (!answer) continue;
    check.found = answer->line.empty() ? std::string(program) : answer->line;
    if (!answer->works) continue;
    check.state = CheckState::kHas;
    check.advice.clear();
    break;
  }
  return check;
}

MachineCheck check_processor(const Machine& machine) {
  const auto& why_not = machine.cpu.why_not;
  return {.name = "processor",
          .state = why_not ? CheckState::kLacks : CheckState::kHas,
          .found = why_not ? *why_not
                           : format("{} cores, {}, {}", machine.cpu.cores, machine.cpu.instruction_set,
                                    machine.cpu.matrix_library),
          .needed_for = "computing on the CPU",
          .commands = {"train", "generate", "calibrate"},
          .advice = why_not ? "build with -DNADI_CPU_MARCH=native on this machine" : ""};
}

std::vector<MachineCheck> check_gpu(const Machine& machine) {
  const std::vector<std::string_view> commands{"train", "generate", "calibrate"};
  MachineCheck gpu{
      .name = "GPU", .needed_for = "computing on NVIDIA GPUs: --device cuda", .commands = commands};
  if (const auto& why = machine.why_no_cuda) {
    gpu.state = CheckState::kLacks;
    gpu.found = why->reason;
    gpu.advice = why->hint;
  } else {
    gpu.found =
        machine.gpus.empty() ? "usable" : format("{} x {}", machine.gpus.size(), machine.gpus[0].name);
  }
  std::vector<MachineCheck> checks{std::move(gpu)};
  if (machine.cuda.libraries.empty()) return checks;
  MachineCheck libraries{.name = "GPU libraries",
                         .needed_for = "matrix products, attention and communication on GPUs",
                         .commands = commands};
  for (const cuda::LibraryDescription& library : machine.cuda.libraries) {
    const bool there = !library.version.empty();
    libraries.found += format("{}{} {}", libraries.found.empty() ? "" : ", ", library.name,
                              there ? library.version : "is missing");
    if (there) continue;
    libraries.state = CheckState::kLacks;
    libraries.advice +=
        format("{}{}", libraries.advice.empty() ? "install from NVIDIA's repository: " : ", ", library.name);
  }
  checks.push_back(std::move(libraries));
  return checks;
}

// An amount of something, with the amount below which commands soon run out of it.
struct Amount {
  std::string_view name;
  std::optional<Bytes> free;
  Bytes low;
  std::string_view of;  // "free", "free in /dev/shm"
  std::string_view needed_for;
  std::vector<std::string_view> commands;
  std::string_view advice;
};

MachineCheck check_amount(const Amount& amount) {
  const bool low = amount.free && *amount.free < amount.low;
  return {
      .name = std::string(amount.name),
      .state = low ? CheckState::kLow : CheckState::kHas,
      .found = amount.free ? format("{} {}", to_string(*amount.free), amount.of) : "the system does not say",
      .needed_for = std::string(amount.needed_for),
      .commands = amount.commands,
      .advice = low ? std::string(amount.advice) : ""};
}

// What `ulimit` shows, as one check.
MachineCheck check_limits(const Machine& machine) {
  MachineCheck check{.name = "limits",
                     .needed_for = "many ranks, their threads and files",
                     .commands = {"launch", "train", "job watch", "data preprocess"}};
  const auto add = [&](std::string_view name, const std::optional<std::string>& limit, bool low,
                       std::string_view command) {
    check.found += format("{}{} {}", check.found.empty() ? "" : ", ", name, limit.value_or("unlimited"));
    if (!low) return;
    check.state = CheckState::kLow;
    check.advice += format("{}{}", check.advice.empty() ? "" : "; ", command);
  };
  const auto count = [](const std::optional<std::int64_t>& limit) {
    return limit ? std::optional(with_thousands(*limit)) : std::nullopt;
  };
  const auto size = [](const std::optional<Bytes>& limit) {
    return limit ? std::optional(to_string(*limit)) : std::nullopt;
  };
  constexpr std::int64_t kFewFiles = 1024, kFewProcesses = 1024;
  add("open files", count(machine.open_files), machine.open_files.value_or(kFewFiles) < kFewFiles,
      "ulimit -n 4096");
  add("processes", count(machine.processes), machine.processes.value_or(kFewProcesses) < kFewProcesses,
      "ulimit -u 4096");
  add("size of files", size(machine.file_size), machine.file_size.has_value(), "ulimit -f unlimited");
  // Memory is locked for copies to GPUs and for InfiniBand.
  const bool pins = !machine.why_no_cuda && machine.locked_memory.value_or(64_MiB) < 64_MiB;
  add("locked memory", size(machine.locked_memory), pins, "ulimit -l unlimited");
  return check;
}

std::optional<std::int64_t> soft_limit(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

std::optional<Bytes> bytes_limit(__rlimit_resource resource) {
  const auto limit = soft_limit(resource);
  return limit ? std::optional(Bytes{*limit}) : std::nullopt;
}

std::optional<Bytes> free_in(const fs::path& folder) {
  std::error_code problem;
  const fs::space_info space = fs::space(folder, problem);
  if (problem) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(space.available)};
}

// The flag is one of ours and the program one on PATH, so that nothing has to be quoted but the path.
std::optional<ProgramAnswer> ask_program(std::string_view program, std::string_view version_flag) {
  const auto path = find_program(std::string(program));
  if (!path) return std::nullopt;
  if (version_flag.empty() || path->string().find('\'') != std::string::npos) return ProgramAnswer{};
  const std::string command = format("'{}' {} 2>&1 </dev/null", path->string(), version_flag);
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ProgramAnswer{};
  ProgramAnswer answer;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    std::string text(line.data());
    text.erase(text.find_last_not_of(" \r\n") + 1);
    // Slurm's programs have several lines of complaints where there is no cluster; the last one says it best.
    if (answer.line.empty() || answer.line.find("error") != std::string::npos) answer.line = text;
  }
  answer.works = pclose(pipe) == 0;
  const bool only_number = !answer.line.empty() && answer.line[0] >= '0' && answer.line[0] <= '9';
  if (only_number) answer.line = format("{} {}", program, answer.line);
  return answer;
}

}  // namespace

std::string_view to_string(CheckState state) {
  switch (state) {
    case CheckState::kHas:
      return "has";
    case CheckState::kLow:
      return "low";
    case CheckState::kLacks:
      return "lacks";
  }
  unreachable();
}

Machine machine_of_this_process() {
  const auto memory = read_free_memory();
  return {.program = ask_program,
          .cpu = cpu::describe_cpu(),
          .why_no_cuda = cuda::why_no_cuda(),
          .cuda = cuda::describe_cuda(),
          .gpus = cuda::gpus(),
          .free_memory = memory ? std::optional(memory->least()) : std::nullopt,
          .free_disk = free_in("."),
          .free_shared = free_in("/dev/shm"),
          .open_files = soft_limit(RLIMIT_NOFILE),
          .processes = soft_limit(RLIMIT_NPROC),
          .file_size = bytes_limit(RLIMIT_FSIZE),
          .locked_memory = bytes_limit(RLIMIT_MEMLOCK)};
}

std::vector<MachineCheck> check_machine(const Machine& machine) {
  std::vector<MachineCheck> checks{check_processor(machine)};
  for (MachineCheck& check : check_gpu(machine)) checks.push_back(std::move(check));
  for (const NeededProgram& needed : needed_programs()) checks.push_back(check_program(machine, needed));
  // GPT-2 (124M) in fp32 with Adam takes about 2 GB, and its checkpoint 1.5 GB.
  checks.push_back(check_amount({"memory",
                                 machine.free_memory,
                                 2_GiB,
                                 "free",
                                 "models and their training",
                                 {"train", "generate", "calibrate", "plan"},
                                 "use a smaller model (gpt2-tiny), or end other programs"}));
  checks.push_back(check_amount({"disk",
                                 machine.free_disk,
                                 2_GiB,
                                 "free in this folder",
                                 "checkpoints, datasets and traces",
                                 {"train", "trace", "data preprocess", "checkpoint convert", "job submit"},
                                 "make room, or write to another disk"}));
  // Docker gives 64 MiB unless it is told otherwise.
  checks.push_back(check_amount({"shared memory",
                                 machine.free_shared,
                                 256_MiB,
                                 "free in /dev/shm",
                                 "messages between ranks",
                                 {"launch"},
                                 "in a container: docker run --shm-size=1g"}));
  checks.push_back(check_limits(machine));
  return checks;
}

}  // namespace nadi::inline show
