#include "nadi/cli/train_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/base/read_number.h"
#include "nadi/base/version.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/train_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/defaults.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/train/start_point.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// The start of file names that a model's own name gives: its last part without ".json".
std::string short_name(const std::string& model) {
  std::string name = fs::path(model).filename().string();
  if (name.empty()) name = fs::path(model).parent_path().filename().string();
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  return name;
}

void refuse_missing_folder(const std::filesystem::path& folder) {
  if (std::error_code ignored; !std::filesystem::exists(folder, ignored)) throw no_such_file(folder.string());
}

// What find_start() found missing, or in the way, with the flags that help.
void refuse(const StartPoint& start, const StartRequest& request, const Flags& flags) {
  switch (start.problem) {
    case StartProblem::kNone:
      return;
    case StartProblem::kNoCheckpointOfStep:
      refuse_missing_folder(request.load);
      throw input_error({.file = request.load.string()},
                        format("there is no checkpoint after step {}", *request.load_step),
                        "leave --ckpt-step out to take the newest");
    case StartProblem::kNothingToLoad:
      refuse_missing_folder(request.load);
      throw input_error({.file = request.load.string()}, "there is no checkpoint");
    case StartProblem::kNothingToContinue:
      throw input_error({.file = (request.save_dir.empty() ? request.load : request.save_dir).string()},
                        "there is no checkpoint to continue from",
                        "--resume-if-any starts from the beginning where there is none");
    case StartProblem::kForeignCheckpoints:
      if (flags.given("--force")) return;
      throw usage_error(format("{} has checkpoints of a run, the newest after step {}",
                               request.save_dir.string(), start.own.back().step),
                        format("continue it with --resume, choose another {}, or overwrite them with --force",
                               given_name(flags, "--save-dir")));
  }
  unreachable();
}

// In the order of the choices of --ckpt-format.
SaveForm resolve_save_form(const Flags& flags) {
  const auto choice = flags.choice("--ckpt-format");
  const auto form = static_cast<SaveForm>(choice.value_or(0));
  if (!flags.given("--use-dist-ckpt")) return form;
  if (choice && form != SaveForm::kTorchDist)
    throw usage_error("--use-dist-ckpt is --ckpt-format torch_dist: it contradicts another --ckpt-format");
  return SaveForm::kTorchDist;
}

}  // namespace

void resolve_checkpoints(const Flags& flags, const std::string& model, TrainOptions& options,
                         std::vector<std::string>& notes) {
  options.save_dir = flags.text(given_name(flags, "--save-dir")).value_or("");
  options.save_steps = flags.integer(given_name(flags, "--save-steps")).value_or(0);
  options.save_total_limit = flags.integer("--save-total-limit").value_or(0);
  if (const auto chosen = flags.choice("--save-format"))
    options.save_format = weight_formats()[*chosen].format;
  if (flags.given("--save-steps") && options.save_dir.empty()) {
    options.save_dir = fs::path(kDefaultCheckpoints) / to_string(options.config.architecture);
    notes.push_back(
        format("--save-steps without --save-dir: checkpoints go to {}", options.save_dir.string()));
  }
  const auto loaded = flags.text("--load");
  const bool saves = !options.save_dir.empty();
  // Megatron's scripts have --save-interval in any case.
  for (const std::string_view flag : {"--save-total-limit", "--save-format"})
    if (flags.given(flag) && !saves)
      throw usage_error(format("{} needs --save-dir", flag), "--save-dir names the folder for checkpoints");
  if (flags.given("--save-interval") && !saves) {
    options.save_steps = 0;
    notes.push_back("--save-interval has no effect without --save");
  }
  options.save_form = resolve_save_form(flags);
  options.save_names = flags.choice("--transformer-impl").value_or(0) == 0
                           ? MegatronNaming::kTransformerEngine
                           : MegatronNaming::kLocal;
  options.save_optimizer = !flags.given("--no-save-optim");
  for (const std::string_view flag : {"--no-save-optim", "--use-dist-ckpt", "--ckpt-format"})
    if (flags.given(flag) && !saves) notes.push_back(format("{} has no effect without --save", flag));
  if (flags.given("--transformer-impl") && options.save_form != SaveForm::kTorch)
    notes.push_back("--transformer-impl has no effect without --ckpt-format torch");
  const bool resume = flags.given("--resume") || flags.given("--resume-if-any");
  for (const std::string_view flag : {"--resume", "--resume-if-any"})
    if (flags.given(flag) && !saves && !loaded)
      throw usage_error(format("{} needs --save-dir", flag), "--save-dir names the folder for checkpoints");
  for (const std::string_view flag :
       {"--finetune", "--exit-on-missing-checkpoint", "--ckpt-step", "--no-load-optim",
        "--override-opt-param-scheduler", "--use-checkpoint-opt-param-scheduler", "--use-checkpoint-args"})
    if (flags.given(flag) && !loaded) notes.push_back(format("{} has no effect without --load", flag));

  options.resume_optimizer = !flags.given("--no-load-optim");
  const bool override = flags.given("--override-opt-param-scheduler");
  const bool of_checkpoint = flags.given("--use-checkpoint-opt-param-scheduler");
  if (override && of_checkpoint)
    throw usage_error(
        "--override-opt-param-scheduler and --use-checkpoint-opt-param-scheduler contradict each other");
  if (override) options.schedule_on_resume = ScheduleOnResume::kNew;
  if (of_checkpoint) options.schedule_on_resume = ScheduleOnResume::kOfCheckpoint;
  const StartRequest request{.model = model,
                             .init_from = flags.text(given_name(flags, "--init-from")).value_or(""),
                             .save_dir = options.save_dir,
                             .resume = resume,
                             .must_resume = resume && !flags.given("--resume-if-any"),
                             .load = loaded.value_or(""),
                             .load_step = loaded ? flags.integer("--ckpt-step", 0) : std::nullopt,
                             .load_weights_only = flags.given("--finetune"),
                             .must_load = flags.given("--exit-on-missing-checkpoint"),
                             .verify = flags.given("--no-verify") ? Verify::kNo : Verify::kYes};
  const StartPoint start = find_start(request);
  notes.insert(notes.end(), start.notes.begin(), start.notes.end());
  refuse(start, request, flags);
  options.init_from = start.init_from;
  options.resume_from = start.resume_from;
  if (start.new_optimizer) options.resume_optimizer = false;
  options.verify = request.verify;
  options.replace_checkpoints = flags.given("--force") && !start.continues_own;
}

