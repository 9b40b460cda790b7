// Names of links, both ways (network_topology.h has the rules).
#include <algorithm>
#include <array>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/sim/network_topology.h"

namespace nadi::inline predict {
namespace {

struct NamedUnit {
  std::int32_t level = 0, number = 0;
};

std::optional<std::int32_t> whole_number(std::string_view digits) {
  std::int32_t number = 0;
  if (!read_number(digits, number) || number < 0) return std::nullopt;
  return number;
}

// "device5", "node3", "level2.4"
std::optional<NamedUnit> named_unit(std::string_view name) {
  if (name.starts_with("device")) {
    if (const auto number = whole_number(name.substr(6))) return NamedUnit{0, *number};
  } else if (name.starts_with("node")) {
    if (const auto number = whole_number(name.substr(4))) return NamedUnit{1, *number};
  } else if (name.starts_with("level")) {
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto level = whole_number(name.substr(5, dot - 5)), number = whole_number(name.substr(dot + 1));
    if (level && number && *level >= 2) return NamedUnit{*level, *number};
  }
  return std::nullopt;
}

bool remove_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::string NetworkTopology::unit_name(std::int32_t level, std::int32_t unit) const {
  if (level == 0) return format("device{}", unit);
  if (level == 1) return format("node{}", unit);
  return format("level{}.{}", level, unit);
}

std::string NetworkTopology::link_name(LinkId id) const {
  const std::int32_t number = static_cast<std::int32_t>(id);
  for (std::size_t device = 0; device < card_.size(); ++device)
    if (card_[device] >= 0 && (number == card_[device] || number == card_[device] + 1))
      return format("device{}.card.{}", device, number == card_[device] ? "up" : "down");
  const NetworkLink& wanted = link(id);
  const std::vector<Group>& groups = groups_[static_cast<std::size_t>(wanted.level)];
  const auto after =
      std::upper_bound(groups.begin(), groups.end(), number,
                       [](std::int32_t value, const Group& group) { return value < group.first_link; });
  const Group& group = *std::prev(after);
  const std::int32_t local = number - group.first_link, n = group.members;
  const auto member = [&](std::int32_t i) { return unit_name(wanted.level, group.first + i); };
  switch (group.fabric->topology) {
    case FabricTopology::kSwitch:
      return member(local / 2) + (local % 2 == 0 ? ".up" : ".down");
    case FabricTopology::kMesh:
      return format("{}>{}", member(local / n), member(local % n));
    case FabricTopology::kRing:
      return format("{}>{}", member(local / 2), member((local / 2 + (local % 2 == 0 ? 1 : n - 1)) % n));
    case FabricTopology::kBus:
      return unit_name(wanted.level + 1, group_of(wanted.level, group.first)) + ".bus";
  }
  return {};
}

std::vector<LinkId> NetworkTopology::links_named(std::string_view name) const {
  std::vector<LinkId> links;
  const bool bus = remove_suffix(name, ".bus");
  const bool up = !bus && remove_suffix(name, ".up"), down = !bus && !up && remove_suffix(name, ".down");
  const bool card = !bus && remove_suffix(name, ".card");
  const auto group_at = [&](std::int32_t level, std::int32_t number) -> const Group* {
    if (level < 0 || static_cast<std::size_t>(level) >= groups_.size()) return nullptr;
    const std::vector<Group>& groups = groups_[static_cast<std::size_t>(level)];
    return static_cast<std::size_t>(number) < groups.size() ? &groups[static_cast<std::size_t>(number)]
                                                            : nullptr;
  };
  const auto both = [&](std::int32_t first) {
    if (!down) links.push_back(LinkId{first});
    if (!up) links.push_back(LinkId{first + 1});
  };
  const std::size_t dash = name.find_first_of("->");
  const auto one = named_unit(name.substr(0, dash));
  if (!one || static_cast<std::size_t>(one->level) >= units_.size() ||
      one->number >= units_[static_cast<std::size_t>(one->level)])
    return links;
  if (bus) {
    const Group* group = group_at(one->level - 1, one->number);
    if (group != nullptr && group->fabric->topology == FabricTopology::kBus)
      links.push_back(LinkId{group->first_link});
    return links;
  }
  if (card) {
    if (one->level == 0 && card_[static_cast<std::size_t>(one->number)] >= 0)
      both(card_[static_cast<std::size_t>(one->number)]);
    return links;
  }
  if (static_cast<std::size_t>(one->level) >= groups_.size()) return links;
  const Group& group = *group_at(one->level, group_of(one->level, one->number));
  const std::int32_t a = one->number - group.first, n = group.members;
  if (dash == std::string_view::npos) {
    if (group.fabric->topology == FabricTopology::kSwitch) both(group.first_link + 2 * a);
    return links;
  }
  const auto other = named_unit(name.substr(dash + 1));
  if (!other || other->level != one->level || other->number < group.first || other->number >= group.first + n)
    return links;
  const std::int32_t b = other->number - group.first;
  const auto add = [&](std::int32_t i, std::int32_t j) {
    if (group.fabric->topology == FabricTopology::kMesh && i != j)
      links.push_back(LinkId{group.first_link + i * n + j});
    if (group.fabric->topology != FabricTopology::kRing) return;
    if ((i + 1) % n == j) links.push_back(LinkId{group.first_link + 2 * i});
    if ((j + 1) % n == i) links.push_back(LinkId{group.first_link + 2 * i + 1});
  };
  add(a, b);
  if (name[dash] == '-') add(b, a);
  return links;
}

void NetworkTopology::apply(const LinkFault& fault) {
  const std::vector<LinkId> links = links_named(fault.link);
  if (links.empty())
    throw Error{ErrorKind::kUsage,
                {},
                format("the cluster '{}' has no link '{}'", cluster_.name, fault.link),
                links_.empty() ? "it has no links"
                               : format("its links are named like {} and {}", link_name(LinkId{0}),
                                        link_name(LinkId{link_count() - 1}))};
  for (const LinkId id : links) {
    NetworkLink& link = links_[to_index(id)];
    link.bandwidth = link.bandwidth * fault.factor;
  }
}

}  // namespace nadi::inline predict
