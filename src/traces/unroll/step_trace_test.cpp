#include "nadi/unroll/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/trace/trace_check.h"

namespace nadi::inline traces {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

Program step_of(const char* model, StepRequest request = {.batch_size = 2, .seq_length = 16},
                const Plan& plan = {}) {
  return build_step(*find_built_in_model(model), request, plan);
}

std::int64_t sum_of(const Trace& trace, std::string_view attribute) {
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < trace.size(); ++row)
    sum += trace.find_attribute(row, attribute)->integer().value();
  return sum;
}

// Row of the node with this name, the first from `from` on.
std::size_t row_named(const Trace& trace, std::string_view name, std::size_t from = 0) {
  while (from < trace.size() && trace.name(from) != name) ++from;
  EXPECT_LT(from, trace.size()) << name;
  return from;
}

TEST(StepTrace, IsReplayableAndAddsUpForEveryModelAndStep) {
  for (const ModelConfig& config : built_in_models()) {
    std::vector<StepRequest> requests{{.batch_size = 2, .seq_length = 16},
                                      {.batch_size = 4, .seq_length = 16},
                                      {.kind = StepKind::kEvaluate, .seq_length = 16}};
    if (config.architecture != architecture_named("bert"))
      requests.push_back({.kind = StepKind::kGenerate, .input_tokens = 4, .output_tokens = 3});
    for (const StepRequest& request : requests) {
      const Plan plan{.micro_batches = request.batch_size == 4 ? 2 : 1};
      const Program program = build_step(config, request, plan);
      const Trace trace = trace_step(program);
      check_trace(trace);
      const WorkSummary total = summarize(program).total();
      EXPECT_EQ(static_cast<std::int64_t>(trace.size()), total.ops);
      // What only moves memory is one op.
      EXPECT_GE(sum_of(trace, "num_ops"), total.cost.flops().count());
      EXPECT_LE(sum_of(trace, "num_ops"), total.cost.flops().count() + total.ops);
      EXPECT_EQ(sum_of(trace, "tensor_size"), total.cost.moved().count());
    }
  }
}

TEST(StepTrace, DataDependenciesGoThroughViews) {
  const Program program = step_of("gpt2", {.kind = StepKind::kDecode, .input_tokens = 4});
  const Trace trace = trace_step(program);
  const std::size_t qkv = row_named(trace, "transformer.h.0.attn.c_attn.matmul");
  const std::size_t write_k = row_named(trace, "transformer.h.0.attn.cache_write");
  const std::size_t attention = row_named(trace, "transformer.h.0.attn.attention");
  // The split of q, k and v is a view and no node: both depend on the product itself.
  EXPECT_THAT(trace.data_deps(write_k), ElementsAre(trace.id(qkv)));
  EXPECT_THAT(trace.data_deps(attention),
              ElementsAre(trace.id(qkv), trace.id(write_k), trace.id(write_k + 1)));
}

TEST(StepTrace, AStepWaitsForTheTokenOfTheLast) {
  const Program program =
      step_of("gpt2", {.kind = StepKind::kGenerate, .input_tokens = 4, .output_tokens = 2});
  const Trace trace = trace_step(program);
  const std::size_t chosen = row_named(trace, "lm_head.argmax");
  const std::size_t lookup = row_named(trace, "transformer.wte.embedding", chosen);
  EXPECT_THAT(trace.data_deps(lookup), ElementsAre(trace.id(chosen)));
  // The cache that prefill wrote is read by the decode step's attention.
  const std::size_t prefill_write = row_named(trace, "transformer.h.0.attn.cache_write");
  const std::size_t decode_write = row_named(trace, "transformer.h.0.attn.cache_write", chosen);
  EXPECT_THAT(trace.data_deps(decode_write), Contains(trace.id(prefill_write)));
}

TEST(StepTrace, AnUpdateWaitsForTheReadersOfWhatItOverwrites) {
  const Program program = step_of("gpt2");
  const Trace trace = trace_step(program);
  const std::size_t update = row_named(trace, "transformer.wpe.adamw");
  const std::size_t lookup = row_named(trace, "transformer.wpe.embedding");
  EXPECT_THAT(trace.ctrl_deps(update), Contains(trace.id(lookup)));
  const std::size_t gradient = row_named(trace, "transformer.wpe.embedding_grad");
  EXPECT_THAT(trace.data_deps(update), Contains(trace.id(gradient)));
  EXPECT_THAT(trace.ctrl_deps(gradient), IsEmpty());
}

