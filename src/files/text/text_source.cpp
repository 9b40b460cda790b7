#include "nadi/text/text_source.h"

namespace nadi::inline files {

TextSource text_of(std::span<const std::string> documents) {
  return [rest = documents](std::string& document) mutable {
    if (rest.empty()) return false;
    document = rest.front();
    rest = rest.subspan(1);
    return true;
  };
}

}  // namespace nadi::inline files
