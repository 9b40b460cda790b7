// One event of a Chrome trace, with uninterpreted values: one field for each name of the format. All texts
// point into the record and are valid as long as it is.
#pragma once

#include <cstdint>
#include <string_view>

#include "nadi/pytorch/event_args.h"
#include "nadi/pytorch/json_tokens.h"
#include "nadi/pytorch/record_place.h"

namespace nadi::inline traces {

// A process or a thread: a number, or a text.
struct EventLaneName {
  std::string_view text = {};  // the number as it stands there, or the content of the text
  bool is_number = true;
};

struct KinetoEvent {
  char phase = 0;  // "ph"; 0 where it is missing or longer than a character
  std::string_view category = {};
  std::string_view name = {};
  EventLaneName process = {};
  EventLaneName thread = {};
  // As they stand there; empty where they are missing.
  std::string_view start = {};
  std::string_view duration = {};
  EventArgValues args = {};
};

// Whether rows, names of lanes or counts need more of an event than its phase.
constexpr bool has_use(char phase) {
  return phase == 'X' || phase == 'B' || phase == 'E' || phase == 'M';
}

// Reads an event up to its end, or up to its phase if has_use() is false for it. Of a name that is given
// twice the last counts.
void read_kineto_event(JsonTokens tokens, const RecordPlace& place, EventArgs& args, KinetoEvent& event);

}  // namespace nadi::inline traces
