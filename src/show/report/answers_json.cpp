#include "nadi/report/answers_json.h"

#include "nadi/base/json.h"
#include "nadi/calibration/calibration_question.h"
#include "nadi/convert/convert_files.h"
#include "nadi/examination/analysis_question.h"
#include "nadi/examination/check_question.h"
#include "nadi/job_report/job_report_json.h"
#include "nadi/prediction/comparison_question.h"
#include "nadi/report/analysis_report.h"
#include "nadi/report/calibration_report.h"
#include "nadi/report/check_report.h"
#include "nadi/report/convert_report.h"
#include "nadi/report/plan_report.h"
#include "nadi/report/prediction_report.h"
#include "nadi/report/simulation_report.h"
#include "nadi/report/step_json.h"
#include "nadi/report/tune_report.h"
#include "nadi/report/watch_report.h"
#include "nadi/report/written_traces_report.h"
#include "nadi/step/step_answer.h"
#include "nadi/supervision/job_report_question.h"

namespace nadi::inline show {

std::string to_json(const StepAnswer& answer) {
  return dump_json(step_json(answer));
}

std::string to_json(const TraceAnswer& answer) {
  return dump_json(written_traces_json(answer));
}

std::string to_json(const CollectiveAnswer& answer) {
  return dump_json(written_traces_json(answer));
}

std::string to_json(const SimulationAnswer& answer) {
  return dump_json(simulation_json(view_of(answer)));
}

std::string to_json(const TraceSimulationAnswer& answer) {
  return dump_json(simulation_json(view_of(answer)));
}

std::string to_json(const PlanningAnswer& answer) {
  return dump_json(plan_report_json({.answer = answer}));
}

std::string to_json(const ConvertSummary& answer) {
  return dump_json(convert_json(answer));
}

std::string to_json(const CheckReport& answer) {
  return dump_json(check_json(answer));
}

std::string to_json(const AnalysisAnswer& answer) {
  return dump_json(AnalysisReport(answer.run, answer.before ? &*answer.before : nullptr).json());
}

std::string to_json(const ComparisonAnswer& answer) {
  return dump_json(prediction_json(answer));
}

std::string to_json(const CalibrationAnswer& answer) {
  return dump_json(calibration_json({answer.machine, answer.file, answer.seconds}));
}

std::string to_json(const WatchedState& answer) {
  return dump_json(watch_json(answer));
}

std::string to_json(const JobReportAnswer& answer) {
  return job_report_json(answer.report, {.compared_with = answer.other ? &*answer.other : nullptr});
}

std::string to_json(const StudyView& answer) {
  return dump_json(study_json(answer));
}

}  // namespace nadi::inline show
