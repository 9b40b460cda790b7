// For tests: small checkpoints with weights that are all different.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/half.h"
#include "nadi/checkpoint/safetensors_writer.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/model/config_writer.h"

namespace nadi::inline files {

// Elements count on from `next` in steps of 2^-10, in the type; bf16 takes the upper half of such a number.
class MadeUpTensors {
 public:
  void add(std::string name, FileDType dtype, const Shape& shape) {
    std::vector<std::byte>& data = data_.emplace_back();
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const float value = static_cast<float>(next_++) / 1024;
      const std::uint16_t half = to_bf16(value);
      const std::int64_t whole = next_;
      const void* from = dtype == FileDType::kF32    ? static_cast<const void*>(&value)
                         : dtype == FileDType::kBF16 ? static_cast<const void*>(&half)
                                                     : &whole;
      data.resize(data.size() + static_cast<std::size_t>(size_of(dtype)));
      std::memcpy(data.data() + data.size() - size_of(dtype), from, static_cast<std::size_t>(size_of(dtype)));
    }
    tensors_.push_back({.name = std::move(name), .dtype = dtype, .shape = shape});
  }

  std::vector<TensorToWrite> to_write() const {
    std::vector<TensorToWrite> result = tensors_;
    for (std::size_t i = 0; i < result.size(); ++i) result[i].bytes = data_[i];
    return result;
  }

 private:
  std::int64_t next_ = 1;
  std::vector<TensorToWrite> tensors_;
  std::vector<std::vector<std::byte>> data_;
};

inline DType graph_type_for_tests(FileDType dtype) {
  return dtype == FileDType::kBF16 ? DType::kBF16 : DType::kF32;
}

inline void write_made_up_weights(AtomicFolder& folder, const ModelConfig& config, FileDType dtype) {
  MadeUpTensors weights;
  for (const WantedTensor& wanted : whole_parameters(config)) weights.add(wanted.name, dtype, wanted.shape);
  folder.write("config.json", config_json(config, {.dtype = graph_type_for_tests(dtype)}));
  folder.write("model.safetensors", [&](AtomicFile& file) { write_safetensors(file, weights.to_write()); });
}

// A Hugging Face folder.
inline void write_made_up_model(const std::filesystem::path& path, const ModelConfig& config,
                                FileDType dtype) {
  AtomicFolder folder(path);
  write_made_up_weights(folder, config, dtype);
  folder.commit();
}

// A checkpoint of ours, after three steps of AdamW.
inline void write_made_up_training(const std::filesystem::path& path, const ModelConfig& config,
                                   FileDType dtype) {
  AtomicFolder folder(path);
  write_made_up_weights(folder, config, dtype);
  MadeUpTensors state;
  for (const WantedTensor& wanted : whole_parameters(config)) {
    state.add(wanted.name + ".m", FileDType::kF32, wanted.shape);
    state.add(wanted.name + ".v", FileDType::kF32, wanted.shape);
    if (dtype == FileDType::kBF16) state.add(wanted.name + ".master", FileDType::kF32, wanted.shape);
  }
  const std::vector<std::int64_t> counters{3, 6, 0};  // updates, schedule_position, skipped_updates
  const std::vector<float> metrics{0, 0};             // grad_norm, loss
  std::vector<TensorToWrite> tensors = state.to_write();
  const auto scalar = [&](const char* name, FileDType type, const void* value, std::size_t size) {
    tensors.push_back(
        {.name = name, .dtype = type, .shape = {}, .bytes = {static_cast<const std::byte*>(value), size}});
  };
  scalar("updates", FileDType::kI64, &counters[0], 8);
  scalar("schedule_position", FileDType::kI64, &counters[1], 8);
  scalar("skipped_updates", FileDType::kI64, &counters[2], 8);
  scalar("grad_norm", FileDType::kF32, &metrics[0], 4);
  scalar("loss", FileDType::kF32, &metrics[1], 4);
  const TrainingState training{
      .step = 3,
      .samples_seen = 6,
      .seed = 7,
      .dtype = std::string(to_string(graph_type_for_tests(dtype))),
      .batch_size = 2,
      .max_seq_length = 16,
      .optimizer = "adamw",
      .optimizer_settings =
          {{"beta1", 0.9}, {"beta2", 0.95}, {"epsilon", 1e-8}, {"weight_decay", 0.1}, {"max_grad_norm", 1}},
      .schedule = "cosine",
      .schedule_settings = {{"peak", 1e-3},
                            {"minimum", 1e-5},
                            {"start", 0},
                            {"in_samples", 1},
                            {"warmup", 4},
                            {"decay_end", 100},
                            {"total", 100},
                            {"stable_decay", 0},
                            {"stable_decay_length", 0},
                            {"late_warmup", 1}},
      .counters = {{"skipped_steps", 0}, {"gradient_accumulation_steps", 1}, {"data_parallel_ranks", 1}}};
  write_training_state(folder, training, std::move(tensors));
  folder.commit();
}

}  // namespace nadi::inline files
