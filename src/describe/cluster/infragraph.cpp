#include "nadi/cluster/infragraph.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_number.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/cluster/cluster_values.h"

namespace nadi::inline describe {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostParts = 1'000'000;  // components, instances and edges
constexpr std::int64_t kInsideNanoseconds = 2000, kBetweenNanoseconds = 5000;
constexpr double kMostGiga = 1e9;

std::pair<std::string, std::string> file_and_device(const std::string& what) {
  const std::size_t comma = std::min(what.find(','), what.size());
  return {what.substr(0, comma), what.substr(std::min(comma + 1, what.size()))};
}

struct GraphLink {
  std::optional<double> bytes_per_second;
  std::optional<double> latency_ns;
  JsonValue said;
};

GraphLink read_link(const JsonValue& object) {
  GraphLink link{.bytes_per_second = {}, .latency_ns = {}, .said = object};
  const auto physical = object.find("physical");
  if (!physical) return link;
  if (const auto bandwidth = physical->find("bandwidth")) {
    if (const auto bits = bandwidth->find("gigabits_per_second"))
      link.bytes_per_second = number_of(*bits, 0, kMostGiga) * 1e9 / 8;
    if (const auto bytes = bandwidth->find("gigabytes_per_second"))
      link.bytes_per_second = number_of(*bytes, 0, kMostGiga) * 1e9;
  }
  if (const auto latency = physical->find("latency"))
    for (const auto& [unit, nanoseconds] : {std::pair{"ms", 1e6}, std::pair{"us", 1e3}, std::pair{"ns", 1.0}})
      if (const auto value = latency->find(unit))
        link.latency_ns = number_of(*value, 0, kMostGiga) * nanoseconds;
  return link;
}

using GraphLinks = std::map<std::string, GraphLink, std::less<>>;

GraphLinks read_links(const JsonValue& owner) {
  GraphLinks links;
  if (const auto list = owner.find("links"))
    for (const JsonValue& link : list->elements())
      links.insert_or_assign(link.at("name").as_string(), read_link(link));
  return links;
}

// "nic[0:4:2]" of a component with so many.
struct GraphSlice {
  std::string name;
  std::vector<std::int64_t> indices;
};

GraphSlice slice_of(std::string_view text, std::int64_t count, const JsonValue& at) {
  const std::size_t open = std::min(text.find('['), text.size());
  GraphSlice slice{.name = std::string(text.substr(0, open)), .indices = {}};
  std::int64_t parts[3] = {0, count, 1};
  if (open < text.size()) {
    if (!text.ends_with(']')) throw error_at(at, format("'{}' has no closing bracket", text));
    std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    const bool single = inside.find(':') == std::string_view::npos;
    for (int part = 0; part < 3; ++part) {
      const std::size_t colon = std::min(inside.find(':'), inside.size());
      const std::string_view digits = inside.substr(0, colon);
      if (!digits.empty()) {
        if (!read_number(digits, parts[part])) throw error_at(at, format("'{}' is no index", digits));
      }
      if (colon == inside.size()) break;
      inside.remove_prefix(colon + 1);
    }
    if (single) parts[1] = parts[0] + 1;
  }
  if (parts[0] < 0 || parts[1] > count || parts[2] < 1)
    throw error_at(at, format("'{}' reaches beyond the {} that there are", text, count));
  for (std::int64_t i = parts[0]; i < parts[1]; i += parts[2]) slice.indices.push_back(i);
  return slice;
}

struct GraphComponent {
  std::int64_t count = 1;
  std::string choice;
};

class InfrastructureGraph {
 public:
  explicit InfrastructureGraph(const JsonValue& root) : root_(root) {
    for (const JsonValue& device : root.at("devices").elements())
      devices_.insert_or_assign(device.at("name").as_string(), device);
  }

