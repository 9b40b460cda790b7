#include "nadi/process/end_status.h"

#include <string.h>
#include <sys/wait.h>

#include "nadi/base/format.h"

namespace nadi::inline ground {

EndStatus EndStatus::from_wait(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

std::string EndStatus::to_string() const {
  if (signal == 0) return format("exit code {}", exit_code);
  const char* const name = sigdescr_np(signal);
  return format("signal {} ({})", signal, name != nullptr ? name : "unknown");
}

}  // namespace nadi::inline ground
