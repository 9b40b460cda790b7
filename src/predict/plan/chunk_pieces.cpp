#include "nadi/plan/chunk_pieces.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline predict {

PlayedPiece followed_by(const PlayedPiece& first, const PlayedPiece& second) {
  return {.run = first.run + second.run,
          .after_input = std::max(first.after_input + second.run, second.after_input),
          .launched = std::max(first.launched + second.run, first.launch + second.launched),
          .launch = first.launch + second.launch};
}

PlayedPiece repeated(const PlayedPiece& piece, std::int64_t times) {
  if (times == 0) return {};
  return {.run = times * piece.run,
          .after_input = piece.after_input + (times - 1) * piece.run,
          .launched = piece.launched + (times - 1) * std::max(piece.run, piece.launch),
          .launch = times * piece.launch};
}

PlayedPiece layers_of(const PlayedPiece& piece, std::int64_t layers, std::int64_t per_piece) {
  PlayedPiece whole = repeated(piece, layers / per_piece);
  const std::int64_t rest = layers % per_piece;
  if (rest == 0) return whole;
  const auto part = [&](std::int64_t time) { return time <= kLongAgo ? time : time * rest / per_piece; };
  return followed_by({part(piece.run), part(piece.after_input), part(piece.launched), part(piece.launch)},
                     whole);
}

namespace {

bool is_same_work(const Graph& graph, const Op& a, const Op& b) {
  if (a.kind != b.kind || a.phase != b.phase || a.core_attention != b.core_attention ||
      a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size())
    return false;
  const auto alike = [&](TensorId of_a, TensorId of_b) {
    if (of_a == kNoTensor || of_b == kNoTensor) return of_a == of_b;
    const Tensor &x = graph.tensor(of_a), &y = graph.tensor(of_b);
    return x.shape == y.shape && x.dtype == y.dtype && x.role == y.role && x.variable == y.variable;
  };
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (!alike(a.inputs[i], b.inputs[i])) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (a.outputs[i].accumulate != b.outputs[i].accumulate ||
        !alike(a.outputs[i].tensor, b.outputs[i].tensor))
      return false;
  return a.attributes == b.attributes;
}

// Each op of an inner or a last unit is compared with the one at its place in the unit that was met first.
std::vector<std::uint32_t> same_work_in(const Graph& graph, const std::vector<Piece>& pieces) {
  std::vector<std::uint32_t> same(pieces.size());
  std::array<std::uint32_t, kPieceCount> first{};  // op of each piece
  for (auto i = static_cast<std::uint32_t>(pieces.size()); i-- > 0;)
    first[static_cast<std::size_t>(pieces[i])] = i;
  const auto model_of = [](Piece piece) {
    switch (piece) {
      case Piece::kInnerForward:
      case Piece::kLastForward:
        return Piece::kFirstForward;
      case Piece::kInnerBackward:
      case Piece::kFirstBackward:
        return Piece::kLastBackward;
      case Piece::kBefore:
      case Piece::kFirstForward:
      case Piece::kBetween:
      case Piece::kLastBackward:
      case Piece::kAfter:
        return piece;
    }
    unreachable();
  };
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    same[i] = i;
    const Piece model = model_of(pieces[i]);
    if (model == pieces[i]) continue;
    const std::uint32_t other =
        first[static_cast<std::size_t>(model)] + (i - first[static_cast<std::size_t>(pieces[i])]);
    if (other < i && pieces[other] == model && is_same_work(graph, graph.ops()[i], graph.ops()[other]))
      same[i] = other;
  }
  return same;
}

}  // namespace

