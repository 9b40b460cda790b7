#include "nadi/cli/checkpoint_convert_flags.h"

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/checkpoint_conversion/tokenizer_size.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/converter_claims.h"
#include "nadi/model/config_file.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kImplementations{"local", "transformer_engine"};
constexpr std::string_view kHuggingFaceTokenizer = "HuggingFaceTokenizer";

template <std::size_t N>
std::vector<std::string_view> list_of(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

std::vector<std::string_view> weight_format_names() {
  std::vector<std::string_view> names;
  for (const WeightFormatEntry& entry : weight_formats()) names.push_back(entry.name);
  return names;
}

void add_source_flags(Flags& flags) {
  FlagHeading source(flags, "source");
  source.value("--load-dir", "FOLDER",
               "the checkpoint: a Hugging Face folder, a checkpoint of nadi train, or one of Megatron-LM "
               "(torch or torch_dist; its folder, or an iter_0000500 in it)",
               "required");
  source.value("--iteration", "N", "which iteration of a Megatron-LM folder", "the newest");
  source.value("--config", "MODEL",
               "a config.json, a folder with one or a built-in model, in place of what the arguments in a "
               "checkpoint of Megatron-LM say",
               "what the checkpoint says");
  source.value(
      "--tokenizer-model", "PATH",
      "folder or file of the tokenizer: its size is that of the vocabulary, and its files go along to "
      "a Hugging Face folder",
      "the model's vocabulary, the source's files");
  source.value("--true-vocab-size", "N", "size of the vocabulary", "the tokenizer's, or the model's");
  source.value("--vocab-file", "FILE", "a vocabulary whose size is that of the model's", "none");
  source.toggle("--no-optimizer", "weights alone, without optimizer state");
}

void add_target_flags(Flags& flags) {
  std::string summaries;
  std::vector<std::string_view> names;
  for (const CheckpointFormatEntry& entry : kCheckpointFormats) {
    summaries += format("{}{}: {}", summaries.empty() ? "" : "; ", entry.name, entry.summary);
    names.push_back(entry.name);
  }
  FlagHeading target(flags, "target");
  target.value({"--save-dir", "--save"}, "FOLDER",
               "the folder that is written; it appears when it is complete", "required");
  target.value("--to", "FORMAT", summaries, "what --saver says", {.choices = names});
  target.value("--save-format", "FORMAT", "files of weights in a Hugging Face folder",
               std::string(weight_formats()[0].name), {.choices = weight_format_names()});
  target.value("--max-shard-size", "SIZE", "largest file of weights in a Hugging Face folder", "5GB");
  for (const auto& [name, type] : {std::pair("--bf16", "bf16"), {"--fp16", "fp16"}, {"--fp32", "fp32"}})
    target.toggle(name, format("convert weights to {}; the source's precision without any of these", type));
  target.value("--target-tensor-parallel-size", "N", "tensor-parallel ranks", "the source's, or 1");
  target.value("--target-pipeline-parallel-size", "N", "pipeline stages", "the source's, or 1");
  target.value("--target-virtual-stages", "N", "chunks of layers of each stage (interleaved schedule)", "1");
  target.value("--target-expert-parallel-size", "N", "only 1: models with experts are not known", "1");
  target.value("--saver-transformer-impl", "NAME", "whose names tensors have in Megatron-LM's format torch",
               std::string(kImplementations[1]), {.choices = list_of(kImplementations)});
  target.value("--make-vocab-size-divisible-by", "N",
               "Megatron-LM's vocabulary is padded to a multiple of this times the tensor-parallel ranks",
               "as the source, or 128");
  target.toggle("--use-distributed-optimizer",
                "write optimizer state as Megatron-LM's distributed optimizer does", "as the source");
  target.toggle("--no-distributed-optimizer", "write optimizer state as without it", "as the source");
}

std::string required_folder(const Flags& flags, std::string_view name) {
  const std::optional<std::string> text = flags.text(name);
  if (!text || text->empty())
    throw usage_error(format("{} is missing", name),
                      "nadi checkpoint convert --load-dir FROM --save-dir NEW --to hf");
  return *text;
}

CheckpointFormat target_format(const Flags& flags) {
  const std::optional<std::size_t> to = flags.choice("--to");
  const bool saver = flags.given("--saver");
  if (!to && !saver)
    throw usage_error("the format of the target is missing", "--to hf, megatron, torch_dist or nadi");
  if (!to) return CheckpointFormat::kMegatron;
  const CheckpointFormat format_asked = kCheckpointFormats[*to].format;
  if (saver && format_asked != CheckpointFormat::kMegatron && format_asked != CheckpointFormat::kTorchDist)
    throw usage_error(format("--saver {} writes a checkpoint of Megatron-LM, and --to {} another format",
                             *flags.text("--saver"), kCheckpointFormats[*to].name),
                      "leave --saver out");
  return format_asked;
}

std::optional<FileDType> target_precision(const Flags& flags) {
  std::optional<FileDType> dtype;
  for (const auto& [name, type] :
       {std::pair("--bf16", FileDType::kBF16), {"--fp16", FileDType::kF16}, {"--fp32", FileDType::kF32}}) {
    if (!flags.given(name)) continue;
    if (dtype) throw usage_error("--bf16, --fp16 and --fp32 exclude each other");
    dtype = type;
  }
  return dtype;
}

std::optional<std::int64_t> vocabulary_size(const Flags& flags) {
  if (const auto size = flags.integer("--true-vocab-size")) return size;
  if (const auto file = flags.text("--vocab-file")) return tokenizer_size(*file);
  if (const auto path = flags.text("--tokenizer-model")) return tokenizer_size(*path);
  return std::nullopt;
}

}  // namespace

