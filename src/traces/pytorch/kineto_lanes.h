// The lanes of a Kineto trace as they come up: threads of processes, and streams of devices.
//
//   KinetoLanes lanes;
//   const std::uint32_t lane = lanes.lane({.process = 402, .thread = 451});
//   lanes.name_thread({.process = 402, .thread = 451}, "thread 451 (python3)");   // before or after
//   trace.lanes = lanes.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

// What an event calls its process and thread.
struct LanePlace {
  std::int64_t process = 0;
  std::int64_t thread = 0;

  friend auto operator<=>(const LanePlace&, const LanePlace&) = default;
};

class KinetoLanes {
 public:
  // The number that stands for a process or thread whose name is a text: -2, -3, ...
  std::int64_t number(std::string_view text);

  // The lane of a host event.
  std::uint32_t lane(const LanePlace& place) { return find({.place = place, .device = false}, place); }
  // The lane of a device event; `place` is what metadata events call it.
  std::uint32_t stream(std::int64_t device, std::int64_t stream, const LanePlace& place) {
    return find({.place = {.process = device, .thread = stream}, .device = true}, place);
  }

  void name_thread(const LanePlace& place, std::string_view name);
  void name_process(std::int64_t process, std::string_view name);

  // Memory in use, and what finish() is going to make: lanes of one process repeat its name.
  std::int64_t memory() const { return memory_; }
  std::int64_t memory_of_lanes() const;

  // All lanes with their names. To be called once.
  std::vector<KinetoLane> finish();

 private:
  struct Key {
    LanePlace place;
    bool device = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::uint32_t find(const Key& key, const LanePlace& named) {
    if (!keys_.empty() && keys_[last_] == key) return last_;
    return look_up(key, named);
  }
  std::uint32_t look_up(const Key& key, const LanePlace& named);

  std::vector<Key> keys_;         // by lane
  std::vector<LanePlace> named_;  // by lane: what metadata events call it
  std::unordered_map<Key, std::uint32_t, KeyHash> lanes_;
  std::uint32_t last_ = 0;
  std::map<std::string, std::int64_t, std::less<>> texts_;
  std::map<LanePlace, std::string> thread_names_;
  std::map<std::int64_t, std::string> process_names_;
  std::int64_t memory_ = 0;
};

}  // namespace nadi::inline traces
