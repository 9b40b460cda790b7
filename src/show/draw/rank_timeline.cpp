#include "nadi/draw/rank_timeline.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/hash.h"
#include "nadi/base/natural_order.h"
#include "nadi/base/shorten.h"
#include "nadi/draw/activity_kind.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kLongestShapes = 300;  // characters of the panel
constexpr std::size_t kMostParents = 4;      // arrows to an event
// A gap shorter than this part of the rank's span cannot be seen before the reader zooms in, and lies between
// two kernels.
constexpr std::int64_t kGapsPerSpan = 20'000;
// In longer traces arrows along a lane, from each event to the next, are left out: they are most of all.
constexpr std::uint32_t kEventsWithAllArrows = 50'000;

enum WantedAttribute { kMicroBatchAttribute, kCategoryAttribute, kGridAttribute, kBlockAttribute };
constexpr std::array<std::pair<std::string_view, int>, 4> kWantedAttributes = {
    {{"micro_batch", kMicroBatchAttribute},
     {"category", kCategoryAttribute},
     {"grid", kGridAttribute},
     {"block", kBlockAttribute}}};

// The number at the end of a lane's name: "7" of "stream 7".
std::string_view number_in(std::string_view name) {
  const std::size_t space = name.rfind(' ');
  return space == std::string_view::npos ? std::string_view{} : name.substr(space + 1);
}

}  // namespace

void CallEvents::sort() {
  std::ranges::sort(events_, {}, &std::pair<std::uint32_t, TimelineEventRef>::first);
}

const TimelineEventRef* CallEvents::find(std::uint32_t row) const {
  const auto at =
      std::ranges::lower_bound(events_, row, {}, &std::pair<std::uint32_t, TimelineEventRef>::first);
  return at != events_.end() && at->first == row ? &at->second : nullptr;
}

std::size_t RankTimeline::DetailKeyHash::operator()(const DetailKey& key) const {
  std::uint64_t hash = 0;
  for (const void* text : key.texts) hash = hash_with(hash, reinterpret_cast<std::uintptr_t>(text));
  for (const std::uint32_t number : key.numbers) hash = hash_with(hash, number);
  return hash;
}

RankTimeline::RankTimeline(TimelineFilling& filling, const Timeline& timeline, std::int64_t rank,
                           Nanoseconds clock_offset)
    : filling_(filling),
      view_(filling.view),
      timeline_(timeline),
      trace_(timeline.trace()),
      rank_(rank),
      offset_(clock_offset),
      indices_(timeline.size(), kNoRow),
      gap_name_(trace_.text_number("host gap")),
      bytes_column_(view_.number_column("bytes", "B")),
      work_column_(view_.number_column("work", "FLOP")),
      peer_column_(view_.number_column("peer")),
      tag_column_(view_.number_column("tag")) {
  for (const auto& [name, what] : kWantedAttributes)
    if (const auto number = trace_.text_number(name)) wanted_.emplace_back(trace_.text(*number).data(), what);
  for (std::vector<std::uint32_t>& labels : label_numbers_) labels.assign(trace_.text_count(), kNoRow);
}

Nanoseconds RankTimeline::end(std::uint32_t row) const {
  const Nanoseconds end =
      timeline_.activity(row) == Activity::kHost ? timeline_.inclusive_end(row) : timeline_.end(row);
  return end + offset_;
}

bool RankTimeline::is_shown(std::uint32_t row) const {
  const TimelineSelection& selection = filling_.selection;
  if (!selection.steps.is_all()) {
    const std::optional<std::int64_t> step = timeline_.step(row);
    if (!step || !selection.steps.contains(*step)) return false;
  }
  if (selection.from && end(row) < *filling_.window_start + *selection.from) return false;
  return !selection.to || start(row) <= *filling_.window_start + *selection.to;
}

