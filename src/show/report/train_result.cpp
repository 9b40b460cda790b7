#include "nadi/report/train_result.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/train/resolve_data.h"

namespace nadi::inline show {

void print_train_result(const TrainResult& result, std::ostream& out) {
  out << format("{} after {} steps", result.stopped ? "stopped" : "done", result.steps);
  if (result.first_loss) out << format(": loss {:.4f} to {:.4f}", *result.first_loss, *result.last_loss);
  if (result.best_validation_loss)
    out << format(", best validation loss {:.4f}", *result.best_validation_loss);
  if (result.seconds > 0)
    out << format(", {:.0f} tokens/s", static_cast<double>(result.tokens) / result.seconds);
  out << "\n";
  if (result.skipped_steps > 0) out << format("skipped steps: {}\n", result.skipped_steps);
  if (!result.best_model.empty()) out << format("best model: {}\n", result.best_model.string());
  if (!result.last_checkpoint.empty())
    out << format("last checkpoint: {}\n", result.last_checkpoint.string());
}

namespace {

Json text_or_null(const std::string& value) {
  return value.empty() ? Json(nullptr) : Json(value);
}

}  // namespace

Json train_settings_json(const TrainOptions& options, const ResolvedTrainData& data) {
  const Plan& plan = options.plan;
  return {{"nadi_version", version()},
          {"model", options.config.name},
          {"data", data.data_name},
          {"validation_data", text_or_null(data.validation_name)},
          {"tokenizer", text_or_null(data.tokenizer_name)},
          {"samples", data.train->samples()},
          {"batch_size", options.batch_size},
          {"gradient_accumulation_steps", options.accumulation},
          {"global_batch_size", global_batch_of(options)},
          {"max_seq_length", options.seq_length},
          {"dtype", name_of(options.dtype)},
          {"optimizer", to_string(options.optimizer.kind)},
          {"learning_rate", options.optimizer.learning_rate.peak},
          {"seed", options.seed},
          {"world_size", plan.world_size()},
          {"tp", plan.tp},
          {"cp", plan.cp},
          {"dp", plan.dp},
          {"pp", plan.pp}};
}

Json train_result_json(const TrainOptions& options, const ResolvedTrainData& data,
                       const TrainResult& result) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const auto path = [&](const std::filesystem::path& value) { return text_or_null(value.string()); };
  const RunTraceFiles trace = result.trace.value_or(RunTraceFiles{});
  Json json = train_settings_json(options, data);
  json.update(Json{
      {"steps", result.steps},
      {"stopped", result.stopped},
      {"first_loss", optional(result.first_loss)},
      {"last_loss", optional(result.last_loss)},
      {"best_validation_loss", optional(result.best_validation_loss)},
      {"skipped_steps", result.skipped_steps},
      {"tokens", result.tokens},
      {"seconds", result.seconds},
      {"last_checkpoint", path(result.last_checkpoint)},
      {"best_model", path(result.best_model)},
      {"trace",
       {{"kineto", path(trace.kineto)}, {"chakra", path(trace.chakra)}, {"stacks", path(trace.stacks)}}}});
  return json;
}

}  // namespace nadi::inline show
