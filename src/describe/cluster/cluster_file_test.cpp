#include "nadi/cluster/cluster_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/cluster/cluster_keys.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline describe {
namespace {

constexpr std::string_view kSmallCluster = R"({
  "name": "small",
  "devices": {"slow-a10": {"base": "a10", "memory": "16 GiB", "price": "1.5 $/h"}},
  "nodes": [
    {"name": "fast", "device": "a100-80gb", "devices": 2, "price": "10 $/h",
     "inside": {"kind": "nvlink", "topology": "mesh", "bandwidth": "300 GB/s", "latency": "2 us"}},
    {"name": "slow", "count": 3, "device": "slow-a10",
     "outside": {"kind": "ethernet", "bandwidth": "10 Gbit/s", "latency": "50 us", "efficiency": 0.9}}
  ],
  "levels": [{"name": "nodes", "fabric": {"kind": "ethernet", "bandwidth": "40 Gbit/s", "latency": "30 us"}}],
  "sources": {"price": "a guess"}
})";

Cluster parse(std::string_view text) {
  return parse_cluster(std::string(text), "small.json");
}

// The text with the first `from` replaced.
std::string edited(std::string_view from, std::string_view to) {
  std::string text(kSmallCluster);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "read: " << text;
  return usage_error("none");
}

TEST(ClusterFile, ReadsDevicesNodesAndFabrics) {
  const Cluster cluster = parse(kSmallCluster);
  EXPECT_EQ(cluster.device_count(), 5);
  EXPECT_EQ(cluster.device(DeviceId{0}).name, "a100-80gb");
  const DeviceSpec& slow = cluster.device(DeviceId{4});
  EXPECT_EQ(slow.name, "slow-a10");
  EXPECT_EQ(slow.memory, 16_GiB);
  EXPECT_EQ(slow.memory_bandwidth, find_device("a10")->memory_bandwidth);
  EXPECT_EQ(slow.price_per_hour, 1.5);
  EXPECT_EQ(cluster.node(0).inside.topology, FabricTopology::kMesh);
  EXPECT_EQ(cluster.node(0).inside.bandwidth, ByteRate{300e9});
  EXPECT_EQ(cluster.node(0).price_per_hour, 10);
  EXPECT_EQ(cluster.node(1).outside->efficiency, 0.9);
  EXPECT_EQ(cluster.levels.at(0).members, 4);
  EXPECT_EQ(cluster.levels[0].fabric.bandwidth, ByteRate{5e9});
  EXPECT_EQ(cluster.levels[0].fabric.latency, Nanoseconds{30'000});
}

TEST(ClusterFile, NamesTheAttentionOfItsPrograms) {
  EXPECT_EQ(parse(kSmallCluster).attention, "");
  const Cluster cluster = parse(edited(R"("sources")", R"("attention": "unfused", "sources")"));
  EXPECT_EQ(cluster.attention, "unfused");
  EXPECT_EQ(parse(cluster_text(cluster)).attention, "unfused");
  EXPECT_STREQ(error_of(edited(R"("sources")", R"("attention": "flash", "sources")")).what(),
               "small.json:11:16: unknown attention 'flash'");
}

TEST(ClusterFile, AnOverriddenFigureLosesTheSourceOfItsBase) {
  const Cluster cluster = parse(kSmallCluster);
  const auto has = [&](std::string_view figure) {
    return std::ranges::any_of(cluster.device(DeviceId{4}).sources,
                               [&](const FigureSource& source) { return source.figure == figure; });
  };
  EXPECT_TRUE(has("memory_bandwidth"));
  EXPECT_FALSE(has("memory"));
}

TEST(ClusterFile, WrittenAndReadAgainItIsTheSame) {
  Cluster cluster = parse(kSmallCluster);
  const std::string text = cluster_text(cluster);
  const Cluster again = parse(text);
  EXPECT_EQ(cluster_text(again), text);
  EXPECT_EQ(again.device_count(), cluster.device_count());
  EXPECT_EQ(again.kinds[0].inside, cluster.kinds[0].inside);
  EXPECT_EQ(again.device(DeviceId{4}).curve, cluster.device(DeviceId{4}).curve);
  for (const Cluster& known : catalogue_clusters())
    EXPECT_EQ(cluster_text(parse(cluster_text(known))), cluster_text(known)) << known.name;
}

TEST(ClusterFile, AlternativesAreKindsOfNodes) {
  const std::string inside =
      R"("inside": {"kind": "memory", "topology": "bus", "bandwidth": "8 GB/s", "latency": "2 us", "compute_share": 0.4,
          "busy_slowdown": 2, "protocols": [{"name": "ll", "overhead": "1 us", "step": "500 ns", "share": 0.5}]})";
  const Cluster cluster = parse(R"({"nodes": [
      {"name": "one", "device": "epyc-7763", "alternatives": ["one", "two"], "alone_speedup": 1.5},
      {"name": "two", "count": 0, "device": "epyc-7763", "devices": 2, )" +
                                inside + "}]}");
  EXPECT_EQ(cluster.device_count(), 1);
  EXPECT_EQ(cluster.for_ranks(2).device_count(), 2);
  EXPECT_EQ(cluster.for_ranks(2).node(0).inside.busy_slowdown, 2);
  EXPECT_EQ(cluster.node(0).alone_speedup, 1.5);
  EXPECT_EQ(cluster.kinds[1].inside.protocols.at(0).overhead, Nanoseconds{1000});
  const Cluster again = parse(cluster_text(cluster));
  EXPECT_EQ(cluster_text(again), cluster_text(cluster));
  EXPECT_EQ(again.kinds[1].inside, cluster.kinds[1].inside);
  EXPECT_EQ(again.node(0).alternatives, cluster.node(0).alternatives);
}

