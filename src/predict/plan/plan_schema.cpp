#include "nadi/base/embedded_file.h"
#include "nadi/plan/plan_file.h"

namespace nadi::inline predict {

std::span<const EmbeddedFile> plan_share_files();

std::string_view plan_schema() {
  return embedded_text(plan_share_files(), "plan.schema");
}

}  // namespace nadi::inline predict
