// Rows chosen by numbers: embeddings, caches, the next token. Letters: B sequences, T tokens of each, W
// width.
//
// Numbers are checked before threads start, since an error cannot leave a parallel region.
#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"
#include "nadi/engine/input_numbers.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr std::int64_t kElsewhere = -1;

void check_numbers(const KernelCall& call, std::size_t input) {
  const Operand& numbers = call.inputs[input];
  refuse_wrong_numbers(call.op, input, numbers.elements(),
                       [&](std::int64_t i) { return integer_at(numbers, i); });
}

// The rows that ids name. With `place` the table is part number place[0] of several, and an id may name a row
// of another rank.
class TableRows {
 public:
  TableRows(const KernelCall& call, std::int64_t rows)
      : ids_(call.inputs[0]), rows_(rows), first_(call.has(2) ? integer_at(call.inputs[2], 0) * rows : 0) {
    check_numbers(call, 0);
  }

  // Row of element i of the ids; kElsewhere when another rank has it.
  std::int64_t operator[](std::int64_t i) const {
    const std::int64_t row = integer_at(ids_, i) - first_;
    return row >= 0 && row < rows_ ? row : kElsewhere;
  }
  std::int64_t tokens() const { return ids_.elements(); }

 private:
  const Operand& ids_;
  std::int64_t rows_;
  std::int64_t first_;
};

void embedding_kernel(const KernelCall& call) {
  const std::int64_t W = call.shape(1)[1];
  const TableRows rows(call, call.shape(1)[0]);
  const Source table(call.inputs[1]);
  const Target y(call, 0);
  parallel_for(rows.tokens(), worthwhile_threads(rows.tokens() * W, call.threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t i = first; i < end; ++i)
                   if (const std::int64_t row = rows[i]; row != kElsewhere)
                     transfer(table, row * W, y, i * W, W);
                   else
                     y.put_zeros(i * W, W);
               });
}

// Each thread has columns of its own and goes through all tokens, so that two tokens with the same id never
// meet and are added in the same order by any number of threads.
void embedding_grad_kernel(const KernelCall& call) {
  const std::int64_t table_rows = call.attributes().integer("rows"), W = call.shape(1)[-1];
  const TableRows rows(call, table_rows);
  const Source dy(call.inputs[1]);
  const Target table(call, 0);
  for_each_part(table_rows * W, call.threads,
                [&](std::int64_t first, std::int64_t end) { table.put_zeros(first, end - first); });

  constexpr std::int64_t kColumns = 16;  // fp32 elements of a cache line
  parallel_for(divided_up(W, kColumns), worthwhile_threads(rows.tokens() * W, call.threads),
               [&](std::int64_t first_line, std::int64_t end_line, int) {
                 const std::int64_t first = first_line * kColumns, end = std::min(end_line * kColumns, W);
                 for (std::int64_t i = 0; i < rows.tokens(); ++i) {
                   const std::int64_t row = rows[i];
                   if (row == kElsewhere) continue;
                   walk_blocks(first, end, [&](std::int64_t column, std::int64_t count) {
                     Block buffer;
                     table.add(row * W + column, count, dy.load(i * W + column, count, buffer));
                   });
                 }
               });
}

// The first of several equal ones.
void argmax_kernel(const KernelCall& call) {
  const Source logits(call.inputs[0]);
  const std::int64_t columns = call.shape(0)[-1], vocabulary = call.attributes().integer("vocabulary");
  const std::int64_t rows = call.outputs[0].elements();
  parallel_for(rows, worthwhile_threads(rows * vocabulary, call.threads),
               [&](std::int64_t first_row, std::int64_t end_row, int) {
                 for (std::int64_t row = first_row; row < end_row; ++row) {
                   float largest = -std::numeric_limits<float>::infinity();
                   std::int64_t index = 0;
                   walk_blocks(0, vocabulary, [&](std::int64_t first, std::int64_t count) {
                     Block buffer;
                     const float* from = logits.load(row * columns + first, count, buffer);
                     const float of_block = largest_of(from, count);
                     if (!(of_block > largest)) return;
                     largest = of_block;
                     index = first + (std::find(from, from + count, of_block) - from);
                   });
                   call.out<std::int32_t>(0)[row] = static_cast<std::int32_t>(index);
                 }
               });
}

void select_rows_kernel(const KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], T = call.shape(0)[1], W = call.shape(0)[2];
  const Source x(call.inputs[0]);
  const Target y(call, 0);
  check_numbers(call, 1);
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t length = integer_at(call.inputs[1], b);
    transfer(x, (b * T + length - 1) * W, y, b * W, W);
  }
}

void take_tokens_kernel(const KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], T = call.shape(0)[1], n = call.shape(1)[0];
  const Source ids(call.inputs[0]);
  const Target y(call, 0);
  check_numbers(call, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t index = integer_at(call.inputs[1], i);
    for (std::int64_t b = 0; b < B; ++b) transfer(ids, b * T + index, y, b * n + i, 1);
  }
}

// The cache is a variable that is written where it is; the copy is there for one that is not.
void cache_write_kernel(const KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], L = call.shape(0)[1], W = call.shape(0)[2], T = call.shape(1)[1];
  const Source before(call.inputs[0]), rows(call.inputs[1]);
  const Target cache(call, 0);
  const auto position_of = [&](std::int64_t b) { return call.has(2) ? integer_at(call.inputs[2], b) : 0; };
  if (call.has(2)) check_numbers(call, 2);
  transfer(before, 0, cache, 0, B * L * W);
  parallel_for(B, worthwhile_threads(B * T * W, call.threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t b = first; b < end; ++b)
                   transfer(rows, b * T * W, cache, (b * L + position_of(b)) * W, T * W);
               });
}

void advance_kernel(const KernelCall& call) {
  const std::int64_t by = call.attributes().integer("by");
  for (std::int64_t i = 0; i < call.inputs[0].elements(); ++i)
    write_integer(call.outputs[0], i, integer_at(call.inputs[0], i) + by);
}

}  // namespace

const KernelEntry embedding_entry{embedding_kernel};
const KernelEntry embedding_grad_entry{embedding_grad_kernel};
const KernelEntry argmax_entry{argmax_kernel};
const KernelEntry select_rows_entry{select_rows_kernel};
const KernelEntry cache_write_entry{cache_write_kernel};
const KernelEntry advance_entry{advance_kernel};
const KernelEntry take_tokens_entry{take_tokens_kernel};

}  // namespace nadi::inline engines::cpu