TEST(ClusterFile, UnknownKeysAndNamesHaveAPlaceAndASuggestion) {
  const Error key = error_of(edited("\"bandwidth\": \"40", "\"bandwith\": \"40"));
  EXPECT_EQ(key.kind(), ErrorKind::kInput);
  EXPECT_EQ(key.place().line, 10);
  EXPECT_NE(key.hint().find("did you mean 'bandwidth'"), std::string::npos) << key.hint();
  EXPECT_NE(error_of(edited("\"a100-80gb\"", "\"a100-80g\"")).hint().find("'a100-80gb'"), std::string::npos);
  EXPECT_NE(error_of(edited("\"base\": \"a10\"", "\"base\": \"a11\"")).hint().find("a10"), std::string::npos);
  EXPECT_NE(error_of(edited("\"mesh\"", "\"mash\"")).hint().find("'mesh'"), std::string::npos);
}

TEST(ClusterFile, RefusesQuantitiesWithoutUnitAndOutOfBounds) {
  const std::pair<std::string_view, std::string_view> mistakes[] = {{"\"40 Gbit/s\"", "\"40\""},
                                                                    {"\"40 Gbit/s\"", "40"},
                                                                    {"\"40 Gbit/s\"", "\"0 Gbit/s\""},
                                                                    {"\"16 GiB\"", "\"16 GHz\""},
                                                                    {"\"30 us\"", "\"30\""},
                                                                    {"\"10 $/h\"", "\"10 EUR/h\""},
                                                                    {"\"10 $/h\"", "\"-1 $/h\""},
                                                                    {"\"count\": 3", "\"count\": -1"},
                                                                    {"\"count\": 3", "\"count\": 20000000"},
                                                                    {"0.9", "1.5"},
                                                                    {"0.9", "0"},
                                                                    {"\"devices\": 2", "\"devices\": 2.5"},
                                                                    {"\"nodes\": [", "\"nodes\": [3, "}};
  for (const auto& [from, to] : mistakes)
    EXPECT_EQ(error_of(edited(from, to)).kind(), ErrorKind::kInput) << to;
}

