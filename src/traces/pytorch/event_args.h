// Reads the `args` of a Kineto event: values with a column of their own in a KinetoTrace, the texts of its
// tensors, and all other args as attributes.
//
//   EventArgs args(trace, place, {});
//   EventArgValues values;
//   args.begin(values);
//   args.read(tokens, values);
//   trace.add(InternedNode{..., .inputs = values.inputs, .attributes = values.attributes});
//
// Events of a kind have the same args in the same order. So the name of an arg is first compared with the
// one that followed its neighbour last time, and looked up only when it differs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/pytorch/json_number.h"
#include "nadi/pytorch/json_texts.h"
#include "nadi/pytorch/json_tokens.h"
#include "nadi/trace/string_table.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

struct EventArgsOptions {
  bool all = true;          // false means only what has a column, and what linking asks for
  bool non_finite = false;  // NaN and infinities, which JSON does not have, are numbers, too
};

// What one event says.
struct EventArgValues {
  std::uint64_t correlation = 0;
  std::uint64_t external_id = 0;
  std::uint64_t record_function = 0;
  std::optional<std::int64_t> device = {};
  std::optional<std::int64_t> stream = {};
  InternedIo inputs = {};
  std::vector<InternedAttribute> attributes = {};
  std::vector<std::uint32_t> names = {};  // of each attribute: the number of its name among all args

  void clear();
  // What an event says at its end counts beside, and in case of doubt instead of, what it said at its begin.
  void merge(const EventArgValues& later);
};

class EventArgs {
 public:
  // The trace and the place must outlive this; texts and attributes go into the trace.
  EventArgs(Trace& trace, const RecordPlace& place, const EventArgsOptions& options);

  // Forgets what `values` has, for another event. What follows is about these values until the next call.
  void begin(EventArgValues& values);
  // Adds what is in the object that begins here; of an arg that is given twice the last counts.
  void read(JsonTokens& tokens, EventArgValues& values);
  // Adds a string attribute that is no arg.
  void add_text(std::string_view name, std::uint32_t text, EventArgValues& values);

  // The value of a string among them.
  std::optional<std::string_view> find_text(std::string_view name, const EventArgValues& values) const;

  JsonTexts& texts() { return texts_; }

 private:
  // What an arg of a certain name is for.
  enum class Role : std::uint8_t {
    kAttribute,
    kPassedOver,
    kCorrelation,
    kExternalId,
    kRecordFunction,
    kDevice,  // an attribute, too
    kStream,  // an attribute, too
    kInputValues,
    kInputShapes,
    kInputTypes,
  };
  struct RoleName;
  static const RoleName kRoles[];
  // How an attribute's value is kept: one key of the trace for each.
  enum Kind : std::uint8_t { kNull, kBool, kInt64, kUint64, kDouble, kString, kInt64List, kKinds };
  struct Arg {
    std::string raw;             // the name as it stands in the file
    std::uint32_t text = 0;      // the name in the trace
    std::uint32_t number = 0;    // of the name in names_: escapes can spell one in many ways
    std::uint32_t follower = 0;  // the arg that came after this one last time
    Role role = Role::kAttribute;
    std::array<std::optional<TraceKey>, kKinds> keys = {};
  };

  // Where an attribute of that name stands in the values of this event.
  struct Position {
    std::uint64_t event = 0;
    std::size_t at = 0;
  };

  std::uint32_t find(std::string_view raw, std::uint32_t guess) {
    return args_[guess].raw == raw ? guess : look_up(raw);
  }
  std::uint32_t look_up(std::string_view raw);
  void take(std::uint32_t index, JsonTokens& tokens, EventArgValues& values);
  void take_id(std::uint32_t index, JsonTokens& tokens, std::uint64_t& id, EventArgValues& values);
  void take_place(std::uint32_t index, JsonTokens& tokens, std::optional<std::int64_t>& place,
                  EventArgValues& values);
  void take_attribute(std::uint32_t index, JsonTokens& tokens, EventArgValues& values);
  void put_scalar(std::uint32_t index, std::string_view scalar, const JsonNumber& number,
                  EventArgValues& values);
  void put(std::uint32_t index, Kind kind, std::uint64_t payload, EventArgValues& values);
  void forget(std::uint32_t number, EventArgValues& values);

  Trace* trace_;
  const RecordPlace* place_;
  EventArgsOptions options_;
  JsonTexts texts_;
  StringTable raw_names_;  // as they stand in the file; the number of a name is its place in args_
  std::vector<Arg> args_;  // the first one, without a name, stands before the first arg of an event
  StringTable names_;
  std::vector<Position> positions_;  // by number of the name
  std::uint64_t event_ = 0;          // counts begin()
  std::size_t forgotten_ = 0;        // attributes that are still there and do not count
};

}  // namespace nadi::inline traces
