#include "nadi/cli/outputs_flag.h"

#include "nadi/command_line/flags.h"
#include "nadi/job_files/job_file.h"

namespace nadi::inline show {

void add_outputs_flag(Flags& flags) {
  flags.value("--outputs", "FOLDER", "where the folders of jobs are: \"outputs\" of the job file",
              std::string(kDefaultJobOutputs));
}

std::filesystem::path outputs_flag(const Flags& flags) {
  return flags.text("--outputs").value_or(std::string(kDefaultJobOutputs));
}

}  // namespace nadi::inline show
