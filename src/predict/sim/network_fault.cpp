#include "nadi/sim/network_fault.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline predict {

LinkFault parse_link_fault(std::string_view text) {
  const std::size_t colon = text.find(':');
  LinkFault fault{.link = std::string(text.substr(0, colon))};
  const auto refuse = [&](std::string_view what) {
    throw Error{ErrorKind::kUsage,
                {},
                format("--fail-link '{}': {}", text, what),
                "write LINK or LINK:FACTORx, as node3 or node3.up:0.5x"};
  };
  if (fault.link.empty()) refuse("the name of a link is missing");
  if (colon == std::string_view::npos) return fault;
  std::string_view factor = text.substr(colon + 1);
  if (factor.ends_with('x')) factor.remove_suffix(1);
  if (!read_number(factor, fault.factor)) refuse(format("'{}' is no factor", text.substr(colon + 1)));
  if (!(fault.factor >= 0 && fault.factor <= 1000)) refuse("the factor is not between 0 and 1000");
  return fault;
}

}  // namespace nadi::inline predict
