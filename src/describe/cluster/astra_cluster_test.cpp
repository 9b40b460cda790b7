#include "nadi/cluster/astra_cluster.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline describe {
namespace {

constexpr std::string_view kSystem = R"({"scheduling-policy": "LIFO", "endpoint-delay": 10,
  "all-reduce-implementation": ["ring", "ring"], "local-mem-bw": 3350, "peak-perf": 700,
  "roofline-enabled": 1, "boost-mode": 0})";
constexpr std::string_view kNetwork = R"(# two dimensions
topology: [ Switch, Ring ]   # Ring, Switch, FullyConnected
npus_count: [ 8, 2 ]
bandwidth: [ 400.0, 50 ]     # GB/s
latency: [ 936.25, 1000 ]    # ns
)";

class AstraCluster : public testing::Test {
 protected:
  std::string file(std::string_view name, std::string_view text) {
    write_text(folder_.path() / name, text);
    return (folder_.path() / name).string();
  }
  Error error_of(const std::string& what) {
    try {
      load_cluster(what);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << what;
    return usage_error("none");
  }
  TemporaryFolder folder_;
};

TEST_F(AstraCluster, DimensionsAreNodeAndLevels) {
  const Cluster cluster = load_cluster(file("s.json", kSystem) + "," + file("n.yml", kNetwork));
  EXPECT_EQ(cluster.device_count(), 16);
  EXPECT_EQ(cluster.node(0).devices, 8);
  EXPECT_EQ(cluster.node(0).inside.topology, FabricTopology::kSwitch);
  EXPECT_EQ(cluster.node(0).inside.bandwidth, ByteRate{400.0 * 1073741824});
  // Two links of 936.25 ns, and 10 ns at the end.
  EXPECT_EQ(cluster.node(0).inside.latency, Nanoseconds{1883});
  // Two links of 50 GB/s in a ring for each of the node's eight NPUs.
  EXPECT_EQ(cluster.levels.at(0).fabric.topology, FabricTopology::kRing);
  EXPECT_EQ(cluster.levels[0].fabric.bandwidth, ByteRate{50.0 * 1073741824 * 2 * 8});
  EXPECT_EQ(cluster.levels[0].fabric.latency, Nanoseconds{1010});
  EXPECT_EQ(cluster.levels[0].members, 2);
  const DeviceSpec& npu = cluster.device(DeviceId{15});
  EXPECT_EQ(npu.peak(DType::kBF16), FlopRate{700e12});
  EXPECT_EQ(npu.memory_bandwidth, ByteRate{3350e9});
  // Nothing is lost when it is written as a cluster of ours.
  EXPECT_EQ(cluster_text(parse_cluster(cluster_text(cluster), "again.json")), cluster_text(cluster));
}

TEST_F(AstraCluster, TheSystemSaysHowCollectivesRun) {
  const std::string network = file("n.yml", kNetwork);
  const auto with = [&](std::string_view more) {
    return file("s.json",
                std::string(R"({"local-mem-bw": 3350, "peak-perf": 700, )") + std::string(more) + "}") +
           "," + network;
  };
  const Cluster cluster = load_cluster(with(R"("all-reduce-implementation": ["direct4", "halvingDoubling"],
      "all-gather-implementation": ["oneRing"], "collective-optimization": "localBWAware",
      "preferred-dataset-splits": 4, "active-chunks-per-dimension": 2, "endpoint-delay": 30)"));
  ASSERT_TRUE(cluster.astra);
  EXPECT_EQ(cluster.astra->all_reduce, (std::vector<AstraAlgorithm>{{AstraAlgorithmKind::kDirect, false, 4},
                                                                    {AstraAlgorithmKind::kHalvingDoubling}}));
  EXPECT_EQ(cluster.astra->all_gather, (std::vector<AstraAlgorithm>{{AstraAlgorithmKind::kRing, true}}));
  EXPECT_TRUE(cluster.astra->reduce_scatter.empty());
  EXPECT_TRUE(cluster.astra->local_bandwidth_aware);
  EXPECT_EQ(cluster.astra->splits, 4);
  EXPECT_EQ(cluster.astra->active_chunks, 2);
  EXPECT_EQ(cluster.astra->endpoint_delay, Nanoseconds{30});
  EXPECT_EQ(parse_cluster(cluster_text(cluster), "again.json").astra, cluster.astra);
  EXPECT_NE(error_of(with(R"("all-reduce-implementation": ["ring"])"))
                .message()
                .find("1 algorithm for 2 dimensions"),
            std::string::npos);
  EXPECT_NE(error_of(with(R"("all-reduce-implementation": ["rnig", "ring"])")).hint().find("'ring'"),
            std::string::npos);
  EXPECT_NE(error_of(with(R"("collective-optimization": "basline")")).hint().find("'baseline'"),
            std::string::npos);
  EXPECT_NE(error_of(with(R"("model-shared-bus": 1)")).message().find("not modelled"), std::string::npos);
  EXPECT_NE(error_of(with(R"("all-reduce-implementation-custom": ["a"])")).message().find("not modelled"),
            std::string::npos);
}

TEST_F(AstraCluster, AFolderHasAllFiles) {
  file("system.json", kSystem);
  file("network.yml", kNetwork);
  file("memory.json", R"({"memory-type": "NO_MEMORY_EXPANSION"})");
  EXPECT_EQ(load_cluster(folder_.path().string()).device_count(), 16);
  file("other.yml", kNetwork);
  EXPECT_NE(error_of(folder_.path().string()).message().find("network"), std::string::npos);
}

TEST_F(AstraCluster, MistakesHaveAPlace) {
  const std::string system = file("s.json", kSystem);
  const Error key = error_of(system + "," + file("a.yml", "topology: [ Ring ]\nnpus_cuont: [ 4 ]\n"));
  EXPECT_EQ(key.place().line, 2);
  EXPECT_NE(key.hint().find("'npus_count'"), std::string::npos);
  const std::string_view bad[] = {
      "topology: [ Torus ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
      "topology: [ Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
      "topology: [ Ring ]\nnpus_count: [ 0 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
      "topology: [ Ring ]\nnpus_count: [ 2.5 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
      "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 0 ]\nlatency: [ 1 ]\n",
      "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ x ]\nlatency: [ 1 ]\n",
      "topology: [ Ring, Ring ]\nnpus_count: [ 10000000, 10 ]\nbandwidth: [ 1, 1 ]\nlatency: [ 1, 1 ]\n",
      "topology: [ Ring\nnpus_count: [ 4 ]\n",
      "topology: [ Ring ]\n",
      "topology\n",
      "",
  };
  for (const std::string_view text : bad)
    EXPECT_EQ(error_of(system + "," + file("b.yml", text)).kind(), ErrorKind::kInput) << text;
  const std::string network = file("n.yml", kNetwork);
  EXPECT_NE(error_of(file("t.json", R"({"peak-pref": 1})") + "," + network).hint().find("'peak-perf'"),
            std::string::npos);
  EXPECT_NE(error_of(file("u.json", R"({"local-mem-bw": 50})") + "," + network).message().find("peak-perf"),
            std::string::npos);
  const std::string pool = file("m.json", R"({"memory-type": "MEMORY_POOL"})");
  EXPECT_NE(error_of(system + "," + network + "," + pool).message().find("not modelled"), std::string::npos);
  EXPECT_EQ(error_of(network).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace nadi::inline describe
