#include "nadi/checkpoint_conversion/convert_checkpoint.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/read_error.h"
#include "nadi/checkpoint/checkpoint_names.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint_conversion/file_filling.h"
#include "nadi/checkpoint_conversion/open_checkpoint.h"
#include "nadi/checkpoint_conversion/tokenizer_size.h"
#include "nadi/checkpoint_conversion/training_state_target.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/megatron_checkpoint/legacy_writer.h"
#include "nadi/megatron_checkpoint/megatron_args_writer.h"
#include "nadi/megatron_checkpoint/torch_dist_files.h"
#include "nadi/megatron_checkpoint/whole_names.h"
#include "nadi/model/config_writer.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kVocabularyDivisibleBy = 128;  // Megatron's default
constexpr std::int64_t kFirstIteration = 1;  // of weights without a training, as Megatron's converter has it

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw read_error(path.string(), errno);
  return text;
}

DType graph_dtype(FileDType dtype) {
  return dtype == FileDType::kBF16 ? DType::kBF16 : dtype == FileDType::kF16 ? DType::kF16 : DType::kF32;
}

// As the flags of most programs have it.
std::string short_name(FileDType dtype) {
  return dtype == FileDType::kBF16 ? "bf16" : dtype == FileDType::kF16 ? "fp16" : "fp32";
}

// A folder that exists on the way to `path`.
fs::path existing_parent(fs::path path) {
  std::error_code ignored;
  path = fs::absolute(path, ignored);
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

void require_room(const fs::path& target, Bytes needed) {
  const fs::path folder = existing_parent(target);
  struct statvfs facts {};
  if (statvfs(folder.c_str(), &facts) != 0) return;  // the first write says what is wrong
  const auto free = static_cast<std::int64_t>(facts.f_bavail) * static_cast<std::int64_t>(facts.f_frsize);
  if (free < needed.count())
    throw Error{ErrorKind::kEnvironment,
                {.file = folder.string()},
                format("the conversion needs {}, and {} are free on this file system", to_string(needed),
                       to_string(Bytes{free}))};
}

std::int64_t parameters_of(const WholeModel& model) {
  std::int64_t sum = 0;
  for (const WholeTensor& tensor : model.tensors())
    if (!is_optimizer_state(model, tensor)) sum += tensor.shape.elements();
  return sum;
}

bool has_optimizer(const WholeModel& model) {
  return std::ranges::any_of(model.tensors(),
                             [&](const WholeTensor& tensor) { return is_optimizer_state(model, tensor); });
}

}  // namespace

Conversion::Conversion(ConversionRequest request) : request_(std::move(request)) {
  check_paths();
  OpenedCheckpoint opened = open_checkpoint(request_.source, {.config = request_.config,
                                                              .iteration = request_.iteration,
                                                              .optimizer = request_.optimizer,
                                                              .verify = request_.verify});
  source_ = std::move(opened.model);
  source_split_ = opened.split;
  if (!request_.distributed_optimizer && opened.distributed_optimizer) request_.distributed_optimizer = true;
  summary_.source_kind = source_->kind();
  summary_.notes = source_->notes();
  summary_.model = format("{}, {} parameters in {}", to_string(source_->config().architecture),
                          with_thousands(parameters_of(*source_)), short_name(weight_dtype()));
  summary_.optimizer =
      request_.optimizer && request_.to != CheckpointFormat::kHuggingFace && has_optimizer(*source_);
  check_precision();
  switch (request_.to) {
    case CheckpointFormat::kHuggingFace:
      plan_hugging_face();
      break;
    case CheckpointFormat::kMegatron:
      plan_megatron(MegatronForm::kTorch);
      break;
    case CheckpointFormat::kTorchDist:
      plan_megatron(MegatronForm::kTorchDist);
      break;
    case CheckpointFormat::kNadi:
      plan_nadi();
      break;
  }
  for (const TargetFile& file : files_) {
    summary_.files.push_back({.name = file.name, .size = file.size});
    summary_.total += file.size;
  }
}

Conversion::~Conversion() = default;

void Conversion::check_paths() const {
  std::error_code ignored;
  const fs::path source = fs::weakly_canonical(request_.source, ignored);
  const fs::path target = fs::weakly_canonical(request_.target, ignored);
  const fs::path within = source.lexically_relative(target);
  if (within == "." || (!within.empty() && *within.begin() != ".."))
    throw usage_error(format("the source, '{}', lies in the target, '{}'", request_.source.string(),
                             request_.target.string()),
                      "write to another folder");
  if (request_.overwrite == Overwrite::kRefuse && fs::is_directory(target, ignored))
    throw Error{ErrorKind::kUsage, {.file = request_.target.string()}, "the folder exists"};
  if (request_.overwrite == Overwrite::kRefuse) refuse_existing(request_.target);
}

