// --max-memory: what the contents of a file may take in memory, of commands that read files which may come
// from anywhere (base/memory_limit.h).
#pragma once

#include <string_view>

#include "nadi/base/memory_limit.h"

namespace nadi::inline show {

class Flags;

void add_max_memory_flag(Flags& flags, std::string_view group = "flags");
// What the flag says; without it the limit follows from the size of each file.
MemoryLimit memory_limit_of(const Flags& flags);

}  // namespace nadi::inline show
