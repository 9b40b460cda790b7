#include "nadi/parallel/repeated_memory.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/graph/arena.h"

namespace nadi::inline describe {
namespace {

// Instead of a distance: born outside of units, in the first, in the last.
constexpr std::int8_t kOutside = 100, kFirstUnit = 101, kLastUnit = 102;

bool is_forward(Piece piece) {
  return piece >= Piece::kFirstForward && piece <= Piece::kLastForward;
}
bool is_backward(Piece piece) {
  return piece >= Piece::kLastBackward && piece <= Piece::kFirstBackward;
}
bool is_inner(Piece piece) {
  return piece == Piece::kInnerForward || piece == Piece::kInnerBackward;
}

// One of three: what is between the passes belongs to the last unit, what follows them to the first.
int unit_of(Piece piece) {
  switch (piece) {
    case Piece::kBefore:
    case Piece::kFirstForward:
    case Piece::kFirstBackward:
    case Piece::kAfter:
      return 1;
    case Piece::kInnerForward:
    case Piece::kInnerBackward:
      return 2;
    case Piece::kLastForward:
    case Piece::kBetween:
    case Piece::kLastBackward:
      return 3;
  }
  return 0;
}

}  // namespace

std::vector<Piece> pieces_of(const Graph& graph, const UnitCut& cut) {
  const auto unit_at = [&](std::size_t i) -> std::int64_t {
    const std::int32_t block = graph.ops()[i].block;
    return block < 0 ? -1 : block / cut.layers_per_unit;
  };
  std::vector<Piece> pieces(graph.ops().size(), Piece::kAfter);
  std::size_t i = 0;
  const auto mark = [&](Piece piece, std::size_t end, auto belongs) {
    const std::size_t first = i;
    for (; i < end && belongs(unit_at(i)); ++i) pieces[i] = piece;
    return i > first;
  };
  const auto outside = [](std::int64_t unit) { return unit < 0; };
  const auto is_unit = [](std::int64_t wanted) {
    return [wanted](std::int64_t unit) { return unit == wanted; };
  };
  const std::size_t forward = cut.forward_ops, all = pieces.size();
  mark(Piece::kBefore, forward, outside);
  bool found = mark(Piece::kFirstForward, forward, is_unit(0));
  found &= mark(Piece::kInnerForward, forward, is_unit(1));
  found &= mark(Piece::kLastForward, forward, is_unit(2));
  mark(Piece::kBetween, forward, outside);
  found &= i == forward;
  mark(Piece::kBetween, all, outside);
  found &= mark(Piece::kLastBackward, all, is_unit(2));
  found &= mark(Piece::kInnerBackward, all, is_unit(1));
  found &= mark(Piece::kFirstBackward, all, is_unit(0));
  for (; i < all; ++i) found &= unit_at(i) <= 0;  // parameter gradients of the first unit may come last
  if (!found) pieces.clear();
  return pieces;
}

RepeatedMemory::RepeatedMemory(const std::vector<Piece>& pieces, const std::vector<Allocation>& allocations) {
  if (pieces.empty()) return;
  repeats_ = true;
  std::vector<Event> birth_of(allocations.size());
  std::vector<std::vector<std::uint32_t>> dying(pieces.size());
  for (std::uint32_t a = 0; a < allocations.size(); ++a) {
    const Piece piece = pieces[allocations[a].born];
    birth_of[a] = {
        .size = allocations[a].size, .piece = piece, .number = born_[static_cast<std::size_t>(piece)]++};
    dying[allocations[a].dies].push_back(a);
  }
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    std::vector<Event>& events = events_[static_cast<std::size_t>(pieces[i])];
    for (; next < allocations.size() && allocations[next].born == i; ++next) events.push_back(birth_of[next]);
    for (const std::uint32_t dead : dying[i]) {
      Event death = birth_of[dead];
      death.size = 0;
      const int distance = unit_of(death.piece) - unit_of(pieces[i]);
      const bool in_unit = is_forward(death.piece) || is_backward(death.piece);
      death.distance = in_unit ? static_cast<std::int8_t>(distance) : kOutside;
      // From the first unit to the last, or the other way: a gradient that every unit adds to in place.
      if (in_unit && std::abs(distance) > 1)
        death.distance = unit_of(death.piece) == 1 ? kFirstUnit : kLastUnit;
      // What an inner unit needs of the outside would be needed by all of them.
      if (!in_unit && is_inner(pieces[i])) repeats_ = false;
      events.push_back(death);
    }
  }
}

