#include "nadi/cluster/infragraph.h"

#include <gtest/gtest.h>

#include <string>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline describe {
namespace {

// Two servers of four XPUs on two switches each, with four cards on one leaf.
constexpr std::string_view kGraph = R"({
  "name": "pod",
  "devices": [
    {"name": "server",
     "components": [{"name": "xpu", "count": 4, "choice": "xpu"}, {"name": "sw", "count": 2, "choice": "switch"},
                    {"name": "nic", "count": 4, "choice": "nic"}],
     "links": [{"name": "nvlink", "physical": {
                  "bandwidth": {"choice": "gigabytes_per_second", "gigabytes_per_second": 100},
                  "latency": {"choice": "ns", "ns": 300}}},
               {"name": "pcie", "physical": {
                  "bandwidth": {"choice": "gigabytes_per_second", "gigabytes_per_second": 32}}}],
     "edges": [{"ep1": {"component": "xpu"}, "ep2": {"component": "sw"}, "scheme": "many2many", "link": "nvlink"},
               {"ep1": {"component": "xpu[0:4]"}, "ep2": {"component": "nic[0:4]"}, "scheme": "one2one",
                "link": "pcie"}]},
    {"name": "leaf", "components": [{"name": "port", "count": 8, "choice": "port"}], "links": [], "edges": []}],
  "links": [{"name": "eth", "physical": {
               "bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": 400}}}],
  "instances": [{"name": "host", "device": "server", "count": 2}, {"name": "sw0", "device": "leaf", "count": 1}],
  "edges": [{"ep1": {"instance": "host[0:2]", "component": "nic[0:4]"}, "ep2": {"instance": "sw0[0]",
             "component": "port[0:8]"}, "scheme": "one2one", "link": "eth"}]
})";

class InfraGraph : public testing::Test {
 protected:
  std::string file(std::string_view text) {
    write_text(folder_.path() / "pod.json", text);
    return (folder_.path() / "pod.json").string();
  }
  std::string with(std::string_view from, std::string_view to) {
    std::string text(kGraph);
    text.replace(text.find(from), from.size(), to);
    return file(text);
  }
  std::string message_of(const std::string& what) {
    try {
      load_cluster(what);
    } catch (const Error& error) {
      return error.message();
    }
    return "none";
  }
  TemporaryFolder folder_;
};

TEST_F(InfraGraph, ServersAreNodes) {
  const Cluster cluster = load_cluster(file(kGraph) + ",h100");
  EXPECT_EQ(cluster.name, "pod");
  EXPECT_EQ(cluster.device_count(), 8);
  EXPECT_EQ(cluster.device(DeviceId{0}).name, "h100");
  // Two links of 100 GB/s; a way over a switch is two links of 300 ns.
  EXPECT_EQ(cluster.node(0).inside.kind, "nvlink");
  EXPECT_EQ(cluster.node(0).inside.bandwidth, ByteRate{200e9});
  EXPECT_EQ(cluster.node(0).inside.latency, Nanoseconds{600});
  // Four cards of 50 GB/s, without a latency.
  ASSERT_EQ(cluster.levels.size(), 1u);
  EXPECT_EQ(cluster.levels[0].fabric.bandwidth, ByteRate{200e9});
  EXPECT_EQ(cluster.levels[0].fabric.latency, Nanoseconds{5000});
  EXPECT_EQ(cluster_text(parse_cluster(cluster_text(cluster), "again.json")), cluster_text(cluster));
}

TEST_F(InfraGraph, XpusThatAreConnectedDirectlyAreAMesh) {
  const Cluster cluster =
      load_cluster(with(R"("ep2": {"component": "sw"})", R"("ep2": {"component": "xpu"})") + ",h100");
  EXPECT_EQ(cluster.node(0).inside.topology, FabricTopology::kMesh);
}

TEST_F(InfraGraph, WhatIsMissingIsRefused) {
  EXPECT_NE(message_of(file(kGraph)).find("does not say what its XPUs are"), std::string::npos);
  EXPECT_NE(message_of(file(kGraph) + ",h1000").find("unknown device"), std::string::npos);
  EXPECT_NE(message_of(with("\"gigabytes_per_second\": 100", "\"gigatransfers_per_second\": 100") + ",h100")
                .find("nothing"),
            0u);
  EXPECT_NE(message_of(with("gigabits_per_second\": 400", "gigatransfers_per_second\": 400") + ",h100")
                .find("has no bandwidth"),
            std::string::npos);
  EXPECT_NE(message_of(with("nic[0:4]\"}, \"ep2\"", "nic[0:9]\"}, \"ep2\"") + ",h100").find("reaches beyond"),
            std::string::npos);
  EXPECT_NE(message_of(with("\"device\": \"leaf\"", "\"device\": \"laef\"") + ",h100")
                .find("unknown device 'laef'"),
            std::string::npos);
  EXPECT_NE(message_of(with("\"one2one\", \"link\": \"eth\"", "\"ring\", \"link\": \"eth\"") + ",h100")
                .find("scheme 'ring'"),
            std::string::npos);
}

}  // namespace
}  // namespace nadi::inline describe
