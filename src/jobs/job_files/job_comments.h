// JSON with comments, as people write job files by hand: "// ..." up to the end of the line, and "/* ... */".
#pragma once

#include <string>

namespace nadi::inline jobs {

// The text with spaces in place of comments: every other character, newlines included, stands where it was.
// Comments inside of texts are none. Error (input) for a comment without an end.
std::string without_comments(std::string text, const std::string& file);

}  // namespace nadi::inline jobs
