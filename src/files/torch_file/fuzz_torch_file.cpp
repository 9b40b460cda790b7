// Fuzz target of the readers of torch.save files and of pickles (scripts/fuzz.sh).
//
// Any bytes must give either values or an Error (input) that names the file. Tensors of a file that was read
// lie inside it and can be read; its values can be written, and what was written reads as a pickle again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/torch_file/pickle_machine.h"
#include "nadi/torch_file/torch_file.h"
#include "nadi/torch_file/torch_writer.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kMostRead = 1 << 16;  // an expanded tensor may claim any size

void check_error(const Error& error) {
  check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
  check(error.place().file == "fuzz", "an error does not name its file");
}

void read_tensor(const TorchTensor& tensor, std::span<const std::byte> file) {
  if (const auto view = tensor.view(); view && !view->empty())
    check(view->data() >= file.data() && view->data() + view->size() <= file.data() + file.size(),
          "a tensor lies outside its file");
  if (tensor.size() > kMostRead) return;
  std::vector<std::byte> out(static_cast<std::size_t>(tensor.size()));
  tensor.read(out);
  if (tensor.rows() < 2 || tensor.columns() < 2) return;
  out.resize(static_cast<std::size_t>((tensor.rows() - 1) * (tensor.columns() - 1) * size_of(tensor.dtype)));
  tensor.read_block(
      {.first_row = 1, .rows = tensor.rows() - 1, .first_column = 1, .columns = tensor.columns() - 1}, out);
}

void write_again(PickleValue root) {
  try {
    const TorchLayout layout(root);
    check(layout.file_size() > 0, "an archive is empty");
  } catch (const Error& error) {
    check_error(error);
  }
}

void read_file(std::span<const std::byte> bytes, UnknownClasses unknown_classes) {
  try {
    const TorchFile file(bytes, "fuzz", {.unknown_classes = unknown_classes});
    for (const NamedTorchTensor& named : file.tensors()) read_tensor(*named.tensor, bytes);
    write_again(file.root());
  } catch (const Error& error) {
    check_error(error);
  }
}

void read_raw_pickle(std::span<const std::byte> bytes) {
  try {
    const PickleDocument document = read_pickle(bytes, "fuzz", {.unknown_classes = UnknownClasses::kKeep});
    (void)document.root().path();
    write_again(document.root());
  } catch (const Error& error) {
    check_error(error);
  }
}

}  // namespace
}  // namespace nadi::inline files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  nadi::read_file(bytes, nadi::UnknownClasses::kRefuse);
  nadi::read_file(bytes, nadi::UnknownClasses::kKeep);
  nadi::read_raw_pickle(bytes);
  return 0;
}
