#include "nadi/convert/op_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace nadi::inline traces {
namespace {

// Share of the shorter sequence, and the most: the difference takes time and memory with their square.
constexpr std::size_t kDifferencesShare = 10;
constexpr std::size_t kFewDifferences = 16;
constexpr std::size_t kMostDifferences = 1500;

using Names = std::vector<std::uint32_t>;  // numbers of names, in the order in which the ops began

// The ops of one thread.
struct Thread {
  Names names;
  std::vector<std::uint32_t> rows;  // of the file
};
using Threads = std::map<std::uint64_t, Thread>;

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // places in the one and in the other

// Where `part` begins in `whole`.
std::vector<std::size_t> places_of(const Names& part, const Names& whole) {
  std::vector<std::size_t> places;
  if (part.empty() || part.size() > whole.size()) return places;
  // borders[i]: the longest end of part[0..i] that is a beginning of it, too.
  std::vector<std::size_t> borders(part.size());
  for (std::size_t i = 1, border = 0; i < part.size(); ++i) {
    while (border > 0 && part[i] != part[border]) border = borders[border - 1];
    if (part[i] == part[border]) ++border;
    borders[i] = border;
  }
  for (std::size_t i = 0, same = 0; i < whole.size(); ++i) {
    while (same > 0 && (same == part.size() || whole[i] != part[same])) same = borders[same - 1];
    if (whole[i] == part[same]) ++same;
    if (same == part.size()) places.push_back(i + 1 - part.size());
  }
  return places;
}

// The ops that both have, if they differ by at most `most`: Myers' greedy algorithm. On the diagonal k = x -
// y the farthest point that d differences reach follows from those of d - 1 on the diagonals beside it.
Pairs common_ops(const Names& a, const Names& b, std::size_t most) {
  const auto n = static_cast<std::int64_t>(a.size()), m = static_cast<std::int64_t>(b.size());
  const auto limit = static_cast<std::int64_t>(most);
  std::vector<std::int64_t> farthest(2 * most + 3);
  const auto at = [&](std::int64_t k) -> std::int64_t& {
    return farthest[static_cast<std::size_t>(k + limit + 1)];
  };
  std::vector<std::vector<std::int64_t>> rounds;  // `farthest` from -d to d before each round
  for (std::int64_t d = 0; d <= limit; ++d) {
    rounds.emplace_back(farthest.begin() + (limit + 1 - d), farthest.begin() + (limit + 2 + d));
    for (std::int64_t k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      std::int64_t x = down ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 &&
             a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(x - k)])
        ++x;
      at(k) = x;
      if (x < n || x - k < m) continue;
      // Back from the end, round by round.
      Pairs pairs;
      std::int64_t end = x, diagonal = k;
      for (std::int64_t round = d; round >= 0; --round) {
        const std::vector<std::int64_t>& before = rounds[static_cast<std::size_t>(round)];
        const auto reached = [&](std::int64_t line) {
          return line < -round || line > round ? -1 : before[static_cast<std::size_t>(line + round)];
        };
        const bool came_down =
            diagonal == -round || (diagonal != round && reached(diagonal - 1) < reached(diagonal + 1));
        const std::int64_t from = round == 0  ? 0
                                  : came_down ? reached(diagonal + 1)
                                              : reached(diagonal - 1) + 1;
        for (std::int64_t i = end - 1; i >= from; --i)
          pairs.emplace_back(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i - diagonal));
        end = came_down ? from : from - 1;
        diagonal += came_down ? 1 : -1;
      }
      std::ranges::reverse(pairs);
      return pairs;
    }
  }
  return {};
}

class OrderMatch {
 public:
  OrderMatch(const KinetoTrace& kineto, const HostTrace& host) : kineto_(kineto), host_(host) {}

  OpOrder run() {
    const Threads events = of_profile();
    const Threads nodes = of_host();
    result_.row_of.assign(kineto_.events.size(), OpOrder::kNoRow);
    // Long threads are told apart best: they choose first.
    std::vector<const Thread*> by_length;
    for (const auto& [number, thread] : nodes) by_length.push_back(&thread);
    std::ranges::stable_sort(by_length, std::greater{},
                             [](const Thread* thread) { return thread->names.size(); });
    std::set<std::uint64_t> taken;
    for (const Thread* thread : by_length) match(*thread, events, taken);
    if (result_.matched > 0) result_.places = 0;
    return std::move(result_);
  }

