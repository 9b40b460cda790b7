// What a conversion of a checkpoint writes or wrote, as JSON (docs/json.md has the keys) and as text for
// people.
#pragma once

#include <iosfwd>
#include <string>

#include "nadi/base/json.h"

namespace nadi::inline files {
struct ConversionSummary;
}  // namespace nadi::inline files

namespace nadi::inline show {

struct ConversionOutcome {
  std::string source;  // paths as the user gave them
  std::string target;
  bool dry_run = false;
  bool verified = false;
};

Json conversion_json(const ConversionSummary& summary, const ConversionOutcome& outcome);
// Files are listed for a dry run.
void print_conversion(const ConversionSummary& summary, const ConversionOutcome& outcome, std::ostream& out);

}  // namespace nadi::inline show
