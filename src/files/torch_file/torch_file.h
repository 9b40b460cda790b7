// Opens a file of torch.save: an archive (PyTorch 1.6 and later) or the older format without one.
//
//   const TorchFile file("pytorch_model.bin");
//   for (const NamedTorchTensor& named : file.tensors()) print(named.path, named.tensor->shape.to_string());
//   file.root().at("wte.weight").as_tensor().read(out);
//
// The file is mapped: opening reads the pickle, and data is read when it is wanted (torch_tensor.h). Nothing
// is ever called (pickle_machine.h). Opening checks everything that a lying file could say: entries inside
// the file, storages of the size that the pickle claims, tensors inside their storages, all without overflow.
// Names of entries are compared, never used as paths.
//
// Values and tensors are valid as long as the file is open; moving a TorchFile keeps them valid. Reading does
// not change the file: several threads may do it at once. Whatever is wrong is Error (input) that names the
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nadi/torch_file/pickle_machine.h"
#include "nadi/torch_file/pickle_value.h"

namespace nadi::inline ground {
class CheckedMemory;
}  // namespace nadi::inline ground

namespace nadi::inline files {

struct TorchFileOptions {
  UnknownClasses unknown_classes = UnknownClasses::kRefuse;
  MemoryLimit memory = {};  // for the pickle and its values
};

struct NamedTorchTensor {
  std::string path;  // "model/decoder.final_layernorm.weight"; of a file of weights its name
  PickleValue value;
  const TorchTensor* tensor;
};

class TorchFile {
 public:
  explicit TorchFile(const std::filesystem::path& path, const TorchFileOptions& options = {});
  // Bytes that stay in memory as long as the file is open: a whole file, or one of several archives in a
  // mapping (the chunks of a .distcp). `name` and `first_byte`, of the bytes within the file of that name,
  // are for messages.
  TorchFile(std::span<const std::byte> bytes, std::string name, const TorchFileOptions& options = {},
            std::int64_t first_byte = 0);
  TorchFile(TorchFile&&) noexcept;
  TorchFile& operator=(TorchFile&&) noexcept;
  ~TorchFile();

  PickleValue root() const;
  const std::string& file() const;

  // All tensors that are reached through dictionaries, lists, tuples and states of objects, in order. A
  // container that is reached by several paths is gone through once, under the first; a tensor is listed
  // under every name in such a container.
  std::vector<NamedTorchTensor> tensors() const;

  // Adds the storages with the checksums that the archive states, under the names of their first tensors. The
  // file must outlive the memory, or whatever maps its bytes.
  void watch(CheckedMemory& memory) const;
  // Whether some storages of an archive have no checksum: torch.save can leave them out. The older format
  // never has any.
  bool lacks_checksums() const;

  // Whether the bytes of every storage have the checksum that the archive states. Reads all of the file.
  // Error (input) for the first that differs. Storages without a checksum pass.
  void verify_checksums() const;

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

// The tensors below a value, as TorchFile::tensors() lists them, with paths that start there.
std::vector<NamedTorchTensor> tensors_below(PickleValue value);

}  // namespace nadi::inline files