// Time of a thread in which nothing was recorded: a node of conversions, not an event.
bool RankTimeline::is_unrecorded(std::uint32_t row) const {
  if (!gap_name_ || trace_.name_number(row) != *gap_name_) return false;
  const std::optional<TraceAttribute> category = trace_.find_attribute(row, "category");
  return category && category->string() == "host_gap";
}

bool RankTimeline::is_lane_shown(const Lane& lane) {
  filling_.lanes_seen.insert(lane.name);
  const std::vector<std::string>& streams = filling_.selection.streams;
  bool shown = streams.empty();
  for (const std::string& word : streams) {
    if (word != (lane.host ? "host" : "device") && word != lane.name && word != number_in(lane.name))
      continue;
    filling_.streams_found.insert(word);
    shown = true;
  }
  return shown;
}

void RankTimeline::fill(TimelineRankSummary& summary, TimelineSummary& all) {
  group_ = view_.add_group(format("rank {}", rank_));
  const std::vector<Lane>& lanes = timeline_.lanes();
  if (!filling_.window_start)
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane)
      for (const std::uint32_t row :
           timeline_.rows_of(lane).first(std::min<std::size_t>(1, timeline_.rows_of(lane).size())))
        filling_.window_start = std::min(filling_.window_start.value_or(start(row)), start(row));
  std::vector<std::uint32_t> order(lanes.size());
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) order[lane] = lane;
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (lanes[a].host != lanes[b].host) return lanes[b].host;
    const bool computes_a = lanes[a].name.starts_with("compute"),
               computes_b = lanes[b].name.starts_with("compute");
    if (computes_a != computes_b) return computes_a;
    return natural_less(lanes[a].name, lanes[b].name);
  });
  view_lanes_.assign(lanes.size(), kNoLane);
  bool idle_added = false;
  for (const std::uint32_t lane : order) {
    if (lanes[lane].host && !std::exchange(idle_added, true)) add_idle(summary);
    const bool shown = is_lane_shown(lanes[lane]);
    std::uint32_t view_lane = kNoLane;
    for (const std::uint32_t row : timeline_.rows_of(lane)) {
      if (is_unrecorded(row)) continue;
      if (!is_shown(row)) {
        ++all.left_out;
        continue;
      }
      if (is_device(timeline_.activity(row))) busy_.push_back({start(row), end(row)});
      if (!shown) {
        ++all.left_out;
        continue;
      }
      if (view_lane == kNoLane) {
        view_lane = view_.add_lane({.name = lanes[lane].name, .group = group_});
        view_lanes_[lane] = view_lane;
        ++summary.lanes;
      }
      add_event(row, view_lane, summary);
    }
  }
  if (!idle_added) add_idle(summary);
  link_launches(all);
  link_dependencies(all);
  call_events_.sort();
}

RankTimeline::Facts RankTimeline::facts_of(std::uint32_t row) const {
  Facts facts;
  if (wanted_.empty()) return facts;
  for (std::size_t i = trace_.attribute_count(row); i-- > 0;) {
    const TraceAttribute attribute = trace_.attribute(row, i);
    for (const auto& [name, what] : wanted_) {
      if (name != attribute.name.data()) continue;
      if (what == kMicroBatchAttribute) {
        const std::int64_t number = attribute.integer().value_or(kNoMicroBatch);
        constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
        facts.micro_batch =
            number >= 0 && number <= kMost ? static_cast<std::int32_t>(number) : kNoMicroBatch;
      } else {
        const std::string_view text = attribute.string().value_or("");
        (what == kCategoryAttribute ? facts.category
         : what == kGridAttribute   ? facts.grid
                                    : facts.block) = text;
      }
    }
  }
  return facts;
}

std::uint32_t RankTimeline::label_of(std::uint32_t row) {
  const Activity activity = timeline_.activity(row);
  const std::uint32_t name = trace_.name_number(row);
  std::uint32_t& number = label_numbers_[static_cast<std::size_t>(activity)][name];
  if (number == kNoRow) number = view_.label(trace_.text(name), kind_of(activity));
  return number;
}

