#include "nadi/pytorch/kineto_event.h"

#include "nadi/base/error.h"

namespace nadi::inline traces {

namespace {

enum class Field : std::uint8_t {
  kPhase,
  kCategory,
  kName,
  kProcess,
  kThread,
  kStart,
  kDuration,
  kArgs,
  kOther
};

Field field_of(std::string_view key) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return Field::kPhase;
      return key == "ts" ? Field::kStart : Field::kOther;
    case 3:
      if (key == "cat") return Field::kCategory;
      if (key == "pid") return Field::kProcess;
      if (key == "tid") return Field::kThread;
      return key == "dur" ? Field::kDuration : Field::kOther;
    case 4:
      if (key == "name") return Field::kName;
      return key == "args" ? Field::kArgs : Field::kOther;
    default:
      return Field::kOther;
  }
}

char phase_of(std::string_view token) {
  return token.size() >= 3 && token[0] == '"' && token[2] == '"' ? token[1] : '\0';
}

EventLaneName take_lane_name(JsonTokens& tokens, JsonTexts& texts) {
  if (tokens.front() == '"') return {.text = texts.take_content(tokens), .is_number = false};
  return {.text = tokens.take_scalar(), .is_number = true};
}

}  // namespace

void read_kineto_event(JsonTokens tokens, const RecordPlace& place, EventArgs& args, KinetoEvent& event) {
  event.phase = 0;
  event.category = {};
  event.name = {};
  event.process = {};
  event.thread = {};
  event.start = {};
  event.duration = {};
  args.begin(event.args);
  JsonTexts& texts = args.texts();
  texts.begin_record();
  for (bool more = tokens.enter('{'); more; more = tokens.next('}')) {
    const std::string_view key = tokens.key();
    Field field = field_of(key);
    // Escapes can spell any name.
    if (field == Field::kOther && key.find('\\') != std::string_view::npos) [[unlikely]]
      field = field_of(texts.unescaped(key));
    switch (field) {
      case Field::kPhase:
        event.phase = phase_of(tokens.take_scalar());
        if (!has_use(event.phase)) return;
        break;
      case Field::kCategory:
        event.category = texts.take_content(tokens);
        break;
      case Field::kName:
        event.name = texts.take_content(tokens);
        break;
      case Field::kProcess:
        event.process = take_lane_name(tokens, texts);
        break;
      case Field::kThread:
        event.thread = take_lane_name(tokens, texts);
        break;
      case Field::kStart:
        event.start = tokens.take_scalar();
        break;
      case Field::kDuration:
        event.duration = tokens.take_scalar();
        break;
      case Field::kArgs:
        args.begin(event.args);
        if (tokens.front() == '{') {
          args.read(tokens, event.args);
        } else if (const char* here = tokens.here(); without_space(tokens.take_scalar()) != "null") {
          place.fail(here, "args is not an object");
        }
        break;
      case Field::kOther:
        tokens.skip();
        break;
    }
  }
}

}  // namespace nadi::inline traces
