// The files that record a generation: each rank's own (recording/run_traces.h), and of several ranks one
// Kineto file of all.
//
//   refuse_existing_traces("out/g", world);                 // before the work
//   const RankClock clock = measure_rank_clock(world);
//   generator.generate(...);
//   write_generation_traces(request, generator, clock);     // out/g.0.et, out/g_kineto.json, ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nadi/parallel/plan.h"
#include "nadi/recording/run_traces.h"

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

class Generator;
struct GenerationRequest;
struct RankClock;

// PREFIX.<rank>.et, PREFIX_kineto.json, PREFIX_stacks.txt. Of several ranks, each has its number in all
// names.
RunTraceFiles generation_trace_files(const std::string& prefix, std::int64_t ranks, Rank rank);
// PREFIX_kineto.json: the Kineto file of all ranks.
std::filesystem::path generation_kineto_file(const std::string& prefix);

// Error (usage) when one of the files that this rank writes exists.
void refuse_existing_traces(const std::string& prefix, const Communicator& world);

// Collective: all ranks of request.options.world call it. Returns the files of this rank. The generator has
// recorded its steps.
RunTraceFiles write_generation_traces(const GenerationRequest& request, const Generator& generator,
                                      const RankClock& clock);

}  // namespace nadi::inline runs
