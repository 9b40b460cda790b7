// The part of a script that one process of the job runs: a bash function, which is the same whoever starts
// it.
//
//   run_rank() {                                    # the number of ranks on this node
//     export RANK=... LOCAL_RANK=...
//     local command=(python3 pretrain_gpt.py --tensor-model-parallel-size 2)
//     exec apptainer exec --nv ... "${command[@]}"
//   }
//
// It expects in its environment what the script has exported: NNODES, WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
// JOB_ID, JOB_FOLDER, RESTART_COUNT, JOB_NODES (names of the nodes, with spaces between them).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/job_files/job_file.h"
#include "nadi/job_scripts/script_text.h"

namespace nadi::inline jobs {

// What differs between those who start processes.
struct RankSource {
  std::string_view node_name;   // bash: the node's name
  std::string_view rank;        // bash: number of the process over all nodes
  std::string_view local_rank;  // bash: on its node
  std::int64_t first_rank = 0;  // added to `rank`: where a job is one of several
  std::int64_t first_node = 0;
};

void add_rank_function(ScriptText& script, const JobFile& job, const RankSource& source);

// The words of the job in full, without those of profilers: nadi train ..., python3 ..., the command.
std::vector<std::string> job_words(const JobFile& job);

// The signal that tells ranks to save: that of the job, or its default.
std::string_view save_signal(const JobFile& job);

// Lines that export the values of a run of the sweep, chosen by the bash expression; nothing without a sweep.
void add_sweep_values(ScriptText& script, const JobFile& job, std::string_view run);

}  // namespace nadi::inline jobs
