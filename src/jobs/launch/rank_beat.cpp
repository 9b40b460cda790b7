#include "nadi/launch/rank_beat.h"

#include <algorithm>

#include "nadi/base/json.h"
#include "nadi/comm/comm_record.h"
#include "nadi/comm/steady_time.h"
#include "nadi/parallel/rank_list.h"

namespace nadi::inline jobs {
namespace {

// Groups may have many members: requests name them by their number in the list of groups.
Json json_of(const BeatRequest& request, const RankBeat& beat) {
  const auto named = [&](const RankBeat::Group& group) { return group.members == request.group; };
  const auto group = std::ranges::find_if(beat.groups, named) - beat.groups.begin();
  Json json{{"op", request.op}, {"group", group}, {"size", request.size.count()}, {"age", request.age_s}};
  if (request.number > 0) json["number"] = request.number;
  if (request.peer >= 0) json["peer"] = request.peer;
  if (request.took_s) json["took"] = *request.took_s;
  return json;
}

BeatRequest request_of(const Json& json, const RankBeat& beat) {
  const auto group = json.at("group").get<std::size_t>();
  BeatRequest request{.op = json.at("op"),
                      .group = group < beat.groups.size() ? beat.groups[group].members : "",
                      .number = json.value("number", std::uint64_t{0}),
                      .peer = json.value("peer", -1),
                      .size = Bytes{json.at("size").get<std::int64_t>()},
                      .age_s = json.at("age")};
  if (json.contains("took")) request.took_s = json.at("took").get<double>();
  return request;
}

double seconds_of(Nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-9;
}

}  // namespace

std::string to_line(const RankBeat& beat) {
  Json json{{"rank", beat.rank},
            {"host", beat.host},
            {"pid", beat.pid},
            {"number", beat.number},
            {"idle_ms", beat.idle.count()},
            {"doing", beat.doing}};
  if (beat.at_disk) json["at_disk"] = true;
  if (!beat.blocked.empty()) json["blocked"] = beat.blocked;
  if (beat.waits) {
    json["waits"] = json_of(*beat.waits, beat);
    json["waits_s"] = beat.waits_s;
  }
  Json groups = Json::array();
  for (const RankBeat::Group& group : beat.groups)
    groups.push_back({{"members", group.members}, {"started", group.started}});
  json["groups"] = std::move(groups);
  Json last = Json::array();
  for (const BeatRequest& request : beat.last) last.push_back(json_of(request, beat));
  json["last"] = std::move(last);
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::optional<RankBeat> parse_beat(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    RankBeat beat{.rank = json.at("rank"),
                  .host = json.at("host"),
                  .pid = json.at("pid"),
                  .number = json.at("number"),
                  .idle = std::chrono::milliseconds(json.at("idle_ms").get<std::int64_t>()),
                  .at_disk = json.value("at_disk", false),
                  .doing = json.at("doing"),
                  .blocked = json.value("blocked", std::string())};
    for (const Json& group : json.at("groups"))
      beat.groups.push_back({.members = group.at("members"), .started = group.at("started")});
    if (json.contains("waits")) {
      beat.waits = request_of(json.at("waits"), beat);
      beat.waits_s = json.at("waits_s");
    }
    for (const Json& request : json.at("last")) beat.last.push_back(request_of(request, beat));
    return beat;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void add_record(RankBeat& beat, const CommRecord& record) {
  const CommRecord::Snapshot seen = record.read();
  const Nanoseconds now = steady_time();
  for (const CommRecord::Group& group : seen.groups) {
    std::vector<Rank> members = group.members;
    std::ranges::sort(members);
    beat.groups.push_back({.members = as_ranges(members), .started = group.started});
  }
  const auto told = [&](const RecordedRequest& request) {
    BeatRequest one{.op = std::string(to_string(request.op)),
                    .group = "",
                    .number = request.number,
                    .peer = request.peer,
                    .size = request.size,
                    .age_s = seconds_of(now - request.started)};
    if (const auto group = static_cast<std::size_t>(request.group); group < beat.groups.size())
      one.group = beat.groups[group].members;
    if (request.done) one.took_s = seconds_of(*request.done - request.started);
    return one;
  };
  for (const RecordedRequest& request : seen.last) beat.last.push_back(told(request));
  if (!seen.waits) return;
  beat.waits = told(seen.waits->request);
  beat.waits_s = seconds_of(now - seen.waits->since);
}

}  // namespace nadi::inline jobs
