#include "nadi/draw/job_page.h"

#include <optional>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/draw/html_page.h"
#include "nadi/draw/timeline_page.h"
#include "nadi/job_report/job_report.h"
#include "nadi/job_report/job_report_json.h"

namespace nadi::inline show {

Bytes write_job_page(const JobPage& page, const std::filesystem::path& path, Overwrite overwrite) {
  check(page.report != nullptr, "a page without a report");
  const JobReport& report = *page.report;
  // A report whose model is unknown has the job in its title.
  const std::string title =
      report.split.model.empty() ? report.title : format("{}, job {}", report.title, report.id);
  std::string subtitle =
      report.steady.lines > 0 ? format("{} per iteration", to_string(report.steady.mean)) : "";
  if (page.compared_with != nullptr)
    subtitle += format("{}compared with job {}", subtitle.empty() ? "" : "; ", page.compared_with->id);
  std::optional<TimelineBlocks> timeline;
  if (page.timeline != nullptr) timeline.emplace(*page.timeline);
  HtmlPage html(path, overwrite, job_bundle(), title);
  html.head(dump_json({{"title", title},
                       {"subtitle", subtitle},
                       {"timeline", timeline ? Json::parse(timeline->head()) : Json(nullptr)}}));
  html.block("job", job_report_json(report, {.compared_with = page.compared_with, .indent = false}));
  if (timeline) timeline->write(html);
  html.commit();
  return html.size();
}

}  // namespace nadi::inline show
