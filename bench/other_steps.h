// Steps measured elsewhere than in the published tables: seven training steps of Nadi's CUDA engine on an
// H200 (docs/performance.md), four of which the H200's constants were fitted to, with their memory; two of
// its CPU engine, for their memory; GPT-2 XL on 8 nodes of 4 A10 (FASOP), and Nemotron-4 15B on 16 to 2,048
// H100 by Megatron-Core (NVIDIA/dgxc-benchmarking), predicted from data sheets and the constants of other
// devices.
#pragma once

#include <string>
#include <vector>

#include "published_rows.h"

namespace nadi {

// Rows of kH200Steps; line 1 is the first row of the table in docs/performance.md.
inline constexpr std::string_view kH200Steps = "Nadi on an H200";
std::vector<PublishedRow> h200_steps();
bool is_h200_step_fitted_to(const PublishedRow& row);

// `layer_times`: FASOP's table, with which the parts of the step are compared with pencil; skipped where it
// is not there.
void print_a10_step(const std::string& layer_times);

void print_nemotron_steps();

// Peak memory of Korthikanti et al. (rows that state it), and of Nadi's own steps as measured.
void print_memory(const std::vector<PublishedRow>& published);

}  // namespace nadi
