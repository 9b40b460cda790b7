#include "nadi/cluster/what_if.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/cluster/catalogue.h"

namespace nadi::inline describe {
namespace {

Cluster changed(std::string_view change) {
  Cluster cluster = *find_cluster("dgx-a100x2");
  apply_what_if(cluster, change);
  return cluster;
}

TEST(WhatIf, FactorsAndQuantitiesChangeLinks) {
  EXPECT_EQ(changed("link.nvswitch.bandwidth=2x").node(0).inside.bandwidth, ByteRate{600e9});
  EXPECT_EQ(changed("link.nvlink.bandwidth=2x").node(0).inside.bandwidth, ByteRate{600e9});
  EXPECT_EQ(changed("link.inside.bandwidth=100GB/s").node(0).inside.bandwidth, ByteRate{100e9});
  EXPECT_EQ(changed("link.nodes.bandwidth=400 Gbit/s").levels[0].fabric.bandwidth, ByteRate{50e9});
  EXPECT_EQ(changed("link.*.latency=1us").levels[0].fabric.latency, Nanoseconds{1000});
  EXPECT_EQ(changed("link.*.latency=1us").node(0).inside.latency, Nanoseconds{1000});
  // Others stay.
  EXPECT_EQ(changed("link.nvswitch.bandwidth=2x").levels[0].fabric.bandwidth,
            find_cluster("dgx-a100x2")->levels[0].fabric.bandwidth);
}

TEST(WhatIf, AndDevices) {
  EXPECT_EQ(changed("device.a100-80gb.matrix_peak=2x").devices[0].peak(DType::kBF16), FlopRate{624e12});
  EXPECT_EQ(changed("device.*.memory_bandwidth=3TB/s").devices[0].memory_bandwidth, ByteRate{3e12});
  EXPECT_EQ(changed("device.a100-80gb.memory=0.5x").devices[0].memory, 40_GiB);
  EXPECT_EQ(changed("device.a100-80gb.price=2$/h").devices[0].price_per_hour, 2);
}

TEST(WhatIf, RefusesWhatIsNotThere) {
  for (const std::string_view change :
       {"", "link", "link.nvswitch=2x", "link.pcie.bandwidth=2x", "link.nvswitch.bandwith=2x",
        "link.nvswitch.bandwidth=2", "link.nvswitch.bandwidth=0x", "link.nvswitch.bandwidth=-1x",
        "link.nvswitch.latency=2GB/s", "link.nvswitch.efficiency=2x", "device.h100.memory=2x",
        "node.dgx.price=2x"}) {
    try {
      changed(change);
      ADD_FAILURE() << change;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << change;
      EXPECT_FALSE(error.hint().empty()) << change;
    }
  }
}

}  // namespace
}  // namespace nadi::inline describe