void add_checkpoint_convert_flags(Flags& flags) {
  add_source_flags(flags);
  add_target_flags(flags);
  FlagHeading run(flags, "run");
  run.value("--threads", "N", "threads that copy; the files do not depend on it",
            "one per core, at least 16");
  run.toggle("--dry-run", "write nothing; print files and sizes");
  run.toggle("--verify", "read everything back and compare it with the source before the folder appears");
  run.toggle("--no-verify", "do not check the source against its checksums while it is read");
  run.toggle("--force",
             "replace a folder that exists, unless it holds something that is not of a checkpoint");
  run.toggle("--json", "print JSON: see docs/json.md");
  add_converter_claims(flags);
  flags.show_first({"--load-dir", "--save-dir", "--to", "--saver", "--target-tensor-parallel-size",
                    "--target-pipeline-parallel-size", "--bf16", "--no-optimizer", "--dry-run", "--verify",
                    "--force"});
}

ResolvedConversion resolve_conversion(const Flags& flags) {
  ResolvedConversion resolved{.request = {.source = required_folder(flags, "--load-dir"),
                                          .target = required_folder(flags, "--save-dir"),
                                          .to = target_format(flags)}};
  ConversionRequest& request = resolved.request;
  check_source_claims(flags, request.source);
  if (flags.integer("--target-expert-parallel-size").value_or(1) != 1)
    throw usage_error("--target-expert-parallel-size takes only 1: models with experts are not known");
  if (flags.given("--use-distributed-optimizer") && flags.given("--no-distributed-optimizer"))
    throw usage_error("--use-distributed-optimizer and --no-distributed-optimizer exclude each other");
  if (const auto config = flags.text("--config")) request.config = load_model_config(*config);
  request.iteration = flags.integer("--iteration", 0);
  request.optimizer = !flags.given("--no-optimizer");
  request.dtype = target_precision(flags);
  request.vocabulary = vocabulary_size(flags);
  if (const auto path = flags.text("--tokenizer-model")) {
    request.tokenizer = *path;
    request.tokenizer_type = kHuggingFaceTokenizer;
  }
  if (const auto type = tokenizer_type_of(flags)) request.tokenizer_type = *type;
  request.weight_format = weight_formats()[flags.choice("--save-format").value_or(0)].format;
  request.shard = flags.bytes("--max-shard-size").value_or(request.shard);
  request.tp = flags.integer("--target-tensor-parallel-size");
  request.pp = flags.integer("--target-pipeline-parallel-size");
  request.virtual_stages = flags.integer("--target-virtual-stages");
  request.naming = flags.choice("--saver-transformer-impl").value_or(1) == 0
                       ? MegatronNaming::kLocal
                       : MegatronNaming::kTransformerEngine;
  request.vocabulary_divisible_by = flags.integer("--make-vocab-size-divisible-by");
  if (flags.given("--use-distributed-optimizer")) request.distributed_optimizer = true;
  if (flags.given("--no-distributed-optimizer")) request.distributed_optimizer = false;
  if (flags.given("--force")) request.overwrite = Overwrite::kAllow;
  if (flags.given("--no-verify")) request.verify = Verify::kNo;
  resolved.notes = inert_converter_flags(flags);
  return resolved;
}

}  // namespace nadi::inline show