// The type of most weights.
FileDType Conversion::weight_dtype() const {
  std::map<FileDType, std::int64_t> elements;
  for (const WholeTensor& tensor : source_->tensors())
    if (!is_optimizer_state(*source_, tensor)) elements[tensor.dtype] += tensor.shape.elements();
  check(!elements.empty(), "a model has weights");
  return std::ranges::max_element(elements, {}, [](const auto& entry) { return entry.second; })->first;
}

void Conversion::check_precision() const {
  if (!request_.dtype || *request_.dtype == weight_dtype() || !summary_.optimizer) return;
  throw usage_error(format("the weights are {} and belong to optimizer state; they cannot become {}",
                           short_name(weight_dtype()), short_name(*request_.dtype)),
                    "leave the optimizer state out, or keep the precision");
}

void Conversion::add_text(std::string name, std::string text) {
  const Bytes size{static_cast<std::int64_t>(text.size())};
  files_.push_back(
      {.name = std::move(name), .size = size, .ready = {{.offset = 0, .bytes = std::move(text)}}});
}

// config.json, generation_config.json and the tokenizer: those of the source where it has them.
void Conversion::add_beside_weights(std::optional<FileDType> dtype) {
  ModelConfig config = source_->config();
  const bool same = !dtype && (!request_.vocabulary || *request_.vocabulary == config.vocabulary);
  const fs::path of_source = request_.source / "config.json";
  std::error_code ignored;
  if (same && fs::is_regular_file(of_source, ignored)) {
    add_text("config.json", contents_of(of_source));
  } else {
    if (request_.vocabulary) config.vocabulary = *request_.vocabulary;
    add_text("config.json", config_json(config, {.dtype = graph_dtype(dtype.value_or(weight_dtype()))}));
  }
  if (const fs::path generation = request_.source / "generation_config.json";
      fs::is_regular_file(generation, ignored))
    add_text("generation_config.json", contents_of(generation));
  const fs::path folder = request_.tokenizer.empty() ? request_.source : request_.tokenizer;
  for (const fs::path& file : tokenizer_files(folder)) add_text(file.filename().string(), contents_of(file));
}

void Conversion::plan_hugging_face() {
  summary_.target_kind = "Hugging Face folder";
  add_beside_weights(request_.dtype);
  std::vector<TargetFile> weights =
      hugging_face_files(*source_, {.format = request_.weight_format,
                                    .dtype = request_.dtype,
                                    .vocabulary = request_.vocabulary.value_or(0),
                                    .shard = request_.shard});
  std::ranges::move(weights, std::back_inserter(files_));
  if (has_optimizer(*source_))
    summary_.notes.emplace_back("a Hugging Face folder has no optimizer state: it is left out");
}

void Conversion::plan_nadi() {
  summary_.target_kind = "checkpoint of Nadi";
  add_beside_weights(std::nullopt);
  files_.push_back(safetensors_target(
      "model.safetensors", weights_to_write(*source_, {.vocabulary = request_.vocabulary.value_or(0)})));
  std::ranges::move(training_state_files(*source_, weight_dtype(), request_.vocabulary.value_or(0)),
                    std::back_inserter(files_));
}

MegatronSplit Conversion::target_split() const {
  const ModelConfig& config = source_->config();
  const MegatronSplit from = source_split_.value_or(MegatronSplit{});
  MegatronSplit split{.tp = request_.tp.value_or(from.tp),
                      .pp = request_.pp.value_or(from.pp),
                      .virtual_stages = request_.virtual_stages.value_or(1),
                      .partition = request_.partition,
                      .naming = request_.naming};
  // A split that is not asked for stays, with its stages.
  if (!request_.tp && !request_.pp && !request_.virtual_stages && split.partition.empty()) {
    split.virtual_stages = from.virtual_stages;
    split.partition = from.partition;
  }
  const WholeNames names = whole_names(config);
  const WholeTensor& words = source_->at(names.words);
  split.whole_vocabulary = std::max(words.rows(), words.stored_rows);
  // With as many ranks as before, the vocabulary is padded as it was, whatever it was a multiple of.
  const bool as_before = !request_.vocabulary && !request_.vocabulary_divisible_by && split.tp == from.tp;
  split.padded_vocabulary =
      as_before && from.padded_vocabulary > 0
          ? from.padded_vocabulary
          : padded_vocabulary(request_.vocabulary.value_or(config.vocabulary), split.tp,
                              request_.vocabulary_divisible_by.value_or(kVocabularyDivisibleBy));
  split.bert_binary_head = !names.pooler.empty() && source_->find(names.pooler + ".weight") &&
                           source_->find(names.binary_head + ".weight");
  return split;
}

