// Fuzz target of exports of Nsight Systems: scripts/fuzz.sh 60 fuzz_nsys_profile
//
// Any bytes behind SQLite's first sixteen must give either a profile that the Kineto reader takes or an Error
// that names the file, in bounded memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/pytorch/kineto_reader.h"
#include "nadi/pytorch/nsys_profile.h"

namespace nadi::inline traces {
namespace {

using namespace std::string_view_literals;
constexpr std::string_view kMagic = "SQLite format 3\0"sv;

void read_anything(std::string_view bytes) {
  // Databases are files; those of this folder stay in memory where the system has such a place.
  static const TemporaryFolder folder = [] {
    if (std::filesystem::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 0);
    return TemporaryFolder("fuzz");
  }();
  static const std::filesystem::path path = folder / "run.sqlite";
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      << kMagic << bytes.substr(std::min(bytes.size(), kMagic.size()));
  try {
    const std::string json = nsys_as_kineto(path, MemoryLimit(64_MiB));
    const KinetoTrace trace = read_kineto(json, "fuzz", {});
    check(trace.category.size() == trace.events.size(), "a column is longer or shorter than another");
    for (std::size_t row = 0; row < trace.events.size(); ++row)
      check(trace.events.duration(row) >= Nanoseconds{}, "a duration is negative");
  } catch (const Error& error) {
    const bool too_much = error.kind() == ErrorKind::kEnvironment;
    check(error.kind() == ErrorKind::kInput || too_much, "bad input gave another error than an input error");
    check(error.place().file == path || error.place().file == "fuzz" || too_much,
          "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
