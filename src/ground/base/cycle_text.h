// A cycle of dependencies as text: "a -> b -> c -> a". Of a long cycle the first and the last members are
// shown, and the number of the others: "a -> ... -> (12 more) -> ... -> a".
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace nadi::inline ground {

// `member(i)` describes member i of `length`; `first_again` stands at the end.
std::string cycle_text(std::size_t length, const std::function<std::string(std::size_t)>& member,
                       std::string_view first_again);

}  // namespace nadi::inline ground