namespace {

// --profile-ranks: those there are, of a script that was written for more.
std::set<std::int64_t> profiled_ranks(const Flags& flags, std::int64_t world,
                                      std::vector<std::string>& notes) {
  std::set<std::int64_t> ranks;
  std::vector<std::string> beyond;
  for (const std::string& word : flags.texts("--profile-ranks")) {
    std::int64_t rank = -1;
    if (!read_number(word, rank) || rank < 0)
      throw usage_error(format("--profile-ranks takes numbers of ranks, not '{}'", word));
    if (rank < world)
      ranks.insert(rank);
    else
      beyond.push_back(word);
  }
  if (!ranks.empty() && !beyond.empty())
    notes.push_back(format("--profile-ranks: there is no rank {} among {}", beyond.front(), world));
  if (ranks.empty() && !beyond.empty())
    throw usage_error(format("--profile-ranks {}: the ranks are 0 to {}", beyond.front(), world - 1));
  return ranks;
}

// Steps start + 1 to end, counted from 1.
struct ProfiledSteps {
  std::int64_t start = 0, end = 0;
};
ProfiledSteps profiled_steps(const Flags& flags) {
  const std::int64_t start = flags.integer("--profile-step-start", 0).value_or(kProfileStart);
  const std::int64_t end = flags.integer("--profile-step-end").value_or(std::max(start + 1, kProfileEnd));
  if (end <= start)
    throw usage_error(format("--profile-step-end {} is not after --profile-step-start {}", end, start));
  return {start, end};
}

// CUPTI serves one at a time: whoever profiles from outside, or us.
ProfilerRange resolve_profiler_range(const Flags& flags, const TrainOptions& options,
                                     std::vector<std::string>& notes) {
  for (const std::string_view flag : {"--enable-tracing", "--trace-output-dir", "--trace-name",
                                      "--trace-wait", "--trace-warmup", "--trace-active"})
    if (flags.given(flag))
      throw usage_error(
          format("{} traces the run, and --profile leaves that to nsys or ncu on a GPU", flag),
          "leave out --profile, or add --use-pytorch-profiler, which traces the steps of --profile");
  const ProfiledSteps steps = profiled_steps(flags);
  return {.first = steps.start + 1,
          .last = steps.end,
          .ranks = profiled_ranks(flags, options.plan.world_size(), notes)};
}

}  // namespace

void resolve_traces(const Flags& flags, const std::string& model, TrainOptions& options,
                    std::vector<std::string>& notes) {
  const bool profile = flags.given("--profile");
  if (!flags.given("--enable-tracing") && !profile) {
    for (const std::string_view flag :
         {"--trace-output-dir", "--trace-name", "--trace-wait", "--trace-warmup", "--trace-active"})
      if (flags.given(flag))
        throw usage_error(format("{} needs --enable-tracing", flag), "without it no trace is written");
    if (flags.given("--profile-ranks")) notes.push_back("--profile-ranks has no effect without --profile");
    return;
  }
  if (profile && options.device == DeviceKind::kCuda && !flags.given("--use-pytorch-profiler")) {
    options.profiler_range = resolve_profiler_range(flags, options, notes);
    return;
  }
  const std::string beside = profile ? flags.text("--tensorboard-dir").value_or("outputs") : "outputs";
  RecorderOptions trace{.folder = flags.text("--trace-output-dir").value_or(beside),
                        .name = flags.text("--trace-name").value_or(short_name(model))};
  if (profile) {
    // After one that is recorded and forgotten.
    const auto [start, end] = profiled_steps(flags);
    trace.wait = std::max<std::int64_t>(start - 1, 0);
    trace.warmup = std::min<std::int64_t>(start, 1);
    trace.active = end - start;
  }
  trace.recorded_ranks = profiled_ranks(flags, options.plan.world_size(), notes);
  trace.wait = flags.integer("--trace-wait", 0).value_or(trace.wait);
  trace.warmup = flags.integer("--trace-warmup", 0).value_or(trace.warmup);
  trace.active = flags.integer("--trace-active").value_or(trace.active);
  if (flags.given("--force")) trace.overwrite = Overwrite::kAllow;
  const std::int64_t sequences = options.batch_size * options.accumulation;
  trace.metadata = {{"nadi_version", std::string(version())},
                    {"model", model},
                    {"batch_size", format("{}", sequences)},
                    {"micro_batch_size", format("{}", options.batch_size)},
                    {"global_batch_size", format("{}", sequences * options.plan.dp)},
                    {"seq_length", format("{}", options.seq_length)},
                    {"dtype", std::string(name_of(options.dtype))},
                    {"optimizer", std::string(to_string(options.optimizer.kind))},
                    {"seed", format("{}", options.seed)}};
  options.trace = std::move(trace);
}

}  // namespace nadi::inline show
