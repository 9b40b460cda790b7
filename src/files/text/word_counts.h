// How often each word of a text occurs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "nadi/text/string_hash.h"

namespace nadi::inline files {

class WordCounts {
 public:
  void add(std::string_view word) {
    const auto entry = counts_.find(word);
    if (entry != counts_.end()) {
      ++entry->second;
    } else {
      counts_.emplace(word, 1);
    }
  }

  using Map = std::unordered_map<std::string, std::int64_t, StringHash, std::equal_to<>>;
  const Map& counts() const { return counts_; }  // in no order that means anything

 private:
  Map counts_;
};

}  // namespace nadi::inline files
