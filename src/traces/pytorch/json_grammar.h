// Whether a text is one JSON value: parsers that read on demand pass over arrays without looking into them.
#pragma once

#include <string_view>

namespace nadi::inline traces {

// Characters in strings are taken as they are, but for escapes: whoever cut the text out of a file has found
// bad ones before.
bool is_json(std::string_view text);

}  // namespace nadi::inline traces
