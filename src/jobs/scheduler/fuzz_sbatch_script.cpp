// Fuzz target of scripts for sbatch, and of the answers of squeue, sacct and scontrol (scripts/fuzz.sh).
//
// Any bytes must give either a script or an Error (input) that names the file; answers give rows, and count
// those that are none.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/job_files/sbatch_script.h"
#include "nadi/scheduler/slurm_rows.h"

namespace nadi::inline jobs {
namespace {

void read_script(std::string_view bytes) {
  static const TemporaryFolder folder("fuzz");
  static const std::filesystem::path path = folder / "job.sh";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  try {
    const SbatchScript script = read_sbatch_script(path);
    for (const SbatchOption& option : script.options) {
      check(script.find(option.name) != nullptr, "an option is not found by its name");
      if (const auto gpus = parse_sbatch_gpus(option.value)) check(gpus->count >= 0, "fewer GPUs than none");
    }
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == path, "an error does not name its file");
  }
}

void read_answers(std::string_view bytes) {
  for (const SlurmRows& rows : {parse_squeue(bytes, "|"), parse_sacct(bytes, "|")}) {
    check(rows.unread > 0 || rows.first_unread.empty(), "a row that is none was not counted");
    check(with_components(rows.jobs).size() <= rows.jobs.size(), "a row became two jobs");
  }
  parse_scontrol_job(bytes, "name");
  for (const SchedulerNode& node : parse_scontrol_nodes(bytes)) is_bad_node_state(node.state);
  failed_nodes_said(bytes);
}

}  // namespace
}  // namespace nadi::inline jobs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  nadi::read_script(bytes);
  nadi::read_answers(bytes);
  return 0;
}
