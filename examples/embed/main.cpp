// Nadi as a library: the step graph of a built-in model, its figures on one rank and on one of many, and a
// graph of one's own with its gradients.

#include <cstdio>

#include "nadi/graph/builder.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/ops.h"
#include "nadi/graph/printer.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"

namespace {

void print(const char* what, const nadi::Program& program) {
  const nadi::ProgramSummary summary = nadi::summarize(program);
  std::printf("%s: %s parameters, %s, %s of memory\n", what, nadi::with_thousands(summary.parameters).c_str(),
              to_string(summary.total().cost.flops()).c_str(), to_string(summary.memory.total()).c_str());
}

}  // namespace

int main() {
  const nadi::ModelConfig& gpt2 = *nadi::find_built_in_model("gpt2");
  const nadi::StepRequest request{.batch_size = 4, .seq_length = 512};
  print("gpt2 on one rank", nadi::build_step(gpt2, request));

  const nadi::Plan plan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 4};
  print("gpt2 on a rank of the first stage of two", nadi::build_step(gpt2, request, plan, 0));

  nadi::GraphBuilder builder;
  const nadi::TensorId x = builder.input("x", {8, 16}, nadi::DType::kF32);
  const nadi::TensorId w =
      builder.parameter("w", {16, 4}, nadi::DType::kF32, nadi::Initializer::normal(0.02));
  const nadi::TensorId y = nadi::matmul(builder, {.a = x, .b = w});
  const nadi::TensorId dy = builder.input("dy", {8, 4}, nadi::DType::kF32);
  add_backward(builder, {.seeds = {{y, dy}}});
  std::printf("%s", nadi::print_graph(builder.graph()).c_str());
}
