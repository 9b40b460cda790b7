// Between the variables of the ranks of a plan and the files of one checkpoint: a Hugging Face folder with
// the names and shapes of the whole model, and optimizer state by parameter, whatever the plan. What one plan
// wrote, any other reads, and the files of two plans that hold the same numbers are the same bytes.
//
//   StagePrograms programs(config, request, plan);
//   engine.load(programs.of(stage));
//   engine.bind();
//   ShardedState state(engine, world, programs);
//   state.load_weights("gpt2/");                                    // start from weights,
//   state.load_training_tensors("run/checkpoint-100");              // or go on: both
//   engine.initialize(seed);                                        // what was not loaded
//   ...
//   state.save_checkpoint("run/checkpoint-200", &tokenizer, training_state);
//
// Checkpoints of other programs are loaded through the whole model that they hold (checkpoint/whole_model.h),
// and saved by converting the files of one of ours:
//
//   state.load_weights(*megatron);
//   state.load_training_tensors(*megatron);
//   state.save_checkpoint_through(scratch, &tokenizer, training_state, [&](const path& ours) { convert(ours);
//   });
//
// Loading: every rank reads its own part from the folder, which all of them must see. A folder that does not
// fit the model is found out by all ranks alike, before anything is changed. Data is checked against its
// checksums as it is read, by the rank that reads it: Error (input) with the tensor's name on the ranks that
// meet damage.
//
// Saving is collective: rank 0 writes, the others send it their pieces, a few megabytes at a time
// (sharded_state_transfer.h). The outcome is that of rank 0, the folder's appearance included, and is told to
// all: when its disk is full, it takes what the others send until the end, and then the same Error is thrown
// on every rank. No rank returns before the folder is there. Parameters that are not finite are not saved
// (infeasible): an update may have spoilt them after a loss that was a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/checked_memory.h"
#include "nadi/base/error.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/graph/dtype.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/logical_state.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline ground {
class AtomicFolder;
}  // namespace nadi::inline ground
namespace nadi::inline describe {
class StagePrograms;
}  // namespace nadi::inline describe
namespace nadi::inline files {
class Tokenizer;
class WholeModel;
struct TrainingState;
}  // namespace nadi::inline files
namespace nadi::inline engines {
class Communicator;
class Engine;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

class PieceTransfer;

// Whether a checkpoint has moments and masters. Without them a run goes on from it only with a fresh
// optimizer.
enum class OptimizerTensors : std::uint8_t { kSaved, kLeftOut };

class ShardedState {
 public:
  // The engine has the program of its stage, bound, before anything is loaded or saved. The programs of the
  // other stages tell what the other ranks have; none of them is kept.
  // `saved_as` is the format in which weights are saved; any is loaded.
  ShardedState(Engine& engine, Communicator& world, const StagePrograms& programs,
               WeightFormat saved_as = WeightFormat::kSafetensors);

  // This rank's part of every parameter, converted to the engine's element types; padding of the vocabulary
  // is zero. Returns the names in the files that the model has no use for, the same on all ranks. Error
  // (input) when a tensor is missing or has another shape.
  std::vector<std::string> load_weights(const std::filesystem::path& folder, Verify verify = Verify::kYes);

  // Optimizer state and metrics. Error (input) when one is missing or has another shape or type.
  void load_training_tensors(const std::filesystem::path& checkpoint, Verify verify = Verify::kYes);

  // What a user should know of the files that were loaded.
  const std::vector<std::string>& notes() const { return notes_; }

  // The same from a model as one whole. A vocabulary may be shorter here than there, where it is padded. Of
  // the metrics only the loss scale is loaded, where the source has one: no step depends on the others.
  void load_weights(const WholeModel& model);
  void load_training_tensors(const WholeModel& model);

  // Collective. config.json, the weights (model.safetensors or pytorch_model.bin) and the tokenizer's files,
  // if there is a tokenizer. A folder that is there is replaced.
  void save_model(const std::filesystem::path& target, const Tokenizer* tokenizer);
  // The same with the files of training_state.h. What rank 0 gives as state and tokenizer is written.
  void save_checkpoint(const std::filesystem::path& target, const Tokenizer* tokenizer,
                       const TrainingState& training, OptimizerTensors tensors = OptimizerTensors::kSaved);
  // The same into a hidden folder beside `scratch`, which `publish` makes something of, on rank 0; then it is
  // removed. What `publish` throws is thrown on all ranks.
  void save_checkpoint_through(const std::filesystem::path& scratch, const Tokenizer* tokenizer,
                               const TrainingState& training, OptimizerTensors tensors,
                               const std::function<void(const std::filesystem::path&)>& publish);

 private:
  // What goes into a folder: of rank 0.
  struct Contents {
    const Tokenizer* tokenizer = nullptr;
    const TrainingState* training = nullptr;  // nullptr means weights alone
    OptimizerTensors tensors = OptimizerTensors::kSaved;
  };
  void save(const std::filesystem::path& target, const Contents& contents,
            const std::function<void(AtomicFolder&)>& publish);
  void write(AtomicFolder& folder, PieceTransfer& transfer, const Contents& contents);
  void load(const WholeModel& model, bool parameters);
  void throw_everywhere(std::optional<Error> failed);

  Engine& engine_;
  Communicator& world_;
  ModelConfig config_;
  DType dtype_;
  WeightFormat saved_as_;
  LogicalState state_;
  std::vector<std::string> notes_;
  // Numbers of tensors, in the order of the file that they go to.
  std::vector<std::size_t> parameters_, training_tensors_;
};

}  // namespace nadi::inline runs