RepeatedMemory RepeatedMemory::with_sizes(std::span<const std::int64_t> sizes) const {
  RepeatedMemory other = *this;
  other.played_.clear();
  // Pieces and their births stand in the order of the ops, and so do allocations.
  std::size_t next = 0;
  for (std::vector<Event>& events : other.events_)
    for (Event& event : events)
      if (event.size > 0) event.size = sizes[next++];
  check(next == sizes.size() || !repeats_, "every allocation is born once");
  return other;
}

// Plays the events of a number of units.
class RepeatedMemory::Player {
 public:
  // `watches`: whether passes come to repeat their states.
  Player(const RepeatedMemory& memory, std::int64_t units, bool watches)
      : memory_(memory), units_(units), watches_(watches) {
    const auto most = [&](std::initializer_list<Piece> pieces) {
      std::int64_t born = 0;
      for (const Piece piece : pieces)
        born = std::max<std::int64_t>(born, memory.born_[static_cast<std::size_t>(piece)]);
      return born;
    };
    outside_ = most({Piece::kBefore, Piece::kBetween, Piece::kAfter});
    per_forward_ = most({Piece::kFirstForward, Piece::kInnerForward, Piece::kLastForward});
    per_backward_ = most({Piece::kFirstBackward, Piece::kInnerBackward, Piece::kLastBackward});
    held_.assign(static_cast<std::size_t>(3 * outside_ + units * (per_forward_ + per_backward_)), {});
  }

  // nullopt when a death has no birth, or a birth no death.
  std::optional<Played> run() {
    play(Piece::kBefore, 1);
    play(Piece::kFirstForward, 1);
    for (std::int64_t unit = 2; unit < units_; ++unit) {
      const std::int64_t before = alive_;
      play(Piece::kInnerForward, unit);
      grows_ = alive_ > before;
      watch(forward_states_, forward_settled_, unit, unit - 1);
    }
    play(Piece::kLastForward, units_);
    play(Piece::kBetween, units_);
    play(Piece::kLastBackward, units_);
    for (std::int64_t unit = units_ - 1; unit > 1; --unit) {
      play(Piece::kInnerBackward, unit);
      watch(backward_states_, backward_settled_, unit, unit + 1);
    }
    play(Piece::kFirstBackward, 1);
    play(Piece::kAfter, 1);
    if (!fits_ || live_ != 0) return std::nullopt;
    return Played{.need = {Bytes{arena_.size()}, Bytes{peak_}},
                  .settled = forward_settled_ && backward_settled_,
                  .grows = grows_};
  }

 private:
  struct States {
    std::vector<std::int64_t> now, before, earlier;
  };
  struct Held {
    std::int64_t offset = -1;
    std::int64_t size = 0;
  };

  Held& place(Piece piece, std::int64_t unit, std::uint16_t number) {
    std::int64_t at = number;
    if (is_forward(piece))
      at += 3 * outside_ + (unit - 1) * per_forward_;
    else if (is_backward(piece))
      at += 3 * outside_ + units_ * per_forward_ + (unit - 1) * per_backward_;
    else
      at += outside_ * (piece == Piece::kBefore ? 0 : piece == Piece::kBetween ? 1 : 2);
    return held_[static_cast<std::size_t>(at)];
  }

