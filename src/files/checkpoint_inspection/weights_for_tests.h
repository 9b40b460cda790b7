// For the tests of this folder: safetensors files of a few numbers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/half.h"
#include "nadi/checkpoint/safetensors_writer.h"

namespace nadi::inline files {

struct SmallTensor {
  std::string name;
  Shape shape = {};
  std::vector<float> values = {};
  FileDType dtype = FileDType::kF32;  // or kBF16
};

inline void write_small_weights(const std::filesystem::path& path, const std::vector<SmallTensor>& tensors) {
  std::vector<std::vector<std::uint16_t>> halves;
  halves.reserve(tensors.size());
  std::vector<TensorToWrite> written;
  for (const SmallTensor& tensor : tensors) {
    std::vector<std::uint16_t>& half = halves.emplace_back();
    for (const float value : tensor.values) half.push_back(to_bf16(value));
    written.push_back({.name = tensor.name,
                       .dtype = tensor.dtype,
                       .shape = tensor.shape,
                       .bytes = tensor.dtype == FileDType::kBF16 ? std::as_bytes(std::span(half))
                                                                 : std::as_bytes(std::span(tensor.values))});
  }
  AtomicFile file(path, Overwrite::kAllow);
  write_safetensors(file, std::move(written));
  file.commit();
}

}  // namespace nadi::inline files
