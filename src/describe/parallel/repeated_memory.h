// The arena of a graph whose layers repeat, for any number of layers, from a graph with three of them.
//
//   RepeatedMemory memory(pieces_of(graph, cut), value_lifetimes(graph).allocations);
//   memory.of(80)->arena      // what plan_memory() says about the graph with 80 units
//
// Method. The graph of three units (a unit is a layer, or several that are recomputed together) is cut by the
// numbers of its ops' blocks: what comes before, the units' forwards, what is between, the units' backwards
// in reverse, what follows. Each piece is a list of events: a value is born, a value dies. The arena of more
// units comes from playing the pieces with the second unit repeated, through the same ValueArena. What was
// born in a unit is named by the unit it was born in, relative to the one in which it dies.
//
// Where nothing is kept from the forward pass for the backward pass (pipelines keep that in slots), the arena
// looks the same after every unit from some unit on. Two states that are equal have the same future, so from
// there on more units change nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/value_lifetimes.h"

namespace nadi::inline describe {

inline constexpr std::int64_t kUnitsBuilt = 3;   // first, inner, last
inline constexpr std::int64_t kFewestUnits = 2;  // first and last

struct ArenaNeed {
  Bytes arena;
  Bytes peak;
};

// Which piece of the graph of three units each op is in; empty where its blocks do not stand one after the
// other, so that it cannot be taken apart.
enum class Piece : std::uint8_t {
  kBefore,
  kFirstForward,
  kInnerForward,
  kLastForward,
  kBetween,
  kLastBackward,
  kInnerBackward,
  kFirstBackward,
  kAfter,
};
inline constexpr int kPieceCount = 9;
struct UnitCut {
  std::uint32_t forward_ops = 0;  // the ops from here on are of the backward pass
  std::int64_t layers_per_unit = 1;
};
std::vector<Piece> pieces_of(const Graph& graph, const UnitCut& cut);

class RepeatedMemory {
 public:
  RepeatedMemory() = default;
  RepeatedMemory(const std::vector<Piece>& pieces, const std::vector<Allocation>& allocations);
  // The same with other sizes, by allocation: those of another batch.
  RepeatedMemory with_sizes(std::span<const std::int64_t> sizes) const;

  // nullopt means the graph's lifetimes do not repeat, and the graph must be built. `units` is at least
  // kFewestUnits.
  std::optional<ArenaNeed> of(std::int64_t units);

 private:
  struct Event {
    std::int64_t size = 0;     // of what is born; 0 for a death
    Piece piece{};             // of birth
    std::int8_t distance = 0;  // from the unit of death to the unit of birth
    std::uint16_t number = 0;  // among those born in the piece
  };
  struct Played {
    ArenaNeed need;
    bool settled = false;  // both passes came to repeat their states
    bool grows = false;    // every unit keeps something, so they will not
  };
  class Player;

  bool repeats_ = false;
  std::array<std::vector<Event>, kPieceCount> events_;
  std::array<std::uint16_t, kPieceCount> born_{};  // values born in each piece
  std::map<std::int64_t, Played> played_;          // by number of units
};

}  // namespace nadi::inline describe