  void play(Piece piece, std::int64_t unit) {
    for (const Event& event : memory_.events_[static_cast<std::size_t>(piece)]) {
      if (event.size > 0) {
        place(piece, unit, event.number) = {arena_.take(event.size), event.size};
        live_ += event.size;
        ++alive_;
        peak_ = std::max(peak_, live_);
        continue;
      }
      const std::int64_t from = event.distance == kOutside     ? unit
                                : event.distance == kFirstUnit ? 1
                                : event.distance == kLastUnit  ? units_
                                                               : unit + event.distance;
      fits_ &= from >= 1 && from <= units_;
      if (!fits_) return;
      Held& dead = place(event.piece, from, event.number);
      fits_ = dead.offset >= 0;
      if (!fits_) return;
      arena_.give_back(dead.offset, dead.size);
      live_ -= dead.size;
      --alive_;
      dead.offset = -1;
    }
  }

  // Whether the arena after this unit looks as it did one or two units ago: what is alive, born outside, in
  // this unit, the one before, the first or the last, and where.
  void watch(States& states, bool& settled, std::int64_t unit, std::int64_t before) {
    if (!watches_ || settled || before == 1 || before == units_) return;  // neighbours of another kind
    std::vector<std::int64_t>& state = states.now;
    state.assign(1, arena_.size());
    std::int64_t seen = 0;
    const auto look = [&](std::int64_t from, std::int64_t count) {
      for (std::int64_t i = from; i < from + count; ++i) {
        state.push_back(held_[static_cast<std::size_t>(i)].offset);
        seen += state.back() >= 0 ? 1 : 0;
      }
    };
    look(0, 3 * outside_);
    for (const std::int64_t of : {unit, before, std::int64_t{1}, units_}) {
      look(3 * outside_ + (of - 1) * per_forward_, per_forward_);
      look(3 * outside_ + units_ * per_forward_ + (of - 1) * per_backward_, per_backward_);
    }
    if (seen != alive_) return;
    settled = state == states.before || state == states.earlier;
    std::swap(states.earlier, states.before);
    std::swap(states.before, states.now);
  }

  const RepeatedMemory& memory_;
  const std::int64_t units_;
  const bool watches_;
  std::int64_t outside_ = 0, per_forward_ = 0, per_backward_ = 0;  // room for what is born there
  std::vector<Held> held_;
  ValueArena arena_;
  std::int64_t live_ = 0, peak_ = 0, alive_ = 0;
  bool fits_ = true, grows_ = false;
  States forward_states_, backward_states_;
  bool forward_settled_ = false, backward_settled_ = false;
};

std::optional<ArenaNeed> RepeatedMemory::of(std::int64_t units) {
  if (!repeats_) return std::nullopt;
  // States repeat every unit or every two: enough units of either parity stand for all more. Few are enough
  // for most graphs.
  constexpr std::array<std::int64_t, 2> kEnough{6, 11};
  const auto play = [&](std::int64_t count) -> const Played* {
    const auto known = played_.find(count);
    if (known != played_.end()) return &known->second;
    const bool watches =
        std::ranges::any_of(kEnough, [&](std::int64_t few) { return count == few || count == few + 1; });
    const std::optional<Played> played = Player(*this, count, watches).run();
    if (!played) {
      repeats_ = false;
      return nullptr;
    }
    return &played_.emplace(count, *played).first->second;
  };
  for (const std::int64_t few : kEnough) {
    if (units <= few + 1) break;
    const Played* first = play(few);
    if (first == nullptr) return std::nullopt;
    if (first->grows) break;
    const Played* second = play(few + 1);
    if (second == nullptr) return std::nullopt;
    if (first->settled && second->settled) return ((units - few) % 2 == 0 ? first : second)->need;
  }
  const Played* played = play(units);
  if (played == nullptr) return std::nullopt;
  return played->need;
}

}  // namespace nadi::inline describe
