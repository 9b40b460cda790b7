#include "nadi/job_files/old_settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"
#include "nadi/job_files/old_nodes.h"
#include "nadi/job_log/old_model_names.h"
#include "nadi/model/config_file.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

// Settings that are flags of 'nadi train' with a number, in the order in which the flags stand. Those with a
// fallback are not in the settings file: the scripts that are replaced had them.
struct OldFlag {
  std::string_view setting, flag, fallback;
};
constexpr std::array kOldFlags{OldFlag{"GLOBAL_BATCH_SIZE", "--global-batch-size", ""},
                               OldFlag{"MICRO_BATCH_SIZE", "--micro-batch-size", ""},
                               OldFlag{"TENSOR_MP_SIZE", "--tensor-model-parallel-size", ""},
                               OldFlag{"DP_SIZE", "--dp", ""},
                               OldFlag{"PIPELINE_MP_SIZE", "--pipeline-model-parallel-size", ""},
                               OldFlag{"TRAIN_ITERS", "--train-iters", "50"},
                               OldFlag{"LOG_INTERVAL", "--log-interval", "10"},
                               OldFlag{"SEQ_LENGTH", "--seq-length", "1024"}};

// Settings that have no effect, and why.
struct UnusedSetting {
  std::string_view name, why;
};
constexpr std::string_view kNoContainer =
    "'nadi train' runs without a container; \"container\" of the job names one that has nadi";
constexpr std::array kUnusedSettings{
    UnusedSetting{"RELOAD_CONTAINER", kNoContainer}, UnusedSetting{"CONTAINER_NAME", kNoContainer},
    UnusedSetting{"CONTAINER_PATH", kNoContainer}, UnusedSetting{"CONTAINER_IMAGE_PATH", kNoContainer},
    UnusedSetting{"MASTER_ADDR", ""}};

constexpr std::array<std::string_view, 15> kOtherSettings{
    "MODEL",       "NNODES",     "NPROC_PER_NODE", "WORLD_SIZE",  "PARTITION",
    "ZERO",        "NSYS",       "PROFILE",        "MASTER_PORT", "HOMOGENEOUS_CLUSTER",
    "HIDDEN_SIZE", "NUM_LAYERS", "DATA_PATH",      "DEVICE",      "DTYPE"};

