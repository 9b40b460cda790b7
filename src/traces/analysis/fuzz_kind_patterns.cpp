// Fuzz target of files of kinds of kernels (scripts/fuzz.sh).
//
// Any bytes must give either patterns or an Error (input) that names the file; each part of a name that was
// taken says its kind.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "nadi/analysis/kind_patterns.h"
#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"

namespace nadi::inline traces {
namespace {

void read_any(std::string_view bytes) {
  static const TemporaryFolder folder("fuzz");
  static const std::filesystem::path path = folder / "kinds.json";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  try {
    const KindPatterns patterns = KindPatterns::from_file(path);
    check(!to_string(patterns.kind_of(bytes)).empty(), "a kind without a name");
    check(!to_string(patterns.kind_of("void my_kernel<float>(float*)")).empty(), "a kind without a name");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == path, "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
