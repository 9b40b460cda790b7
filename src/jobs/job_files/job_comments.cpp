#include "nadi/job_files/job_comments.h"

#include <algorithm>

#include "nadi/base/text_error.h"

namespace nadi::inline jobs {
namespace {

void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
}

}  // namespace

std::string without_comments(std::string text, const std::string& file) {
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_text) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        in_text = false;
    } else if (text[i] == '"') {
      in_text = true;
    } else if (text.compare(i, 2, "//") == 0) {
      const std::size_t end = std::min(text.find('\n', i), text.size());
      blank(text, i, end);
      i = end - 1;
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string::npos)
        throw error_in_text({.file = file, .text = text, .begin = i, .end = i + 2}, "this comment has no end",
                            "a comment that begins with /* ends with */");
      blank(text, i, end + 2);
      i = end + 1;
    }
  }
  return text;
}

}  // namespace nadi::inline jobs
