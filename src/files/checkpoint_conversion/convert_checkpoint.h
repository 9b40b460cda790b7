// From any checkpoint to any other: a Hugging Face folder, a checkpoint of ours, Megatron-LM's formats torch
// and torch_dist, in any split.
//
//   const Conversion conversion({.source = "Llama-3.1-8B", .target = "mega", .to =
//   CheckpointFormat::kMegatron,
//                                .tp = 8, .pp = 2});
//   print(conversion.summary());                      // files and sizes: nothing is written yet
//   conversion.run({.threads = 4, .progress = show}); // now the folder is there, whole
//
// What is wrong with source or request is found out before anything is written. The source is mapped, and
// copied to the target in one pass (file_filling.h); memory does not grow with the model. Files appear
// together (base/atomic_folder.h), optionally after they were read back and compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/checkpoint_conversion/checkpoint_format.h"
#include "nadi/checkpoint_conversion/hugging_face_target.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/megatron_checkpoint/shard_layout.h"
#include "nadi/megatron_checkpoint/target_file.h"

namespace nadi::inline files {

struct ConversionRequest {
  std::filesystem::path source;
  std::filesystem::path target;
  CheckpointFormat to = CheckpointFormat::kHuggingFace;

  // About the source.
  std::optional<ModelConfig> config = {};      // instead of what a checkpoint of Megatron-LM says
  std::optional<std::int64_t> iteration = {};  // instead of the newest
  bool optimizer = true;                       // false means weights alone
  Verify verify = Verify::kYes;                // whether it is checked against its checksums while it is read

  // For every target. Not set means as the source has it. Optimizer state is fp32 always.
  std::optional<FileDType> dtype = {};  // kF32, kBF16 or kF16
  // How many tokens there are. Not set means as many as the model has rows. Hugging Face and ours have so many
  // rows; Megatron's tables are padded from it.
  std::optional<std::int64_t> vocabulary = {};
  std::filesystem::path tokenizer = {};  // a folder whose tokenizer goes along; empty means the source's

  // For a Hugging Face folder.
  WeightFormat weight_format = WeightFormat::kSafetensors;
  Bytes shard = HuggingFaceOptions{}.shard;

  // For Megatron's. Not set means as the source, or 1.
  std::optional<std::int64_t> tp = {};
  std::optional<std::int64_t> pp = {};
  std::optional<std::int64_t> virtual_stages = {};
  std::vector<std::int64_t> partition = {};                    // layers of each stage; empty means even
  MegatronNaming naming = MegatronNaming::kTransformerEngine;  // format torch
  std::optional<std::int64_t> vocabulary_divisible_by = {};    // not set means as the source, or 128
  std::optional<bool> distributed_optimizer = {};
  std::string tokenizer_type = {};  // as --tokenizer-type

  Overwrite overwrite = Overwrite::kRefuse;
};

struct ConversionFile {
  std::string name;
  Bytes size;
};

struct ConversionSummary {
  std::string source_kind;  // "Hugging Face folder"
  std::string target_kind;  // "Megatron-LM checkpoint (torch), tp 8, pp 2"
  std::string model;        // "llama, 8.03 B parameters in bf16"
  bool optimizer = false;   // whether its state is written
  std::vector<ConversionFile> files = {};
  Bytes total;
  std::vector<std::string> notes = {};  // what the user should know
};

struct ConversionRun {
  int threads = 1;
  bool verify = false;  // reads everything back before the folder appears
  // Told about copying, then about reading back; what it throws ends the conversion without a trace.
  std::function<void(std::string_view what, Bytes done, Bytes total)> progress = {};
};

class Conversion {
 public:
  // Opens the source and plans the target. Error (input) for a damaged source, Error (usage) for a request
  // that does not fit it or a target that exists.
  explicit Conversion(ConversionRequest request);
  ~Conversion();

  const ConversionSummary& summary() const { return summary_; }
  const WholeModel& source() const { return *source_; }

  // Called once. Error (environment) for a disk that is full, before anything is written where that is known.
  void run(const ConversionRun& run);

 private:
  void plan_hugging_face();
  void plan_nadi();
  void plan_megatron(MegatronForm form);
  void add_beside_weights(std::optional<FileDType> dtype);
  void add_text(std::string name, std::string text);
  void check_paths() const;
  void check_again(const std::filesystem::path& written) const;
  MegatronSplit target_split() const;
  void check_precision() const;
  FileDType weight_dtype() const;

  ConversionRequest request_;
  std::unique_ptr<WholeModel> source_;
  std::optional<MegatronSplit> source_split_;
  std::vector<TargetFile> files_;
  std::string checksums_within_;  // the folder within the target that has the list of checksums
  ConversionSummary summary_;
};

}  // namespace nadi::inline files
