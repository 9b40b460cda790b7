// nadi show
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/chakra/trace_summary.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/step_flags.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/model_parameters.h"
#include "nadi/parallel/step_program.h"
#include "nadi/parallel/step_summary.h"
#include "nadi/report/step_json.h"
#include "nadi/report/step_text.h"
#include "nadi/report/step_view.h"
#include "nadi/report/trace_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

void show_trace(const Flags& flags, Console& console) {
  std::vector<std::string_view> of_models = given_step_flags(flags);
  for (const std::string_view flag : {"--rank", "--graph", "--per-layer", "--device"})
    if (flags.given(flag)) of_models.push_back(flag);
  if (!of_models.empty())
    throw usage_error(format("{} is for models, and '{}' is a trace", of_models[0], flags.positional()));
  const TraceSummary summary = summarize_trace(
      flags.positional(), [&console] { console.check_interrupted(); }, memory_limit_of(flags));
  if (flags.given("--json"))
    console.out << dump_json(trace_json(summary));
  else
    print_trace(summary, console.out, {.style = style_for(console), .more = ", in --json"});
}

Rank resolve_rank(const Flags& flags, const Plan& plan) {
  const std::int64_t rank = flags.integer("--rank", 0).value_or(0);
  if (rank >= plan.world_size())
    throw usage_error(format("--rank {} is outside of the plan, which has {} rank{}", rank, plan.world_size(),
                             plan.world_size() == 1 ? "" : "s"),
                      plan.world_size() == 1 ? "--tp, --cp, --dp and --pp make more"
                                             : format("ranks are 0 to {}", plan.world_size() - 1));
  return Rank{static_cast<std::int32_t>(rank)};
}

std::vector<DeviceEntry> devices_with_planned_memory() {
  std::vector<DeviceEntry> found;
  std::ranges::copy_if(devices(), std::back_inserter(found), &DeviceEntry::plans_memory);
  return found;
}

std::vector<std::string_view> names_of_devices() {
  std::vector<std::string_view> names;
  for (const DeviceEntry& entry : devices_with_planned_memory()) names.push_back(entry.name);
  return names;
}

DeviceView view_of(const DeviceEntry& device, const Program& program, const MathOptions& math) {
  const KernelPlan kernels = plan_kernels(device.kind, program, {.math = math});
  DeviceView view{.name = device.name, .memory = engine_memory(program, kernels)};
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    const std::span ops = program.graph_of(section).ops();
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i)
      view.ops += definition(ops[i].kind).op_class != OpClass::kView;
    for (const PlannedKernel& kernel : kernels.graphs[section.graph])
      view.kernels += kernel.first_op >= section.first_op && kernel.end_op <= section.end_op;
  }
  return view;
}

void show_model(const Flags& flags, Console& console) {
  if (flags.given("--max-memory"))
    throw usage_error(format("--max-memory is for traces, and '{}' is a model", flags.positional()));
  if (flags.given("--deterministic") && !flags.given("--device"))
    throw usage_error("--deterministic needs --device", "it goes with --device cuda");
  for (const std::string_view flag : {"--json", "--per-layer", "--device"})
    if (flags.given("--graph") && flags.given(flag))
      throw usage_error(format("{} does not apply to --graph", flag), "--graph prints ops as text");
  const ResolvedStep step = resolve_step(flags, console);
  const Rank rank = resolve_rank(flags, step.plan);
  const std::int64_t stage = coordinates_of(step.plan, rank).pp;
  const auto device = flags.choice("--device");
  std::optional<Program> program;  // for those who want to see its ops
  if (flags.given("--graph") || device) program = build_step(step.config, step.request, step.plan, stage);
  if (flags.given("--graph")) return print_sections(*program, console);
  StepView view{
      .step = step,
      .place = place_of(step.config, step.plan, rank),
      .summary = program ? summarize(*program) : summarize_step(step.config, step.request, step.plan, stage),
      .model_parameters = model_parameters(step.config)};
  if (device)
    view.device = view_of(devices_with_planned_memory()[*device], *program,
                          {.deterministic = flags.given("--deterministic")});
  if (flags.given("--json"))
    console.out << dump_json(step_json(view));
  else
    print_step(view, flags.given("--per-layer") ? LayerRows::kAll : LayerRows::kCollapsed, console);
}

class ShowCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({.name = "MODEL|TRACE",
                          .help = "a built-in model (see 'nadi models'), a config.json, a checkpoint folder; "
                                  "or a Chakra trace (.et, .json)",
                          .fallback = "that of --plan"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md", .group = "output"});
    flags.add({.names = {"--graph"}, .help = "print the ops of the step, one per line", .group = "output"});
    flags.add({.names = {"--per-layer"},
               .help = "a row for each layer, not one for neighbours that cost the same",
               .group = "output"});
    flags.add({.names = {"--rank"},
               .value = "N",
               .help = "whose part of the step is shown, from 0",
               .fallback = "0",
               .group = "output"});
    flags.add({.names = {"--device"},
               .value = "WHERE",
               .help = "also what an engine takes there, to the byte: with workspaces and padding",
               .fallback = "none",
               .choices = names_of_devices(),
               .group = "output"});
    flags.add({.names = {"--deterministic"},
               .help = "with --device cuda: with the workspaces of kernels that give the same bits again",
               .group = "output"});
    add_max_memory_flag(flags, "traces");
    add_step_flags(flags);
    flags.show_first(
        {"--step", "--batch-size", "--seq-length", "--dtype", "--tp", "--pp", "--dp", "--rank", "--json"});
  }

  void run(const Flags& flags, Console& console) const override {
    const Flags planned = with_plan_file(flags).flags;
    const std::string& subject = planned.positional();
    if (find_built_in_model(subject) == nullptr && is_trace(subject))
      show_trace(planned, console);
    else
      show_model(planned, console);
  }
};

}  // namespace

std::unique_ptr<Command> make_show_command() {
  return std::make_unique<ShowCommand>();
}

}  // namespace nadi::inline show
