// Steps measured elsewhere than in the published tables: seven training steps of Nadi's CUDA engine on an
// H200 (docs/performance.md), four of which the H200's constants were fitted to, and GPT-2 XL on 8 nodes of 4
// A10 (FASOP), predicted from the data sheet and the constants of other devices.
#pragma once

namespace nadi {

void print_h200_steps();
void print_a10_step();

}  // namespace nadi
