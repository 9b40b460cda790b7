// Networks and what is under way on them, for comparing the flow model with another simulator.
//
// In SimGrid, flows that compete for a link share it by the inverse of their latencies; ours share it
// equally. So where flows of different latencies meet, the links of a case have none.
#pragma once

#include <string>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/sim/network_model.h"

namespace nadi {

struct CaseMessage {
  Nanoseconds start;
  Bytes size;
  DeviceId from{}, to{};
};

struct CaseCollective {
  Nanoseconds start;
  CollectiveType type{};
  Bytes size;
  std::vector<DeviceId> members;
};

struct NetworkCase {
  std::string name;
  Cluster cluster;
  NetworkOptions options = {};
  std::vector<CaseMessage> messages = {};
  std::vector<CaseCollective> collectives = {};
};

std::vector<NetworkCase> network_cases();

}  // namespace nadi
