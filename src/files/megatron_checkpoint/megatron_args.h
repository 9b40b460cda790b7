// What a checkpoint of Megatron-LM says about model, split and training: its `args` (an argparse.Namespace),
// the tensors themselves, the optimizer and the scheduler. The same in both formats: in every
// model_optim_rng.pt, and in common.pt of torch_dist.
//
//   const ModelConfig config = config_of(root.find("args"), facts, file);
//   const TrainingProgress progress = progress_of(root);
//
// Arguments that Nadi writes itself (megatron_args_writer.h) have the whole config.json as `nadi_config`, so
// that what Megatron has no argument for comes back. Without it a few things are guesses, as Megatron's own
// converter leaves them (docs/checkpoints.md); a configuration given by the user settles them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/model/model_config.h"
#include "nadi/torch_file/pickle_value.h"

namespace nadi::inline files {

inline constexpr std::string_view kNadiConfig = "nadi_config";
inline constexpr std::string_view kNullTokenizer = "NullTokenizer";

// What the tensors of all ranks together say.
struct MegatronFacts {
  bool encoder = false;
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t padded_vocabulary = 0;
  std::int64_t positions = 0;  // learned ones; 0 means there are none
  std::int64_t token_types = 0;
  std::int64_t qkv_rows = 0;
  std::int64_t fc1_rows = 0;
  std::int64_t ffn_width = 0;
  bool norm_bias = false;
  bool head_norms = false;  // of queries and keys
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool ffn_bias = false;
  bool own_output_layer = false;  // not tied; with several stages it takes the arguments to know
};

// Error (input) for what Nadi has no model for (experts, partial rotary positions, ...), for arguments that
// do not fit the tensors, and for what neither says.
ModelConfig config_of(const std::optional<PickleValue>& args, const MegatronFacts& facts,
                      const std::string& file);

// Whether a configuration can be of these tensors: Error (input) with the numbers if not.
void require_fits(const ModelConfig& config, const MegatronFacts& facts, const std::string& file);

// Reads the dictionary that a file is.
TrainingProgress progress_of(PickleValue root);

}  // namespace nadi::inline files
