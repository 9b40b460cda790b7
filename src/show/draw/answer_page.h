// An answer of a command as a page of pictures: what `--html` of show, simulate, plan and calibrate writes. The page draws
// the JSON that the command prints with --json, so that both say the same to the last digit, and beside it what is too long
// to be printed: memory over the step, ops one by one.
//
//   write_answer_page(step_page(answer, others), "step.html", Overwrite::kRefuse);
//
// Texts are data of the page and never part of its HTML (html_page.h).
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/base/json.h"

namespace nadi::inline ask {
struct CalibrationAnswer;
struct StepAnswer;
}  // namespace nadi::inline ask

namespace nadi::inline describe {
struct Cluster;
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline show {

struct SimulationView;
struct PlanView;

struct AnswerPage {
  std::string kind;  // "step", "simulation", "plan", "calibration"
  std::string title;
  std::string subtitle = {};
  Json answer;                 // as --json prints it
  Json more = Json::object();  // what only pictures show
};

// A stage of the step: what its first rank does.
struct StagePicture {
  const StepAnswer& answer;
  const Program& program;
};

// `answer`: the rank that was asked for; `stages`: those of the plan, in order.
AnswerPage step_page(const StepAnswer& answer, std::span<const StagePicture> stages);
// The result needs the times of nodes for its memory over the step.
AnswerPage simulation_page(const SimulationView& view);
// With an explanation.
AnswerPage plan_page(const PlanView& view, std::string title);
// Each measured op beside what the others of the table say of it: how far times between measurements can be trusted.
AnswerPage calibration_page(const CalibrationAnswer& answer);

// Errors: those of AtomicFile.
void write_answer_page(const AnswerPage& page, const std::filesystem::path& path, Overwrite overwrite);

}  // namespace nadi::inline show
