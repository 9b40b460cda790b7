#include "nadi/recording/execution_spans.h"

#include <algorithm>
#include <limits>
#include <set>

#include "nadi/base/error.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/layer_ranges.h"

namespace nadi::inline traces {
namespace {

constexpr std::size_t kOutside = std::numeric_limits<std::size_t>::max();

class SpanBuilder {
 public:
  SpanBuilder(const Program& program, const ExecutedStep& step, StreamId stream, bool computes)
      : program_(program), step_(step), stream_(stream), computes_(computes), now_(step.start) {}

  void add_call(std::size_t i, std::vector<ExecutionSpan>& spans) {
    const ExecutedKernel& call = step_.kernels[i];
    check(call.start >= now_ && call.end >= call.start && call.end <= step_.end,
          "the kernels of a stream follow one another within their step");
    now_ = call.end;

    const CallOrigin origin = origin_of(program_, call);
    const Op& op = origin.op;
    if (!computes_) {
      open(spans, ExecutionSpan::Kind::kCall, to_string(op.kind), i);
      return;
    }
    if (phase_ == kOutside || call.instruction != instruction_ || op.phase != phase_kind_) {
      layers_.clear();
      instruction_ = call.instruction;
      phase_kind_ = op.phase;
      phase_ = open(spans, ExecutionSpan::Kind::kPhase, to_string(op.phase), i);
    }
    split_layer_path(origin.graph.layer(op.layer), path_);
    std::size_t common = 0;
    while (common < layers_.size() && common < path_.size() && spans[layers_[common]].name == path_[common])
      ++common;
    layers_.resize(common);
    for (; common < path_.size(); ++common)
      layers_.push_back(open(spans, ExecutionSpan::Kind::kLayer, path_[common], i));
    open(spans, ExecutionSpan::Kind::kCall, to_string(op.kind), i);

    spans[phase_].end = call.end;
    for (const std::size_t layer : layers_) spans[layer].end = call.end;
  }

 private:
  std::size_t open(std::vector<ExecutionSpan>& spans, ExecutionSpan::Kind kind, std::string_view name,
                   std::size_t i) const {
    spans.push_back({.kind = kind,
                     .name = name,
                     .start = step_.kernels[i].start,
                     .end = step_.kernels[i].end,
                     .stream = stream_,
                     .call = i});
    return spans.size() - 1;
  }

  const Program& program_;
  const ExecutedStep& step_;
  StreamId stream_;
  bool computes_;
  Nanoseconds now_;               // the end of the stream's last kernel
  std::size_t phase_ = kOutside;  // open spans, as indices
  std::vector<std::size_t> layers_;
  std::uint32_t instruction_ = 0;  // of the open phase
  Phase phase_kind_ = Phase::kForward;
  std::vector<std::string_view> path_;
};

}  // namespace

StreamId computing_stream(const Program& program, const ExecutedStep& step) {
  for (const ExecutedKernel& kernel : step.kernels)
    if (!is_communication(definition(origin_of(program, kernel).op.kind).op_class)) return kernel.stream;
  return kComputeStream;
}

std::vector<ExecutionSpan> spans_of(const Program& program, const ExecutedStep& step) {
  check(step.end >= step.start, "a recorded step ends after it has started");
  std::vector<ExecutionSpan> spans;
  const StreamId computing = computing_stream(program, step);
  spans.push_back(
      {.kind = ExecutionSpan::Kind::kStep, .start = step.start, .end = step.end, .stream = computing});
  std::set<StreamId> others;
  for (const ExecutedKernel& kernel : step.kernels)
    if (kernel.stream != computing) others.insert(kernel.stream);
  const auto add_stream = [&](StreamId stream) {
    SpanBuilder builder(program, step, stream, stream == computing);
    for (std::size_t i = 0; i < step.kernels.size(); ++i)
      if (step.kernels[i].stream == stream) builder.add_call(i, spans);
  };
  add_stream(computing);
  for (const StreamId stream : others) add_stream(stream);
  return spans;
}

}  // namespace nadi::inline traces
