#include "nadi/pytorch/kineto_lanes.h"

#include "nadi/base/hash.h"

namespace nadi::inline traces {

namespace {

// -1 is taken: Kineto writes it for streams that it does not know.
constexpr std::int64_t kFirstText = -2;

constexpr std::int64_t kMapEntry = 128;  // of any of the maps, with what the heap adds

}  // namespace

std::size_t KinetoLanes::KeyHash::operator()(const Key& key) const {
  const auto process = static_cast<std::uint64_t>(key.place.process);
  const auto thread = static_cast<std::uint64_t>(key.place.thread);
  return hash_with(hash_with(process, thread), key.device ? 1 : 0);
}

std::int64_t KinetoLanes::number(std::string_view text) {
  const auto known = texts_.find(text);
  if (known != texts_.end()) return known->second;
  const std::int64_t number = kFirstText - static_cast<std::int64_t>(texts_.size());
  texts_.emplace(std::string(text), number);
  memory_ += kMapEntry + static_cast<std::int64_t>(text.size());
  return number;
}

std::uint32_t KinetoLanes::look_up(const Key& key, const LanePlace& named) {
  const auto [entry, is_new] = lanes_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
  if (is_new) {
    keys_.push_back(key);
    named_.push_back(named);
    memory_ += kMapEntry;
  }
  last_ = entry->second;
  return last_;
}

void KinetoLanes::name_thread(const LanePlace& place, std::string_view name) {
  thread_names_[place] = std::string(name);
  memory_ += kMapEntry + static_cast<std::int64_t>(name.size());
}

void KinetoLanes::name_process(std::int64_t process, std::string_view name) {
  process_names_[process] = std::string(name);
  memory_ += kMapEntry + static_cast<std::int64_t>(name.size());
}

std::int64_t KinetoLanes::memory_of_lanes() const {
  std::size_t memory = keys_.size() * sizeof(KinetoLane);
  for (const LanePlace& named : named_) {
    if (const auto name = thread_names_.find(named); name != thread_names_.end())
      memory += name->second.size();
    if (const auto name = process_names_.find(named.process); name != process_names_.end())
      memory += name->second.size();
  }
  return static_cast<std::int64_t>(memory);
}

std::vector<KinetoLane> KinetoLanes::finish() {
  std::vector<KinetoLane> lanes;
  lanes.reserve(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    KinetoLane& lane = lanes.emplace_back();
    lane.process = keys_[i].place.process;
    lane.thread = keys_[i].place.thread;
    lane.device = keys_[i].device;
    if (const auto name = thread_names_.find(named_[i]); name != thread_names_.end())
      lane.name = name->second;
    if (const auto name = process_names_.find(named_[i].process); name != process_names_.end())
      lane.process_name = name->second;
  }
  return lanes;
}

}  // namespace nadi::inline traces
