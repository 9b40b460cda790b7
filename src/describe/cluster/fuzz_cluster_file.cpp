// Fuzz target of the cluster file reader (scripts/fuzz.sh).
//
// Any bytes must give either a cluster, which is written and read back to the same bytes, or an Error (input)
// that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "nadi/base/error.h"
#include "nadi/cluster/cluster_file.h"

namespace nadi::inline describe {
namespace {

void read_any(std::string bytes) {
  try {
    const Cluster cluster = parse_cluster(std::move(bytes), "fuzz.json");
    const std::string text = cluster_text(cluster);
    check(cluster_text(parse_cluster(text, "fuzz.json")) == text,
          "a cluster that was written is read as another one");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz.json", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline describe

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
