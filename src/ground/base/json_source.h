// What a JsonDocument owns. Internal to json.cpp and json_parser.cpp.
#pragma once

#include <string>

#include "nadi/base/json.h"

namespace nadi::inline ground {

struct JsonSource {
  std::string file;
  std::string text;
  Json root;
};

}  // namespace nadi::inline ground