FlatChunk flat_chunk(ChunkFamily& family, const OverlapOptions& overlap) {
  const std::vector<Piece>& pieces = family.pieces();
  check(!pieces.empty(), "the graph of a chunk has its layers one after the other");
  FlatChunk flat;
  flat.family = &family;
  // As one micro-batch has it: then the first write of a sum differs from the later ones.
  MicroBatchForm one = family.built_form();
  one.accumulates = false;
  flat.same_work = same_work_in(family.graph(one).graph, pieces);
  ChunkGraph& chunk = family.graph(family.built_form());
  Program program;
  program.graphs.push_back(std::move(chunk.graph));
  for (const OpSpan& span : {chunk.receive_input, chunk.forward, chunk.send_output, chunk.receive_gradient,
                             chunk.backward, chunk.send_gradient}) {
    if (span.empty()) continue;
    program.instructions.push_back(
        {.section = SectionId{static_cast<std::uint32_t>(program.sections.size())}});
    program.sections.push_back({.name = {}, .first_op = span.first, .end_op = span.end});
  }
  // What waits for messages is the same whether they block; whether they do is for the pipeline to say.
  OverlapOptions apart = overlap;
  apart.blocking_messages = false;
  flat.stage = flatten(program, smallest_plan(family.key()), apart);
  chunk.graph = std::move(program.graphs[0]);
  const std::vector<std::uint32_t>& ops = flat.stage.graph_ops;
  for (std::uint32_t node = 0; node < ops.size(); ++node) {
    const Piece piece = pieces[ops[node]];
    FlatChunk::Span& span = piece == Piece::kBetween && ops[node] >= chunk.receive_gradient.first
                                ? flat.head_backward
                                : flat.pieces[static_cast<std::size_t>(piece)];
    if (span.first == span.end) span.first = node;
    span.end = node + 1;
  }
  flat.backward[static_cast<std::size_t>(BackwardPiece::kHead)] = flat.head_backward;
  flat.backward[static_cast<std::size_t>(BackwardPiece::kLayers)] =
      flat.pieces[static_cast<std::size_t>(Piece::kInnerBackward)];
  FlatChunk::Span& embedding = flat.backward[static_cast<std::size_t>(BackwardPiece::kEmbedding)];
  embedding = flat.pieces[static_cast<std::size_t>(Piece::kFirstBackward)];
  embedding.end = std::max(embedding.end, flat.pieces[static_cast<std::size_t>(Piece::kAfter)].end);
  for (const ReadyParameter& each : family.parameters()) {
    const auto node = std::ranges::lower_bound(ops, each.ready_after);
    check(node != ops.end() && *node == each.ready_after, "a gradient is written by a step");
    flat.gradients.push_back({each.parameter, static_cast<std::uint32_t>(node - ops.begin()),
                              chunk.graph.ops()[each.ready_after].block >= 0});
  }
  return flat;
}

ChunkPlayer::ChunkPlayer(const FlatChunk& flat, std::span<const OpTime> times,
                         std::vector<std::int64_t> requests, Nanoseconds issue)
    : flat_(flat), times_(times), requests_(std::move(requests)), ends_(flat.stage.graph_ops.size()) {
  launches_ = std::ranges::any_of(times_, [](const OpTime& time) { return time.issue > Nanoseconds{}; });
  if (launches_) issue_ = issue.count();
}

PlayedPiece ChunkPlayer::play(const FlatChunk::Span& span, const FlatChunk::Span& before) {
  PlayedPiece piece;
  if (span.first == span.end) {
    piece.launched = piece.after_input = kLongAgo;
    return piece;
  }
  if (launches_) {
    piece.launched = end_of(span, kLongAgo, kLongAgo, 0);
    for (std::uint32_t node = span.first; node < span.end; ++node) piece.launch += issue_of(node);
  }
  piece.after_input = end_of(span, kLongAgo, 0, kLongAgo);
  const bool alone = before.first == before.end;
  const std::int64_t begin = alone ? 0 : end_of(before, 0, kLongAgo, kLongAgo);
  end_ = end_of({alone ? span.first : before.first, span.end}, 0, kLongAgo, kLongAgo);
  piece.run = end_ - begin;
  return piece;
}

bool ChunkPlayer::is_message(const ReplayNode& node) const {
  return flat_.stage.replay.roles[flat_.stage.replay.communications[node.communication].role] !=
         ReplayRoleKind::kCollective;
}

std::int64_t ChunkPlayer::issue_of(std::uint32_t number) const {
  const ReplayNode& node = flat_.stage.replay.nodes[number];
  if (node.communication == kNoCommunication) return times_[flat_.stage.graph_ops[number]].issue.count();
  return is_message(node) ? 0 : issue_;
}

std::int64_t ChunkPlayer::end_of(const FlatChunk::Span& span, std::int64_t free, std::int64_t input,
                                 std::int64_t host) {
  const ReplayProgram& program = flat_.stage.replay;
  const std::int64_t start = free;  // by then what came before the piece has ended
  std::int64_t last = free;
  for (std::uint32_t number = span.first; number < span.end; ++number) {
    const ReplayNode& node = program.nodes[number];
    std::int64_t ready = kLongAgo;
    for (std::uint32_t p = number == 0 ? 0 : program.nodes[number - 1].parents_end; p < node.parents_end;
         ++p) {
      const std::uint32_t parent = program.parents[p];
      const ReplayNode& before = program.nodes[parent];
      ready = std::max(ready, parent >= span.first                                             ? ends_[parent]
                              : before.communication != kNoCommunication && is_message(before) ? input
                                                                                               : start);
    }
    if (node.communication != kNoCommunication && is_message(node)) {
      ends_[number] = input;
      continue;
    }
    host += issue_of(number);
    ready = std::max(ready, host);
    if (node.communication == kNoCommunication) {
      free = std::max(free, ready) + times_[flat_.stage.graph_ops[number]].time.count();
      ends_[number] = free;
    } else {
      if (node.stream != kNoStream) ready = std::max(ready, free);
      ends_[number] = ready + requests_[program.communications[node.communication].request];
      if (node.stream != kNoStream) free = ends_[number];
    }
    last = std::max(last, ends_[number]);
  }
  return last;
}

}  // namespace nadi::inline predict
