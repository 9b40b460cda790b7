// Fuzz target of the lists of checksums of checkpoints (scripts/fuzz.sh).
//
// Any bytes must give either a list or an Error (input) that names the file. A list whose own checksum is put
// right gets further: its tensors are watched beside a file that has two.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "nadi/base/checked_memory.h"
#include "nadi/base/error.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/safetensors_reader.h"

namespace nadi::inline files {
namespace {

// Tensors "a" and "b" of 4 and 8 bytes; the size of the header in front of it.
constexpr std::string_view kHeader =
    R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})";
constexpr std::string_view kData = "123456789abc";

std::string two_tensors() {
  std::string file(8, '\0');
  for (std::size_t byte = 0; byte < file.size(); ++byte)
    file[byte] = static_cast<char>(kHeader.size() >> (8 * byte) & 0xff);
  return file.append(kHeader).append(kData);
}

void check_input_error(const Error& error, std::string_view file) {
  check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
  check(error.place().file.starts_with(file), "an error does not name its file");
}

void read_any(std::string text) {
  std::optional<ChecksumManifest> manifest;
  try {
    manifest = ChecksumManifest::parse(std::move(text), "fuzz");
  } catch (const Error& error) {
    check_input_error(error, "fuzz");
    return;
  }
  static const std::string file = two_tensors();
  const SafetensorsReader reader(std::as_bytes(std::span(file)), "model.safetensors");
  CheckedMemory memory;
  try {
    manifest->watch(reader, memory);
    for (const SafetensorsTensor& tensor : reader.tensors()) memory.check(reader.mapped(tensor));
  } catch (const Error& error) {
    check_input_error(error, "model.safetensors");
  }
}

}  // namespace
}  // namespace nadi::inline files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  nadi::read_any(text);
  if (auto mended = nadi::with_own_checksum(text)) nadi::read_any(std::move(*mended));
  return 0;
}
