// nadi show
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/chakra/trace_summary.h"
#include "nadi/cli/html_flag.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/step_flags.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/devices/make_engine.h"
#include "nadi/draw/answer_page.h"
#include "nadi/model/catalogue.h"
#include "nadi/report/flag_settings.h"
#include "nadi/report/step_json.h"
#include "nadi/report/step_text.h"
#include "nadi/report/trace_report.h"
#include "nadi/step/step_answer.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

void show_trace(const Flags& flags, Console& console) {
  std::vector<std::string_view> of_models = given_step_flags(flags);
  for (const std::string_view flag : {"--rank", "--graph", "--per-layer", "--device", "--html", "--force"})
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

// Each stage is pictured by its first rank.
void write_step_page(const StepAnswer& answer, const RankQuestion& question,
                     const std::filesystem::path& path, Overwrite overwrite) {
  const Plan& plan = answer.step.plan;
  std::vector<StepAnswer> answers;
  std::vector<Program> programs;
  for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
    RankQuestion of_stage = question;
    of_stage.rank = stage * (plan.world_size() / plan.pp);
    answers.push_back(describe_step(of_stage, answer.step));
    programs.push_back(program_of(of_stage, answer.step));
  }
  std::vector<StagePicture> stages;
  for (std::size_t i = 0; i < answers.size(); ++i) stages.push_back({answers[i], programs[i]});
  write_answer_page(step_page(answer, stages), path, overwrite);
}

std::vector<std::string_view> names_of_devices() {
  std::vector<std::string_view> names;
  for (const DeviceEntry& entry : devices())
    if (entry.plans_memory) names.push_back(entry.name);
  return names;
}

void show_model(const Flags& flags, Console& console) {
  if (flags.given("--max-memory"))
    throw usage_error(format("--max-memory is for traces, and '{}' is a model", flags.positional()));
  if (flags.given("--deterministic") && !flags.given("--device"))
    throw usage_error("--deterministic needs --device", "it goes with --device cuda");
  for (const std::string_view flag : {"--json", "--per-layer", "--device", "--html"})
    if (flags.given("--graph") && flags.given(flag))
      throw usage_error(format("{} does not apply to --graph", flag), "--graph prints ops as text");
  const RankQuestion question{.step = step_question(flags),
                              .rank = flags.integer("--rank", 0).value_or(0),
                              .device = flags.text("--device").value_or(""),
                              .deterministic = flags.given("--deterministic")};
  const auto page = html_path(flags);
  if (flags.given("--force") && !page) throw usage_error("--force needs --html", "it overwrites the page");
  const ResolvedStep step = resolve(question);
  note_step(step, console);
  if (flags.given("--graph")) return print_sections(program_of(question, step), console);
  const StepAnswer answer = describe_step(question, step);
  if (page) {
    write_step_page(answer, question, *page, html_overwrite(flags));
    console.info() << format("wrote {}\n", page->string());
  }
  if (flags.given("--json"))
    console.out << dump_json(step_json(answer));
  else
    print_step(answer, flag_settings(step, [&](std::string_view flag) { return flags.given(flag); }),
               flags.given("--per-layer") ? LayerRows::kAll : LayerRows::kCollapsed, console);
}

}  // namespace

void add_show_flags(Flags& flags) {
  flags.set_positional({.name = "MODEL|TRACE",
                        .help = "a built-in model (see 'nadi models'), a config.json, a checkpoint folder; "
                                "or a Chakra trace (.et, .json)",
                        .fallback = "that of --plan"});
  FlagHeading output(flags, "output");
  output.toggle("--json", "print JSON: see docs/json.md");
  output.toggle("--graph", "print the ops of the step, one per line");
  output.toggle("--per-layer", "a row for each layer, not one for neighbours that cost the same");
  output.value("--rank", "N", "whose part of the step is shown, from 0", "0");
  output.value("--device", "WHERE",
               "also what an engine takes there, to the byte: with workspaces and padding", "none",
               {.choices = names_of_devices()});
  output.toggle("--deterministic",
                "with --device cuda: with the workspaces of kernels that give the same bits again");
  add_html_flag(flags, "output",
                "also as a page: memory over the step and by stage, and what each layer costs");
  output.toggle("--force", "overwrite the page");
  add_max_memory_flag(flags, "traces");
  add_step_flags(flags);
  flags.show_first(
      {"--step", "--batch-size", "--seq-length", "--dtype", "--tp", "--pp", "--dp", "--rank", "--json"});
}

void run_show(const Flags& flags, Console& console) {
  const Flags planned = with_plan_file(flags).flags;
  const std::string& subject = planned.positional();
  if (find_built_in_model(subject) == nullptr && is_trace(subject))
    show_trace(planned, console);
  else
    show_model(planned, console);
}

}  // namespace nadi::inline show
