#include "nadi/tables/kernel_name.h"

#include <array>
#include <cctype>
#include <map>
#include <set>

namespace nadi::inline show {
namespace {

constexpr std::string_view kVoid = "void ";
constexpr std::array<std::string_view, 4> kNamespaces{
    "at::native::", "(anonymous namespace)::", "at::", "std::"};

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// "f<(int)2>(float*)" -> "f<(int)2>". A parenthesis behind a space is no list of parameters: "Memcpy DtoD
// (...)".
std::string_view without_parameters(std::string_view name) {
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      const bool called = i > 0 && (is_word(name[i - 1]) || name[i - 1] == '>');
      return called ? name.substr(0, i) : name;
    }
  }
  return name;
}

}  // namespace

std::string kernel_name(std::string_view whole) {
  std::string_view name = whole;
  if (name.starts_with(kVoid)) name.remove_prefix(kVoid.size());
  name = without_parameters(name);
  std::string result;
  while (!name.empty()) {
    const bool starts_word = result.empty() || (!is_word(result.back()) && result.back() != ':');
    bool left_out = false;
    for (const std::string_view part : kNamespaces) {
      if (!starts_word || !name.starts_with(part) || name.size() == part.size()) continue;
      name.remove_prefix(part.size());
      left_out = true;
      break;
    }
    if (left_out) continue;
    result += name.front();
    name.remove_prefix(1);
  }
  return result.empty() ? std::string(whole) : result;
}

std::vector<std::string> kernel_names(const std::vector<std::string>& names) {
  std::map<std::string, std::set<std::string>> wholes;  // by short name
  for (const std::string& name : names) wholes[kernel_name(name)].insert(name);
  std::vector<std::string> result;
  for (const std::string& name : names) {
    std::string brief = kernel_name(name);
    result.push_back(wholes[brief].size() == 1 ? std::move(brief) : name);
  }
  return result;
}

}  // namespace nadi::inline show