  Cluster read(const DeviceSpec& device, const std::string& file) {
    Cluster cluster;
    cluster.name = fs::path(file).stem().string();
    if (const auto name = root_.find("name")) cluster.name = name->as_string();
    cluster.summary = format("of InfraGraph: {}", file);
    cluster.devices = {device};
    for (const JsonValue& instance : root_.at("instances").elements()) add_nodes(instance, cluster);
    if (cluster.nodes.empty())
      throw error_at(root_.at("instances"), "no instance has a component of the choice 'xpu'");
    if (cluster.nodes.size() > 1) add_level(cluster);
    cluster.sources = {{"bandwidth", file}, {"latency", file}};
    return cluster;
  }

 private:
  struct Traffic {                        // of links of one name
    std::map<std::string, double> rates;  // by XPU or by node
    double latency_ns = -1;
    bool direct = false;
    std::int64_t edges = 0;
    double total = 0;
  };

  const JsonValue& device_named(const JsonValue& name) const {
    const auto found = devices_.find(name.as_string());
    if (found != devices_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [one, ignored] : devices_) known.push_back(one);
    throw error_at(name, format("unknown device '{}'", name.as_string()),
                   did_you_mean(name.as_string(), known));
  }

  static std::map<std::string, GraphComponent, std::less<>> components_of(const JsonValue& device) {
    std::map<std::string, GraphComponent, std::less<>> components;
    for (const JsonValue& one : device.at("components").elements()) {
      GraphComponent component{.count = count_of(one.at("count"), 0, kMostParts), .choice = {}};
      if (const auto choice = one.find("choice")) component.choice = choice->as_string();
      components.insert_or_assign(one.at("name").as_string(), component);
    }
    return components;
  }

  // Each edge as the two parts that it connects, as paths without and with indices.
  template <typename Expand, typename Visit>
  void for_edges(const JsonValue& owner, const Expand& expand, const Visit& visit) const {
    const auto edges = owner.find("edges");
    if (!edges) return;
    std::int64_t count = 0;
    for (const JsonValue& edge : edges->elements()) {
      const std::vector<std::string> from = expand(edge.at("ep1")), to = expand(edge.at("ep2"));
      const JsonValue link = edge.at("link");
      const std::string scheme = edge.has("scheme") ? edge.at("scheme").as_string() : "one2one";
      const auto take = [&](const std::string& a, const std::string& b) {
        if (++count > kMostParts) throw error_at(edge, format("more than {} edges", kMostParts));
        if (a != b) visit(a, b, link);
      };
      if (scheme == "one2one") {
        for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) take(from[i], to[i]);
      } else if (scheme == "many2many") {
        for (const std::string& a : from)
          for (const std::string& b : to) take(a, b);
      } else {
        static constexpr std::array<std::string_view, 2> kSchemes = {"one2one", "many2many"};
        throw error_at(edge.at("scheme"), format("edges by the scheme '{}' are not read", scheme),
                       did_you_mean(scheme, kSchemes));
      }
    }
  }

  static void add(std::map<std::string, Traffic>& traffic, const std::string& part, const GraphLinks& links,
                  const JsonValue& name, bool direct) {
    Traffic& one = traffic[name.as_string()];
    const auto link = links.find(name.as_string());
    if (link == links.end()) throw error_at(name, format("unknown link '{}'", name.as_string()));
    const double rate = link->second.bytes_per_second.value_or(0);
    one.rates[part] += rate;
    one.total += rate;
    one.direct |= direct;
    ++one.edges;
    if (link->second.latency_ns) one.latency_ns = std::max(one.latency_ns, *link->second.latency_ns);
  }

