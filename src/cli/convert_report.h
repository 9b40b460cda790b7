// What a conversion did, as JSON (docs/json.md has the keys) and as text for people.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/base/units.h"
#include "nadi/cli/convert_output.h"
#include "nadi/convert/conversion_report.h"
#include "nadi/input/json_damage.h"

namespace nadi {

struct Console;

// Of one file that was written.
struct ConvertedFile {
  std::filesystem::path file;
  std::int64_t rank = 0;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  Bytes bytes;
  // Of a profile, a host's trace, or both:
  std::optional<ConversionReport> report = {};
  bool has_host = false;
  bool has_profile = false;
  bool host_left_open = false;  // the observer was never unregistered: see HostTrace
  bool own_run = false;         // one of Nadi's: see ConvertedTrace
  // Left out of the input: events without a duration, and what was damaged.
  std::uint64_t without_duration = 0;
  std::uint64_t unfinished = 0;  // events that had not ended when the profile did
  std::vector<std::pair<std::string, JsonRecordCounts>> damage = {};  // by file that has some
  std::uint64_t dropped_records = 0;                                  // of a Chakra trace, as those below
  std::uint64_t dropped_dependencies = 0;
};

struct ConvertSummary {
  ConvertFormat format = ConvertFormat::kChakra;
  std::vector<ConvertedFile> files = {};
  std::filesystem::path groups_file = {};  // empty where there are no groups
};

Json convert_json(const ConvertSummary& summary);
void print_convert(const ConvertSummary& summary, Console& console);

}  // namespace nadi
