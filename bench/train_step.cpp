// One training step of GPT-2 or BERT on the CPU, fp32, without dropout, on random tokens: what
// bench/train.sh measures beside other programs.
//   train_step gpt2|bert BATCH TOKENS STEPS [--per-op]
// Prints medians over the steps, the first one left out: seconds of forward, backward and optimizer,
// tokens/s; the time that the step's matrix products take alone, by the same library on the same threads; and
// memory, predicted and used. With --per-op also a table of where the time went.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "nadi/base/random.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/cpu/gemm.h"
#include "nadi/graph/ops/attention.h"
#include "nadi/graph/ops/matmul.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/recording/op_stacks.h"

namespace nadi {
namespace {

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The matrix products of a program with nothing around them: linear layers as they are, those of attention as
// products of whole matrices per head, forward two and backward four (a library knows no causal mask).
struct Products {
  std::vector<cpu::Gemm> linear, attention;
  std::vector<std::int64_t> attention_batches;
};

Products products_of(const Program& program) {
  Products products;
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    const Graph& graph = program.graph_of(section);
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i) {
      const OpView op{graph, graph.ops()[i]};
      if (op.op.kind == OpKind::kMatmul) {
        const MatmulExtents e = matmul_extents(op);
        const bool ta = op.attributes().boolean("transpose_a"), tb = op.attributes().boolean("transpose_b");
        products.linear.push_back({.m = e.m,
                                   .n = e.n,
                                   .k = e.k,
                                   .lda = ta ? e.m : e.k,
                                   .transpose_a = ta,
                                   .ldb = tb ? e.k : e.n,
                                   .transpose_b = tb,
                                   .beta = op.op.outputs[0].accumulate ? 1.0F : 0.0F,
                                   .ldc = e.n});
      } else if (op.op.kind == OpKind::kAttention || op.op.kind == OpKind::kAttentionGrad) {
        const AttentionExtents e = attention_extents(op);
        const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
          products.attention.push_back({.m = m,
                                        .n = n,
                                        .k = k,
                                        .lda = ta ? m : k,
                                        .transpose_a = ta,
                                        .ldb = tb ? k : n,
                                        .transpose_b = tb,
                                        .ldc = n});
          products.attention_batches.push_back(e.B * e.H);
        };
        if (op.op.kind == OpKind::kAttention) {
          add(e.T, e.S, e.D, false, true);
          add(e.T, e.D, e.S, false, false);
        } else {
          add(e.T, e.S, e.D, false, true);   // gradient of probabilities
          add(e.S, e.D, e.T, true, false);   // of values
          add(e.T, e.D, e.S, false, false);  // of queries
          add(e.S, e.D, e.T, true, false);   // of keys
        }
      }
    }
  }
  return products;
}

struct ProductTimes {
  double linear = 0, attention = 0;
};

ProductTimes time_products(const Products& products) {
  std::int64_t a = 0, b = 0, c = 0;
  const auto grow = [&](const cpu::Gemm& g) {
    a = std::max(a, g.m * g.k);
    b = std::max(b, g.k * g.n);
    c = std::max(c, g.m * g.n);
  };
  for (const cpu::Gemm& g : products.linear) grow(g);
  for (const cpu::Gemm& g : products.attention) grow(g);
  std::vector<float> va(a), vb(b), vc(c);
  fill_normal({.seed = 1}, 0, va);
  fill_normal({.seed = 2}, 0, vb);
  const auto run = [&](cpu::Gemm g) {
    g.a = va.data();
    g.b = vb.data();
    g.c = vc.data();
    cpu::gemm(g);
  };
  ProductTimes times;
  double start = now();
  for (const cpu::Gemm& g : products.linear) run(g);
  times.linear = now() - start;
  start = now();
  for (std::size_t i = 0; i < products.attention.size(); ++i)
    for (std::int64_t batch = 0; batch < products.attention_batches[i]; ++batch) run(products.attention[i]);
  times.attention = now() - start;
  return times;
}

std::vector<std::int32_t> random_tokens(const char* name, std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int32_t> tokens(count);
  for (std::int64_t i = 0; i < count; ++i)
    tokens[i] = static_cast<std::int32_t>(random_word({.seed = 1, .site = site_of(name)}, i) % vocabulary);
  return tokens;
}

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

