// Names that mean the same flag, in every command that has it. Flags::add() puts the other names behind the
// one that a command adds, so that no command can forget one. A name that means something else in another
// command (train's --micro-batch-size) is not here.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace nadi::inline show {

// Each group holds all names of one flag.
std::span<const std::vector<std::string_view>> flag_aliases();

// `names`, with those that the table has besides; the order of `names` stays.
std::vector<std::string_view> with_aliases(std::vector<std::string_view> names);

}  // namespace nadi::inline show
