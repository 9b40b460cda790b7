// Traces in another format: what `nadi convert` is asked.
//
//   const ConvertSummary answer = convert({.files = {"run_rank0_device.json"}, .output = "run.0.et"});
//   answer.files[0].nodes
//
// What a file holds is told by its content. An output that ends as the files of its format do is one file; any other is the
// start of the names of many.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/convert/convert_files.h"
#include "nadi/convert/convert_input.h"
#include "nadi/convert/convert_output.h"

namespace nadi::inline ask {

struct ConversionQuestion {
  std::vector<std::string> files =
      {};  // of any kind, or patterns, or the start of the names of all ranks' traces
  std::vector<std::string> devices = {};  // profiles; files and patterns
  std::vector<std::string> hosts = {};    // traces of the host, in the order of the profiles
  std::string output = {};
  // A name of trace_formats(); else the first of them, or the form of Chakra's JSON that the output's name says.
  std::string format = {};
  Overwrite overwrite = Overwrite::kRefuse;
  ConvertOptions options = {};
};

// Every default decided.
struct ResolvedTraceConversion {
  ConvertInput input;
  ConvertOutput output;
  ConvertOptions options;
};

// Error (usage) for files that are of the other kind or do not go together, for a name that says no format or another
// one, and for options that do not apply to what the files hold.
ResolvedTraceConversion resolve(const ConversionQuestion& question);
ConvertSummary convert(const ConversionQuestion& question);

}  // namespace nadi::inline ask
