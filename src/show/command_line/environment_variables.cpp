#include "nadi/command_line/environment_variables.h"

#include <array>

namespace nadi::inline show {
namespace {

constexpr std::array kVariables{
    VariableEntry{"LOGLEVEL",
                  "how much is said on standard error: DEBUG, INFO (the default), WARNING, ERROR"},
    VariableEntry{
        "HF_DATASETS_CACHE",
        "where 'train' looks for SQuAD files before it looks in cache/, unless --cache-dir is given"},
    VariableEntry{"NO_COLOR", "if it is set and not empty: no colours"},
    VariableEntry{"TERM", "if it is not set, or is dumb: no escape codes, neither colours nor moving lines"},
    VariableEntry{"NADI_THREADS", "threads that compute, where --threads is not given"},
};

}  // namespace

std::span<const VariableEntry> environment_variables() {
  return kVariables;
}

}  // namespace nadi::inline show
