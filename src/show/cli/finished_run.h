// A job of 'nadi train' that names the folder of a run which is done: nothing is left to train.
#pragma once

#include "nadi/job_files/job_file.h"

namespace nadi::inline show {

class Flags;

// Error (infeasible) that says how to go on and how to start anew. `train` are the words of the job as flags.
// Nothing happens where the checkpoints are not here, or the number of steps is not said.
void refuse_finished_run(const JobFile& job, const Flags& train);

}  // namespace nadi::inline show
