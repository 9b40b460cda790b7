// Fuzz target of measured times of layers, as tables and as arrays (scripts/fuzz.sh).
//
// Any bytes must give either rows of positive times or an Error (input) that names the file.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/sim/layer_times.h"

namespace nadi::inline predict {
namespace {

void read_any(std::string_view bytes) {
  static const TemporaryFolder folder("fuzz");
  const bool array = !bytes.empty() && bytes[0] == '\x93';
  const std::filesystem::path path = folder / (array ? "gpt2_A10_1.npy" : "times.csv");
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  try {
    const LayerTimes times = LayerTimes::read(path);
    for (const LayerTimes::Entry& entry : times.entries()) {
      check(entry.seconds.size() >= 2 && entry.tp > 0, "a row without an embedding or a head");
      for (const double seconds : entry.seconds) check(seconds > 0, "a time that is none");
    }
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == path, "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline predict

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
