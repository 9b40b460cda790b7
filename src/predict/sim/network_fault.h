// A link that has failed, or is slower than described, to see what that costs: `--fail-link`.
//
//   parse_link_fault("node3")          // the cards of node 3 have failed, both directions
//   parse_link_fault("node3.up:0.5x")  // half of the bandwidth from node 3 to the switch
//
// Names of links: network_topology.h.
#pragma once

#include <string>
#include <string_view>

namespace nadi::inline predict {

struct LinkFault {
  std::string link;
  double factor = 0;  // of the bandwidth; 0 means failed

  bool operator==(const LinkFault&) const = default;
};

// Throws Error (usage) where the factor is no number of 0 to 1000.
LinkFault parse_link_fault(std::string_view text);

}  // namespace nadi::inline predict
