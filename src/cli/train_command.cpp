#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/cli/command.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/console.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/train_data.h"
#include "nadi/cli/train_log.h"
#include "nadi/cli/version.h"
#include "nadi/model/config_file.h"
#include "nadi/train/trainer.h"

namespace nadi {
namespace {

constexpr std::array<std::string_view, 2> kDevices{"cpu", "cuda"};
constexpr std::int64_t kDefaultSeqLength = 512;
constexpr std::int64_t kDefaultLoggingSteps = 10;
constexpr const char* kDefaultCacheDir = "cache";

void add_model_flags(Flags& flags) {
  constexpr std::string_view kGroup = "model and data";
  flags.set_positional({.name = "MODEL",
                        .help =
                            "a built-in model (see 'nadi models'), a config.json, or a checkpoint folder, "
                            "whose weights are the start"});
  flags.add({.names = {"--model-name"},
             .value = "MODEL",
             .help = "the same as MODEL",
             .fallback = "none",
             .group = kGroup});
  flags.add({.names = {"--model-type"},
             .value = "TYPE",
             .help = "what a config.json without model_type is: gpt2, bert, llama",
             .fallback = "what the configuration says",
             .group = kGroup});
  flags.add({.names = {"--init-from"},
             .value = "FOLDER",
             .help = "Hugging Face folder with the weights to start from",
             .fallback = "MODEL, if that is a folder with weights, else random weights",
             .group = kGroup});
  flags.add({.names = {"--data"},
             .value = "FILE",
             .help = "SQuAD 1.1 or 2.0 to train on",
             .fallback = "one in --cache-dir, else a small sample",
             .group = kGroup});
  flags.add({.names = {"--eval-data"},
             .value = "FILE",
             .help = "SQuAD file to validate on",
             .fallback = "the one that goes with the data, else a tenth of it",
             .group = kGroup});
  flags.add({.names = {"--tokenizer"},
             .value = "FOLDER",
             .help = "tokenizer.json, vocab.json and merges.txt, or vocab.txt",
             .fallback = "the checkpoint's, else one in --cache-dir, else trained on the data",
             .group = kGroup});
  flags.add({.names = {"--cache-dir"},
             .value = "FOLDER",
             .help = "where SQuAD files and vocabularies are looked for (scripts/get_vocab.sh)",
             .fallback = kDefaultCacheDir,
             .group = kGroup});
  flags.add({.names = {"--max-seq-length", "--seq-length"},
             .value = "N",
             .help = "tokens per sample",
             .fallback = format("the model's positions, at most {}", kDefaultSeqLength),
             .group = kGroup});
  flags.add({.names = {"--dropout"},
             .value = "RATE",
             .help = "all dropout rates of the model",
             .fallback = "the model's own",
             .group = kGroup});
}

void add_training_flags(Flags& flags) {
  constexpr std::string_view kGroup = "training";
  const TrainOptions defaults;
  std::vector<std::string_view> schedules;
  for (const DecayEntry& entry : decays()) schedules.push_back(entry.name);
  const auto number = [&](std::string_view name, std::string help, std::string fallback) {
    flags.add({.names = {name},
               .value = "N",
               .help = std::move(help),
               .fallback = std::move(fallback),
               .group = kGroup});
  };
  number("--batch-size", "samples at a time", format("{}", defaults.batch_size));
  number("--gradient-accumulation-steps", "batches whose gradients are added up for one step",
         format("{}", defaults.accumulation));
  number("--num-epochs", "passes over the data", format("{}", defaults.epochs));
  number("--max-steps", "steps after which to stop, whatever the epochs", "as the epochs have it");
  flags.add({.names = {"--optimizer"},
             .value = "NAME",
             .help = "what updates the parameters",
             .fallback = std::string(to_string(defaults.optimizer.kind)),
             .choices = optimizer_names(),
             .group = kGroup});
  number("--learning-rate", "its peak", format("{}", defaults.learning_rate.peak));
  flags.add({.names = {"--lr-scheduler"},
             .value = "HOW",
             .help = "the learning rate after the warm-up",
             .fallback = std::string(to_string(defaults.learning_rate.decay)),
             .choices = schedules,
             .group = kGroup});
  number("--warmup-steps", "steps in which the learning rate rises",
         format("{}", defaults.learning_rate.warmup_steps));
  number("--weight-decay", "of matrices; biases and norms have none",
         format("{}", defaults.optimizer.weight_decay));
  number("--max-grad-norm", "gradients with a larger norm are scaled down to it; 0 leaves them alone",
         format("{}", defaults.optimizer.max_grad_norm));
  flags.add({.names = {"--dtype"},
             .value = "TYPE",
             .help = "of parameters and activations; the optimizer keeps fp32 copies",
             .fallback = std::string(kDTypes[0].first),
             .choices = dtype_names(),
             .group = kGroup});
  number("--seed", "of weights, shuffling, masks and dropout", format("{}", defaults.seed));
  flags.add({.names = {"--device"},
             .value = "WHERE",
             .help = "what computes",
             .fallback = "cpu",
             .choices = {kDevices.begin(), kDevices.end()},
             .group = kGroup});
  number("--threads", "threads that compute", "one per core");
}

void add_output_flags(Flags& flags) {
  constexpr std::string_view kGroup = "evaluation and output";
  const auto add = [&](std::string_view name, std::string_view value, std::string help,
                       std::string fallback) {
    flags.add({.names = {name},
               .value = value,
               .help = std::move(help),
               .fallback = std::move(fallback),
               .group = kGroup});
  };
  flags.add({.names = {"--skip-eval"}, .help = "no validation", .group = kGroup});
  add("--eval-steps", "N", "validate every so many steps, besides the end of each epoch", "only there");
  add("--save-dir", "FOLDER", "where checkpoints and best_model go", "nothing is saved");
  add("--save-steps", "N", "checkpoint every so many steps", "at the end of each epoch");
  add("--save-total-limit", "N", "checkpoints to keep, the newest ones", "all");
  flags.add(
      {.names = {"--resume"}, .help = "continue from the newest checkpoint in --save-dir", .group = kGroup});
  add("--logging-steps", "N", "a line every so many steps, where no terminal is watched",
      format("{}", kDefaultLoggingSteps));
  add("--tensorboard-dir", "FOLDER", "where an event file for TensorBoard goes", "none is written");
  flags.add({.names = {"--json"}, .help = "print the result as JSON: see docs/json.md", .group = kGroup});
  flags.add(
      {.names = {"--force"}, .help = "overwrite traces, and checkpoints of another run", .group = kGroup});

  constexpr std::string_view kTraces = "traces";
  const RecorderOptions defaults;
  flags.add({.names = {"--enable-tracing"},
             .help = "trace some steps: Kineto, Chakra and a table of times",
             .group = kTraces});
  flags.add({.names = {"--trace-output-dir"},
             .value = "FOLDER",
             .help = "where traces go",
             .fallback = "outputs",
             .group = kTraces});
  flags.add({.names = {"--trace-name"},
             .value = "NAME",
             .help = "what their names begin with",
             .fallback = "the model's name",
             .group = kTraces});
  const auto steps = [&](std::string_view name, std::string help, std::int64_t fallback) {
    flags.add({.names = {name},
               .value = "N",
               .help = std::move(help),
               .fallback = format("{}", fallback),
               .group = kTraces});
  };
  steps("--trace-wait", "steps before anything is recorded", defaults.wait);
  steps("--trace-warmup", "steps that are recorded and forgotten", defaults.warmup);
  steps("--trace-active", "steps that are traced", defaults.active);
}

std::string model_of(const Flags& flags) {
  const auto name = flags.text("--model-name");
  if (!name) return flags.positional();
  if (flags.has_positional())
    throw usage_error("MODEL and --model-name contradict each other", "give one of them");
  return *name;
}

bool has_weights(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "model.safetensors") ||
         std::filesystem::exists(folder / "model.safetensors.index.json");
}

// The start of file names that a model's own name gives: its last part without ".json".
std::string short_name(const std::string& model) {
  std::string name = std::filesystem::path(model).filename().string();
  if (name.empty()) name = std::filesystem::path(model).parent_path().filename().string();
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  return name;
}

class TrainCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    add_model_flags(flags);
    add_training_flags(flags);
    add_output_flags(flags);
  }

  void run(const Flags& flags, Console& console) const override {
    if (flags.choice("--device").value_or(0) != 0)
      throw environment_error("this build of Nadi has no CUDA engine", "train with --device cpu");
    const std::string model = model_of(flags);
    TrainOptions options = resolve(flags, model, console);
    const ResolvedTrainData data = resolve_train_data(
        {.data = flags.text("--data").value_or(""),
         .validation_data = flags.text("--eval-data").value_or(""),
         .tokenizer = flags.text("--tokenizer").value_or(""),
         .checkpoint = options.resume_from.empty() ? options.init_from : options.resume_from,
         .cache_dir = flags.text("--cache-dir").value_or(kDefaultCacheDir),
         .max_seq_length = options.seq_length,
         .seed = options.seed,
         .validate = options.evaluate},
        options.config, console);
    const bool json = flags.given("--json");
    announce(options, data, console);
    TrainLog log(console, json ? console.err : console.out,
                 flags.integer("--logging-steps").value_or(kDefaultLoggingSteps), steady_clock());
    const auto stop = [&] { return console.interrupted != nullptr && *console.interrupted != 0; };
    const TrainResult result =
        train(options, {*data.train, data.validation.get(), *data.tokenizer}, log, stop);
    log.finish();
    if (json)
      console.out << dump_json(result_json(options, data, result));
    else
      print_result(result, console);
    if (result.stopped) throw Interrupted{};
  }

 private:
  static TrainOptions resolve(const Flags& flags, const std::string& model, Console& console) {
    TrainOptions options{.config = load_model_config(model, flags.text("--model-type").value_or(""))};
    if (const auto rate = flags.number("--dropout", 1)) {
      ModelConfig& config = options.config;
      config.attention_dropout = *rate;
      if (config.architecture != Architecture::kLlama)  // which has no other
        config.embedding_dropout = config.residual_dropout = *rate;
    }
    options.init_from = flags.text("--init-from").value_or("");
    if (options.init_from.empty() && std::filesystem::is_directory(model) && has_weights(model)) {
      options.init_from = model;
      console.err << format("note: starting from the weights in {}\n", model);
    }
    options.dtype = kDTypes[flags.choice("--dtype").value_or(0)].second;
    options.batch_size = flags.integer("--batch-size").value_or(options.batch_size);
    options.accumulation = flags.integer("--gradient-accumulation-steps").value_or(options.accumulation);
    options.seq_length =
        flags.integer("--max-seq-length").value_or(std::min(options.config.positions, kDefaultSeqLength));
    options.epochs = flags.integer("--num-epochs").value_or(options.epochs);
    options.max_steps = flags.integer("--max-steps").value_or(options.max_steps);
    OptimizerOptions& optimizer = options.optimizer;
    optimizer.kind = kOptimizers[flags.choice("--optimizer").value_or(0)];
    optimizer.weight_decay = flags.number("--weight-decay").value_or(optimizer.weight_decay);
    optimizer.max_grad_norm = flags.number("--max-grad-norm").value_or(optimizer.max_grad_norm);
    LearningRate& rate = options.learning_rate;
    rate.peak = flags.number("--learning-rate").value_or(rate.peak);
    rate.decay = decays()[flags.choice("--lr-scheduler").value_or(0)].decay;
    rate.warmup_steps = flags.integer("--warmup-steps", 0).value_or(rate.warmup_steps);
    options.seed = static_cast<std::uint64_t>(
        flags.integer("--seed", 0).value_or(static_cast<std::int64_t>(options.seed)));
    options.threads = static_cast<int>(std::min<std::int64_t>(flags.integer("--threads").value_or(0), 4096));

    options.evaluate = !flags.given("--skip-eval");
    options.eval_steps = flags.integer("--eval-steps").value_or(0);
    options.save_steps = flags.integer("--save-steps").value_or(0);
    options.save_total_limit = flags.integer("--save-total-limit").value_or(0);
    options.save_dir = flags.text("--save-dir").value_or("");
    options.tensorboard_dir = flags.text("--tensorboard-dir").value_or("");
    for (const std::string_view flag : {"--save-steps", "--save-total-limit", "--resume"})
      if (flags.given(flag) && options.save_dir.empty())
        throw usage_error(format("{} makes no sense without --save-dir", flag));
    for (const std::string_view flag : {"--eval-steps", "--eval-data"})
      if (flags.given(flag) && !options.evaluate)
        throw usage_error(format("{} and --skip-eval contradict each other", flag));
    resolve_checkpoints(flags, options, console);
    resolve_traces(flags, model, options);
    return options;
  }

  static void resolve_checkpoints(const Flags& flags, TrainOptions& options, Console& console) {
    if (options.save_dir.empty()) return;
    const CheckpointList found = find_checkpoints(options.save_dir);
    if (found.ignored > 0)
      console.err << format("note: {} folder{} in {} {} no complete checkpoint and {} left alone\n",
                            found.ignored, found.ignored == 1 ? "" : "s", options.save_dir.string(),
                            found.ignored == 1 ? "is" : "are", found.ignored == 1 ? "is" : "are");
    if (flags.given("--resume")) {
      if (found.checkpoints.empty())
        console.err << format("note: no checkpoint in {}: starting from the beginning\n",
                              options.save_dir.string());
      else
        options.resume_from = found.checkpoints.back().path;
      return;
    }
    options.replace_checkpoints = flags.given("--force");
    if (!found.checkpoints.empty() && !options.replace_checkpoints)
      throw usage_error(
          format("{} has checkpoints of a run, the newest after step {}", options.save_dir.string(),
                 found.checkpoints.back().step),
          "continue it with --resume, choose another --save-dir, or overwrite them with --force");
  }

  static void resolve_traces(const Flags& flags, const std::string& model, TrainOptions& options) {
    if (!flags.given("--enable-tracing")) {
      for (const std::string_view flag :
           {"--trace-output-dir", "--trace-name", "--trace-wait", "--trace-warmup", "--trace-active"})
        if (flags.given(flag)) throw usage_error(format("{} makes no sense without --enable-tracing", flag));
      return;
    }
    RecorderOptions trace{.folder = flags.text("--trace-output-dir").value_or("outputs"),
                          .name = flags.text("--trace-name").value_or(short_name(model))};
    trace.wait = flags.integer("--trace-wait", 0).value_or(trace.wait);
    trace.warmup = flags.integer("--trace-warmup", 0).value_or(trace.warmup);
    trace.active = flags.integer("--trace-active").value_or(trace.active);
    if (flags.given("--force")) trace.overwrite = Overwrite::kAllow;
    trace.metadata = {{"nadi_version", std::string(version())},
                      {"model", model},
                      {"batch_size", format("{}", options.batch_size * options.accumulation)},
                      {"micro_batch_size", format("{}", options.batch_size)},
                      {"seq_length", format("{}", options.seq_length)},
                      {"dtype", std::string(name_of(options.dtype))},
                      {"optimizer", std::string(to_string(options.optimizer.kind))},
                      {"seed", format("{}", options.seed)}};
    options.trace = std::move(trace);
  }

  static void announce(const TrainOptions& options, const ResolvedTrainData& data, Console& console) {
    const SampleStatistics& statistics = data.train->statistics();
    console.err << format("data: {}, {} samples of {:.0f} tokens in the mean, {} cut to {}\n", data.data_name,
                          with_thousands(statistics.samples), statistics.mean_length(),
                          with_thousands(statistics.truncated), options.seq_length);
    if (statistics.dropped > 0)
      console.err << format("note: {} questions had nothing to predict and were left out\n",
                            statistics.dropped);
    if (data.validation)
      console.err << format("validation: {}, {} samples\n", data.validation_name,
                            with_thousands(data.validation->size()));
    console.err << format("tokenizer: {}, {} tokens; the model has room for {}\n", data.tokenizer_name,
                          with_thousands(data.tokenizer->vocabulary_size()),
                          with_thousands(options.config.vocabulary));
  }

  static void print_result(const TrainResult& result, Console& console) {
    console.out << format("{} after {} steps", result.stopped ? "stopped" : "done", result.steps);
    if (result.first_loss)
      console.out << format(": loss {:.4f} to {:.4f}", *result.first_loss, *result.last_loss);
    if (result.best_validation_loss)
      console.out << format(", best validation loss {:.4f}", *result.best_validation_loss);
    if (result.seconds > 0)
      console.out << format(", {:.0f} tokens/s", static_cast<double>(result.tokens) / result.seconds);
    console.out << "\n";
    if (result.skipped_steps > 0) console.out << format("skipped steps: {}\n", result.skipped_steps);
    if (!result.best_model.empty()) console.out << format("best model: {}\n", result.best_model.string());
    if (!result.last_checkpoint.empty())
      console.out << format("last checkpoint: {}\n", result.last_checkpoint.string());
  }

  static Json result_json(const TrainOptions& options, const ResolvedTrainData& data,
                          const TrainResult& result) {
    const auto optional = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json(nullptr);
    };
    const auto path = [](const std::filesystem::path& value) {
      return value.empty() ? Json(nullptr) : Json(value.string());
    };
    const RunTraceFiles trace = result.trace.value_or(RunTraceFiles{});
    return {
        {"nadi_version", version()},
        {"model", options.config.name},
        {"data", data.data_name},
        {"validation_data", data.validation ? Json(data.validation_name) : Json(nullptr)},
        {"tokenizer", data.tokenizer_name},
        {"samples", data.train->size()},
        {"batch_size", options.batch_size},
        {"gradient_accumulation_steps", options.accumulation},
        {"max_seq_length", options.seq_length},
        {"dtype", name_of(options.dtype)},
        {"optimizer", to_string(options.optimizer.kind)},
        {"learning_rate", options.learning_rate.peak},
        {"seed", options.seed},
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
         {{"kineto", path(trace.kineto)}, {"chakra", path(trace.chakra)}, {"stacks", path(trace.stacks)}}}};
  }
};

}  // namespace

std::unique_ptr<Command> make_train_command() {
  return std::make_unique<TrainCommand>();
}

}  // namespace nadi
