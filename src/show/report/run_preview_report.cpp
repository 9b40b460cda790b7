#include "nadi/report/run_preview_report.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/rates.h"
#include "nadi/base/version.h"
#include "nadi/data/batch_source.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/parallel/rank_list.h"
#include "nadi/report/step_tables.h"
#include "nadi/train/resolve_data.h"

namespace nadi::inline show {
namespace {

// Time of the steps that are left.
std::optional<Nanoseconds> run_time(const RunPreviewReport& report) {
  if (!report.step_time) return std::nullopt;
  const std::int64_t steps =
      std::max<std::int64_t>(0, report.preview.total_steps - report.preview.first_step);
  return Nanoseconds{checked_multiply(report.step_time->count(), steps, "nanoseconds")};
}

std::string plan_text(const Plan& plan) {
  std::string text = format("dp {}, tp {}", plan.dp, plan.tp);
  if (plan.cp > 1) text += format(", cp {}", plan.cp);
  text += format(", pp {}", plan.pp);
  if (plan.virtual_stages > 1) text += format(" with {} virtual stages each", plan.virtual_stages);
  if (plan.zero_stage > 0) text += format(", zero {}", plan.zero_stage);
  return text;
}

std::string start_text(const TrainOptions& options) {
  if (!options.resume_from.empty())
    return format("the checkpoint {}{}", options.resume_from.string(),
                  options.resume_optimizer ? "" : ", with a new optimizer");
  return options.init_from.empty() ? "random weights"
                                   : format("the weights in {}", options.init_from.string());
}

std::string parts_text(const StagePreview& stage) {
  std::string text;
  for (const MemoryShare& part : memory_parts(stage.memory))
    if (part.size.count() > 0)
      text += format("{}{} {}", text.empty() ? "" : ", ", part.title, to_string(part.size));
  if (stage.total > stage.memory.total())
    text += format(", workspaces and padding {}", to_string(stage.total - stage.memory.total()));
  return text;
}

Bytes of_all_ranks(const RunPreview& preview) {
  Bytes sum;
  for (const StagePreview& stage : preview.stages)
    sum +=
        Bytes{checked_multiply(stage.total.count(), static_cast<std::int64_t>(stage.ranks.size()), "bytes")};
  return sum;
}

void print_memory(const RunPreviewReport& report, std::ostream& out) {
  out << "memory of each rank\n";
  for (const StagePreview& stage : report.preview.stages)
    out << format("  {}rank{} {}: {} ({})\n",
                  report.preview.stages.size() > 1 ? format("stage {}, ", stage.stage) : "",
                  stage.ranks.size() == 1 ? "" : "s", as_short_ranges(stage.ranks), to_string(stage.total),
                  parts_text(stage));
  if (report.options.plan.world_size() > 1)
    out << format("  all ranks together: {}\n", to_string(of_all_ranks(report.preview)));
  if (report.free_memory) out << format("  free on this machine: {}\n", to_string(*report.free_memory));
}

void print_files(const RunPreview& preview, std::ostream& out) {
  if (preview.files.empty()) {
    out << "files: none\n";
    return;
  }
  out << "files\n";
  for (const FilePreview& file : preview.files) {
    out << format("  {}: {}", file.path.string(), file.what);
    if (file.count > 1) out << format(", {} of them", with_thousands(file.count));
    if (file.kept < file.count) out << format(", of which the newest {} stay", with_thousands(file.kept));
    if (file.size_each) out << format(", {}{}", to_string(*file.size_each), file.count > 1 ? " each" : "");
    out << '\n';
  }
}

}  // namespace

void print_run_preview(const RunPreviewReport& report, std::ostream& out) {
  const TrainOptions& options = report.options;
  const RunPreview& preview = report.preview;
  out << format("model: {}, {} parameters, {}, {}\n", options.config.name, with_thousands(preview.parameters),
                name_of(options.dtype), to_string(options.optimizer.kind));
  out << format("ranks: {} on {}: {}\n", with_thousands(options.plan.world_size()), to_string(options.device),
                plan_text(options.plan));
  out << report.data.description;
  out << format("start: {}\n", start_text(options));
  if (preview.first_step >= preview.total_steps)
    out << format("steps: none; the checkpoint has done all {}\n", with_thousands(preview.total_steps));
  else
    out << format(
        "steps: {} to {}, of {} samples x {} tokens (micro-batches of {}, {} per step): {} tokens\n",
        with_thousands(preview.first_step + 1), with_thousands(preview.total_steps),
        with_thousands(global_batch_of(options)), with_thousands(options.seq_length), options.batch_size,
        options.accumulation, with_thousands(preview.tokens));
  print_memory(report, out);
  print_files(preview, out);
  if (report.step_time)
    out << format("time on {}: {} per step, {} in all, without evaluation and saving\n", report.cluster,
                  to_string(*report.step_time), to_string(*run_time(report)));
  else
    out << format("time: not known; {}\n", report.how_to_know_time);
  out << "nothing was run or written\n";
}

Json run_preview_json(const RunPreviewReport& report) {
  const TrainOptions& options = report.options;
  const RunPreview& preview = report.preview;
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  Json stages = Json::array();
  for (const StagePreview& stage : preview.stages) {
    Json memory;
    for (const MemoryShare& part : memory_parts(stage.memory))
      memory[std::string(part.key)] = part.size.count();
    stages.push_back({{"stage", stage.stage},
                      {"ranks", as_ranges(stage.ranks)},
                      {"memory", memory},
                      {"total_bytes", stage.total.count()}});
  }
  Json files = Json::array();
  for (const FilePreview& file : preview.files)
    files.push_back({{"path", file.path.string()},
                     {"what", file.what},
                     {"count", file.count},
                     {"kept", file.kept},
                     {"bytes_each", file.size_each ? Json(file.size_each->count()) : Json(nullptr)}});
  const auto time = run_time(report);
  return {{"nadi_version", version()},
          {"dry_run", true},
          {"model", options.config.name},
          {"parameters", preview.parameters},
          {"dtype", name_of(options.dtype)},
          {"optimizer", to_string(options.optimizer.kind)},
          {"device", to_string(options.device)},
          {"world_size", options.plan.world_size()},
          {"tp", options.plan.tp},
          {"cp", options.plan.cp},
          {"dp", options.plan.dp},
          {"pp", options.plan.pp},
          {"virtual_stages", options.plan.virtual_stages},
          {"zero", options.plan.zero_stage},
          {"data", report.data.data_name},
          {"validation_data", text(report.data.validation_name)},
          {"tokenizer", text(report.data.tokenizer_name)},
          {"samples", report.data.train->samples()},
          {"init_from", text(options.init_from.string())},
          {"resume_from", text(options.resume_from.string())},
          {"new_optimizer", options.resume_from.empty() || !options.resume_optimizer},
          {"first_step", preview.first_step},
          {"total_steps", preview.total_steps},
          {"batch_size", options.batch_size},
          {"gradient_accumulation_steps", options.accumulation},
          {"global_batch_size", global_batch_of(options)},
          {"max_seq_length", options.seq_length},
          {"tokens", preview.tokens},
          {"stages", stages},
          {"free_memory_bytes", report.free_memory ? Json(report.free_memory->count()) : Json(nullptr)},
          {"files", files},
          {"cluster", text(report.cluster)},
          {"step_seconds", report.step_time ? Json(to_seconds(*report.step_time)) : Json(nullptr)},
          {"seconds", time ? Json(to_seconds(*time)) : Json(nullptr)}};
}

}  // namespace nadi::inline show
