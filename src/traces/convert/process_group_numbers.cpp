#include "nadi/convert/process_group_numbers.h"

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline traces {

namespace {

// Nothing above it is taken over from a name: some readers keep groups in arrays.
constexpr std::uint32_t kLargestKept = 1'000'000;

std::uint32_t number_in(std::string_view name) {
  std::uint32_t number = 0;
  return read_number(name, number) && number <= kLargestKept ? number : 0;
}

}  // namespace

std::uint32_t GroupNumbers::number(std::string_view name, const std::vector<std::int64_t>& members) {
  const auto [entry, is_new] = numbers_.try_emplace({std::string(name), members}, 0);
  if (!is_new) return entry->second;
  std::uint32_t number = number_in(name);
  if (number == 0 || members_.contains(number)) {
    number = 1;
    while (members_.contains(number)) ++number;
  }
  members_.emplace(number, members);
  entry->second = number;
  return number;
}

std::string GroupNumbers::to_json() const {
  std::string text = "{";
  const char* comma = "";
  for (const auto& [number, members] : members_) {
    if (members.empty()) continue;
    text += format("{}\n  \"{}\": [{}]", comma, number, fmt::join(members, ", "));
    comma = ",";
  }
  return text + "\n}\n";
}

}  // namespace nadi::inline traces
