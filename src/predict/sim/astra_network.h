// How long communication takes in ASTRA-sim: its system layer over its analytical network without congestion.
// For clusters that were read from its files (Cluster::astra).
//
//   const AstraNetwork network(cluster);
//   if (network.carries_out(type)) network.collective(type, size, members);
//   network.message(size, from, to);
//
// The network. A message takes the way through one dimension, the innermost in which its ends differ, at the
// full bandwidth of a link, whatever else is under way: hops * latency + size / bandwidth, whole nanoseconds.
// A switch is two hops, a ring the shorter way round.
//
// A collective is cut into `splits` chunks. Each goes through phases, one per dimension, all of them in an
// order of its own; a dimension moves `active_chunks` at once, first come, first served. Groups of all devices
// go dimension by dimension, any other group is one ring over its members (or the algorithm of the only
// dimension). What a phase takes is the sum over its messages: transfer, `endpoint_delay` (10 ns in groups of
// a part), and for what is summed three passes through the memory of the device. Rings go one way round.
//
// All members are taken to begin when the last has come. Read in the sources of ASTRA-sim and compared with
// the program: docs/networks.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline predict {

class AstraNetwork {
 public:
  // For a cluster with Cluster::astra, which is copied as far as it is needed.
  explicit AstraNetwork(const Cluster& cluster);

  // All-reduce, all-gather, reduce-scatter and all-to-all; the simulator has no others.
  bool carries_out(CollectiveType type) const;
  // Throws Error (infeasible) for a double binary tree among a number of devices that is no power of two, or
  // among a part of them.
  Nanoseconds collective(CollectiveType type, Bytes size, std::span<const DeviceId> members) const;
  Nanoseconds message(Bytes size, DeviceId from, DeviceId to) const;

 private:
  struct Dimension {
    FabricTopology topology{};
    std::int64_t members = 1;
    std::int64_t below = 1;  // devices of one member
    double bytes_per_ns = 0;
    double latency_ns = 0;  // of a link
  };
  struct Phase {
    std::size_t queue = 0;
    std::int64_t time = 0;
  };
  struct PhaseRequest {
    CollectiveType type{};
    AstraAlgorithm algorithm;
    std::uint64_t bytes = 0;
    bool part = false;  // a group of a part of the devices
  };

  std::int64_t transfer(std::uint64_t bytes, std::int64_t from, std::int64_t to) const;
  std::int64_t reduction(std::uint64_t bytes) const;
  std::int64_t endpoint_delay(bool part) const;
  // `ring`: the devices of a dimension, in order.
  std::int64_t phase_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const;
  std::int64_t ring_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const;
  std::int64_t direct_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const;
  std::int64_t halving_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const;
  std::int64_t tree_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const;
  std::vector<Phase> phases_of(CollectiveType type, std::uint64_t bytes,
                               std::span<const DeviceId> members) const;
  std::vector<AstraAlgorithm> algorithms_of(CollectiveType type) const;

  std::vector<Dimension> dimensions_;
  std::int64_t devices_ = 0;
  double memory_bytes_per_second_ = 0;
  AstraCollectives how_;
};

}  // namespace nadi::inline predict
