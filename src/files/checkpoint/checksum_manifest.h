// Checksums of a checkpoint's files, in a small file beside them: nadi_checksums.json.
//
//   const SafetensorsSums sums = write_safetensors(file, tensors);
//   write_checksums(folder, {{"model.safetensors", sums}});        // last before folder.commit()
//
//   const auto manifest = ChecksumManifest::read("run/checkpoint-500");     // nothing means there is none
//   manifest->check_files();                                       // config.json and other small files, now
//   manifest->watch(reader, memory);                               // tensors, when they are read
//
// A file beside the others, and not the metadata of a safetensors file: it covers the files without metadata
// (config.json, training_state.json, the tokenizer), it is written when all sums are known, and
// model.safetensors has the bytes that the safetensors library writes. Other programs pass it by. A folder
// without it, such as those of other programs, is not checked; nor is a file that it does not name. Archives
// of torch.save have checksums of their own and are not named.
//
// Sums are CRC-32C, of a small file as a whole, of a tensor by chunks of kSumChunk bytes (base/chunk_sums.h):
// 8 hexadecimal digits each, so that a rank that reads a part of a tensor checks the chunks that it reads.
//
//   {"format": "nadi checksums", "version": 1, "chunk": 1048576,
//    "files": {"config.json": {"size": 712, "crc32c": "8a9136aa"},
//              "model.safetensors": {"size": 548105171, "header": "527d5351",
//                                    "tensors": {"wte.weight": "113fdb5c46dd794e..."}}},
//    "manifest": "01aa35b0"}
//
// "manifest" is the sum of this file itself with zeros in place of these 8 digits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline ground {
class AtomicFolder;
class CheckedMemory;
}  // namespace nadi::inline ground

namespace nadi::inline files {

class SafetensorsReader;

inline constexpr const char* kChecksumsFile = "nadi_checksums.json";

// Sums of a safetensors file.
struct SafetensorsSums {
  struct Tensor {
    std::string name;
    std::vector<std::uint32_t> chunks;
  };
  Bytes size = {};
  std::uint32_t header = 0;  // all before the data
  std::vector<Tensor> tensors = {};
};

// Writes the manifest of the folder, or of a folder within it. `tensors`: of its safetensors files, by name.
// All other files there, except archives of torch.save, are read again and summed.
void write_checksums(AtomicFolder& folder, const std::map<std::string, SafetensorsSums>& tensors,
                     const std::string& within = "");

// For an archive of torch.save that has no checksums of its own.
std::string no_checksums_note(const std::string& file);

// The text of a manifest with its own checksum put right. Nothing where the text has no place for one.
std::optional<std::string> with_own_checksum(std::string text);

class ChecksumManifest {
 public:
  // Error (input) when it is damaged, or of a newer version.
  static std::optional<ChecksumManifest> read(const std::filesystem::path& folder);
  // The text of one, of a folder.
  static ChecksumManifest parse(std::string text, const std::filesystem::path& folder);

  // Small files that are there. Error (input) with the file when one has another size or sum.
  void check_files() const;

  // Adds the tensors of a file in the folder. Error (input) when its size, header or tensors are not those
  // that were summed. A file that the manifest does not name is passed by. The reader must outlive the
  // memory.
  void watch(const SafetensorsReader& reader, CheckedMemory& memory) const;

 private:
  struct SmallFile {
    std::int64_t size = 0;
    std::uint32_t sum = 0;
  };
  std::filesystem::path folder_;
  std::map<std::string, SmallFile> files_;
  std::map<std::string, SafetensorsSums> tensors_;
  std::int64_t chunk_ = 0;
};

}  // namespace nadi::inline files
