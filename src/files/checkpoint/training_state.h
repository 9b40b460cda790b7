// What continuing a run needs beyond its weights: two files in a checkpoint's folder.
//
//   training_state.safetensors   tensors by name: moments, fp32 masters, loss scale
//   training_state.json          the numbers below; written last, it marks the checkpoint as complete
//
//   write_training_state(folder, state, tensors);                    // folder: AtomicFolder
//   const TrainingState state = read_training_state(path);           // path: of the checkpoint
//   const SafetensorsReader tensors(path / kTrainingTensorsFile);
//
// Doubles come back bit for bit (of a NaN only that it is one). Unknown keys, missing ones and values of
// another type are Error (input) with file, line and key, and so is a file of a newer version of Nadi.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nadi/checkpoint/safetensors_writer.h"

namespace nadi::inline ground {
class AtomicFolder;
}  // namespace nadi::inline ground

namespace nadi::inline files {

inline constexpr const char* kTrainingStateFile = "training_state.json";
inline constexpr const char* kTrainingTensorsFile = "training_state.safetensors";

struct TrainingState {
  // Where the run stands: all counts are of what is done.
  std::int64_t step = 0;   // of the run, skipped ones included
  std::int64_t epoch = 0;  // whole passes over the data
  std::int64_t batch_in_epoch = 0;
  std::int64_t samples_seen = 0;
  double epoch_loss_sum = 0;                        // over the tokens of the epoch under way
  std::int64_t epoch_tokens = 0;                    // how many those are
  std::optional<double> best_validation_loss = {};  // nothing before the first validation

  // What it was started with: the caller compares them with what it is continued with.
  std::uint64_t seed = 0;
  std::string dtype;  // of the computation, as to_string(DType) has it
  std::int64_t batch_size = 0;
  std::int64_t max_seq_length = 0;
  std::string optimizer;
  std::map<std::string, double> optimizer_settings = {};
  std::string schedule;  // of the learning rate
  std::map<std::string, double> schedule_settings = {};

  // Whatever else is counted: skipped steps, tokens, restarts.
  std::map<std::string, std::int64_t> counters = {};

  bool operator==(const TrainingState&) const = default;
};

// Returns the checksums of kTrainingTensorsFile, for the folder's list (checksum_manifest.h).
SafetensorsSums write_training_state(AtomicFolder& folder, const TrainingState& state,
                                     std::vector<TensorToWrite> tensors);

// The text of its JSON file alone, for those who write the tensors themselves.
std::string training_state_json(const TrainingState& state);

TrainingState read_training_state(const std::filesystem::path& checkpoint);

}  // namespace nadi::inline files
