#include "nadi/cluster/astra_cluster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_number.h"
#include "nadi/base/text_error.h"
#include "nadi/cluster/cluster_values.h"

namespace nadi::inline describe {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostNetworkBytes = 1 << 20;
constexpr std::int64_t kMostNpus = 10'000'000;
constexpr double kGibibyte = 1073741824;

constexpr std::array<std::string_view, 21> kSystemKeys = {
    "scheduling-policy",
    "collective-optimization",
    "local-reduction-delay",
    "active-chunks-per-dimension",
    "L",
    "o",
    "g",
    "G",
    "endpoint-delay",
    "model-shared-bus",
    "preferred-dataset-splits",
    "peak-perf",
    "local-mem-bw",
    "roofline-enabled",
    "trace-enabled",
    "replay-only",
    "track-local-mem",
    "local-mem-trace-filename",
    "all-reduce-implementation",
    "all-gather-implementation",
    "boost-mode",
};
constexpr std::array<std::string_view, 7> kMoreSystemKeys = {"reduce-scatter-implementation",
                                                             "all-to-all-implementation",
                                                             "all-reduce-implementation-custom",
                                                             "all-gather-implementation-custom",
                                                             "reduce-scatter-implementation-custom",
                                                             "all-to-all-implementation-custom",
                                                             "intra-dimension-scheduling"};
constexpr std::array<std::string_view, 4> kCustomKeys = {
    "all-reduce-implementation-custom", "all-gather-implementation-custom",
    "reduce-scatter-implementation-custom", "all-to-all-implementation-custom"};
constexpr std::array<std::string_view, 4> kNetworkKeys = {"topology", "npus_count", "bandwidth", "latency"};
constexpr std::array<std::string_view, 3> kTopologies = {"Ring", "Switch", "FullyConnected"};
constexpr std::array<std::string_view, 4> kMemoryTypes = {"NO_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION",
                                                          "PER_NPU_MEMORY_EXPANSION", "MEMORY_POOL"};

struct AstraFiles {
  std::string system, network, memory;  // memory: "" for none
};

bool is_yaml(std::string_view name) {
  return name.ends_with(".yml") || name.ends_with(".yaml");
}

AstraFiles files_of_folder(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().string());
  std::ranges::sort(names);
  AstraFiles files;
  const auto take = [&](std::string& place, const std::string& name, std::string_view what) {
    if (!place.empty())
      throw input_error({.file = folder},
                        format("'{}' and '{}' both look like the {} file", place, name, what),
                        "name the files: system.json,network.yml[,memory.json]");
    place = name;
  };
  for (const std::string& name : names) {
    if (is_yaml(name)) {
      take(files.network, name, "network");
    } else if (name.ends_with(".json")) {
      const JsonDocument document = read_json(name);
      const JsonValue root = document.root();
      if (!root.is_object()) continue;
      if (root.has("memory-type"))
        take(files.memory, name, "memory");
      else if (root.has("scheduling-policy") || root.has("peak-perf") || root.has("endpoint-delay"))
        take(files.system, name, "system");
    }
  }
  if (files.system.empty() || files.network.empty())
    throw input_error(
        {.file = folder},
        format("the folder has no {} file of ASTRA-sim", files.system.empty() ? "system" : "network"),
        "name the files: system.json,network.yml[,memory.json]");
  return files;
}

AstraFiles files_of_list(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  AstraFiles files;
  const auto yaml = std::ranges::find_if(names, is_yaml);
  if (yaml == names.end() || names.size() < 2 || names.size() > 3)
    throw usage_error(format("'{}' is no system file and network file of ASTRA-sim", list),
                      "give system.json,network.yml or system.json,network.yml,memory.json");
  files.network = *yaml;
  names.erase(yaml);
  files.system = names[0];
  if (names.size() == 2) files.memory = names[1];
  return files;
}

