#include "nadi/command_line/command.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {

std::size_t word_count(const CommandEntry& entry) {
  return words_of(entry.name).size();
}

const CommandEntry* CommandTable::find(std::span<const std::string> words) const {
  const CommandEntry* found = nullptr;
  for (const CommandEntry& entry : entries_) {
    const std::vector<std::string> name = words_of(entry.name);
    const bool matches = words.size() >= name.size() && std::ranges::equal(words.first(name.size()), name);
    if (matches && (found == nullptr || entry.name.size() > found->name.size())) found = &entry;
  }
  return found;
}

const CommandEntry& CommandTable::at(std::span<const std::string> words) const {
  if (const CommandEntry* entry = find(words)) return *entry;
  std::vector<std::string_view> known;
  if (const auto members = group(words[0]); !members.empty()) {
    if (words.size() == 1)
      throw usage_error(format("'{}' is a group of commands", words[0]),
                        format("'nadi help {}' lists them", words[0]));
    for (const CommandEntry* entry : members) known.push_back(entry->name);
    const std::string name = format("{} {}", words[0], words[1]);
    throw usage_error(format("unknown command '{}'", name), did_you_mean(name, known));
  }
  for (const CommandEntry& entry : entries_) known.push_back(entry.name);
  known.push_back("help");
  throw usage_error(format("unknown command '{}'", words[0]), did_you_mean(words[0], known));
}

std::vector<const CommandEntry*> CommandTable::group(std::string_view name) const {
  std::vector<const CommandEntry*> found;
  for (const CommandEntry& entry : entries_)
    if (entry.name.starts_with(name) && entry.name.substr(name.size()).starts_with(' '))
      found.push_back(&entry);
  return found;
}

std::string_view CommandTable::group_summary(std::string_view name) const {
  const auto found = std::ranges::find(groups_, name, &GroupEntry::name);
  return found == groups_.end() ? std::string_view() : found->summary;
}

}  // namespace nadi::inline show
