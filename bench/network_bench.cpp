// How far predicted all-reduces are from published ones: NCCL's test program on one node of A100 with
// NVSwitch, tables of size, count, type, time (ns) ...
//
//   bench/network_bench FOLDER         # with allreduce_a100_{2,4,8}gpu_1M_1024M.csv
//
// Prints the error by file: median, 90th percentile and largest of all sizes, and the median of those up to
// 64 MiB.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/cluster/nccl_transport.h"
#include "nadi/sim/network_model.h"

namespace {

using namespace nadi;

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

std::int64_t number(const std::string& file, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size())
    throw Error{ErrorKind::kInput, {.file = file}, fmt::format("'{}' is no whole number", text)};
  return value;
}

void compare(const std::string& folder, std::int32_t gpus) {
  const std::string file = fmt::format("{}/allreduce_a100_{}gpu_1M_1024M.csv", folder, gpus);
  std::ifstream table(file);
  std::string line;
  if (!std::getline(table, line)) throw Error{ErrorKind::kInput, {.file = file}, "cannot be read"};

  Cluster cluster;
  cluster.devices = {{.name = "a100", .product = ""}};
  cluster.kinds = {
      {.name = "node",
       .devices = gpus,
       .inside = {.kind = "nvswitch", .topology = FabricTopology::kSwitch, .bandwidth = ByteRate{300e9}}}};
  cluster.nodes = {0};
  use_nccl(cluster.kinds[0].inside);
  const NetworkModel network(cluster);
  std::vector<DeviceId> members;
  for (std::int32_t i = 0; i < gpus; ++i) members.push_back(DeviceId{i});
  const GroupId group = network.group_of(members);

  std::vector<double> all, small;
  while (std::getline(table, line)) {
    std::vector<std::string> cells;
    for (std::size_t start = 0; start <= line.size();) {
      const std::size_t end = std::min(line.find(',', start), line.size());
      cells.push_back(line.substr(start, end - start));
      start = end + 1;
    }
    if (cells.size() < 4) throw Error{ErrorKind::kInput, {.file = file}, "a row has less than four columns"};
    const Bytes size{number(file, cells[0])};
    const double measured = static_cast<double>(number(file, cells[3]));
    const double predicted =
        static_cast<double>(network.collective(CollectiveType::kAllReduce, size, group).count());
    const double error = std::abs(predicted / measured - 1);
    all.push_back(error);
    if (size <= 64_MiB) small.push_back(error);
  }
  fmt::print(
      "{} GPUs: {} sizes, error median {:.1f}%, 90th percentile {:.1f}%, largest {:.1f}%; to 64 MiB median "
      "{:.1f}%\n",
      gpus, all.size(), 100 * percentile(all, 0.5), 100 * percentile(all, 0.9), 100 * percentile(all, 1),
      100 * percentile(small, 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {  // not an error: `make bench` runs every benchmark
    fmt::print(stderr, "network_bench: nothing to compare with: give the folder of the published tables\n");
    return argc < 2 ? 0 : 2;
  }
  try {
    for (const std::int32_t gpus : {2, 4, 8}) compare(argv[1], gpus);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return exit_code(error.kind());
  }
  return 0;
}
