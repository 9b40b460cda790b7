// Checks traces: each by itself, those of one run against each other, and whether simulators would take them.
//
//   const CheckReport report = check_traces({"run.0.et", "run.1.et"}, {});
//   if (report.findings.total(Severity::kError) > 0) ...
//
// Nothing that is wrong with a trace is thrown: it is a finding. Traces are read one after the other, so that
// memory is that of the largest of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/file_kind.h"
#include "nadi/base/memory_limit.h"
#include "nadi/chakra/trace_files.h"
#include "nadi/check/finding.h"
#include "nadi/check/simulators.h"

namespace nadi::inline traces {

struct CheckOptions {
  std::size_t kept_per_rule = 10;  // texts of findings
  MemoryLimit memory = {};         // for each file
  DamagedRecords damaged_records = DamagedRecords::kRefuse;
  bool strict = false;  // a dependency on a node that is not in the file is an error, not a warning
  // Names of simulators: that one of these refuses a trace is an error.
  std::vector<std::string> simulators = {};
  // Called now and then while a file is read, with its place among the files and the bytes read of it.
  std::function<void(std::size_t file, std::uint64_t bytes)> progress = {};
};

struct CheckedFile {
  std::filesystem::path path;
  std::optional<std::int64_t> rank = {};
  bool readable = true;
  std::optional<FileKind> other_kind = {};  // of a file that is no Chakra trace
  TraceFileKind kind = TraceFileKind::kChakra;
  ChakraReadStats stats = {};
  std::uint64_t edges = 0;
  std::vector<SimulatorVerdict> verdicts = {};  // of each simulator; empty if not readable
};

struct CheckReport {
  std::vector<CheckedFile> files;  // as given
  Findings findings;
  std::size_t runs = 0;  // sets of files that were checked against each other
};

// Error (usage) for a simulator that is not known.
CheckReport check_traces(std::span<const std::filesystem::path> files, const CheckOptions& options);

}  // namespace nadi::inline traces
