// The front-ends of pages, as bundled into the library when it was built: script and style of each, with the
// hashes by which a page allows just these to run. Their sources are in web/.
#pragma once

#include <string_view>

namespace nadi::inline show {

struct PageBundle {
  std::string_view script;
  std::string_view script_sha256;  // hexadecimal
  std::string_view style;
  std::string_view style_sha256;
};

const PageBundle& answer_bundle();
const PageBundle& report_bundle();
const PageBundle& graph_bundle();
const PageBundle& job_bundle();
const PageBundle& pareto_bundle();
const PageBundle& timeline_bundle();
const PageBundle& tune_bundle();

}  // namespace nadi::inline show
