// Files that `nadi data get` brought: text and JSON.
#pragma once

#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/download/get_data.h"

namespace nadi::inline show {

Json got_json(const PublicData& data, const GotData& got);
void print_got(const PublicData& data, const GotData& got, std::ostream& out);

}  // namespace nadi::inline show