void Conversion::plan_megatron(MegatronForm form) {
  const MegatronSplit wanted = target_split();
  ModelConfig config = source_->config();
  // A vocabulary that is cut keeps only tokens that the tokenizer has.
  if (wanted.padded_vocabulary < wanted.whole_vocabulary)
    config.vocabulary = std::min(wanted.padded_vocabulary, request_.vocabulary.value_or(config.vocabulary));
  const ShardLayout layout(config, wanted);
  const MegatronSplit& split = layout.split();
  const std::int64_t iteration = source_->progress() ? source_->progress()->iteration : kFirstIteration;
  const MegatronTarget target{.dtype = request_.dtype.value_or(weight_dtype()),
                              .iteration = iteration,
                              .optimizer = summary_.optimizer,
                              .distributed_optimizer = request_.distributed_optimizer.value_or(false),
                              .format = std::string(to_string(form)),
                              .tokenizer_type = request_.tokenizer_type,
                              .tokenizer_model = request_.tokenizer.string()};
  summary_.target_kind =
      format("Megatron-LM checkpoint ({}), tp {}, pp {}", to_string(form), split.tp, split.pp);
  if (split.virtual_stages > 1) summary_.target_kind += format(", {} virtual stages", split.virtual_stages);
  std::vector<TargetFile> files = form == MegatronForm::kTorch ? legacy_files(*source_, layout, target)
                                                               : torch_dist_files(*source_, layout, target);
  checksums_within_ = iteration_folder_name(iteration);
  for (TargetFile& file : files) {
    file.name = checksums_within_ + "/" + file.name;
    files_.push_back(std::move(file));
  }
  add_text(kIterationTracker, std::to_string(iteration));
  const std::int64_t rows = split.whole_vocabulary;
  if (split.padded_vocabulary > rows)
    summary_.notes.push_back(
        format("the vocabulary has {} rows and is padded to {}: rows that are added copy the "
               "last one",
               rows, split.padded_vocabulary));
  if (split.padded_vocabulary < rows)
    summary_.notes.push_back(
        format("the vocabulary has {} rows; {} of them are kept", rows, split.padded_vocabulary));
  std::ranges::move(megatron_notes(layout, target), std::back_inserter(summary_.notes));
}

void Conversion::run(const ConversionRun& run) {
  require_room(request_.target, summary_.total);
  const fs::path parent = request_.target.has_parent_path() ? request_.target.parent_path() : fs::path(".");
  remove_leftovers(parent);
  AtomicFolder folder(request_.target, {.overwrite = request_.overwrite, .removable = is_of_a_checkpoint});
  const auto options = [&](std::string_view what) {
    FillOptions result{.threads = run.threads};
    if (run.progress)
      result.progress = [&run, what](Bytes done, Bytes total) { run.progress(what, done, total); };
    return result;
  };
  const std::map<std::string, SafetensorsSums> sums = fill_files(*source_, files_, folder, options("copied"));
  write_checksums(folder, sums, checksums_within_);
  if (run.verify) {
    check_files(*source_, files_, folder.hidden_path(), options("compared"));
    check_again(folder.hidden_path());
  }
  folder.commit();
}

// Whether what was written opens as a checkpoint of the same model: names and shapes. The bytes were compared
// before.
void Conversion::check_again(const fs::path& written) const {
  const OpenedCheckpoint opened =
      open_checkpoint(written, {.config = request_.config, .optimizer = summary_.optimizer});
  const auto differs = [&](const std::string& message) {
    return Error{ErrorKind::kEnvironment,
                 {.file = request_.target.string()},
                 "what was written does not read back as the same model: " + message};
  };
  for (const WholeTensor& tensor : source_->tensors()) {
    // Counters of a training stand elsewhere in other formats.
    if (is_optimizer_state(*source_, tensor) && !(summary_.optimizer && is_adam_state(*source_, tensor)))
      continue;
    const WholeTensor* found = opened.model->find(tensor.name);
    if (found == nullptr) throw differs(format("there is no '{}'", tensor.name));
    if (found->columns() != tensor.columns())
      throw differs(
          format("'{}' is {} and was {}", tensor.name, found->shape.to_string(), tensor.shape.to_string()));
  }
}

}  // namespace nadi::inline files
