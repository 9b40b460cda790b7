#include "nadi/unroll/stage_encoding.h"

#include <algorithm>
#include <string>

#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kNodeLengthBytes = 2;  // a guess: nodes are mostly between 128 and 16383 bytes long

}  // namespace

void NodeCounts::add(const TraceNode& node) {
  ++nodes;
  if (const TraceAttribute* work = node.attributes.find(attribute_name::kNumOps))
    flops += Flops{work->integer().value()};
  data_edges += static_cast<std::int64_t>(node.data_deps.size());
  control_edges += static_cast<std::int64_t>(node.ctrl_deps.size());
}

std::optional<StageEncoding> StageEncoding::make(const Program& program, const StepTraceOptions& options,
                                                 Bytes limit) {
  StageEncoding stage;
  StepTracer tracer(program, options);
  WholeMicroseconds whole;
  for (TraceNode node; tracer.next(node);) {
    stage.counts_.add(node);
    const RankBinding& binding = tracer.binding();
    if (binding.kind == RankBinding::Kind::kNone) {
      const auto record = stage.bytes_.begin_record(kNodeLengthBytes);
      encode_node(stage.bytes_, node, whole);
      stage.bytes_.end_message(record);
    } else {
      const auto known = std::ranges::find(stage.bindings_, binding);
      Patch patch{.begin = stage.bytes_.size(),
                  .binding = static_cast<std::size_t>(known - stage.bindings_.begin())};
      if (known == stage.bindings_.end()) stage.bindings_.push_back(binding);
      encode_node(stage.bytes_, node, whole);
      patch.end = stage.bytes_.size();
      stage.patches_.push_back(patch);
    }
    if (static_cast<std::int64_t>(stage.bytes_.size()) > limit.count()) return std::nullopt;
  }
  return stage;
}

void StageEncoding::write(const Plan& plan, const ProcessGroups& groups, Rank rank, WireWriter& buffer,
                          const ByteSink& sink) const {
  std::vector<std::string> bound;
  for (const RankBinding& binding : bindings_) {
    TraceNode attributes;
    add_rank_attributes(attributes, binding, plan, groups, rank);
    WireWriter encoded;
    encode_attributes(encoded, attributes);
    bound.emplace_back(encoded.bytes());
  }
  const std::string_view bytes = bytes_.bytes();
  const auto flush = [&] {
    sink(buffer.bytes());
    buffer.clear();
  };
  // Long stretches without communication go out in pieces, too.
  const auto copy = [&](std::size_t from, std::size_t to) {
    while (from < to) {
      const std::size_t piece = std::min(kPiece, to - from);
      buffer.raw(bytes.substr(from, piece));
      from += piece;
      if (buffer.size() >= kPiece) flush();
    }
  };
  std::size_t done = 0;
  for (const Patch& patch : patches_) {
    copy(done, patch.begin);
    const std::string& attributes = bound[patch.binding];
    buffer.varint(patch.end - patch.begin + attributes.size());
    copy(patch.begin, patch.end);
    buffer.raw(attributes);
    done = patch.end;
  }
  copy(done, bytes.size());
  flush();
}

}  // namespace nadi::inline traces