const Communication* RankTimeline::communication_of(std::uint32_t row) const {
  const std::span<const Communication> all = timeline_.communications();
  const auto at = std::ranges::lower_bound(all, row, {}, &Communication::row);
  return at != all.end() && at->row == row ? &*at : nullptr;
}

// Texts of a trace are kept once each, so that their addresses tell them apart.
std::uint32_t RankTimeline::detail_of(std::uint32_t row, const Facts& facts,
                                      const Communication* communication) {
  const IoInfo outputs = trace_.outputs(row);
  IoInfo inputs = trace_.inputs(row);
  // A kernel has the tensors of the op that launched it.
  const std::uint32_t op = is_device(timeline_.activity(row)) ? timeline_.enclosing(row) : kNoRow;
  if (op != kNoRow && inputs.empty()) inputs = trace_.inputs(op);
  const std::uint32_t kind = communication == nullptr ? 0
                             : communication->collective
                                 ? 1 + static_cast<std::uint32_t>(*communication->collective)
                                 : 100 + static_cast<std::uint32_t>(communication->type);
  const DetailKey key{{inputs.shapes.data(), inputs.types.data(), outputs.shapes.data(),
                       facts.category.data(), facts.grid.data(), facts.block.data()},
                      {timeline_.phase(row), timeline_.layer(row), op == kNoRow ? 0 : trace_.name_number(op),
                       communication != nullptr ? communication->group : 0, kind}};
  const auto [entry, is_new] = details_.try_emplace(key, 0);
  if (!is_new) return entry->second;
  const std::string shapes = shorten_middle(inputs.shapes, kLongestShapes);
  const std::string types = shorten_middle(inputs.types, kLongestShapes);
  const std::string made = shorten_middle(outputs.shapes, kLongestShapes);
  std::vector<std::pair<std::string_view, std::string_view>> texts;
  const auto put = [&texts](std::string_view name, std::string_view text) {
    if (!text.empty() && text != "[]") texts.emplace_back(name, text);
  };
  put("layer", timeline_.text(timeline_.layer(row)));
  put("phase", timeline_.text(timeline_.phase(row)));
  if (communication != nullptr) {
    put("collective", communication->type == NodeType::kCommColl ? kind_of(*communication) : "");
    put("group", timeline_.text(communication->group));
  }
  if (op != kNoRow) put("op", trace_.name(op));
  put("inputs", shapes);
  put("types", types);
  put("outputs", made);
  put("category", facts.category);
  put("grid", facts.grid);
  put("block", facts.block);
  return entry->second = view_.detail(texts);
}

void RankTimeline::add_event(std::uint32_t row, std::uint32_t view_lane, TimelineRankSummary& summary) {
  const Activity activity = timeline_.activity(row);
  const Facts facts = facts_of(row);
  const Communication* communication = activity == Activity::kCommunication ? communication_of(row) : nullptr;
  const Nanoseconds begins = start(row);
  const Nanoseconds duration = end(row) - begins;
  std::array<TimelineNumber, 4> numbers;
  std::size_t count = 0;
  const auto put = [&](std::uint32_t column, std::int64_t value) { numbers[count++] = {column, value}; };
  const std::optional<Bytes> bytes =
      communication != nullptr && communication->size ? communication->size : timeline_.tensor_size(row);
  if (bytes && bytes->count() > 1) put(bytes_column_, bytes->count());
  // One op stands for none: common_attributes.h.
  if (const auto work = timeline_.num_ops(row); work && work->count() > 1) put(work_column_, work->count());
  if (communication != nullptr && communication->peer) put(peer_column_, *communication->peer);
  if (communication != nullptr && communication->tag) put(tag_column_, *communication->tag);
  const TimelineEventRef event = view_.add(view_lane, {.start = begins.count(),
                                                       .duration = duration.count(),
                                                       .label = label_of(row),
                                                       .detail = detail_of(row, facts, communication),
                                                       .micro_batch = facts.micro_batch,
                                                       .numbers = std::span(numbers).first(count)});
  indices_[row] = event.index;
  if (communication != nullptr) call_events_.put(row, event);
  if (const auto step = timeline_.step(row)) {
    const auto [known, is_new] = filling_.step_starts.try_emplace(*step, begins);
    if (!is_new) known->second = std::min(known->second, begins);
  }
  ++summary.events;
  switch (activity) {
    case Activity::kHost:
      summary.host += timeline_.duration(row);
      break;
    case Activity::kCompute:
      summary.compute += duration;
      break;
    case Activity::kCommunication:
      summary.communication += duration;
      break;
    case Activity::kMemory:
      summary.memory += duration;
      break;
    case Activity::kNone:
      break;
  }
}