// The subset of YAML that network files are written in: `key: [ a, b ]`, or `key: a`, one a line, with
// comments.
class NetworkFile {
 public:
  explicit NetworkFile(const std::string& file) : file_(file), text_(read(file)) {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      take_line(begin, end);
      begin = end + 1;
    }
    for (const std::string_view key : kNetworkKeys)
      if (!values_.contains(key))
        throw input_error({.file = file_}, format("the network file has no key '{}'", key));
    const std::size_t dimensions = words("topology").size();
    for (const std::string_view key : kNetworkKeys)
      if (words(key).size() != dimensions)
        throw error(words(key)[0], format("'{}' has {} values for {} dimension{}", key, words(key).size(),
                                          dimensions, dimensions == 1 ? "" : "s"));
  }

  std::size_t dimensions() const { return words("topology").size(); }
  std::string_view topology(std::size_t dimension) const {
    const std::string_view name = words("topology")[dimension];
    if (std::ranges::find(kTopologies, name) == kTopologies.end())
      throw error(name, format("unknown topology '{}'", name), did_you_mean(name, kTopologies));
    return name;
  }
  std::int64_t npus(std::size_t dimension) const {
    const double count = number("npus_count", dimension);
    if (count < 1 || count > static_cast<double>(kMostNpus) ||
        count != static_cast<double>(static_cast<std::int64_t>(count)))
      throw error(words("npus_count")[dimension],
                  format("the number of NPUs must be whole, from 1 to {}", kMostNpus));
    return static_cast<std::int64_t>(count);
  }
  double bandwidth(std::size_t dimension) const {
    const double value = number("bandwidth", dimension);
    if (value <= 0) throw error(words("bandwidth")[dimension], "the bandwidth must be positive, in GB/s");
    return value;
  }
  double latency(std::size_t dimension) const { return number("latency", dimension); }

  Error error(std::string_view at, std::string message, std::string hint = "") const {
    const auto begin = static_cast<std::size_t>(at.data() - text_.data());
    return error_in_text({.file = file_, .text = text_, .begin = begin, .end = begin + at.size()},
                         std::move(message), std::move(hint));
  }

 private:
  static std::string read(const std::string& file) {
    std::error_code problem;
    const std::uintmax_t size = fs::file_size(file, problem);
    if (problem) throw input_error({.file = file}, format("cannot be read: {}", problem.message()));
    if (size > kMostNetworkBytes)
      throw input_error({.file = file}, "too large for a network file of ASTRA-sim");
    expect_file_kind(file, "a network file of ASTRA-sim", {FileKind::kText});
    std::ifstream in(file, std::ios::binary);
    std::string text(static_cast<std::size_t>(size), '\0');
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size())))
      throw input_error({.file = file}, "cannot be read");
    return text;
  }

  void take_line(std::size_t begin, std::size_t end) {
    std::string_view line = std::string_view(text_).substr(begin, end - begin);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty() || line == "---") return;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) throw error(line, "a line that is no 'key: value'");
    const std::string_view key = trimmed(line.substr(0, colon));
    if (std::ranges::find(kNetworkKeys, key) == kNetworkKeys.end())
      throw error(key, format("unknown key '{}'", key), did_you_mean(key, kNetworkKeys));
    if (values_.contains(key)) throw error(key, format("the key '{}' is given twice", key));
    std::string_view value = trimmed(line.substr(colon + 1));
    if (value.starts_with('[') != value.ends_with(']') || value.empty())
      throw error(value.empty() ? key : value, "a value or a list in brackets, on one line, is expected");
    if (value.starts_with('[')) value = value.substr(1, value.size() - 2);
    std::vector<std::string_view>& words = values_[std::string(key)];
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t comma = std::min(value.find(',', at), value.size());
      const std::string_view word = trimmed(value.substr(at, comma - at));
      if (word.empty()) throw error(line, format("a value of '{}' is empty", key));
      words.push_back(word);
      at = comma + 1;
    }
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
  }

  const std::vector<std::string_view>& words(std::string_view key) const { return values_.find(key)->second; }

  double number(std::string_view key, std::size_t dimension) const {
    const std::string_view word = words(key)[dimension];
    double value = 0;
    constexpr double kMost = 1e12;
    if (!read_number(word, value) || !(value >= 0) || value > kMost)
      throw error(word, format("'{}' is no number from 0 to {}", word, kMost));
    return value;
  }

  std::string file_;
  std::string text_;
  std::map<std::string, std::vector<std::string_view>, std::less<>> values_;
};

struct AstraSystem {
  DeviceSpec device;
  AstraCollectives collectives;
};

// Keys that would change times and that nothing here carries out.
void refuse_unmodelled(const JsonValue& system) {
  if (const auto bus = system.find("model-shared-bus"); bus && number_of(*bus, 0, 1) != 0)
    throw error_at(*bus, "the bus that NPUs share (model-shared-bus) is not modelled", "set it to 0");
  for (const std::string_view key : kCustomKeys)
    if (const auto custom = system.find(key))
      throw error_at(*custom, format("'{}': collectives from files are not modelled", key),
                     "name algorithms: \"all-reduce-implementation\": [ \"ring\" ]");
}

