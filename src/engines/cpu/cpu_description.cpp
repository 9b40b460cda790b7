#include "nadi/cpu/cpu_description.h"

#include <unistd.h>

#include <fstream>

#include "nadi/base/error.h"
#include "nadi/cpu/gemm.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {
namespace {

#ifndef NADI_CPU_MARCH
#define NADI_CPU_MARCH ""
#endif

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  const std::string key = "model name";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

Bytes machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return Bytes{pages > 0 && size > 0 ? std::int64_t{pages} * size : 0};
}

bool has_instructions() {
#if defined(__x86_64__) && defined(NADI_CPU_NEEDS_V3)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#else
  return true;
#endif
}

constexpr const char* kLacking = "this build needs a processor with AVX2, FMA and F16C (x86-64-v3)";

}  // namespace

void check_instructions() {
  if (!has_instructions())
    throw environment_error(kLacking, "configure with -DNADI_CPU_MARCH=x86-64 for older ones");
}

CpuDescription describe_cpu() {
  const std::string march = NADI_CPU_MARCH;
  CpuDescription cpu{.name = processor_name(),
                     .cores = default_threads(),
                     .memory = machine_memory(),
                     .instruction_set = march.empty() ? "the compiler's default" : march,
                     .matrix_library = std::string(gemm_library())};
  if (!has_instructions()) cpu.why_not = kLacking;
  return cpu;
}

}  // namespace nadi::inline engines::cpu
