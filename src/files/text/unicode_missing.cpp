// unicode.h in a build without utf8proc: every call says what is missing.

#include "nadi/base/error.h"
#include "nadi/text/unicode.h"

namespace nadi::inline files {
namespace {

[[noreturn]] void refuse() {
  throw environment_error(
      "this build has no tokenizers: it was made without utf8proc, which knows the characters of Unicode",
      "install libutf8proc-dev (Debian, Ubuntu) or utf8proc (others), run cmake again and rebuild; training "
      "on "
      "tokens (--data-path, --mock-data) needs none");
}

}  // namespace

const CharacterTable& character_table() {
  refuse();
}

std::string decompose(std::string_view /*text*/) {
  refuse();
}

std::string compose(std::string_view /*text*/) {
  refuse();
}

void append_lower(char32_t /*character*/, std::string& /*text*/) {
  refuse();
}

}  // namespace nadi::inline files
