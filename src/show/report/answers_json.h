// Every answer as JSON text: what the program prints with --json, and what other languages get. Keys: docs/json.md.
//
//   const SimulationAnswer answer = simulate(question);
//   std::cout << to_json(answer);
#pragma once

#include <string>

namespace nadi::inline traces {
struct CheckReport;
struct ConvertSummary;
}  // namespace nadi::inline traces

namespace nadi::inline tuning {
struct StudyView;
}  // namespace nadi::inline tuning

namespace nadi::inline ask {
struct AnalysisAnswer;
struct CalibrationAnswer;
struct CollectiveAnswer;
struct ComparisonAnswer;
struct JobReportAnswer;
struct PlanningAnswer;
struct SimulationAnswer;
struct StepAnswer;
struct TraceAnswer;
struct TraceSimulationAnswer;
struct WatchedState;
}  // namespace nadi::inline ask

namespace nadi::inline show {

std::string to_json(const StepAnswer& answer);             // nadi show
std::string to_json(const TraceAnswer& answer);            // nadi trace
std::string to_json(const CollectiveAnswer& answer);       // nadi trace collective
std::string to_json(const SimulationAnswer& answer);       // nadi simulate, of a model
std::string to_json(const TraceSimulationAnswer& answer);  // nadi simulate, of traces
std::string to_json(const PlanningAnswer& answer);         // nadi plan, also of a fleet
std::string to_json(const ConvertSummary& answer);         // nadi convert
std::string to_json(const CheckReport& answer);            // nadi check
std::string to_json(const AnalysisAnswer& answer);         // nadi analyze
std::string to_json(const ComparisonAnswer& answer);       // nadi compare
std::string to_json(const CalibrationAnswer& answer);      // nadi calibrate
std::string to_json(const WatchedState& answer);           // nadi job watch
std::string to_json(const JobReportAnswer& answer);        // nadi job report, without its timeline
std::string to_json(const StudyView& answer);              // nadi tune show

}  // namespace nadi::inline show
