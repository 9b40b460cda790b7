#include "nadi/cluster/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nadi::inline describe {
namespace {

bool has_source(const std::vector<FigureSource>& sources, std::string_view figure) {
  return std::ranges::any_of(sources, [&](const FigureSource& source) { return source.figure == figure; });
}

TEST(Catalogue, EveryFigureOfADeviceHasASource) {
  for (const DeviceSpec& device : catalogue_devices()) {
    for (const std::string_view figure :
         {"matrix_peak", "vector_peak", "memory_bandwidth", "memory", "units", "launch_overhead", "power"})
      EXPECT_TRUE(has_source(device.sources, figure)) << device.name << " " << figure;
    EXPECT_EQ(has_source(device.sources, "price"), device.price_per_hour.has_value()) << device.name;
    EXPECT_GT(device.peak(DType::kF32).per_second(), 0) << device.name;
  }
}

TEST(Catalogue, EveryFigureOfAClusterHasASource) {
  for (const Cluster& cluster : catalogue_clusters()) {
    EXPECT_TRUE(has_source(cluster.sources, "bandwidth")) << cluster.name;
    EXPECT_TRUE(has_source(cluster.sources, "latency")) << cluster.name;
    const bool priced = std::ranges::any_of(
        cluster.kinds, [](const NodeSpec& node) { return node.price_per_hour.has_value(); });
    EXPECT_EQ(has_source(cluster.sources, "price"), priced) << cluster.name;
    EXPECT_FALSE(cluster.summary.empty()) << cluster.name;
  }
}

TEST(Catalogue, HasTheDevicesOfDataSheets) {
  for (const std::string_view name :
       {"t4", "v100-16gb", "v100-32gb", "a10", "rtx-3090", "a100-40gb", "a100-80gb", "a100-pcie-40gb",
        "a100-pcie-80gb", "h100", "h100-pcie", "h200", "b200", "mi300x", "epyc-7763"})
    EXPECT_NE(find_device(name), nullptr) << name;
  EXPECT_EQ(find_device("H200"), find_device("h200"));
  EXPECT_EQ(find_device("h2000"), nullptr);
  EXPECT_EQ(find_device("a10")->peak(DType::kBF16), FlopRate{125e12});
  EXPECT_EQ(find_device("t4")->peak(DType::kBF16), FlopRate{});
}

TEST(Catalogue, TheClustersOfTheHeterogeneousExamples) {
  const Cluster a10 = *find_cluster("a10-8x4");
  EXPECT_EQ(a10.device_count(), 32);
  EXPECT_EQ(a10.node(7).inside.bandwidth, ByteRate{16e9});
  EXPECT_EQ(a10.levels[0].fabric.bandwidth, ByteRate{5e9});
  const Cluster mixed = *find_cluster("a100x1-a10x7");
  EXPECT_EQ(mixed.device_count(), 32);
  EXPECT_EQ(mixed.node(0).inside.bandwidth, ByteRate{230e9});
  EXPECT_EQ(mixed.device(DeviceId{3}).name, "a100-40gb");
  EXPECT_EQ(mixed.device(DeviceId{4}).name, "a10");
  const Cluster large = *find_cluster("h100x1024-a100x1024");
  EXPECT_EQ(large.device_count(), 16'384);
  EXPECT_EQ(large.device(DeviceId{8191}).name, "h100");
  EXPECT_EQ(large.device(DeviceId{8192}).name, "a100-80gb");
}

TEST(Catalogue, ANodeComesInAnyNumber) {
  EXPECT_EQ(find_cluster("dgx-a100x3")->device_count(), 24);
  EXPECT_EQ(find_cluster("dgx-a100x3")->levels[0].members, 3);
  EXPECT_EQ(find_cluster("dgx-a100")->device_count(), 8);
  for (const std::string_view name :
       {"dgx-a100x", "dgx-a100x0", "dgx-a100x-1", "dgx-a100x99999999999", "a10-8x4x2", "h100x8", "x8", ""})
    EXPECT_FALSE(find_cluster(name)) << name;
}

}  // namespace
}  // namespace nadi::inline describe
