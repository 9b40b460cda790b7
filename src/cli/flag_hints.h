// The library's hints say what to do; this adds the flag that does it.
#pragma once

#include <string>

namespace nadi {

// "read the file leniently to ..." becomes "use --lenient to ...". A hint without such words stays as it is.
std::string hint_with_flags(std::string hint);

}  // namespace nadi
