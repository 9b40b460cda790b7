#include "nadi/conversion/conversion_question.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/input/content_kind.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline ask {
namespace {

namespace fs = std::filesystem;

// A file that was given as one kind and is of the other.
void refuse_other(const std::vector<fs::path>& files, FileKind other, std::string_view is,
                  const std::string& hint) {
  for (const fs::path& file : files)
    if (content_kind(file) == other) throw usage_error(format("{} is {}", file.string(), is), hint);
}

ConvertInput input_of(const ConversionQuestion& question) {
  ConvertInput input{.devices = expand_files(question.devices), .hosts = expand_files(question.hosts)};
  refuse_missing(input.hosts);
  refuse_missing(input.devices);
  refuse_other(input.hosts, FileKind::kKineto, "a profile, not a trace of the host", "give it as a profile");
  refuse_other(input.devices, FileKind::kPytorchHost, "a trace of the host, not a profile",
               "give it as a trace of the host");
  add_files(input, question.files.empty() ? std::vector<fs::path>{} : expand_traces(question.files));
  if (input.empty()) throw usage_error("nothing to convert", "name a file to convert");
  return input;
}

const TraceFormat& format_of(const ConversionQuestion& question, const std::string& extension) {
  if (question.format.empty())
    return extension == ".jsonl" ? trace_format("chakra-jsonl") : trace_formats().front();
  std::vector<std::string_view> names;
  for (const TraceFormat& known : trace_formats()) names.push_back(known.name);
  if (std::ranges::find(names, question.format) == names.end())
    throw usage_error(format("unknown format '{}'", question.format), did_you_mean(question.format, names));
  // The name says which form of Chakra's JSON.
  return trace_format(question.format == "chakra-json" && extension == ".jsonl" ? "chakra-jsonl"
                                                                                : question.format);
}

ConvertOutput output_of(const ConversionQuestion& question) {
  const std::string& name = question.output;
  if (name.empty()) throw usage_error("the output has no name", "a file, or the start of file names");
  if (name.ends_with('/'))
    throw usage_error(format("the output is a file or the start of file names, and '{}' is a folder", name),
                      format("{0}run writes {0}run.0.et", name));
  const std::string extension = fs::path(name).extension().string();
  const TraceFormat& wanted = format_of(question, extension);
  if (extension == ".json" && question.format.empty())
    throw usage_error(format("unknown output format for {}", name),
                      "choose the format chakra-json, kineto or node-link");
  if ((extension == ".json" || extension == ".jsonl" || extension == ".et") && extension != wanted.extension)
    throw usage_error(format("the format {} writes {} files, and the output names {}", wanted.name,
                             wanted.extension, name));
  return {.name = name,
          .is_file = extension == wanted.extension,
          .format = &wanted,
          .overwrite = question.overwrite};
}

void check_options(const ConvertOptions& options, const ConvertInput& input, const ConvertOutput& output) {
  if (output.is_file && input.traces() > 1)
    throw usage_error(
        format("the output {} is one file, and there are {} traces", output.name.string(), input.traces()),
        "give the start of the names, without the rank and the extension");
  if (options.rank && input.traces() > 1) throw usage_error("a rank is for one trace");
  const auto refuse = [](bool given, std::string_view what, std::string_view why) {
    if (given) throw usage_error(format("{} {}", what, why));
  };
  const LayerWorkloadOptions& workload = options.workload;
  if (input.workload.empty()) {
    const std::string_view why = "is for workloads as text";
    refuse(workload.ranks.has_value(), "a number of ranks", why);
    refuse(workload.model_group.has_value(), "the size of a group that shares layers", why);
    refuse(workload.gathers_are_whole.has_value(), "what sizes of all-gathers mean", why);
  } else {
    const std::string_view why = "does not apply to a workload as text";
    refuse(options.num_ops, "counting of operations", why);
    refuse(options.simulate_only, "leaving out what simulators do not read", why);
    refuse(options.time_unit != KinetoTimeUnit::kMicroseconds, "a unit of times", why);
    refuse(options.rank.has_value(), "a rank", why);
  }
  if (options.num_ops && !input.chakra.empty())
    throw usage_error(format("operations are not counted for {}", input.chakra[0].string()),
                      "this is for profiles of PyTorch; Chakra traces have num_ops or have no shapes");
}

}  // namespace

ResolvedTraceConversion resolve(const ConversionQuestion& question) {
  ResolvedTraceConversion asked{
      .input = input_of(question), .output = output_of(question), .options = question.options};
  check_options(asked.options, asked.input, asked.output);
  return asked;
}

ConvertSummary convert(const ConversionQuestion& question) {
  const ResolvedTraceConversion asked = resolve(question);
  return convert_files(asked.input, asked.output, asked.options);
}

}  // namespace nadi::inline ask
