#include "nadi/base/hidden_name.h"

#include <unistd.h>

#include <array>
#include <system_error>

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline ground {
namespace {

constexpr std::string_view kHiddenPrefix = ".nadi.";

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace

std::string hidden_name(std::string_view purpose, std::string_view suffix) {
  return format("{}{}.{}@{}{}", kHiddenPrefix, purpose, getpid(), host_name(), suffix);
}

std::filesystem::path hidden_sibling(const std::filesystem::path& target, std::string_view suffix) {
  const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : ".";
  return parent / hidden_name(target.filename().string(), suffix);
}

std::optional<HiddenName> parse_hidden_name(std::string_view name) {
  HiddenName hidden;
  hidden.is_aside = name.ends_with(kAsideSuffix);
  if (!name.starts_with(kHiddenPrefix) || (!hidden.is_aside && !name.ends_with(kUnfinishedSuffix)))
    return std::nullopt;
  name.remove_prefix(kHiddenPrefix.size());
  name.remove_suffix(kUnfinishedSuffix.size());
  static_assert(kUnfinishedSuffix.size() == kAsideSuffix.size());
  const std::string at_host = "@" + host_name();
  if (!name.ends_with(at_host)) return std::nullopt;
  name.remove_suffix(at_host.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view pid = name.substr(dot + 1);
  if (!read_number(pid, hidden.owner) || hidden.owner <= 0) return std::nullopt;
  hidden.purpose = name.substr(0, dot);
  return hidden;
}

}  // namespace nadi::inline ground
