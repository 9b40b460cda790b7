// A chunk's graph laid flat as the simulator does it, and its pieces played: embedding, layers and head, each
// forward and backward.
//
//   const FlatChunk flat = flat_chunk(family, overlap);
//   ChunkPlayer player(flat, op_times, request_times, issue);
//   const PlayedPiece layer = player.play(flat.pieces[static_cast<std::size_t>(Piece::kInnerForward)]);
//   repeated(layer, 6).run                                              // six layers
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "nadi/parallel/chunk_family.h"
#include "nadi/plan/gradient_buckets.h"
#include "nadi/sim/device_model.h"
#include "nadi/sim/replay_program.h"

namespace nadi::inline predict {

// Before everything: what does not hold a path back.
inline constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min() / 4;

// A row of ops, as PassTimes has it.
struct PlayedPiece {
  std::int64_t run = 0;
  std::int64_t after_input = kLongAgo;
  std::int64_t launched = kLongAgo;
  std::int64_t launch = 0;
};

PlayedPiece followed_by(const PlayedPiece& first, const PlayedPiece& second);
PlayedPiece repeated(const PlayedPiece& piece, std::int64_t times);
// So many layers of pieces that have `per_piece` of them each.
PlayedPiece layers_of(const PlayedPiece& piece, std::int64_t layers, std::int64_t per_piece);

// The graph of a family of chunks with its nodes as the replay has them.
struct FlatChunk {
  ChunkFamily* family = nullptr;
  StageReplay stage;  // sizes of requests are those of the graph as it was built: see ChunkFamily::scaled()
  struct Span {
    std::uint32_t first = 0, end = 0;  // nodes
  };
  std::array<Span, kPieceCount> pieces;  // kBetween: of the forward pass alone
  Span head_backward;                    // the rest of kBetween
  std::array<Span, kBackwardPieces> backward;
  struct Gradient {
    LaidParameter parameter;
    std::uint32_t node = 0;  // after which it is ready
    bool in_block = false;
  };
  std::vector<Gradient> gradients;
  // By op of the graph: the first that does the same work, with tensors of the same shapes and types. Layers
  // are alike, so that most ops of the others are those of the first.
  std::vector<std::uint32_t> same_work;
};

// The family must outlive it.
FlatChunk flat_chunk(ChunkFamily& family, const OverlapOptions& overlap);

// The pieces of a flat chunk on a device.
class ChunkPlayer {
 public:
  // `times` by op of the graph, `requests` (nanoseconds) by request of the replay; `issue` is what a host
  // needs to launch a collective. The chunk and the times must outlive this.
  ChunkPlayer(const FlatChunk& flat, std::span<const OpTime> times, std::vector<std::int64_t> requests,
              Nanoseconds issue);

  bool launches() const { return launches_; }  // a host needs time

  // `before` is the piece that comes right before it, where collectives of both may overlap: then `run` is
  // what the piece adds to it.
  PlayedPiece play(const FlatChunk::Span& span, const FlatChunk::Span& before = {});

  // After play(): how long before the end of the piece the node had ended.
  std::int64_t lead(std::uint32_t node) const { return end_ - ends_[node]; }

 private:
  bool is_message(const ReplayNode& node) const;
  std::int64_t issue_of(std::uint32_t number) const;
  // When all nodes have ended, where the stream is free, the message there and the host ready at such times.
  std::int64_t end_of(const FlatChunk::Span& span, std::int64_t free, std::int64_t input, std::int64_t host);

  const FlatChunk& flat_;
  std::span<const OpTime> times_;
  std::vector<std::int64_t> requests_;
  std::vector<std::int64_t> ends_;  // by node
  bool launches_ = false;
  std::int64_t issue_ = 0;
  std::int64_t end_ = 0;  // of the piece that was played last
};

}  // namespace nadi::inline predict
