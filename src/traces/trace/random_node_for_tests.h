// Random nodes that hold everything a node can hold: all kinds of attributes, extreme numbers, odd texts.
// The same seed gives the same nodes everywhere: only the generator's raw output is used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

class RandomNodes {
 public:
  explicit RandomNodes(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  // The next node: ids count up from 1 and dependencies are on earlier nodes, so that the whole is a trace.
  void fill(TraceNode& node) {
    node.clear();
    node.id = TraceNodeId{++last_id_};
    node.name = node.keep(text());
    node.type = static_cast<NodeType>(below(8));
    for (std::uint64_t n = below(4); n > 0 && last_id_ > 1; --n)
      node.ctrl_deps.push_back(TraceNodeId{1 + below(last_id_ - 1)});
    for (std::uint64_t n = below(4); n > 0 && last_id_ > 1; --n)
      node.data_deps.push_back(TraceNodeId{1 + below(last_id_ - 1)});
    node.start = time();
    node.duration = time();
    if (below(2) == 0) node.inputs = {node.keep(text()), node.keep(text()), node.keep(text())};
    if (below(2) == 0) node.outputs = {node.keep(text()), node.keep(text()), node.keep(text())};
    for (std::uint64_t n = below(6); n > 0; --n) add_attribute(node.attributes);
  }

  void add_attribute(TraceAttributes& attributes) {
    TraceAttribute attribute;
    const std::string name = text();
    attribute.name = name;
    const std::string doc = below(4) == 0 ? text() : "";
    attribute.doc = doc;
    const std::uint64_t kind = below(31);
    attribute.kind = static_cast<TraceAttributeKind>(kind == 0 ? 0 : kind + 2);
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> kept;
    std::vector<std::string_view> texts;
    if (is_list(attribute.kind)) {
      const TraceAttributeKind element = element_kind(attribute.kind);
      for (std::uint64_t n = below(5); n > 0; --n) {
        if (is_text(element)) {
          kept.push_back(element == TraceAttributeKind::kBytes ? bytes() : text());
        } else {
          numbers.push_back(number(element));
        }
      }
      texts.assign(kept.begin(), kept.end());
      attribute.numbers = numbers;
      attribute.texts = texts;
      attributes.add_copy(attribute);
      return;
    }
    const std::string value = attribute.kind == TraceAttributeKind::kBytes ? bytes() : text();
    if (is_text(attribute.kind)) {
      attribute.text = value;
    } else if (attribute.kind != TraceAttributeKind::kNone) {
      attribute.bits = number(attribute.kind);
    }
    attributes.add_copy(attribute);
  }

 private:
  // ASCII: libprotobuf refuses texts that are not UTF-8.
  std::string text() {
    std::string result(below(below(8) == 0 ? 300 : 12), ' ');
    for (char& c : result) c = static_cast<char>(below(128));
    return result;
  }

  std::string bytes() {
    std::string result(below(20), ' ');
    for (char& c : result) c = static_cast<char>(below(256));
    return result;
  }

  // Zero, whole microseconds, any nanoseconds, and the largest.
  Nanoseconds time() {
    switch (below(4)) {
      case 0:
        return Nanoseconds{0};
      case 1:
        return Nanoseconds{static_cast<std::int64_t>(below(1'000'000)) * 1000};
      case 2:
        return Nanoseconds{static_cast<std::int64_t>(below(1'000'000'000))};
      default:
        return Nanoseconds{std::numeric_limits<std::int64_t>::max()};
    }
  }

  // Any bit pattern the kind can have, often with few bits set.
  std::uint64_t number(TraceAttributeKind kind) {
    const std::uint64_t raw = random_() >> below(64);
    const std::uint64_t any = below(2) == 0 ? raw : ~raw;
    switch (kind) {
      case TraceAttributeKind::kBool:
        return any & 1;
      case TraceAttributeKind::kInt32:
      case TraceAttributeKind::kSint32:
      case TraceAttributeKind::kSfixed32:
        return number_bits(static_cast<std::int32_t>(any));
      case TraceAttributeKind::kFloat:
      case TraceAttributeKind::kUint32:
      case TraceAttributeKind::kFixed32:
        return static_cast<std::uint32_t>(any);
      default:
        return any;
    }
  }

  std::mt19937_64 random_;
  std::uint64_t last_id_ = 0;
};

}  // namespace nadi::inline traces
