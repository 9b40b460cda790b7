// Where tests find files that they do not make. The path of the sources is compiled into one object, so that
// checkouts in different places share the compiler's cache for all others.
#pragma once

#include <filesystem>

namespace nadi::inline ground {

// The root of the checkout: examples/, docs/, src/<folder>/testdata/.
std::filesystem::path source_folder();

// Real files of other programs, which lie beside a checkout and are not part of it. A test that needs one
// that is missing skips, and says so.
std::filesystem::path shared_data();

}  // namespace nadi::inline ground
