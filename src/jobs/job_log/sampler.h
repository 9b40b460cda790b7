// What writes <node>.gpu: a function in the shell's language for scripts that must run where nadi is not
// installed.
//
//   script << sampler_function();
//   script << "nadi_sample \"$folder/$node.gpu\" 10 $$ &\n";      // file, seconds between samples, process
//   to live as long as
//
// POSIX sh. It asks nvidia-smi where there is one that answers, and /proc otherwise or in addition; it
// appends a few lines per sample, each sample in one write, and ends when the process is gone, or at SIGTERM.
// Lines (sample_reader.h reads them):
//   gpu 1700000000 0, NVIDIA A10, 49, 0, 0, 22731, 0x0000000000000000, 1710, 60.10
//       seconds since 1970; index, name, degrees Celsius, percent, MB used, MB in all, reasons for lower
//       clocks (NVML's bits), MHz, watts; nvidia-smi's own words for what it does not know, "[N/A]"
//   cpu 1700000000 64, 37, 12034, 257000, 31.20
//       cores, percent of all of them, MB used, MB in all, load of the last minute
#pragma once

#include <string_view>

namespace nadi::inline jobs {

std::string_view sampler_function();

}  // namespace nadi::inline jobs
