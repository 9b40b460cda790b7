// The nodes of a job as its plan places the ranks.
//
//   place_by_plan(job, plan, &cluster);
//   job.groups                       // ranks 0-7 on one a100 node, ranks 8-15 on two a10 nodes, ...
//
// Slurm numbers ranks group by group and node by node, so a group is a run of neighbouring nodes, in the
// order of the ranks, of one kind and with as many ranks each. A plan over two kinds of nodes has two groups
// or more (one heterogeneous job); a stage runs on the nodes that the plan gave it, since its ranks do.
#pragma once

#include "nadi/cluster/cluster.h"
#include "nadi/job_files/job_file.h"
#include "nadi/plan/plan_file.h"

namespace nadi::inline jobs {

// `cluster` is that of the plan; nullptr means it names none. The job's groups say what each kind of nodes is in
// Slurm (JobNodes::kind; one group without a kind will do for a plan with one kind). Where a plan names no
// cluster, ranks_per_node of the job counts.
//
// Error (usage) where the job does not say what a kind of nodes is, or the ranks do not fit its nodes; Error
// (infeasible) where the ranks of a node do not follow one another, which no scheduler can do.
void place_by_plan(JobFile& job, const PlanFile& plan, const Cluster* cluster);

}  // namespace nadi::inline jobs