int run(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: train_step gpt2|bert BATCH TOKENS STEPS [--per-op]\n");
    return 2;
  }
  const std::string name = argv[1];
  const std::int64_t batch = std::atoi(argv[2]), tokens = std::atoi(argv[3]), steps = std::atoi(argv[4]);
  const bool per_op = argc > 5 && std::strcmp(argv[5], "--per-op") == 0;
  ModelConfig config = *find_built_in_model(name == "bert" ? "bert-base-uncased" : name);
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0;
  const Program program =
      build_step(config, {.batch_size = batch,
                          .seq_length = tokens,
                          .optimizer = {.learning_rate = {.decay = Decay::kConstant, .peak = 1e-4}}});
  const ProgramSummary summary = summarize(program);

  CpuEngine engine;
  const ProgramHandle loaded = engine.load(program);
  engine.bind();
  engine.initialize(1);
  const std::vector<std::int32_t> ids = random_tokens("ids", batch * tokens, config.vocabulary);
  const std::vector<std::int32_t> targets = random_tokens("targets", batch * tokens, config.vocabulary);
  const std::vector<std::int32_t> zeros(batch * tokens, 0), lengths(batch, static_cast<std::int32_t>(tokens));
  const auto set = [&](const char* input, auto& values) {
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    if (engine.has_input(loaded, input)) engine.set_input<T>(loaded, InputSet::kFirst, input, values);
  };
  set("input_ids", ids);
  set("targets", targets);
  set("token_type_ids", zeros);
  set("lengths", lengths);
  const std::vector<float> count{static_cast<float>(batch * tokens)};
  const std::vector<std::int64_t> advance{1};
  set("token_count", count);
  set("schedule_advance", advance);

  std::vector<ExecutedStep> records;
  Ticket ticket{};
  std::vector<double> forward, backward, optimizer, whole;
  for (std::int64_t i = 0; i <= steps; ++i) {
    ExecutedStep record{.step = i};
    const double start = now();
    ticket = engine.run(loaded, {.record = &record});
    engine.wait(ticket);
    const double seconds = now() - start;
    if (i == 0) continue;
    std::array<double, kPhaseCount> phases{};
    for (const ExecutedKernel& op : record.kernels) {
      const Section& section = program.section(program.instructions[op.instruction].section);
      const Phase phase = program.graph_of(section).op(op.op).phase;
      phases[static_cast<std::size_t>(phase)] += static_cast<double>((op.end - op.start).count()) * 1e-9;
    }
    forward.push_back(phases[0]);
    backward.push_back(phases[1] + phases[2]);
    optimizer.push_back(phases[3]);
    whole.push_back(seconds);
    records.push_back(std::move(record));
  }
  const double peak = peak_gib();  // before the buffers of what follows
  std::vector<double> linear, attention;
  const Products products = products_of(program);
  for (int i = 0; i < 3; ++i) {
    const ProductTimes times = time_products(products);
    linear.push_back(times.linear);
    attention.push_back(times.attention);
  }
  const double step = median(whole), alone = median(linear) + median(attention);
  std::printf(
      "nadi %s batch %ld tokens %ld threads %d (%s): forward %.3f backward %.3f optimizer %.3f step %.3f s, "
      "%.0f tokens/s, loss %.3f\n",
      name.c_str(), batch, tokens, engine.threads(), std::string(cpu::gemm_library()).c_str(),
      median(forward), median(backward), median(optimizer), step, static_cast<double>(batch * tokens) / step,
      engine.scalar(ticket, "loss"));
  std::printf("matrix products alone: linear %.3f s, attention %.3f s; step / products = %.3f\n",
              median(linear), median(attention), step / alone);
  std::printf("memory: predicted %.3f GiB, engine %.3f GiB, peak of the process %.3f GiB\n",
              static_cast<double>(summary.memory.total().count()) / (1 << 30),
              static_cast<double>(engine.allocated().count()) / (1 << 30), peak);
  if (per_op) std::fputs(op_stacks(program, records).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  return nadi::run(argc, argv);
}
