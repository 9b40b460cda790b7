// What a script for sbatch asks for: its #SBATCH lines, and the variables of its body that name GPUs and the
// first node.
//
//   const SbatchScript script = read_sbatch_script("_02_homo_job.sh");
//   for (const SbatchOption& option : script.options) ...      // {"partition", "gpu2", 3}
//   script.master_address                                      // MASTER_ADDR='192.168.120.60'
//
// The script is read, never executed. "-N 4", "-N4", "--nodes=4" and "--nodes 4" are {"nodes", "4"}. As for
// sbatch, #SBATCH lines end at the first command; a line of dots is none (a listing that leaves lines out).
// Error (input) for a short option that is not known and for the parts of a heterogeneous job in one script.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nadi::inline jobs {

struct SbatchOption {
  std::string name;  // "partition"
  std::string value;
  std::int64_t line = 0;
};

struct SbatchScript {
  std::filesystem::path path = {};
  std::vector<SbatchOption> options = {};
  // Values that stand in the body; nothing where a command gives them, or where they are not set.
  std::optional<SbatchOption> master_address = {};  // MASTER_ADDR=...
  std::optional<SbatchOption> gres = {};            // GRES=..., which its srun is given

  const SbatchOption* find(std::string_view name) const;  // the last of its name; nullptr means not there
};

SbatchScript read_sbatch_script(const std::filesystem::path& path);

// GPUs of "gpu:4", "gpu:a10:4", "4" or "a10:4". Nothing for anything else.
struct SbatchGpus {
  std::string type = {};
  std::int64_t count = 0;
  bool operator==(const SbatchGpus&) const = default;
};
std::optional<SbatchGpus> parse_sbatch_gpus(std::string_view text);

}  // namespace nadi::inline jobs
