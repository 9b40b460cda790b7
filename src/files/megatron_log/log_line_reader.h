// Single lines of Megatron-LM's training log, read: the inverse of log_lines.h.
//
//   if (const auto line = parse_iteration_line(text)) use(line->iteration, line->seconds_per_iteration);
//
// Labels in front of a line ("3: ", as srun -l writes them) do not matter. A line that is cut before its
// elapsed time is nothing; fields after the cut are missing (loss, throughput) or 0. A loss may be NaN or
// infinite: that is what the log says.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/base/units.h"
#include "nadi/megatron_log/log_lines.h"

namespace nadi::inline files {

// Nothing for any other line, and for numbers that cannot be: a time that is negative or above 31 years.
std::optional<IterationLine> parse_iteration_line(std::string_view text);

// Memory of a rank as PyTorch's allocator counts it.
struct LoggedMemory {
  std::int64_t rank = 0;
  std::int64_t iteration = 0;
  Bytes allocated = {}, most_allocated = {}, reserved = {}, most_reserved = {};
};
// "[Rank 3] (after 10 iterations) memory (MB) | allocated: 1.0 | max allocated: ...".
std::optional<LoggedMemory> parse_memory_line(std::string_view text);

// " validation loss at iteration 100 | lm loss value: 3.1E+00 | ...".
std::optional<ValidationLine> parse_validation_line(std::string_view text);

}  // namespace nadi::inline files
