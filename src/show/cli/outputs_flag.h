// --outputs: where the folders of jobs are.
#pragma once

#include <filesystem>

namespace nadi::inline show {

class Flags;

void add_outputs_flag(Flags& flags);
std::filesystem::path outputs_flag(const Flags& flags);

}  // namespace nadi::inline show