void RankTimeline::add_idle(TimelineRankSummary& summary) {
  const Intervals busy = merged(std::move(busy_));
  if (busy.empty()) return;
  summary.span = busy.back().end - busy.front().start;
  summary.idle = summary.span - length(busy);
  if (summary.span.count() == 0) return;
  const double share = static_cast<double>(summary.idle.count()) / static_cast<double>(summary.span.count());
  view_.group(group_).note = format("idle {:.1f}% of {}", 100 * share, to_string(summary.span));
  if (!filling_.selection.streams.empty()) return;
  const Nanoseconds shown{std::max<std::int64_t>(summary.span.count() / kGapsPerSpan, 1)};
  std::optional<std::uint32_t> lane;
  for (std::size_t i = 1; i < busy.size(); ++i) {
    const Nanoseconds gap = busy[i].start - busy[i - 1].end;
    if (gap < shown) continue;
    if (!lane)
      lane = view_.add_lane({.name = "idle",
                             .group = group_,
                             .note = format("{:.1f}%, gaps from {} on", 100 * share, to_string(shown))});
    view_.add(*lane, {.start = busy[i - 1].end.count(),
                      .duration = gap.count(),
                      .label = view_.label("idle", TimelineKind::kIdle)});
  }
}

std::optional<TimelineEventRef> RankTimeline::event_of(std::uint32_t row) const {
  if (row == kNoRow || indices_[row] == kNoRow) return std::nullopt;
  return TimelineEventRef{.lane = view_lanes_[timeline_.lane(row)], .index = indices_[row]};
}

void RankTimeline::link_launches(TimelineSummary& all) {
  for (std::uint32_t row = 0; row < timeline_.size(); ++row) {
    if (indices_[row] == kNoRow || !is_device(timeline_.activity(row))) continue;
    const auto launch = event_of(timeline_.launch(row));
    if (!launch) continue;
    view_.link(*launch, *event_of(row), TimelineLinkKind::kLaunch);
    ++all.launches;
  }
}

void RankTimeline::link_dependencies(TimelineSummary& all) {
  const bool every_arrow = timeline_.size() <= kEventsWithAllArrows;
  std::vector<std::pair<Nanoseconds, std::uint32_t>> parents;
  for (std::uint32_t row = 0; row < timeline_.size(); ++row) {
    if (indices_[row] == kNoRow) continue;
    parents.clear();
    for (const std::uint32_t parent : timeline_.dependencies().parents(row)) {
      if (indices_[parent] == kNoRow || parent == timeline_.launch(row) || parent == timeline_.enclosing(row))
        continue;
      const bool next =
          timeline_.lane(parent) == timeline_.lane(row) && indices_[parent] + 1 == indices_[row];
      if (next && (!every_arrow || timeline_.activity(row) == Activity::kHost)) continue;
      parents.emplace_back(timeline_.end(parent), parent);
    }
    // Those that ended last held the event up.
    std::ranges::sort(parents, std::greater<>());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    if (parents.size() > kMostParents) parents.resize(kMostParents);
    for (const auto& [ended, parent] : parents) {
      view_.link(*event_of(parent), *event_of(row), TimelineLinkKind::kDependency);
      ++all.dependencies;
    }
  }
}

}  // namespace nadi::inline show
