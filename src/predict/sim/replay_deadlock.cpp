#include "nadi/sim/replay_deadlock.h"

#include <algorithm>
#include <vector>

#include "nadi/base/format.h"

namespace nadi::inline predict {

Error deadlock_error(const ReplayJob& job, std::span<const StuckActor> stuck,
                     const std::function<std::string(std::uint32_t actor, std::uint32_t node)>& name) {
  const auto stuck_at = [&](std::uint32_t actor) {
    return std::ranges::find(stuck, actor, &StuckActor::actor);
  };
  // Along whom each waits for, until one comes again or is not stuck.
  std::vector<std::uint32_t> chain = {stuck.front().actor};
  bool closed = false;
  while (!closed) {
    const auto at = stuck_at(chain.back());
    if (at == stuck.end() || at->for_actors.empty()) break;
    const std::uint32_t next = at->for_actors.front();
    if (const auto before = std::ranges::find(chain, next); before != chain.end()) {
      chain.erase(chain.begin(), before);
      closed = true;
    } else {
      chain.push_back(next);
    }
  }
  std::string text = "deadlock: ";
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto at = stuck_at(chain[i]);
    const std::int32_t rank = job.actors[chain[i]].rank;
    if (i > 0) text += "; ";
    if (at == stuck.end()) {
      text += format("rank {} has run to its end without it", rank);
      continue;
    }
    text += format("rank {} waits at {}", rank, name(at->actor, at->node));
    if (!at->for_actors.empty()) text += format(" for rank {}", job.actors[at->for_actors.front()].rank);
  }
  const std::size_t others = stuck.size() - std::min(stuck.size(), chain.size());
  if (others > 0) text += format("; {} more wait", others);
  return input_error({}, text);
}

}  // namespace nadi::inline predict