AstraSystem read_system(const std::string& file, std::size_t dimensions) {
  const JsonDocument document = read_json(file);
  const JsonValue root = document.root();
  if (!root.is_object()) throw error_at(root, "a system file of ASTRA-sim is a JSON object");
  std::vector<std::string_view> known(kSystemKeys.begin(), kSystemKeys.end());
  known.insert(known.end(), kMoreSystemKeys.begin(), kMoreSystemKeys.end());
  root.refuse_keys_except(known);
  constexpr double kMost = 1e9;
  constexpr double kLeast = 1e-9;
  AstraSystem system;
  system.device.name = "npu";
  system.device.product = format("NPU of {}", fs::path(file).filename().string());
  for (const std::string_view key : {"peak-perf", "local-mem-bw"})
    if (!root.has(key))
      throw error_at(root, format("the system file has no key '{}', which says how fast an NPU is", key),
                     "add it: ASTRA-sim takes \"peak-perf\" in TFLOP/s and \"local-mem-bw\" in GB/s");
  const FlopRate peak{number_of(root.at("peak-perf"), kLeast, kMost) * 1e12};
  system.device.matrix_peak.fill(peak);
  system.device.vector_peak = peak;
  system.device.memory_bandwidth = ByteRate{number_of(root.at("local-mem-bw"), kLeast, kMost) * 1e9};
  // ASTRA-sim knows no size of memory; this one is never full.
  system.device.memory = Bytes{std::int64_t{1} << 50};
  // Its roofline reaches both peaks.
  for (const CurveConstant& constant : curve_constants())
    if (constant.name.ends_with("_efficiency")) system.device.curve.*constant.value = constant.most;
  system.device.sources = {{"matrix_peak", file}, {"memory_bandwidth", file}};
  system.collectives = astra_collectives_of_system(root, dimensions);
  refuse_unmodelled(root);
  return system;
}

void check_memory(const std::string& file) {
  static constexpr std::array<std::string_view, 5> kKeys = {
      "memory-type", "remote-mem-latency", "remote-mem-bw", "num-nodes", "num-npus-per-node"};
  const JsonDocument document = read_json(file);
  const JsonValue root = document.root();
  root.refuse_keys_except(kKeys);
  const JsonValue type = root.at("memory-type");
  if (std::ranges::find(kMemoryTypes, type.as_string()) == kMemoryTypes.end())
    throw error_at(type, format("unknown memory type '{}'", type.as_string()),
                   did_you_mean(type.as_string(), kMemoryTypes));
  if (type.as_string() != kMemoryTypes[0])
    throw error_at(type, format("remote memory is not modelled: '{}'", type.as_string()),
                   "leave the memory file out, or use NO_MEMORY_EXPANSION");
}

Fabric fabric_of(const NetworkFile& network, std::size_t dimension, std::int64_t npus_below,
                 double endpoint_delay_ns) {
  const std::string_view name = network.topology(dimension);
  const std::int64_t members = network.npus(dimension);
  double links = 1, hops = 1;
  Fabric fabric{.kind = format("dimension-{}", dimension + 1)};
  if (name == "Switch") {
    hops = 2;
  } else if (name == "Ring") {
    fabric.topology = FabricTopology::kRing;
    links = 2;
  } else {
    fabric.topology = FabricTopology::kMesh;
    links = static_cast<double>(std::max<std::int64_t>(members - 1, 1));
  }
  fabric.bandwidth =
      ByteRate{network.bandwidth(dimension) * kGibibyte * links * static_cast<double>(npus_below)};
  fabric.latency = Nanoseconds{
      static_cast<std::int64_t>(std::ceil(network.latency(dimension) * hops + endpoint_delay_ns))};
  return fabric;
}

}  // namespace

bool is_astra_cluster(const std::string& what) {
  std::error_code ignored;
  return what.find(',') != std::string::npos || is_yaml(what) || fs::is_directory(what, ignored);
}

Cluster read_astra_cluster(const std::string& what) {
  std::error_code ignored;
  const AstraFiles files = fs::is_directory(what, ignored) ? files_of_folder(what) : files_of_list(what);
  if (!files.memory.empty()) check_memory(files.memory);
  const NetworkFile network(files.network);
  const AstraSystem system = read_system(files.system, network.dimensions());
  const auto endpoint_delay = static_cast<double>(system.collectives.endpoint_delay.count());
  Cluster cluster;
  cluster.name = fs::path(files.network).stem().string();
  cluster.summary = format("of ASTRA-sim: {}, {}", files.system, files.network);
  cluster.devices = {system.device};
  cluster.astra = system.collectives;
  std::int64_t npus = network.npus(0);
  cluster.kinds = {{.name = "node",
                    .devices = static_cast<std::int32_t>(npus),
                    .inside = fabric_of(network, 0, 1, endpoint_delay)}};
  std::int64_t nodes = 1;
  for (std::size_t d = 1; d < network.dimensions(); ++d) {
    cluster.levels.push_back({.name = format("dimension {}", d + 1),
                              .members = static_cast<std::int32_t>(network.npus(d)),
                              .fabric = fabric_of(network, d, npus, endpoint_delay)});
    nodes *= network.npus(d);
    npus *= network.npus(d);
    if (npus > kMostNpus)
      throw input_error({.file = files.network}, format("the network has more than {} NPUs", kMostNpus));
  }
  cluster.nodes.assign(static_cast<std::size_t>(nodes), 0);
  cluster.sources = {{"bandwidth", files.network}, {"latency", files.network}};
  return cluster;
}

}  // namespace nadi::inline describe
