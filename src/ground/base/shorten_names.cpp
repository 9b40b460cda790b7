#include "nadi/base/shorten_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/shorten.h"

namespace nadi::inline ground {
namespace {

constexpr std::size_t kLeast = 12;

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return static_cast<unsigned char>(letter) < 0x80; });
}

// By what they look like: names, each once.
using Looks = std::map<std::string, std::set<std::string>>;

// Where names begin to differ.
std::size_t common_start(const std::set<std::string>& names) {
  std::size_t common = names.begin()->size();
  for (const std::string& name : names) {
    const std::string& first = *names.begin();
    const auto [a, b] = std::ranges::mismatch(first, name);
    common = std::min(common, static_cast<std::size_t>(a - first.begin()));
  }
  return common;
}

// Start, a window that begins a little before `place`, and end, with a mark where something is missing. A
// quarter is the start, a quarter the end.
std::string with_window(const std::string& name, std::size_t place, std::size_t most) {
  if (name.size() <= most) return name;
  const std::size_t kept = most - 2;
  const std::size_t head = kept / 4, tail = kept / 4;
  const std::size_t window = kept - head - tail;
  const std::size_t last_begin = name.size() - tail - window;
  const std::size_t begin = std::clamp(place - std::min(place, window / 4), head, std::max(head, last_begin));
  // Where the window touches the start or the end, nothing is missing between them.
  const bool touches_head = begin <= head;
  const bool touches_tail = begin >= last_begin;
  return name.substr(0, head) + (touches_head ? "" : "…") + name.substr(begin, window) +
         (touches_tail ? "" : "…") + name.substr(name.size() - tail);
}

class Shortening {
 public:
  explicit Shortening(std::size_t most) : most_(most) {}

  void add(const std::set<std::string>& names) {
    Looks looks;
    for (const std::string& name : names) looks[shorten_middle(name, most_)].insert(name);
    settle(looks);
  }

  const std::string& of(const std::string& name) const { return result_.find(name)->second; }

 private:
  void settle(const Looks& looks) {
    for (const auto& [look, names] : looks) {
      if (names.size() == 1)
        result_[*names.begin()] = look;
      else
        tell_apart(look, names);
    }
  }

  void tell_apart(const std::string& look, const std::set<std::string>& names) {
    Looks looks;
    const std::size_t place = common_start(names);
    for (const std::string& name : names)
      looks[is_ascii(name) ? with_window(name, place, most_) : look].insert(name);
    if (looks.size() > 1) return settle(looks);
    for (const std::string& name : names) result_[name] = look;
  }

  std::size_t most_;
  std::map<std::string, std::string> result_;
};

}  // namespace

std::vector<std::string> shorten_names(const std::vector<std::string>& names, std::size_t most) {
  check(most >= kLeast, "names are shortened to 12 characters or more");
  Shortening shortening(most);
  shortening.add({names.begin(), names.end()});
  std::vector<std::string> result;
  std::map<std::string, std::vector<std::string>> taken;  // by what they look like: names that do
  for (const std::string& name : names) {
    std::string look = shortening.of(name);
    std::vector<std::string>& others = taken[look];
    const auto place = std::ranges::find(others, name);
    const std::size_t number = static_cast<std::size_t>(place - others.begin());
    if (place == others.end()) others.push_back(name);
    if (number > 0) {
      const std::string mark = format("#{}", number + 1);
      look = shorten_middle(look, most - mark.size()) + mark;
    }
    result.push_back(std::move(look));
  }
  return result;
}

}  // namespace nadi::inline ground
