// Fuzz target of clusters that other programs describe: InfraGraph's graphs, and ASTRA-sim's system, network
// and memory files (scripts/fuzz.sh).
//
// Text with a member "instances" is a graph; other JSON is a system file beside a network of one dimension;
// anything else is a network file. Any bytes must give either a cluster, which is the same after it is written
// and read as one of ours, or an Error that names the file.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/cluster/astra_cluster.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/cluster/infragraph.h"

namespace nadi::inline describe {
namespace {

constexpr std::string_view kNetwork =
    "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n";
constexpr std::string_view kSystem =
    R"({"endpoint-delay": 10, "all-reduce-implementation": ["ring"], "local-mem-bw": 3350, "peak-perf": 700})";

std::filesystem::path written(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

Cluster read(const std::filesystem::path& folder, std::string_view bytes) {
  const bool json = !bytes.empty() && bytes[0] == '{';
  if (json && bytes.find("\"instances\"") != std::string_view::npos)
    return read_infragraph(written(folder / "graph.json", bytes).string() + ",h100");
  return read_astra_cluster(written(folder / "system.json", json ? bytes : kSystem).string() + "," +
                            written(folder / "network.yml", json ? kNetwork : bytes).string());
}

void read_any(std::string_view bytes) {
  static const TemporaryFolder folder("fuzz");
  try {
    const Cluster cluster = read(folder, bytes);
    const std::string text = cluster_text(cluster);
    check(cluster_text(parse_cluster(text, "again.json")) == text,
          "a cluster that was written is read as another one");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file.starts_with(folder.path().string()), "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline describe

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
