// What a conversion did, as JSON (docs/json.md has the keys) and as text for people.
#pragma once

#include <iosfwd>
#include <string>

#include "nadi/base/json.h"

namespace nadi::inline traces {
struct ConvertSummary;
}  // namespace nadi::inline traces

namespace nadi::inline show {

// How the user gives the files that would have added something; printed where they are missing.
struct ConvertAdvice {
  std::string add_host = {};
  std::string add_profile = {};
};

Json convert_json(const ConvertSummary& summary);
void print_convert(const ConvertSummary& summary, std::ostream& out, const ConvertAdvice& advice = {});

}  // namespace nadi::inline show
