// nadi trace
#include <filesystem>
#include <memory>
#include <ostream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/command.h"
#include "nadi/cli/console.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cli/step_json.h"
#include "nadi/cli/version.h"
#include "nadi/trace/chakra_writer.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/step_trace.h"

namespace nadi {
namespace {

constexpr std::string_view kSchemaVersion = "0.0.4";

struct WrittenTrace {
  std::filesystem::path path;
  std::int64_t nodes = 0;
  std::int64_t data_edges = 0;
  std::int64_t control_edges = 0;
  Flops num_ops;
  Bytes tensor_size;
  Bytes size;
};

std::filesystem::path trace_path(const std::string& prefix, int rank) {
  if (prefix.ends_with('/'))
    throw usage_error(format("-o takes the start of file names, and '{}' is a folder", prefix),
                      format("-o {0}step writes {0}step.0.et", prefix));
  if (prefix.ends_with(".et")) {
    std::string start = prefix.substr(0, prefix.size() - std::string_view(".et").size());
    if (start.ends_with(".0")) start.resize(start.size() - 2);
    throw usage_error(format("-o takes file names without their end, not '{}'", prefix),
                      format("-o {0} writes {0}.0.et", start));
  }
  return format("{}.{}.et", prefix, rank);
}

void add_attribute(TraceAttributes& attributes, std::string_view key, const Json& value) {
  const std::string_view name = attributes.arena().keep(key);
  if (value.is_boolean())
    attributes.add_bool(name, value.get<bool>());
  else if (value.is_number_float())
    attributes.add_double(name, value.get<double>());
  else if (value.is_number())
    attributes.add_int64(name, value.get<std::int64_t>());
  else if (value.is_string())
    attributes.add_text(name, value.get<std::string>());
}

// What makes the file explain itself. No times and no machine names: same input, same bytes.
GlobalMetadata metadata_of(const ResolvedStep& step, const Program& program) {
  GlobalMetadata metadata;
  metadata.version = kSchemaVersion;
  metadata.attributes.add_text("nadi_version", version());
  const Json model = model_json(step.config);
  for (const auto& [key, value] : model.items())
    add_attribute(metadata.attributes, key == "name" ? "model" : key, value);
  metadata.attributes.add_int64("parameters", program.parameter_count());
  for (const Setting& setting : step.settings) add_attribute(metadata.attributes, setting.key, setting.value);
  return metadata;
}

WrittenTrace write_trace(const ResolvedStep& step, const Program& program, AtomicFile file,
                         const Console& console) {
  WrittenTrace written;
  written.path = file.path();
  ChakraWriter writer([&](std::string_view bytes) { file.write(bytes); }, metadata_of(step, program));
  StepTracer tracer(program);
  for (TraceNode node; tracer.next(node);) {
    console.check_interrupted();
    writer.write(node);
    ++written.nodes;
    written.data_edges += static_cast<std::int64_t>(node.data_deps.size());
    written.control_edges += static_cast<std::int64_t>(node.ctrl_deps.size());
    written.num_ops += Flops{node.attributes.find(attribute_name::kNumOps)->integer().value()};
    written.tensor_size += Bytes{node.attributes.find(attribute_name::kTensorSize)->integer().value()};
  }
  writer.finish();
  written.size = file.size();
  file.commit();
  return written;
}

Json written_json(const ResolvedStep& step, const WrittenTrace& written) {
  return {{"nadi_version", version()},
          {"model", model_json(step.config)},
          {"step", settings_json(step)},
          {"files",
           {{{"path", written.path.string()},
             {"rank", 0},
             {"bytes", written.size.count()},
             {"nodes", written.nodes},
             {"data_edges", written.data_edges},
             {"control_edges", written.control_edges},
             {"num_ops", written.num_ops.count()},
             {"tensor_size_bytes", written.tensor_size.count()}}}}};
}

class TraceCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional(
        {.name = "MODEL",
         .help = "a built-in model (see 'nadi models'), a config.json, or a checkpoint folder"});
    flags.add({.names = {"--output", "-o"},
               .value = "PREFIX",
               .help = "where to write: PREFIX.0.et; missing folders are made",
               .fallback = "required",
               .group = "output"});
    flags.add({.names = {"--force"}, .help = "overwrite a file that exists", .group = "output"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md", .group = "output"});
    add_step_flags(flags);
  }

  void run(const Flags& flags, Console& console) const override {
    const std::optional<std::string> prefix = flags.text("--output");
    if (!prefix) throw usage_error("-o, --output is missing", "-o out/step writes out/step.0.et");
    const std::filesystem::path path = trace_path(*prefix, 0);
    const ResolvedStep step = resolve_step(flags, console);
    const Program program = build_step(step.config, step.request);
    const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
    const WrittenTrace written = write_trace(step, program, AtomicFile(path, overwrite), console);
    if (flags.given("--json"))
      console.out << dump_json(written_json(step, written));
    else
      console.out << format("{}: {} nodes, {} edges, {}, {}\n", path.string(), with_thousands(written.nodes),
                            with_thousands(written.data_edges + written.control_edges),
                            to_string(written.num_ops), to_string(written.size));
  }
};

}  // namespace

std::unique_ptr<Command> make_trace_command() {
  return std::make_unique<TraceCommand>();
}

}  // namespace nadi
