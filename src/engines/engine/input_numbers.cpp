#include "nadi/engine/input_numbers.h"

#include <cstring>
#include <optional>

#include "nadi/base/format.h"
#include "nadi/engine/operand_layout.h"
#include "nadi/graph/ops/cross_entropy.h"
#include "nadi/parallel/program.h"

namespace nadi::inline engines {
namespace {

// Which input of an op has numbers that may be wrong.
std::optional<std::size_t> numbers_of(const OpView& op) {
  switch (op.op.kind) {
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingGrad:
      // When a table is in parts, an id may name a row of another rank.
      return op.has(2) ? std::nullopt : std::optional<std::size_t>(0);
    case OpKind::kCrossEntropy:
    case OpKind::kCrossEntropyGrad:
    case OpKind::kVocabSums:
    case OpKind::kShardedCrossEntropy:
      return cross_entropy_input::kTargets;
    case OpKind::kSelectRows:
    case OpKind::kTakeTokens:
      return 1;
    case OpKind::kCacheWrite:
      return 2;
    default:
      return std::nullopt;
  }
}

std::string wrong_number(const OpView& op, std::int64_t i, std::int64_t number) {
  const auto within = [&](std::int64_t first, std::int64_t end) { return number >= first && number < end; };
  switch (op.op.kind) {
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingGrad: {
      const std::int64_t rows =
          op.op.kind == OpKind::kEmbedding ? op.in(1)[0] : op.attributes().integer("rows");
      if (within(0, rows)) return {};
      return format("id {} at element {} of '{}' is not in a table of {} rows", number, i, op.input(0).name,
                    rows);
    }
    case OpKind::kSelectRows:
      if (const std::int64_t tokens = op.in(0)[1]; !within(1, tokens + 1))
        return format("length {} of sequence {} is not between 1 and {}", number, i, tokens);
      return {};
    case OpKind::kTakeTokens:
      if (const std::int64_t tokens = op.in(0)[1]; !within(0, tokens))
        return format("index {} at {} is not in a sequence of {} tokens", number, i, tokens);
      return {};
    case OpKind::kCacheWrite: {
      const std::int64_t room = op.in(0)[1], rows = op.in(1)[1];
      if (within(0, room - rows + 1)) return {};
      return format("{} rows from position {} of sequence {} do not fit a cache of {}", rows, number, i,
                    room);
    }
    default: {
      const std::int64_t vocabulary = op.attributes().integer("vocabulary");
      if (number == kIgnoredTarget || within(0, vocabulary)) return {};
      return format("target {} of row {} is not in a vocabulary of {}", number, i, vocabulary);
    }
  }
}

template <class T>
std::int64_t element(std::span<const std::byte> values, std::int64_t i) {
  T value;
  std::memcpy(&value, values.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

void refuse_wrong_numbers(const OpView& op, std::size_t input, std::int64_t count,
                          const std::function<std::int64_t(std::int64_t)>& at) {
  if (numbers_of(op) != input) return;
  for (std::int64_t i = 0; i < count; ++i)
    if (const std::string why = wrong_number(op, i, at(i)); !why.empty()) op.refuse(why);
}

InputNumbers::InputNumbers(const Program& program) {
  for (const Graph& graph : program.graphs)
    for (const Op& op : graph.ops()) {
      const OpView view{graph, op};
      const std::optional<std::size_t> input = numbers_of(view);
      if (!input || !view.has(*input)) continue;
      const Tensor& root = graph.tensor(operand_layout(graph, op.inputs[*input]).root);
      const bool is_whole = root.shape.elements() == view.in(*input).elements();
      if (root.variable || root.producer != kNoOp || !is_whole) continue;
      readers_[root.name].push_back({.op = view, .input = *input, .dtype = root.dtype});
    }
}

void InputNumbers::check(std::string_view input, std::span<const std::byte> values) const {
  const auto found = readers_.find(input);
  if (found == readers_.end()) return;
  for (const Reader& reader : found->second) {
    const std::int64_t count = static_cast<std::int64_t>(values.size()) / size_of(reader.dtype);
    refuse_wrong_numbers(reader.op, reader.input, count, [&](std::int64_t i) {
      return reader.dtype == DType::kI64 ? element<std::int64_t>(values, i)
                                         : element<std::int32_t>(values, i);
    });
  }
}

}  // namespace nadi::inline engines
