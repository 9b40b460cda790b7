// Steps measured elsewhere than in the published tables: seven training steps of Nadi's CUDA engine on an
// H200 (docs/performance.md), four of which the H200's constants were fitted to, and GPT-2 XL on 8 nodes of 4
// A10 (FASOP), predicted from the data sheet and the constants of other devices.
#pragma once

#include <string>

namespace nadi {

void print_h200_steps();
// `layer_times`: FASOP's table, with which the parts of the step are compared with pencil; skipped where it
// is not there.
void print_a10_step(const std::string& layer_times);

}  // namespace nadi
