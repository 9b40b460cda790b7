// The traces that a question wrote, of a step or of one collective: as text and as JSON (docs/json.md has the keys).
#pragma once

#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/tracing/collective_question.h"
#include "nadi/tracing/trace_question.h"

namespace nadi::inline show {

Json written_traces_json(const TraceAnswer& answer);
void print_written_traces(const TraceAnswer& answer, std::ostream& out);

Json written_traces_json(const CollectiveAnswer& answer);
void print_written_traces(const CollectiveAnswer& answer, std::ostream& out);

}  // namespace nadi::inline show
