#include "nadi/check/simulators.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nadi/check/astra_sim.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

constexpr std::array kSimulators{
    Simulator{.name = "astra-sim",
              .title = "ASTRA-sim since July 2025, feeder v3",
              .check_file = &check_file_for_astra_sim,
              .check_node = &check_node_for_astra_sim,
              .played = PlayedTimes::kRecorded},
    Simulator{.name = "astra-sim-roofline",
              .title = "the same with roofline-enabled",
              .check_file = &check_file_for_astra_sim_roofline,
              .check_node = &check_node_for_astra_sim_roofline,
              .played = PlayedTimes::kRoofline},
    Simulator{.name = "astra-sim-2024",
              .title = "ASTRA-sim from November 2023 to June 2025, Chakra's et_feeder",
              .check_file = &check_file_for_astra_sim_2024,
              .check_node = &check_node_for_astra_sim_2024},
};

}  // namespace

std::span<const Simulator> simulators() {
  return kSimulators;
}

void VerdictMaker::refuse(std::string what) {
  verdict_.refusals.push_back({.what = std::move(what)});
}

void VerdictMaker::remark(std::string what) {
  verdict_.remarks.push_back({.what = std::move(what)});
}

void VerdictMaker::refuse(const SimulatedNode& node, std::string_view what) {
  add(verdict_.refusals, node, what);
}

void VerdictMaker::remark(const SimulatedNode& node, std::string_view what) {
  add(verdict_.remarks, node, what);
}

void VerdictMaker::add(std::vector<SimulatorPoint>& points, const SimulatedNode& node,
                       std::string_view what) {
  const std::string_view kind = what.substr(0, what.find(':'));
  const auto same = [&](const SimulatorPoint& point) {
    return point.first && std::string_view(point.what).substr(0, point.what.find(':')) == kind;
  };
  const auto known = std::ranges::find_if(points, same);
  if (known != points.end()) {
    ++known->nodes;
    return;
  }
  const Trace& trace = *node.of.checked.trace;
  points.push_back({.what = std::string(what),
                    .nodes = 1,
                    .first = trace.id(node.row),
                    .first_name = std::string(trace.name(node.row))});
}

std::vector<SimulatorVerdict> ask_simulators(const SimulatedTrace& simulated) {
  std::vector<VerdictMaker> makers;
  for (const Simulator& simulator : kSimulators) {
    makers.emplace_back(simulator.name);
    simulator.check_file(simulated, makers.back());
  }
  const Trace& trace = *simulated.checked.trace;
  const CommonAttributeReader reader(trace);
  CommonAttributes attributes;
  for (std::uint32_t row = 0; row < trace.size(); ++row) {
    reader.read(row, attributes);
    const SimulatedNode node{.of = simulated, .row = row, .type = trace.type(row), .attributes = attributes};
    for (std::size_t i = 0; i < makers.size(); ++i) kSimulators[i].check_node(node, makers[i]);
  }
  std::vector<SimulatorVerdict> verdicts;
  for (VerdictMaker& maker : makers) verdicts.push_back(maker.take());
  return verdicts;
}

}  // namespace nadi::inline traces
