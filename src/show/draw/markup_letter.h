// A letter as it stands in the text of HTML, XML and Graphviz's HTML-like labels, and in attributes between double
// quotes.
#pragma once

#include <string>

namespace nadi::inline show {

inline void append_markup_letter(std::string& out, char letter) {
  switch (letter) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += letter;
  }
}

}  // namespace nadi::inline show
