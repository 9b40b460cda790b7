// Plans in words: nodes, partition, schedule, and the flags that ask for a plan again.
//
//   nodes_text(question.cluster, candidate.nodes)         // "1 a100 + 7 a10"
//   plan_flags_text(question, candidate)                  // "--tp 2 --dp 4 ..."
#pragma once

#include <span>
#include <string>

#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_question.h"

namespace nadi::inline show {

// "1 a100 + 7 a10", in the order in which ranks fill them; "3 g5:2" are three nodes of which each gives two
// devices, where it has more.
std::string nodes_text(const Cluster& cluster, std::span<const NodeRun> nodes);

// The same with names up to their first dot, where these differ: "1 p4d+7 g5".
std::string short_nodes_text(const Cluster& cluster, std::span<const NodeRun> nodes);

// "0-11-8-8-8-8-5-0"
std::string partition_text(std::span<const std::int64_t> partition);

// "1f1b", "interleaved x2"; "-" of one stage.
std::string schedule_text(const Plan& plan);

// As `nadi simulate` takes them, and `nadi train` but for those of another framework: "--tp 2 --dp 4 ...". Without the
// placement, which only a plan file has.
std::string plan_flags_text(const PlanQuestion& question, const PlanCandidate& candidate);

}  // namespace nadi::inline show
