// Recognises what a JSON text holds, by the names at its start. For file_kind.cpp and readers of several
// layouts.
//
//   const JsonStart start = look_at_json(text);
//   if (start.has_top("nodes")) ...
//
// Only brackets and strings are looked at. Damage does not matter unless it hides names, and the text may end
// anywhere.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "nadi/base/file_kind.h"

namespace nadi::inline ground {

struct JsonStart {
  bool is_json = false;  // begins with an object or a list
  bool is_list = false;  // the document is a list
  // Another document follows the first one on a line of its own.
  bool has_more_documents = false;
  std::vector<std::string_view> top;      // names in the first document, an object
  std::vector<std::string_view> element;  // names in the first objects of a list: the document, or its nodes

  bool has_top(std::string_view name) const;
  bool has_top(std::initializer_list<std::string_view> any) const;
  bool has_element(std::initializer_list<std::string_view> any) const;
};

JsonStart look_at_json(std::string_view text);

// kUnknown for what does not begin as JSON.
FileKind json_kind(std::string_view text);

}  // namespace nadi::inline ground
