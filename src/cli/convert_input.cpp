#include "nadi/cli/convert_input.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"
#include "nadi/input/content_kind.h"
#include "nadi/trace/file_patterns.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

void refuse_missing(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) throw input_error({.file = file.string()}, "there is no such file");
  }
}

void add_file(ConvertInput& input, const fs::path& file) {
  switch (content_kind(file)) {
    case FileKind::kKineto:
      input.devices.push_back(file);
      return;
    case FileKind::kPytorchHost:
      input.hosts.push_back(file);
      return;
    case FileKind::kNodeLink:
      throw input_error({.file = file.string()}, "a graph in node-link form is written and not read",
                        "convert the trace that it was made from");
    default:  // Chakra's; or another kind, or damaged: the reader will tell
      input.chakra.push_back(file);
      return;
  }
}

// A file that was named as one kind and is another.
void refuse_other(const std::vector<fs::path>& files, FileKind other, std::string_view is,
                  std::string_view flag) {
  for (const fs::path& file : files)
    if (content_kind(file) == other)
      throw usage_error(format("{} is {}", file.string(), is), format("give it with {}", flag));
}

}  // namespace

void add_convert_input_flags(Flags& flags) {
  flags.set_positional(
      {.name = "FILE...",
       .help = "profiles of PyTorch (Kineto), traces of its host, or Chakra traces (.et of any version, or "
               "JSON), plain, gzip or zstd; a pattern in quotes stands for all files that fit, one per rank",
       .many = true,
       .fallback = "--input, or --device and --host"});
  flags.add({.names = {"--input"},
             .value = "FILE...",
             .help = "the same as FILE...",
             .fallback = "none",
             .group = "input",
             .many = true});
  flags.add({.names = {"--host"},
             .value = "FILE...",
             .help = "execution traces of PyTorch's host, in the order of the profiles; without profiles, "
                     "traces without times are made of them",
             .fallback = "none",
             .group = "input",
             .many = true});
  flags.add({.names = {"--device"},
             .value = "FILE...",
             .help = "profiles of PyTorch (Kineto)",
             .fallback = "none",
             .group = "input",
             .many = true});
}

ConvertInput resolve_convert_input(const Flags& flags) {
  ConvertInput input;
  input.hosts = expand_files(flags.texts("--host"));
  input.devices = expand_files(flags.texts("--device"));
  refuse_missing(input.hosts);
  refuse_missing(input.devices);
  refuse_other(input.hosts, FileKind::kKineto, "a profile, not a trace of the host", "--device");
  refuse_other(input.devices, FileKind::kPytorchHost, "a trace of the host, not a profile", "--host");
  std::vector<std::string> words = flags.texts("--input");
  if (flags.has_positional())
    words.insert(words.end(), flags.positionals().begin(), flags.positionals().end());
  const std::vector<fs::path> files = words.empty() ? std::vector<fs::path>{} : expand_traces(words);
  refuse_missing(files);
  for (const fs::path& file : files) add_file(input, file);
  if (!input.chakra.empty() && !(input.hosts.empty() && input.devices.empty()))
    throw usage_error(format("{} is not of PyTorch, and the others are", input.chakra[0].string()),
                      "convert Chakra traces on their own");
  if (!input.chakra.empty()) return input;
  if (input.devices.empty() && input.hosts.empty())
    throw usage_error("nothing to convert", "nadi convert run_kineto.json -o run.0.et");
  if (!input.devices.empty() && !input.hosts.empty() && input.hosts.size() != input.devices.size())
    throw usage_error(
        format("{} traces of the host and {} profiles", input.hosts.size(), input.devices.size()),
        "they are taken in pairs, in the order of their names");
  return input;
}

}  // namespace nadi
