// Which events of a profile are which nodes of the host's trace, told by the names of ops and the order in
// which they began: for pairs of files without a common id.
//
//   const OpOrder order = match_by_order(kineto, host);
//   if (order.matched > 0) use(order.row_of[event]);
//
// PyTorch 1.12 to 2.1 numbers the ops of the two files apart. Both have the ops of a thread in the order in
// which these began (host's traces by rf_id), so that names of one thread are the same sequence in both,
// except for names that only one of the files has (ProfilerStep#10, the root). A thread of the host's trace
// is matched with the thread of the profile on which its sequence lies, in this order:
//   - the whole sequence is a part of the other, in exactly one place (Knuth, Morris, Pratt; the shorter file
//     began later or ended earlier);
//   - the sequences differ by few ops (Myers' greedy difference, at most kMostDifferences of a sequence).
// Where a sequence lies in several places (one step of forty alike), nobody knows which: it is not matched,
// and `places` says how many there are. The cost is linear in ops, but for pairs that differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

struct OpOrder {
  static constexpr std::uint32_t kNoRow = 0xffff'ffff;
  std::vector<std::uint32_t> row_of = {};  // by event: the row of the host's trace, or kNoRow
  std::size_t matched = 0;
  std::size_t places = 0;  // of a thread that lies in several places: the largest number of them, else 0
};

OpOrder match_by_order(const KinetoTrace& kineto, const HostTrace& host);

}  // namespace nadi::inline traces
