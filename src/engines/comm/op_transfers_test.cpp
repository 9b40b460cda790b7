#include "nadi/comm/op_transfers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "nadi/comm/plan_groups.h"
#include "nadi/comm/thread_world_for_tests.h"
#include "nadi/cpu/host_mover.h"
#include "nadi/engine/operand_layout.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"

namespace nadi::inline engines {
namespace {

using Floats = std::vector<float>;

// An op of a graph on memory of its own.
class OneOp {
 public:
  OneOp(const Graph& graph, const Op& op) : op_(op) {
    for (const TensorId input : op.inputs) add(graph, input, inputs_);
    for (const OpOutput& output : op.outputs) add(graph, output.tensor, outputs_);
  }

  CommOpCall call() const { return {op_, inputs_, outputs_}; }
  Floats& in() { return *memory_.front(); }
  Floats& out() { return *memory_.back(); }

 private:
  void add(const Graph& graph, TensorId tensor, std::vector<Operand>& operands) {
    layouts_.push_back(std::make_unique<OperandLayout>(operand_layout(graph, tensor)));
    const Tensor& root = graph.tensor(layouts_.back()->root);
    memory_.push_back(std::make_unique<Floats>(static_cast<std::size_t>(root.shape.elements())));
    operands.push_back({.data = reinterpret_cast<std::byte*>(memory_.back()->data()),
                        .tensor = &graph.tensor(tensor),
                        .strides = layouts_.back()->strides});
  }

  const Op& op_;
  std::vector<std::unique_ptr<OperandLayout>> layouts_;
  std::vector<std::unique_ptr<Floats>> memory_;
  std::vector<Operand> inputs_, outputs_;
};

const std::byte* bytes_at(const Floats& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}
std::int64_t size_of_all(const Floats& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(float));
}

// Two ranks of a plan with tp 2, each with its transfers.
void on_two_ranks(const Graph& graph, const std::function<void(OneOp&, OpTransfers&, float)>& body) {
  ThreadWorld world(2);
  for (const auto& error : world.run([&](Communicator& rank) {
         const PlanGroups groups(rank, Plan{.tp = 2});
         cpu::HostMover mover(1);
         OpTransfers transfers({.groups = &groups, .mover = &mover});
         const Op& op = graph.ops().back();
         std::vector<std::byte> staging(
             static_cast<std::size_t>(OpTransfers::reserved_for(transfer_staging(graph, op)).count()));
         transfers.reserve(Bytes{static_cast<std::int64_t>(staging.size())}, staging.data());
         OneOp one(graph, op);
         std::iota(one.in().begin(), one.in().end(), 100.0F * static_cast<float>(to_number(rank.rank())));
         body(one, transfers, static_cast<float>(to_number(rank.rank())));
       }))
    EXPECT_FALSE(error) << error->what();
}

// [[0, 1], [2, 3]] and [[100, 101], [102, 103]] beside each other.
TEST(OpTransfers, gathers_along_the_last_axis) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", Shape{2, 2}, DType::kF32);
  all_gather(builder, x, {"tp", 2}, 1);
  const Graph graph = builder.take();
  on_two_ranks(graph, [](OneOp& one, OpTransfers& transfers, float) {
    transfers.start(one.call(), nullptr);
    EXPECT_FALSE(transfers.idle());
    const Floats elsewhere(4);
    EXPECT_FALSE(transfers.settle(bytes_at(elsewhere), 16, true)) << "nobody uses that";
    EXPECT_FALSE(transfers.settle(bytes_at(one.in()), 16, false)) << "others read it, too";
    EXPECT_TRUE(transfers.settle(bytes_at(one.out()), size_of_all(one.out()), false));
    EXPECT_EQ(one.out(), (Floats{0, 1, 100, 101, 2, 3, 102, 103}));
    EXPECT_TRUE(transfers.idle());
    EXPECT_EQ(transfers.sent(), Bytes{16});
  });
}

// Columns 0 and 1 of the sum [[100, 102], [104, 106]].
TEST(OpTransfers, scatters_along_the_last_axis) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", Shape{2, 2}, DType::kF32);
  reduce_scatter(builder, x, {"tp", 2}, 1);
  const Graph graph = builder.take();
  on_two_ranks(graph, [](OneOp& one, OpTransfers& transfers, float r) {
    transfers.start(one.call(), nullptr);
    EXPECT_TRUE(transfers.settle_all());
    EXPECT_EQ(one.out(), (Floats{100 + 2 * r, 104 + 2 * r}));
    EXPECT_FALSE(transfers.settle_all());
  });
}

// A rehearsal says where communication is waited for, and leaves memory alone.
TEST(OpTransfers, rehearses) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", Shape{2, 2}, DType::kF32);
  all_gather(builder, x, {"tp", 2}, 1);
  const Graph graph = builder.take();
  on_two_ranks(graph, [](OneOp& one, OpTransfers& transfers, float) {
    transfers.rehearse(true);
    // One more than there are buffers: the oldest gives way, as it would.
    for (int i = 0; i < 4; ++i) transfers.start(one.call(), nullptr);
    EXPECT_FALSE(transfers.settle(bytes_at(one.in()), 16, false));
    EXPECT_TRUE(transfers.settle(bytes_at(one.out()), 4, false));
    EXPECT_TRUE(transfers.idle());
    transfers.rehearse(false);
    EXPECT_EQ(one.out(), Floats(8)) << "nothing was moved";
    EXPECT_EQ(transfers.sent(), Bytes{0});
    transfers.start(one.call(), nullptr);
    EXPECT_TRUE(transfers.settle_all());
    EXPECT_EQ(one.out()[2], 100);
  });
}

}  // namespace
}  // namespace nadi::inline engines
