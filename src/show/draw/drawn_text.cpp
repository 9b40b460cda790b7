#include "nadi/draw/drawn_text.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/shorten.h"
#include "nadi/base/units.h"
#include "nadi/draw/layer_name.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kLongestLine = 34;

// True of a character beyond ASCII: C1 controls, those that change the direction of text or are not seen, and what
// XML does not have.
bool is_unseen(std::string_view character) {
  unsigned code = 0;
  if (character.size() == 2)
    code = (static_cast<unsigned char>(character[0]) & 0x1fu) << 6 |
           (static_cast<unsigned char>(character[1]) & 0x3fu);
  else if (character.size() == 3)
    code = (static_cast<unsigned char>(character[0]) & 0x0fu) << 12 |
           (static_cast<unsigned char>(character[1]) & 0x3fu) << 6 |
           (static_cast<unsigned char>(character[2]) & 0x3fu);
  return (code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff ||
         code == 0xfffe || code == 0xffff;
}

std::string short_line(std::string_view text) {
  return shorten_middle(visible_text(text), kLongestLine);
}

std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return count == 0
             ? ""
             : format("{} {}", with_thousands(static_cast<std::int64_t>(count)), count == 1 ? one : many);
}

std::string size_text(const std::optional<std::int64_t>& bytes) {
  return bytes ? to_string(Bytes{*bytes}) : "";
}

NodeLabel box_label(const GraphNode& node) {
  if (node.kind == GraphNodeKind::kTensor) return {short_line(node.name), "", size_text(node.bytes)};
  NodeLabel label{.title = short_line(node.name)};
  label.place = counted(node.ops, "operation", "operations");
  const std::string work = node.flops && *node.flops > 0 ? to_string(Flops{*node.flops}) : "";
  const std::string time = node.duration_ns ? to_string(Nanoseconds{*node.duration_ns}) : "";
  label.figures = joined({work, time});
  if (node.communications > 0) {
    const std::string calls = format("{} × {}", node.communications, node.what);
    label.figures +=
        (label.figures.empty() ? "" : "\n") + joined({calls, size_text(node.communicated_bytes)});
  }
  return label;
}

}  // namespace

std::string visible_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    if (c >= 0x20 && c < 0x7f) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = c < 0x80 ? 0 : utf8_character(text);
    if (length == 0) {
      if (c == '\n')
        out += "\\n";
      else if (c == '\t')
        out += "\\t";
      else
        out += format("\\x{:02x}", c);
      text.remove_prefix(1);
      continue;
    }
    if (is_unseen(text.substr(0, length)))
      for (std::size_t i = 0; i < length; ++i)
        out += format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    else
      out.append(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

NodeLabel label_of(const GraphNode& node) {
  if (node.is_box) return box_label(node);
  const std::string size = size_text(node.bytes);
  const std::string time = node.duration_ns ? to_string(Nanoseconds{*node.duration_ns}) : "";
  switch (node.kind) {
    case GraphNodeKind::kTensor: {
      std::string shape = node.shape;
      if (!node.what.empty()) shape += (shape.empty() ? "" : " ") + node.what;
      return {short_line(within_layer(node.name)), short_line(shape), size};
    }
    case GraphNodeKind::kOp: {
      const std::string work = node.flops && *node.flops > 1 ? to_string(Flops{*node.flops}) : "";
      if (node.what.empty()) return {short_line(node.name), "", joined({work.empty() ? size : work, time})};
      return {short_line(node.what), short_line(within_layer(node.layer)),
              joined({work.empty() ? size : work, time})};
    }
    case GraphNodeKind::kCommunication:
      return {short_line(node.what.empty() ? node.name : node.what),
              short_line(within_layer(node.layer.empty() ? node.name : node.layer)), joined({size, time})};
  }
  unreachable();
}

}  // namespace nadi::inline show