std::optional<std::string> from_process(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// "lines 1, 2 and 5"; at most eight are named.
std::string lines_text(const std::vector<std::int64_t>& lines) {
  constexpr std::size_t kNamed = 8;
  std::string text = lines.size() == 1 ? "line " : "lines ";
  for (std::size_t i = 0; i < std::min(kNamed, lines.size()); ++i)
    text += format("{}{}", i == 0 ? "" : ", ", lines[i]);
  return lines.size() > kNamed ? format("{} and {} more", text, lines.size() - kNamed) : text;
}

class OldJob {
 public:
  OldJob(OldSettings& old, fs::path settings, std::vector<SbatchScript> scripts)
      : old_(old),
        job_(old.job),
        settings_(std::move(settings)),
        scripts_(scripts.size()),
        nodes_(std::move(scripts), old.job, old.notes) {}

  void make() {
    job_.run.kind = JobRunKind::kTrain;
    job_.outputs = folder() / kDefaultJobOutputs;
    take_model();
    take_nodes();
    take_flags();
    take_device();
    take_partition();
    take_profilers();
    take_others();
    note_the_rest();
    if (job_.name == JobFile{}.name) job_.name = model_name_;
  }

 private:
  fs::path folder() const { return fs::absolute(settings_).lexically_normal().parent_path(); }
  void note(std::string text) { old_.notes.push_back(std::move(text)); }
  const ShellSetting* find(std::string_view name) const { return old_.file.find(name); }
  Place place(const ShellSetting& setting) const {
    return {.file = settings_.string(), .line = setting.line};
  }

  std::optional<OldCount> count(std::string_view name, std::int64_t least = 1) const {
    const ShellSetting* const setting = find(name);
    if (setting == nullptr) return std::nullopt;
    return OldCount{old_count(setting->name, setting->value, place(*setting), least), place(*setting)};
  }

  bool truth(std::string_view name, bool fallback = false) const {
    const ShellSetting* const setting = find(name);
    if (setting == nullptr) return fallback;
    std::string text = setting->value;
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (text == "true" || text == "1" || text == "yes") return true;
    if (text == "false" || text == "0" || text == "no" || text.empty()) return false;
    throw input_error(place(*setting),
                      format("{} is {}, neither true nor false", name, quote_for_message(setting->value)));
  }

  // A name of the old settings or of the catalogue, or a file, which lies beside the settings.
  void take_model() {
    const ShellSetting* const setting = find("MODEL");
    if (setting == nullptr || setting->value.empty())
      throw input_error({.file = settings_.string()}, "no MODEL=... in the settings: there is nothing to run",
                        "MODEL='xl'");
    model_name_ = fs::path(setting->value).stem().string();
    model_ = std::string(model_of_old_name(setting->value));
    std::error_code problem;
    const bool is_path = model_.find('/') != std::string::npos || fs::exists(folder() / model_, problem);
    if (is_path) {
      model_ = (folder() / model_).lexically_normal().string();
      if (!fs::exists(model_, problem)) {
        note(format("{}: {} is not here: whether its layers fit is not checked", place(*setting).to_string(),
                    quote_for_message(model_)));
        return;
      }
    }
    try {
      config_ = load_model_config(model_);
    } catch (const Error& error) {
      throw input_error(
          place(*setting), format("MODEL is {}: {}", quote_for_message(setting->value), error.what()),
          error.hint().empty() ? "" : format("'small' (gpt2) or 'xl' (gpt2-xl); {}", error.hint()));
    }
    for (const auto& [name, value] :
         {std::pair{"NUM_LAYERS", config_->layers}, std::pair{"HIDDEN_SIZE", config_->width}})
      if (const auto given = count(name); given && given->count != value)
        throw input_error(given->place,
                          format("{} is {}, and model {} has {}", name, given->count,
                                 quote_for_message(setting->value), value),
                          "the model decides");
  }

  void take_nodes() {
    const bool alike = truth("HOMOGENEOUS_CLUSTER", scripts_ < 2);
    if (alike && scripts_ > 1)
      throw input_error(place(*find("HOMOGENEOUS_CLUSTER")),
                        format("HOMOGENEOUS_CLUSTER is true, and {} scripts are given", scripts_),
                        "HOMOGENEOUS_CLUSTER=false; equal nodes have one script");
    if (!alike && scripts_ == 0)
      note("HOMOGENEOUS_CLUSTER=false: without the scripts of master and slaves, all nodes are alike here");
    nodes_.set_counts(count("NNODES"), count("NPROC_PER_NODE"));
    check_world_size();
    std::int64_t degrees = 1;
    for (const std::string_view name : {"TENSOR_MP_SIZE", "DP_SIZE", "PIPELINE_MP_SIZE"})
      if (const auto degree = count(name)) degrees *= degree->count;
    if (degrees > 1 && degrees != job_.ranks())
      throw input_error(
          {.file = settings_.string()},
          format("TENSOR_MP_SIZE x DP_SIZE x PIPELINE_MP_SIZE is {}, and {} nodes of {} ranks have {}",
                 degrees, job_.nodes(), job_.groups[0].ranks_per_node, job_.ranks()));
    // That of the settings counts where no script has one: scripts read the settings first.
    if (const ShellSetting* const address = find("MASTER_ADDR");
        address != nullptr && job_.master_address.empty())
      job_.master_address = address->value;
    if (const auto port = count("MASTER_PORT")) {
      constexpr std::int64_t kLastPort = 65535;
      if (port->count > kLastPort)
        throw input_error(port->place,
                          format("MASTER_PORT is {}; the last port is {}", port->count, kLastPort));
      job_.master_port = port->count;
    }
  }

  // A shell takes what is set only further down as 0.
  void check_world_size() const {
    const auto world = count("WORLD_SIZE", 0);
    if (!world || world->count == job_.ranks()) return;
    std::string later;
    for (const std::string_view name : {"NPROC_PER_NODE", "NNODES"})
      if (const ShellSetting* const setting = find(name); setting && setting->line > *world->place.line)
        later += format("{}{} in line {}", later.empty() ? "" : " and ", name, setting->line);
    throw input_error(
        world->place, format("WORLD_SIZE is {}, and the nodes have {} ranks", world->count, job_.ranks()),
        later.empty() ? "WORLD_SIZE=$((NPROC_PER_NODE * NNODES))"
                      : format("a shell does not know here what is set below, {}: move this line "
                               "below them",
                               later));
  }

  void take_flags() {
    job_.run.words = {model_};
    std::string missing, names;
    for (const OldFlag& entry : kOldFlags) {
      std::string value;
      if (const auto given = count(entry.setting)) {
        value = format("{}", given->count);
      } else if (!entry.fallback.empty()) {
        value = entry.fallback;
        if (entry.setting == "SEQ_LENGTH" && config_ && config_->positions > 0)
          value = format("{}", std::min<std::int64_t>(std::stoll(value), config_->positions));
        missing += format("{}{} {}", missing.empty() ? "" : ", ", entry.flag, value);
        names += format("{}{}", names.empty() ? "" : ", ", entry.setting);
      } else {
        continue;
      }
      if (entry.setting == "TRAIN_ITERS") iterations_ = std::stoll(value);
      job_.run.words.emplace_back(entry.flag);
      job_.run.words.push_back(value);
    }
    if (!missing.empty()) note(format("not in the settings: {}; {} change that", missing, names));
    if (truth("ZERO")) job_.run.words.insert(job_.run.words.end(), {"--zero", "1"});
    if (const ShellSetting* const data = find("DATA_PATH"); data != nullptr && !data->value.empty())
      job_.run.words.insert(job_.run.words.end(),
                            {"--data-path", (folder() / data->value).lexically_normal().string()});
    else
      note("no DATA_PATH in the settings: the job trains on the sample of text that is a part of nadi");
  }

  // The scripts that are replaced ran on GPUs: every job of them asks for some.
  void take_device() {
    const auto words_of = [&](std::string_view name, const std::vector<std::string>& known) {
      const ShellSetting* const setting = find(name);
      if (setting == nullptr || setting->value.empty()) return std::string();
      if (std::ranges::find(known, setting->value) == known.end())
        throw input_error(place(*setting), format("{} is {}", name, quote_for_message(setting->value)),
                          format("known: {}", fmt::join(known, ", ")));
      return setting->value;
    };
    std::string device = words_of("DEVICE", {"cuda", "cpu"});
    const std::string dtype = words_of("DTYPE", {"fp32", "bf16", "fp16"});
    if (device.empty()) {
      device = "cuda";
      note("the ranks compute on GPUs: --device cuda; DEVICE=cpu changes that");
    }
    job_.run.words.insert(job_.run.words.end(), {"--device", device});
    if (!dtype.empty()) job_.run.words.insert(job_.run.words.end(), {"--dtype", dtype});
  }

  // "[0, 11, 8, 5]", "0-11-8-5" or "0,11,8,5": layers of each stage. Where they add up to two more than the
  // model has, embedding and head count as a layer each.
  void take_partition() {
    const ShellSetting* const setting = find("PARTITION");
    if (setting == nullptr) return;
    std::vector<std::int64_t> layers;
    std::string digits;
    for (const char c : setting->value + ",") {
      if (c >= '0' && c <= '9' && digits.size() < 8) {
        digits += c;
      } else if (std::string_view("[], -\t").find(c) == std::string_view::npos) {
        throw input_error(place(*setting),
                          format("PARTITION is {}, not a list of layers", quote_for_message(setting->value)),
                          "for example 0-11-8-8-8-8-5-0");
      } else if (!digits.empty()) {
        layers.push_back(std::stoll(std::exchange(digits, "")));
      }
    }
    if (layers.empty()) return;
    if (const auto stages = count("PIPELINE_MP_SIZE"); stages && stages->count != std::ssize(layers))
      throw input_error(place(*setting),
                        format("PARTITION is {}, {} stages, and PIPELINE_MP_SIZE is {}",
                               quote_for_message(setting->value), layers.size(), stages->count));
    const std::int64_t sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
    if (config_ && sum == config_->layers + 2 && layers.front() > 0 && layers.back() > 0 &&
        (layers.size() > 1 || layers[0] > 2)) {
      layers.front() -= 1;
      layers.back() -= 1;
      note(format("PARTITION {} adds up to {}: embedding and head count as a layer each there, and not here",
                  quote_for_message(setting->value), sum));
    } else if (config_ && sum != config_->layers) {
      throw input_error(place(*setting),
                        format("PARTITION is {}, {} layers, and the model has {}",
                               quote_for_message(setting->value), sum, config_->layers),
                        format("layers of each stage that add up to {}", config_->layers));
    }
    job_.run.words.insert(job_.run.words.end(), {"--partition", format("{}", fmt::join(layers, "-"))});
  }

  // PROFILE: what the page of the job's ranks is drawn from, the timers of each rank and a trace of some
  // steps.
  void take_profilers() {
    const bool nsys = truth("NSYS"), profile = truth("PROFILE");
    if (nsys) job_.profile.nsys = ProfilerUse{};
    if (!profile) return;
    job_.run.words.insert(job_.run.words.end(), {"--timing-log-level", "2", "--timing-log-option", "all"});
    if (nsys) {
      note(
          "PROFILE=true and NSYS=true: timers are logged, and no steps are traced; the two would disturb "
          "each other");
      return;
    }
    constexpr std::int64_t kFirst = 10, kSteps = 3;  // behind the warm-up, as far as there are so many steps
    const std::int64_t first = std::clamp<std::int64_t>(iterations_ - kSteps + 1, 1, kFirst);
    job_.profile.trace = ProfilerUse{.steps = StepRange{first, std::min(first + kSteps - 1, iterations_)}};
  }

  void take_others() {
    for (const UnusedSetting& unused : kUnusedSettings)
      if (const ShellSetting* const setting = find(unused.name); setting != nullptr && !unused.why.empty())
        note(format("{} has no effect: {}", unused.name, unused.why));
  }

  void note_the_rest() {
    std::vector<std::string_view> known(kOtherSettings.begin(), kOtherSettings.end());
    for (const OldFlag& entry : kOldFlags) known.push_back(entry.setting);
    for (const UnusedSetting& unused : kUnusedSettings) known.push_back(unused.name);
    for (const ShellSetting& setting : old_.file.settings)
      if (std::ranges::find(known, setting.name) == known.end())
        note(format("{}: {} is no setting that is known here; {}", place(setting).to_string(), setting.name,
                    did_you_mean(setting.name, known)));
    if (!old_.file.dots.empty())
      note(
          format("{}: {} of dots: lines that were left out", settings_.string(), lines_text(old_.file.dots)));
    for (const ShellCommand& command : old_.file.commands)
      note(format("{}:{}: the command {} is not run", settings_.string(), command.line,
                  quote_for_message(command.name)));
    for (const ShellCommand& unset : old_.file.unset)
      note(format("{}:{}: ${} is not set, and empty", settings_.string(), unset.line, unset.name));
  }

  OldSettings& old_;
  JobFile& job_;
  fs::path settings_;
  std::size_t scripts_ = 0;
  OldNodes nodes_;
  std::string model_, model_name_;  // as 'nadi train' takes it, and as it is written
  std::optional<ModelConfig> config_;
  std::int64_t iterations_ = 0;
};

}  // namespace

ShellSettings read_old_settings_file(const fs::path& settings) {
  return read_shell_settings(settings, &from_process);
}

OldSettings read_old_settings(const fs::path& settings, const std::vector<fs::path>& scripts) {
  OldSettings old;
  old.file = read_old_settings_file(settings);
  std::vector<SbatchScript> read;
  for (const fs::path& script : scripts) read.push_back(read_sbatch_script(script));
  OldJob(old, settings, std::move(read)).make();
  check_job(old.job);
  return old;
}

}  // namespace nadi::inline jobs
