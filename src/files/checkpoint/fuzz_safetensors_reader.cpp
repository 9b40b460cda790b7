// Fuzz target of the safetensors reader (scripts/fuzz.sh).
//
// Any bytes must give either tensors or an Error (input) that names the file. Tensors of a file that was
// read cover its data, byte by byte, and can all be read.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/checkpoint/element_conversion.h"
#include "nadi/checkpoint/safetensors_reader.h"

namespace nadi::inline files {
namespace {

void read_anything(std::span<const std::byte> bytes) {
  try {
    const SafetensorsReader reader(bytes, "fuzz");
    std::int64_t covered = 0;
    for (const SafetensorsTensor& tensor : reader.tensors()) {
      check(tensor.begin == covered, "a hole or an overlap was let pass");
      covered = tensor.end;
      const auto elements = static_cast<std::size_t>(tensor.shape.elements());
      std::vector<std::byte> out(static_cast<std::size_t>(tensor.size().count()));
      reader.read_bytes(tensor, out);
      if (!can_convert_elements(tensor.dtype, DType::kBF16)) continue;
      out.resize(elements * 2);
      reader.read(tensor, DType::kBF16, out);
    }
    check(covered <= static_cast<std::int64_t>(bytes.size()), "tensors hold more than the file");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
