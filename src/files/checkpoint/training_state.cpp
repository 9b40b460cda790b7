#include "nadi/checkpoint/training_state.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_number.h"

namespace nadi::inline files {
namespace {

constexpr std::string_view kFormat = "nadi training state";
constexpr std::int64_t kVersion = 1;

// Finite ones as numbers: the shortest decimal that reads back as the same double. JSON has no others.
Json json_of(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json json_of(const std::map<std::string, double>& settings) {
  Json object = Json::object();
  for (const auto& [key, value] : settings) object[key] = json_of(value);
  return object;
}

double double_of(JsonValue value) {
  if (!value.is_string()) return value.as_double();
  const std::string& text = value.as_string();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw error_at(value, format("'{}' must be a number, \"inf\", \"-inf\" or \"nan\"", value.path()));
}

std::map<std::string, double> settings_of(JsonValue object) {
  std::map<std::string, double> settings;
  for (const auto& [key, value] : object.items()) settings.emplace(key, double_of(value));
  return settings;
}

std::int64_t count_of(JsonValue value) {
  const std::int64_t count = value.as_int64();
  if (count < 0) throw error_at(value, format("'{}' must not be negative", value.path()));
  return count;
}

// As a text, since a JSON number of 64 bits does not survive every reader.
std::uint64_t seed_of(JsonValue value) {
  const std::string& text = value.as_string();
  std::uint64_t seed = 0;
  if (!read_number(text, seed))
    throw error_at(value, format("'{}' must be a whole number of at most 64 bits, as a text", value.path()));
  return seed;
}

void check_version(JsonValue root) {
  const JsonValue format_name = root.at("format");
  if (format_name.as_string() != kFormat)
    throw error_at(format_name, format("this file is no '{}'", kFormat));
  const JsonValue version = root.at("version");
  if (version.as_int64() > kVersion)
    throw error_at(version,
                   format("written by a newer version of Nadi: version {} of the format, known is {}",
                          version.as_int64(), kVersion));
  if (version.as_int64() < kVersion)
    throw error_at(version, format("version {} of the format does not exist", version.as_int64()));
}

}  // namespace

SafetensorsSums write_training_state(AtomicFolder& folder, const TrainingState& state,
                                     std::vector<TensorToWrite> tensors) {
  SafetensorsSums sums;
  folder.write(kTrainingTensorsFile,
               [&](AtomicFile& file) { sums = write_safetensors(file, std::move(tensors)); });
  folder.write(kTrainingStateFile, training_state_json(state));
  return sums;
}

std::string training_state_json(const TrainingState& state) {
  Json root{{"format", kFormat},
            {"version", kVersion},
            {"step", state.step},
            {"epoch", state.epoch},
            {"batch_in_epoch", state.batch_in_epoch},
            {"samples_seen", state.samples_seen},
            {"epoch_loss_sum", json_of(state.epoch_loss_sum)},
            {"epoch_tokens", state.epoch_tokens},
            {"best_validation_loss", nullptr},
            {"seed", std::to_string(state.seed)},
            {"dtype", state.dtype},
            {"batch_size", state.batch_size},
            {"max_seq_length", state.max_seq_length},
            {"optimizer", state.optimizer},
            {"optimizer_settings", json_of(state.optimizer_settings)},
            {"schedule", state.schedule},
            {"schedule_settings", json_of(state.schedule_settings)},
            {"counters", Json::object()}};
  if (state.best_validation_loss) root["best_validation_loss"] = json_of(*state.best_validation_loss);
  for (const auto& [name, count] : state.counters) root["counters"][name] = count;
  return dump_json(root);
}

TrainingState read_training_state(const std::filesystem::path& checkpoint) {
  const JsonDocument document = read_json(checkpoint / kTrainingStateFile);
  const JsonValue root = document.root();
  check_version(root);
  static constexpr std::array<std::string_view, 18> kKeys{"format",
                                                          "version",
                                                          "step",
                                                          "epoch",
                                                          "batch_in_epoch",
                                                          "samples_seen",
                                                          "epoch_loss_sum",
                                                          "epoch_tokens",
                                                          "best_validation_loss",
                                                          "seed",
                                                          "dtype",
                                                          "batch_size",
                                                          "max_seq_length",
                                                          "optimizer",
                                                          "optimizer_settings",
                                                          "schedule",
                                                          "schedule_settings",
                                                          "counters"};
  root.refuse_keys_except(kKeys);
  TrainingState state;
  state.step = count_of(root.at("step"));
  state.epoch = count_of(root.at("epoch"));
  state.batch_in_epoch = count_of(root.at("batch_in_epoch"));
  state.samples_seen = count_of(root.at("samples_seen"));
  state.epoch_loss_sum = double_of(root.at("epoch_loss_sum"));
  state.epoch_tokens = count_of(root.at("epoch_tokens"));
  const JsonValue best = root.at("best_validation_loss");
  if (!best.is_null()) state.best_validation_loss = double_of(best);
  state.seed = seed_of(root.at("seed"));
  state.dtype = root.at("dtype").as_string();
  state.batch_size = count_of(root.at("batch_size"));
  state.max_seq_length = count_of(root.at("max_seq_length"));
  state.optimizer = root.at("optimizer").as_string();
  state.optimizer_settings = settings_of(root.at("optimizer_settings"));
  state.schedule = root.at("schedule").as_string();
  state.schedule_settings = settings_of(root.at("schedule_settings"));
  const JsonValue counters = root.at("counters");
  for (const auto& [name, value] : counters.items()) state.counters.emplace(name, value.as_int64());
  return state;
}

}  // namespace nadi::inline files
