#include "nadi/report/devices_report.h"

#include <ostream>
#include <string>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/report/clusters_report.h"
#include "nadi/tables/report_facts.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kTextColumn = 17;

ReportCell text_or_absent(const std::string& text) {
  return text.empty() ? ReportCell() : ReportCell(text);
}

// 90 is "9.0".
std::string capability_text(int number) {
  return format("{}.{}", number / 10, number % 10);
}

std::vector<ReportFact> cpu_facts(const cpu::CpuDescription& cpu) {
  return {
      {{"name", "CPU", CellKind::kText}, text_or_absent(cpu.name)},
      {{"cores", "cores"}, std::int64_t{cpu.cores}},
      {{"memory_bytes", "memory", CellKind::kBytes}, cpu.memory.count()},
      {{"instruction_set", "compiled for", CellKind::kText}, cpu.instruction_set},
      {{"matrix_library", "matrix products", CellKind::kText}, cpu.matrix_library},
      {{"usable", "", CellKind::kYesNo, Shown::kToPrograms}, !cpu.why_not.has_value()},
      {{"why_not", "not usable", CellKind::kText}, cpu.why_not ? ReportCell(*cpu.why_not) : ReportCell()}};
}

std::vector<ReportFact> cuda_facts(const DevicesView& view) {
  std::string architectures;
  for (const int number : view.cuda.architectures)
    architectures += (architectures.empty() ? "" : ", ") + capability_text(number);
  const auto& why = view.why_no_cuda;
  return {
      {.name = {"", "CUDA", CellKind::kText}, .words = {why ? why->reason : "usable"}},
      {.name = {"", "hint", CellKind::kText},
       .words = why && !why->hint.empty() ? std::vector{why->hint} : std::vector<std::string>{}},
      {{"built", "", CellKind::kYesNo, Shown::kToPrograms}, view.cuda.built},
      {{"usable", "", CellKind::kYesNo, Shown::kToPrograms}, !why.has_value()},
      {{"why_not", "", CellKind::kText, Shown::kToPrograms}, why ? ReportCell(why->reason) : ReportCell()},
      {{"toolkit", "built with", CellKind::kText}, text_or_absent(view.cuda.toolkit)},
      {{"architectures", "machine code for", CellKind::kText}, text_or_absent(architectures)},
      {{"runtime", "runtime", CellKind::kText}, text_or_absent(view.cuda.runtime)},
      {{"driver", "driver serves", CellKind::kText}, text_or_absent(view.cuda.driver)}};
}

ReportTable gpu_table(const std::vector<cuda::GpuDescription>& gpus) {
  ReportTable table{.name = "gpus",
                    .title = "GPUs",
                    .columns = {{"number", "number"},
                                {"name", "name", CellKind::kText},
                                {"compute_capability", "capability", CellKind::kFigure},
                                {"multiprocessors", "SMs", CellKind::kCount, Shown::kIfRoom},
                                {"memory_bytes", "memory", CellKind::kBytes},
                                {"free_bytes", "free", CellKind::kBytes},
                                {"pci_bus", "PCI bus", CellKind::kText, Shown::kIfRoom},
                                {"uuid", "", CellKind::kText, Shown::kToPrograms}}};
  for (const cuda::GpuDescription& gpu : gpus)
    table.rows.push_back({std::int64_t{gpu.number}, gpu.name, capability_text(gpu.compute_capability),
                          std::int64_t{gpu.multiprocessors}, gpu.memory.count(), gpu.free.count(),
                          text_or_absent(gpu.pci_bus), text_or_absent(gpu.uuid)});
  return table;
}

ReportTable library_table(const std::vector<cuda::LibraryDescription>& libraries) {
  ReportTable table{.name = "libraries",
                    .title = "Libraries",
                    .columns = {{"name", "name", CellKind::kText},
                                {"used_for", "used for", CellKind::kText},
                                {"version", "version", CellKind::kText, Shown::kAlways, "not found"},
                                {"path", "", CellKind::kText, Shown::kToPrograms},
                                {"why_not", "", CellKind::kText, Shown::kToPrograms},
                                {"", "file", CellKind::kText, Shown::kIfRoom}}};
  for (const cuda::LibraryDescription& library : libraries)
    table.rows.push_back({library.name, library.used_for, text_or_absent(library.version),
                          text_or_absent(library.path), text_or_absent(library.why_not),
                          text_or_absent(library.path.empty() ? library.why_not : library.path)});
  return table;
}

}  // namespace

DevicesView look_for_devices() {
  return {.cpu = cpu::describe_cpu(),
          .cuda = cuda::describe_cuda(),
          .why_no_cuda = cuda::why_no_cuda(),
          .gpus = cuda::gpus()};
}

Json devices_json(const DevicesView& view) {
  return {{"nadi_version", version()},
          {"cpu", facts_json(cpu_facts(view.cpu))},
          {"cuda", facts_json(cuda_facts(view))},
          {"gpus", table_json(gpu_table(view.gpus))},
          {"libraries", table_json(library_table(view.cuda.libraries))},
          {"catalogue", table_json(device_kinds_table(catalogue_devices()))}};
}

void print_devices(const DevicesView& view, std::ostream& out, const ReportStyle& style) {
  const TableTextOptions options{
      .rows = 0, .bold_titles = style.colour, .width = style.table_width, .wide = "--wide shows all"};
  out << facts_text(cpu_facts(view.cpu), kTextColumn, style.width) << "\n"
      << facts_text(cuda_facts(view), kTextColumn, style.width);
  for (const ReportTable& table : {gpu_table(view.gpus), library_table(view.cuda.libraries)})
    if (!table.rows.empty()) out << "\n" << style.heading(table.title) << "\n" << table_text(table, options);
  out << "\n"
      << style.heading("Catalogue of devices that can be simulated") << "\n"
      << table_text(device_kinds_table(catalogue_devices()), options);
}

}  // namespace nadi::inline show
