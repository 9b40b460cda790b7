// Writes timelines with known events as pages, for tests in a browser: sample_timelines FOLDER
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include "nadi/draw/timeline_page.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kOrigin =
    1'700'000'000'000'000'000;  // of the clock: far past what a double holds exactly
constexpr std::int64_t us = 1000;

// Two ranks with a host thread (calls within calls), a stream and communication; all times are round.
TimelineView two_ranks() {
  TimelineView view;
  view.title = "two ranks";
  view.subtitle = "known events";
  view.notes = {"Starts are made up."};
  view.marks = {{.time = kOrigin, .name = "step 0"}, {.time = kOrigin + 1000 * us, .name = "step 1"}};
  const std::uint32_t bytes = view.number_column("bytes", "B");
  const std::uint32_t flops = view.number_column("FLOPs", "FLOP");
  TimelineEventRef reductions[2] = {};
  TimelineEventRef last_kernel = {};
  for (int rank = 0; rank < 2; ++rank) {
    const std::uint32_t group = view.add_group("rank " + std::to_string(rank));
    const std::uint32_t host = view.add_lane({.name = "thread 1", .group = group});
    const std::uint32_t stream = view.add_lane({.name = "stream 7", .group = group});
    const std::uint32_t network = view.add_lane({.name = "communication", .group = group});
    for (int step = 0; step < 2; ++step) {
      const std::int64_t begin = kOrigin + step * 1000 * us + rank * 10 * us;
      view.add(host,
               {.start = begin, .duration = 800 * us, .label = view.label("forward", TimelineKind::kHost)});
      for (int layer = 0; layer < 4; ++layer) {
        const std::int64_t at = begin + layer * 200 * us;
        const TimelineEventRef call = view.add(
            host, {.start = at, .duration = 100 * us, .label = view.label("aten::mm", TimelineKind::kHost)});
        const TimelineNumber figures[] = {{.column = bytes, .value = 3 << 20},
                                          {.column = flops, .value = 8'000'000'000}};
        const TimelineEventRef kernel = view.add(
            stream, {.start = at + 50 * us,
                     .duration = 150 * us,
                     .label = view.label("gemm_bf16_128x128", TimelineKind::kCompute),
                     .detail = view.detail({{"shapes", "[512, 768] x [768, 3072]"}, {"layer", "h.0.mlp"}}),
                     .numbers = figures});
        view.link(call, kernel, TimelineLinkKind::kLaunch);
        if (layer > 0) view.link(last_kernel, kernel, TimelineLinkKind::kDependency);
        last_kernel = kernel;
      }
      view.add(stream, {.start = begin + 850 * us,
                        .duration = 40 * us,
                        .label = view.label("Memcpy DtoH", TimelineKind::kMemory)});
      const TimelineEventRef reduction =
          view.add(network, {.start = begin + 800 * us,
                             .duration = 150 * us - rank * 10 * us,
                             .label = view.label("all_reduce", TimelineKind::kCommunication)});
      view.link(last_kernel, reduction, TimelineLinkKind::kCriticalPath);
      if (rank == 1) view.link(reductions[step], reduction, TimelineLinkKind::kCollective);
      reductions[step] = reduction;
    }
  }
  return view;
}

// Measured and predicted kernels in one lane.
TimelineView measured_and_predicted() {
  TimelineView view;
  view.title = "measured and predicted";
  const std::uint32_t group = view.add_group("rank 0");
  const std::uint32_t measured = view.add_lane({.name = "stream 7", .group = group});
  const std::uint32_t predicted =
      view.add_lane({.name = "stream 7", .group = group, .predicted_of = measured});
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t label =
        view.label(i % 3 == 0   ? "gemm"
                   : i % 3 == 1 ? "layer_norm"
                                : "all_reduce",
                   i % 3 == 2 ? TimelineKind::kCommunication : TimelineKind::kCompute);
    const TimelineEventRef ran = view.add(measured, {.start = i * 100, .duration = 80, .label = label});
    const TimelineEventRef expected = view.add(predicted, {.start = i * 90, .duration = 60, .label = label});
    view.link(expected, ran, TimelineLinkKind::kPrediction);
  }
  return view;
}

// A step of a pipeline with four stages and eight micro-batches, one forward and one backward in turn.
TimelineView pipeline() {
  constexpr int kStages = 4, kBatches = 8;
  constexpr std::int64_t kForward = 100 * us, kBackward = 200 * us;
  TimelineView view;
  view.title = "1F1B, 4 stages, 8 micro-batches";
  view.pipeline = true;
  const std::uint32_t stages = view.add_group("stages");
  const std::uint32_t others = view.add_group("reductions and optimizer");
  std::int64_t forward_end[kStages][kBatches] = {}, backward_end[kStages][kBatches] = {};
  std::int64_t free[kStages] = {};
  int forwards[kStages] = {}, backwards[kStages] = {};
  std::uint32_t lanes[kStages] = {};
  for (int stage = 0; stage < kStages; ++stage)
    lanes[stage] = view.add_lane({.name = "stage " + std::to_string(stage), .group = stages});
  std::int64_t bubbles[kStages] = {};
  const auto box = [&](int stage, bool forward, int batch, std::int64_t start) {
    const std::int64_t length = forward ? kForward : kBackward;
    if (start > free[stage]) {
      view.add(lanes[stage], {.start = free[stage],
                              .duration = start - free[stage],
                              .label = view.label("bubble", TimelineKind::kBubble)});
      bubbles[stage] += start - free[stage];
    }
    view.add(lanes[stage], {.start = start,
                            .duration = length,
                            .label = view.label(forward ? "forward" : "backward",
                                                forward ? TimelineKind::kForward : TimelineKind::kBackward),
                            .micro_batch = batch});
    free[stage] = start + length;
    (forward ? forward_end : backward_end)[stage][batch] = free[stage];
  };
  for (bool more = true; more;) {
    more = false;
    for (int stage = 0; stage < kStages; ++stage) {
      const int warm_up = std::min(kStages - stage, kBatches);
      const bool next_is_forward =
          forwards[stage] < kBatches &&
          (forwards[stage] < warm_up || forwards[stage] - backwards[stage] < warm_up);
      if (next_is_forward) {
        const int batch = forwards[stage];
        if (stage > 0 && forward_end[stage - 1][batch] == 0) continue;
        box(stage, true, batch, std::max(free[stage], stage > 0 ? forward_end[stage - 1][batch] : 0));
        ++forwards[stage];
        more = true;
      } else if (backwards[stage] < kBatches) {
        const int batch = backwards[stage];
        if (stage + 1 < kStages && backward_end[stage + 1][batch] == 0) continue;
        box(stage, false, batch,
            std::max(free[stage], stage + 1 < kStages ? backward_end[stage + 1][batch] : 0));
        ++backwards[stage];
        more = true;
      }
    }
  }
  const std::int64_t end = *std::max_element(free, free + kStages);
  for (int stage = 0; stage < kStages; ++stage) {
    if (end > free[stage]) {
      view.add(lanes[stage], {.start = free[stage],
                              .duration = end - free[stage],
                              .label = view.label("bubble", TimelineKind::kBubble)});
      bubbles[stage] += end - free[stage];
    }
    char note[40];
    std::snprintf(note, sizeof note, "bubble %.1f %%",
                  100.0 * static_cast<double>(bubbles[stage]) / static_cast<double>(end));
    view.lane(lanes[stage]).note = note;
    const std::uint32_t lane = view.add_lane({.name = "stage " + std::to_string(stage), .group = others});
    view.add(lane, {.start = end,
                    .duration = 120 * us,
                    .label = view.label("all_reduce of gradients", TimelineKind::kCommunication)});
    view.add(lane, {.start = end + 120 * us,
                    .duration = 60 * us,
                    .label = view.label("optimizer", TimelineKind::kOptimizer)});
  }
  return view;
}

// Names that try to be something else.
TimelineView hostile() {
  using namespace std::string_literals;
  const std::string names[] = {
      "</script><script>globalThis.broken = 1</script>",
      "<img src=x onerror='globalThis.broken = 1'>",
      "\"quotes\" 'and' `more` \\ ${globalThis.broken = 1}",
      std::string(10'000, 'x') + "end",
      "\xE2\x80\xAE"
      "right to left override, \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
      "control \x01\x02\x1b[31m\r\n\t and a zero: \0 after it"s,
      "not UTF-8: \xff\xfe\xc0\xaf",
      "-->]]>&lt;&#60;",
      "",
      "\xE2\x80\xA8line and paragraph\xE2\x80\xA9",
  };
  TimelineView view;
  view.title = names[0] + names[4];
  view.subtitle = names[1];
  view.notes = {names[0], names[3], names[6]};
  std::int64_t time = -500;
  for (const std::string& name : names) {
    const std::uint32_t group = view.add_group({.name = name, .note = name});
    const std::uint32_t lane = view.add_lane({.name = name, .group = group, .note = name});
    view.marks.push_back({.time = time, .name = name});
    const TimelineNumber figure{.column = view.number_column(name, name),
                                .value = std::numeric_limits<std::int64_t>::min()};
    view.add(lane, {.start = time,
                    .duration = 1000,
                    .label = view.label(name, TimelineKind::kCompute),
                    .detail = view.detail({{name, name}}),
                    .numbers = {&figure, 1}});
    time += 700;
  }
  return view;
}

// Many random events on several lanes, nested and overlapping, whose sums the test takes itself from
// `nadiTimeline`.
TimelineView random_events() {
  std::mt19937 random(5);
  TimelineView view;
  view.title = "random events";
  for (int rank = 0; rank < 4; ++rank) {
    const std::uint32_t group = view.add_group("rank " + std::to_string(rank));
    for (int stream = 0; stream < 3; ++stream) {
      const std::uint32_t lane = view.add_lane({.name = "stream " + std::to_string(stream), .group = group});
      for (int i = 0; i < 4000; ++i)
        view.add(lane, {.start = static_cast<std::int64_t>(random() % 10'000'000),
                        .duration = static_cast<std::int64_t>(random() % 1500),
                        .label = view.label("op " + std::to_string(random() % 30),
                                            static_cast<TimelineKind>(random() % 4))});
    }
  }
  return view;
}

// Sixteen ranks of a simulated step: all but rank 3 do the same at the same times, and names are long.
TimelineView replicas() {
  TimelineView view;
  view.title = "sixteen replicas";
  for (int rank = 0; rank < 16; ++rank) {
    const std::uint32_t group =
        view.add_group("rank " + std::to_string(rank) + ", stage 0, tensor-parallel rank 0 of 1");
    const std::uint32_t lane = view.add_lane({.name = "computation of the stage", .group = group});
    const std::uint32_t network = view.add_lane({.name = "communication", .group = group});
    for (int i = 0; i < 5; ++i)
      view.add(lane, {.start = i * 100 * us,
                      .duration = (rank == 3 ? 95 : 90) * us,
                      .label = view.label("layer " + std::to_string(i), TimelineKind::kCompute)});
    view.add(network, {.start = 500 * us,
                       .duration = 60 * us,
                       .label = view.label("all_reduce", TimelineKind::kCommunication)});
  }
  return view;
}

int write_samples(const fs::path& folder) {
  fs::create_directories(folder);
  write_timeline_page(two_ranks(), folder / "two_ranks.html", Overwrite::kAllow);
  write_timeline_page(measured_and_predicted(), folder / "predicted.html", Overwrite::kAllow);
  write_timeline_page(pipeline(), folder / "pipeline.html", Overwrite::kAllow);
  write_timeline_page(hostile(), folder / "hostile.html", Overwrite::kAllow);
  write_timeline_page(random_events(), folder / "random.html", Overwrite::kAllow);
  write_timeline_page(replicas(), folder / "replicas.html", Overwrite::kAllow);
  write_timeline_page(TimelineView{}, folder / "empty.html", Overwrite::kAllow);
  return 0;
}

}  // namespace
}  // namespace nadi

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: sample_timelines FOLDER\n");
    return 2;
  }
  return nadi::write_samples(arguments[1]);
}
