// The formats of checkpoints that Nadi converts between.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nadi::inline files {

enum class CheckpointFormat : std::uint8_t { kHuggingFace, kMegatron, kTorchDist, kNadi };

struct CheckpointFormatEntry {
  CheckpointFormat format;
  std::string_view name;  // as --to takes it
  std::string_view summary;
};

// In the order of CheckpointFormat.
inline constexpr std::array kCheckpointFormats{
    CheckpointFormatEntry{CheckpointFormat::kHuggingFace, "hf", "a Hugging Face folder"},
    CheckpointFormatEntry{CheckpointFormat::kMegatron, "megatron",
                          "Megatron-LM's format torch, one file per rank"},
    CheckpointFormatEntry{CheckpointFormat::kTorchDist, "torch_dist", "Megatron-LM's format torch_dist"},
    CheckpointFormatEntry{CheckpointFormat::kNadi, "nadi", "a checkpoint of nadi train"},
};

inline const CheckpointFormatEntry& entry_of(CheckpointFormat wanted) {
  return kCheckpointFormats[static_cast<std::size_t>(wanted)];
}

}  // namespace nadi::inline files