TEST(StepTrace, NodesSayWhereTheyComeFrom) {
  const Program program = step_of("gpt2", {.batch_size = 4, .seq_length = 16}, {.micro_batches = 2});
  const Trace trace = trace_step(program);
  const std::size_t first = row_named(trace, "transformer.h.3.mlp.c_fc.matmul.grad_b");
  const std::size_t row = row_named(trace, "transformer.h.3.mlp.c_fc.matmul.grad_b", first + 1);
  EXPECT_EQ(trace.type(row), NodeType::kComp);
  EXPECT_EQ(trace.find_attribute(row, "layer")->string(), "transformer.h.3.mlp.c_fc");
  EXPECT_EQ(trace.find_attribute(row, "phase")->string(), "backward");
  EXPECT_EQ(trace.find_attribute(row, "op")->string(), "matmul");
  EXPECT_EQ(trace.find_attribute(row, "micro_batch")->integer(), 1);
  EXPECT_EQ(trace.find_attribute(row, "is_cpu_op")->kind, TraceAttributeKind::kBool);
  EXPECT_EQ(trace.find_attribute(row, "num_ops")->kind, TraceAttributeKind::kInt64);
  EXPECT_EQ(trace.find_attribute(row, "tensor_size")->kind, TraceAttributeKind::kUint64);
  // 768 x 3072 weights in fp32, written into a variable that lives on.
  EXPECT_EQ(trace.outputs(row).values, "[[\"transformer.h.3.mlp.c_fc.weight.grad\", 9437184]]");
  EXPECT_EQ(trace.outputs(row).shapes, "[[768, 3072]]");
  EXPECT_EQ(trace.outputs(row).types, "[\"f32\"]");
}

TEST(StepTrace, ComesBackFromAFileAsItWas) {
  const Program program = step_of("llama3.1-8b");
  const Trace trace = trace_step(program);
  std::string bytes;
  write_chakra(trace, [&](std::string_view part) { bytes += part; });
  const Trace back = read_chakra(std::as_bytes(std::span(bytes)), "memory");
  ASSERT_EQ(back.size(), trace.size());
  TraceNode a, b;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    trace.get(row, a);
    back.get(row, b);
    ASSERT_TRUE(a == b) << trace.name(row);
  }
}

// A roofline would divide 0 by 0.
TEST(StepTrace, WhatOnlyMovesMemoryIsOneOp) {
  const Trace trace = trace_step(step_of("gpt2"));
  const std::size_t lookup = row_named(trace, "transformer.wte.embedding");
  EXPECT_EQ(trace.find_attribute(lookup, "num_ops")->integer(), 1);
  for (std::size_t row = 0; row < trace.size(); ++row) {
    if (trace.type(row) != NodeType::kComp) continue;
    EXPECT_TRUE(trace.find_attribute(row, "num_ops")->integer() > 0 ||
                trace.find_attribute(row, "tensor_size")->integer() == 0)
        << trace.name(row);
  }
}

// Two stages with tied embeddings, whose reduction could start before the last message is sent.
TEST(StepTrace, ForAstraSimCollectivesKeepTheOrderOfTheProgram) {
  const Plan plan{.dp = 2, .pp = 2, .micro_batches = 2};
  for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
    const Program program =
        build_step(*find_built_in_model("gpt2"), {.batch_size = 2, .seq_length = 16}, plan, stage);
    StepTracer tracer(program, {.plan = &plan, .flavor = TraceFlavor::kAstraSim});
    std::vector<TraceNodeId> before;  // the latest collective, and what was sent since
    bool collects = false;
    bool has_start = false;
    for (TraceNode node; tracer.next(node);) {
      EXPECT_TRUE(node.ctrl_deps.empty());
      if (node.type == NodeType::kComp && node.data_deps.empty() && !has_start) {
        // The first computation takes some time, whatever the device.
        EXPECT_GE(node.attributes.find("tensor_size")->integer(), 10'000) << node.name;
        has_start = true;
      }
      if (node.type == NodeType::kCommSend) before.push_back(node.id);
      if (node.type != NodeType::kCommColl) continue;
      EXPECT_THAT(node.data_deps, IsSupersetOf(before)) << node.name;
      before = {node.id};
      collects = true;
    }
    EXPECT_TRUE(collects);
    EXPECT_TRUE(has_start);
  }
}

}  // namespace
}  // namespace nadi::inline traces
