// Fuzz target of the readers of Megatron's files (scripts/fuzz.sh).
//
// The first byte says what the rest is: 255 for a NumPy array, else a dataset whose .bin has that many bytes,
// at the end. Any bytes must give either data that can all be read, or an Error (input) that names the file.
#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/base/error.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/data/npy_file.h"

namespace nadi::inline files {
namespace {

void read_dataset(std::span<const std::byte> index, std::span<const std::byte> data) {
  const IndexedDataset dataset(index, data, "fuzz");
  std::int64_t sequences = 0, tokens = 0;
  for (std::int64_t d = 0; d < dataset.documents(); ++d) {
    check(dataset.first_sequence(d) == sequences, "a hole between documents was let pass");
    sequences = dataset.first_sequence(d + 1);
  }
  for (std::int64_t i = 0; i < dataset.sequences(); ++i) tokens += dataset.length(i);
  check(tokens == dataset.tokens(), "sequences have other tokens than the dataset");
  dataset.largest_token(0, dataset.sequences());
}

void read_array(std::span<const std::byte> bytes) {
  const NpyFile file(bytes, "fuzz.npy");
  const std::int64_t held = file.elements() * static_cast<std::int64_t>(size_of(file.type()));
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < held; ++i) sum += file.at<std::uint8_t>(i);
  check(sum <= 255 * held, "bytes that are none");  // and the sanitizer has seen each of them
}

void read_anything(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto kind = std::to_integer<std::size_t>(bytes[0]);
  bytes = bytes.subspan(1);
  try {
    if (kind == 255) return read_array(bytes);
    if (kind > bytes.size()) return;
    read_dataset(bytes.first(bytes.size() - kind), bytes.last(kind));
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file.starts_with("fuzz."), "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything(std::as_bytes(std::span(data, size)));
  return 0;
}
