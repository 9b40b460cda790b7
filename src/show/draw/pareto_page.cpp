#include "nadi/draw/pareto_page.h"

#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/draw/html_page.h"

namespace nadi::inline show {

std::string pareto_page_data(const ParetoPage& page) {
  Json points = Json::array();
  for (const ParetoPoint& point : page.points)
    points.push_back({{"front", point.on_front},
                      {"estimated_ns", point.estimated.count()},
                      {"simulated_ns", point.simulated ? Json(point.simulated->count()) : Json(nullptr)},
                      {"dollars_per_step", point.dollars_per_step},
                      {"dollars_per_million_tokens", point.dollars_per_million_tokens},
                      {"dollars_per_hour", point.dollars_per_hour},
                      {"samples_per_second", point.samples_per_second},
                      {"devices", point.devices},
                      {"memory_bytes", point.memory.count()},
                      {"capacity_bytes", point.capacity.count()},
                      {"nodes", point.nodes},
                      {"summary", point.summary},
                      {"flags", point.flags}});
  const Json data{{"nadi_version", version()}, {"note", page.note}, {"points", std::move(points)}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_pareto_page(const ParetoPage& page, const std::filesystem::path& path, Overwrite overwrite) {
  HtmlPage html(path, overwrite, pareto_bundle(), page.title);
  html.head(dump_json({{"title", page.title}, {"subtitle", page.subtitle}}));
  html.block("plans", pareto_page_data(page));
  html.commit();
}

}  // namespace nadi::inline show
