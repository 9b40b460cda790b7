// How long the chunks of a model take for one micro-batch on a kind of device, for any number of layers.
//
//   BlockTable blocks(question, costs);
//   const BlockTimes& times = blocks.of({.key = block_key(request, plan), .device = 0, .tensor = group});
//   times.forward[ChunkRole::kMiddle][6].run                       // six layers
//
// From the graphs that stand for chunks of any length (parallel/chunk_cost.h): each is laid flat as the
// simulator does it (sim/replay_program.h), its ops have the times of the simulator's device model, or of
// measured layers, and its collectives those of the network; then its pieces are played: embedding, one
// layer, head, each forward and backward with what is recomputed. A chunk is a row of pieces. Where a piece
// ends, its collectives have ended, too.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/parallel/chunk_cost.h"
#include "nadi/parallel/plan_cost.h"
#include "nadi/plan/gradient_buckets.h"
#include "nadi/plan/pipeline_latency.h"
#include "nadi/plan/plan_network.h"
#include "nadi/plan/plan_question.h"
#include "nadi/sim/device_model.h"

namespace nadi::inline predict {

// Layers that were measured one by one and differ: how much longer than those of the tables the first n of
// them take together, for n from 0 to all.
struct LayerPasses {
  std::vector<std::int64_t> forward, backward;  // nanoseconds, may be negative
};

// Nanoseconds per element of a gradient on a device: to zero it, to take its norm, to update its parameter.
struct ElementRates {
  double clear = 0, norm = 0, update = 0;
  Nanoseconds once = {};            // per step: what is not done per element
  std::int64_t gradient_bytes = 4;  // of an element
};

struct BlockTimes {
  template <typename Value>
  using ByRole = std::array<Value, kChunkRoles>;

  ByRole<std::vector<PassTimes>> forward, backward;  // by number of layers
  std::optional<LayerPasses> layers = {};

  // The backward pass as pieces: of the head, of a layer (or as many as are recomputed together), and of the
  // embedding with what is left of the first layer; those of a chunk run in this order.
  struct BackwardTimes {
    std::int64_t run = 0;                  // nanoseconds, launched or run, whichever takes longer
    std::vector<std::int64_t> leads = {};  // by gradient: so long before the end of the piece it is ready
  };
  std::array<BackwardTimes, kBackwardPieces> pieces;
  std::int64_t layers_per_piece = 1;
  const GradientBuckets* buckets = nullptr;

  bool launches = false;           // hosts need time
  Nanoseconds message_issue = {};  // of a host, for a message or a collective
  ElementRates rates;
};

struct FlatChunk;

struct BlockRequest {
  ChunkKey key;  // kRepeated; first; last: the whole model is one chunk
  std::int32_t device = 0;
  GroupUse tensor, context;
  Recompute recompute = {};  // the key has it, but for the first layers of each chunk alone (kBlock)
};

class BlockTable {
 public:
  // Graphs that are built are costed there, too. Both must outlive this.
  BlockTable(const PlanQuestion& question, PlanCosts& costs);
  ~BlockTable();

  // Stays where it is as long as this lives.
  const BlockTimes& of(const BlockRequest& request, PlanNetwork& network);

 private:
  class Form;  // the graphs of a key, for micro-batches of all forms

  // Times of the ops of a chunk on a device, which no network changes.
  struct ChunkTimes {
    std::vector<OpTime> times;
    bool recomputes = false;
  };

  const Form& form(const ChunkKey& key);
  const FlatChunk& flat(const ChunkKey& key);
  // Times of a chunk with micro-batches of the key's form; `ends`: ops outside of layers alone are wanted.
  const ChunkTimes& times_of(const FlatChunk& flat, const ChunkKey& key, std::int32_t device, bool ends);
  const LayerTimes::Entry* measured(std::int32_t device,
                                    std::int64_t tp);  // nullptr means times are modelled
  BlockTimes timed(const BlockRequest& request, PlanNetwork& network);
  const ElementRates& rates_of(std::int32_t device);
  static void put_after(BlockTimes& times, const BlockTimes& others, std::int64_t layers);

  const GradientBuckets& buckets_of(const ChunkKey& key, const Form& form);

  const PlanQuestion& question_;
  PlanCosts& costs_;
  std::vector<DeviceModel> models_;
  std::vector<std::optional<ElementRates>> rates_;                                      // by device
  std::map<std::pair<std::int32_t, std::int64_t>, const LayerTimes::Entry*> measured_;  // by device and tp
  std::unordered_map<ChunkKey, std::unique_ptr<FlatChunk>, ChunkKeyHash> flats_;
  // By chunk, device, size of micro-batches, whether there are several, and whether ends alone are timed.
  std::map<std::tuple<const FlatChunk*, std::int32_t, std::int64_t, bool, bool>, ChunkTimes> times_;
  std::unordered_map<ChunkKey, std::unique_ptr<Form>, ChunkKeyHash> forms_;
  // The size of micro-batches is of no account to these.
  std::unordered_map<ChunkKey, std::unique_ptr<GradientBuckets>, ChunkKeyHash> buckets_;
  struct Known {
    BlockRequest request;
    std::unique_ptr<BlockTimes> times;
  };
  std::unordered_map<std::uint64_t, std::vector<Known>> known_;
};

// The key of the blocks of a plan: of the whole model where it is not cut, else of its first chunk.
ChunkKey block_key(const StepRequest& request, const Plan& plan);

}  // namespace nadi::inline predict