  // Takes the links with the most bandwidth; `wanted` parts have some.
  Fabric fabric_of(const std::map<std::string, Traffic>& traffic, const GraphLinks& links,
                   std::int64_t wanted, const std::string& parts, std::int64_t default_ns) const {
    const auto most = std::max_element(traffic.begin(), traffic.end(), [](const auto& a, const auto& b) {
      return a.second.total < b.second.total;
    });
    if (most == traffic.end()) throw error_at(root_, format("nothing connects {}", parts));
    const Traffic& chosen = most->second;
    if (chosen.total == 0)
      throw error_at(links.at(most->first).said,
                     format("link '{}' connects {} and has no bandwidth", most->first, parts),
                     "\"physical\": {\"bandwidth\": {\"choice\": \"gigabytes_per_second\", "
                     "\"gigabytes_per_second\": 50}}");
    if (static_cast<std::int64_t>(chosen.rates.size()) != wanted)
      throw error_at(links.at(most->first).said, format("link '{}' connects {} of {} {}", most->first,
                                                        chosen.rates.size(), wanted, parts));
    double least = chosen.rates.begin()->second;
    for (const auto& [part, rate] : chosen.rates) least = std::min(least, rate);
    const double way = chosen.direct ? chosen.latency_ns : 2 * chosen.latency_ns;
    return {.kind = most->first,
            .topology = chosen.direct ? FabricTopology::kMesh : FabricTopology::kSwitch,
            .bandwidth = ByteRate{least},
            .latency = Nanoseconds{chosen.latency_ns < 0 ? default_ns : static_cast<std::int64_t>(way)}};
  }

  void add_nodes(const JsonValue& instance, Cluster& cluster) {
    const JsonValue& device = device_named(instance.at("device"));
    const auto components = components_of(device);
    std::int64_t xpus = 0;
    for (const auto& [name, component] : components)
      if (component.choice == "xpu") xpus += component.count;
    if (xpus == 0) return;
    const std::int64_t count = count_of(instance.at("count"), 0, kMostParts / xpus);
    NodeSpec node{
        .name = instance.at("name").as_string(), .devices = static_cast<std::int32_t>(xpus), .inside = {}};
    if (xpus > 1) node.inside = inside_of(device, components, xpus);
    node_xpus_[node.name] = xpus;
    for (std::int64_t i = 0; i < count; ++i)
      cluster.nodes.push_back(static_cast<std::int32_t>(cluster.kinds.size()));
    cluster.kinds.push_back(std::move(node));
  }

  Fabric inside_of(const JsonValue& device,
                   const std::map<std::string, GraphComponent, std::less<>>& components,
                   std::int64_t xpus) const {
    const GraphLinks links = read_links(device);
    std::map<std::string, Traffic> traffic;
    const auto expand = [&](const JsonValue& end) {
      const JsonValue text = end.at("component");
      // Parts of devices within the device are not told apart.
      const std::string_view first = std::string_view(text.as_string()).substr(0, text.as_string().find('.'));
      const auto component = components.find(first.substr(0, first.find('[')));
      if (component == components.end()) throw error_at(text, format("unknown component '{}'", first));
      std::vector<std::string> parts;
      for (const std::int64_t i : slice_of(first, component->second.count, text).indices)
        parts.push_back(format("{}.{}", component->first, i));
      return parts;
    };
    const auto choice_of = [&](const std::string& part) -> const std::string& {
      return components.find(std::string_view(part).substr(0, part.find('.')))->second.choice;
    };
    for_edges(device, expand, [&](const std::string& a, const std::string& b, const JsonValue& link) {
      const bool first = choice_of(a) == "xpu", second = choice_of(b) == "xpu";
      const std::string& other = choice_of(first ? b : a);
      if (!(first || second) || other == "nic" || other == "port") return;
      if (first) add(traffic, a, links, link, second);
      if (second) add(traffic, b, links, link, first);
    });
    return fabric_of(traffic, links, xpus, format("XPUs of '{}'", device.at("name").as_string()),
                     kInsideNanoseconds);
  }