TEST(ClusterFile, RefusesWhatIsMissing) {
  EXPECT_NE(error_of(R"({"nodes": []})").message().find("no nodes"), std::string::npos);
  EXPECT_NE(
      error_of(R"({"nodes": [{"name": "a", "device": "t4", "devices": 2}]})").message().find("'inside'"),
      std::string::npos);
  EXPECT_NE(error_of(R"({"nodes": [{"name": "a", "device": "t4", "count": 2}]})").message().find("'levels'"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"devices": {"x": {"memory": "1 GiB"}}, "nodes": [{"name": "a", "device": "x"}]})")
                .message()
                .find("'matrix_peak'"),
            std::string::npos);
  EXPECT_THROW(parse("[]"), Error);
}

TEST(ClusterFile, LevelsOfLevelsHaveGroups) {
  const std::string fabric = R"("fabric": {"kind": "infiniband", "bandwidth": "1 GB/s", "latency": "1 us"})";
  const std::string nodes = R"({"nodes": [{"name": "n", "count": 8, "device": "t4"}], "levels": )";
  const Cluster cluster = parse(nodes + R"([{"name": "rack", "members": 4, )" + fabric +
                                R"(}, {"name": "racks", )" + fabric + "}]}");
  EXPECT_EQ(cluster.levels[0].members, 4);
  EXPECT_EQ(cluster.levels[1].members, 2);
  error_of(nodes + R"([{"name": "rack", )" + fabric + R"(}, {"name": "racks", )" + fabric + "}]}");
  error_of(nodes + R"([{"name": "rack", "members": 4, )" + fabric + "}]}");
}

TEST(ClusterFile, IsFoundByNameOrPath) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "mine.json";
  write_text(path, kSmallCluster);
  EXPECT_EQ(load_cluster(path.string()).name, "small");
  EXPECT_EQ(load_cluster("dgx-h100x128").device_count(), 1024);
  EXPECT_EQ(load_cluster("DGX-H100x2").device_count(), 16);
  EXPECT_EQ(load_cluster("h200").device_count(), 1);
  try {
    load_cluster("dgx-h10");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(error.hint().find("'dgx-h100'"), std::string::npos) << error.hint();
  }
  EXPECT_THROW(load_cluster((folder.path() / "none.json").string()), Error);
}

// The names of the properties of an object of the schema.
std::set<std::string> properties(const JsonValue& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.at("properties").items()) names.emplace(name);
  EXPECT_FALSE(object.at("additionalProperties").as_bool());
  return names;
}

template <typename Keys>
std::set<std::string> as_set(const Keys& keys) {
  std::set<std::string> names;
  for (const std::string_view key : keys) names.emplace(key);
  return names;
}

TEST(ClusterSchema, HasTheKeysOfTheReader) {
  const JsonDocument document = parse_json(std::string(cluster_schema()), "cluster.schema.json");
  const JsonValue root = document.root();
  const JsonValue parts = root.at("$defs");
  EXPECT_EQ(properties(root), as_set(kClusterKeys));
  EXPECT_EQ(properties(parts.at("device")), as_set(kDeviceKeys));
  EXPECT_EQ(properties(parts.at("protocol")), as_set(kProtocolKeys));
  EXPECT_EQ(properties(parts.at("node")), as_set(kNodeKeys));
  EXPECT_EQ(properties(parts.at("fabric")), as_set(kFabricKeys));
  EXPECT_EQ(properties(parts.at("level")), as_set(kLevelKeys));
  std::set<std::string> constants, dtypes;
  for (const CurveConstant& constant : curve_constants()) constants.emplace(constant.name);
  for (std::size_t i = 0; i < DeviceSpec{}.matrix_peak.size(); ++i)
    dtypes.emplace(to_string(static_cast<DType>(i)));
  EXPECT_EQ(properties(parts.at("curve")), constants);
  EXPECT_EQ(properties(parts.at("matrix_peak")), dtypes);
}

}  // namespace
}  // namespace nadi::inline describe