 private:
  std::uint32_t number_of(std::string_view name) {
    return numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  static bool is_op(KinetoCategory category) {
    return category == KinetoCategory::kCpuOp || category == KinetoCategory::kUserAnnotation;
  }

  Threads of_profile() {
    std::set<std::string_view> in_host;
    for (std::size_t row = 0; row < host_.nodes.size(); ++row) in_host.insert(host_.nodes.name(row));
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < kineto_.events.size(); ++row)
      if (is_op(kineto_.category[row]) && in_host.contains(kineto_.events.name(row))) rows.push_back(row);
    // The one of events that begin together that encloses the others began first.
    std::ranges::stable_sort(rows, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(kineto_.events.start(a), -kineto_.events.duration(a).count()) <
             std::pair(kineto_.events.start(b), -kineto_.events.duration(b).count());
    });
    Threads threads;
    for (const std::uint32_t row : rows) {
      Thread& thread = threads[kineto_.lane[row]];
      thread.names.push_back(number_of(kineto_.events.name(row)));
      thread.rows.push_back(row);
    }
    return threads;
  }

  // After of_profile(), which has numbered all names of the profile that matter.
  Threads of_host() {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < host_.nodes.size(); ++row)
      if (host_.record_function[row] != 0 && numbers_.contains(host_.nodes.name(row))) rows.push_back(row);
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return host_.record_function[row]; });
    Threads threads;
    for (const std::uint32_t row : rows) {
      Thread& thread = threads[host_.thread[row]];
      thread.names.push_back(number_of(host_.nodes.name(row)));
      thread.rows.push_back(row);
    }
    return threads;
  }

  void match(const Thread& nodes, const Threads& events, std::set<std::uint64_t>& taken) {
    const Thread* best = nullptr;
    std::uint64_t best_lane = 0;
    Pairs best_pairs;
    for (const auto& [lane, thread] : events) {
      if (taken.contains(lane)) continue;
      Pairs pairs = pairs_of(nodes.names, thread.names);
      if (pairs.size() <= best_pairs.size()) continue;
      best_pairs = std::move(pairs);
      best = &thread;
      best_lane = lane;
    }
    if (best == nullptr) return;
    taken.insert(best_lane);
    for (const auto& [node, event] : best_pairs) result_.row_of[best->rows[event]] = nodes.rows[node];
    result_.matched += best_pairs.size();
  }

  Pairs pairs_of(const Names& nodes, const Names& events) {
    const bool fewer_nodes = nodes.size() <= events.size();
    const Names& part = fewer_nodes ? nodes : events;
    const Names& whole = fewer_nodes ? events : nodes;
    const std::vector<std::size_t> places = places_of(part, whole);
    if (places.size() > 1) {
      result_.places = std::max(result_.places, places.size());
      return {};
    }
    if (places.size() == 1) {
      Pairs pairs;
      for (std::size_t i = 0; i < part.size(); ++i) {
        const auto in_part = static_cast<std::uint32_t>(i);
        const auto in_whole = static_cast<std::uint32_t>(places[0] + i);
        pairs.emplace_back(fewer_nodes ? in_part : in_whole, fewer_nodes ? in_whole : in_part);
      }
      return pairs;
    }
    const std::size_t most =
        std::min(kMostDifferences, std::max(kFewDifferences, part.size() / kDifferencesShare));
    // Ops of tiny threads (one aten::to) are everywhere; and a difference as large as they are says nothing.
    if (part.size() <= 2 * kFewDifferences || whole.size() - part.size() > most) return {};
    return common_ops(nodes, events, most);
  }

  const KinetoTrace& kineto_;
  const HostTrace& host_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  // of names
  OpOrder result_;
};

}  // namespace

OpOrder match_by_order(const KinetoTrace& kineto, const HostTrace& host) {
  return OrderMatch(kineto, host).run();
}

}  // namespace nadi::inline traces