  void add_level(Cluster& cluster) const {
    const GraphLinks links = read_links(root_);
    std::map<std::string, std::int64_t, std::less<>> counts;
    for (const JsonValue& instance : root_.at("instances").elements())
      counts[instance.at("name").as_string()] = count_of(instance.at("count"), 0, kMostParts);
    std::map<std::string, JsonValue, std::less<>> device_of;
    for (const JsonValue& instance : root_.at("instances").elements())
      device_of.insert_or_assign(instance.at("name").as_string(), device_named(instance.at("device")));
    // "host.3", once for each component that an edge touches there.
    const auto expand = [&](const JsonValue& end) {
      const JsonValue text = end.at("instance");
      const std::string_view whole = text.as_string();
      const auto found = counts.find(whole.substr(0, whole.find('[')));
      if (found == counts.end()) throw error_at(text, format("unknown instance '{}'", whole));
      std::int64_t ends = 1;
      const JsonValue component = end.at("component");
      JsonValue device = device_of.at(found->first);
      std::string_view rest = component.as_string();
      while (!rest.empty()) {
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        const std::string_view part = rest.substr(0, dot);
        rest.remove_prefix(std::min(dot + 1, rest.size()));
        const std::string name(part.substr(0, part.find('[')));
        const auto components = components_of(device);
        const auto known = components.find(name);
        if (known == components.end()) throw error_at(component, format("unknown component '{}'", name));
        ends *= static_cast<std::int64_t>(slice_of(part, known->second.count, component).indices.size());
        if (ends > kMostParts) throw error_at(component, format("more than {} parts", kMostParts));
        if (known->second.choice == "device" && devices_.contains(name)) device = devices_.find(name)->second;
      }
      std::vector<std::string> parts;
      for (const std::int64_t i : slice_of(whole, found->second, text).indices)
        for (std::int64_t j = 0; j < ends; ++j) parts.push_back(format("{}.{}", found->first, i));
      return parts;
    };
    std::map<std::string, Traffic> traffic;
    for_edges(root_, expand, [&](const std::string& a, const std::string& b, const JsonValue& link) {
      const bool first = is_node(a), second = is_node(b);
      if (first) add(traffic, a, links, link, second);
      if (second) add(traffic, b, links, link, first);
    });
    cluster.levels = {{.name = "nodes",
                       .members = static_cast<std::int32_t>(cluster.nodes.size()),
                       .fabric = fabric_of(traffic, links, static_cast<std::int64_t>(cluster.nodes.size()),
                                           "nodes", kBetweenNanoseconds)}};
  }

  bool is_node(const std::string& part) const {
    return node_xpus_.contains(std::string_view(part).substr(0, part.find('.')));
  }

  const JsonValue root_;
  std::map<std::string, JsonValue, std::less<>> devices_;
  std::map<std::string, std::int64_t, std::less<>> node_xpus_;
};

}  // namespace

bool is_infragraph(const std::string& what) {
  const std::string file = file_and_device(what).first;
  std::error_code ignored;
  if (!file.ends_with(".json") || !fs::is_regular_file(file, ignored)) return false;
  constexpr std::uintmax_t kMost = 64 << 20;
  if (fs::file_size(file, ignored) > kMost) return false;
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  // No key of a cluster of ours, nor of ASTRA-sim's files.
  return text.find("\"instances\"") != std::string::npos && text.find("\"components\"") != std::string::npos;
}

Cluster read_infragraph(const std::string& what) {
  const auto [file, name] = file_and_device(what);
  if (name.empty())
    throw usage_error(format("{} is a graph of InfraGraph, which does not say what its XPUs are", file),
                      format("name a device of 'nadi devices' behind a comma: {},h100", file));
  const DeviceSpec* device = find_device(name);
  if (device == nullptr) {
    std::vector<std::string> known;
    for (const DeviceSpec& one : catalogue_devices()) known.push_back(one.name);
    throw usage_error(format("unknown device '{}'", name), did_you_mean(name, known));
  }
  const JsonDocument document = read_json(file);
  const JsonValue root = document.root();
  return InfrastructureGraph(root.has("infrastructure") ? root.at("infrastructure") : root)
      .read(*device, file);
}

}  // namespace nadi::inline describe
