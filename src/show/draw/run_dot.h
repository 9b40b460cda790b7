// Graphviz's program `dot`, which lays a graph out and draws it.
//
//   const DotPicture picture = run_dot(to_dot(view), {.format = "svg"});
//   write_atomically(path, picture.bytes, overwrite);
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace nadi::inline show {

struct DotRun {
  std::string format;               // "png", "svg", "pdf"
  std::string program = "dot";      // looked for on PATH
  std::chrono::seconds limit{60};   // it is ended behind this
  std::function<void()> wait = {};  // called now and then while it runs; may throw to stop
};

struct DotPicture {
  std::string bytes;
  std::string remarks;  // what dot said besides, a line each
};

// Error (environment) where the program is not on PATH: for asking before any work is done.
void require_dot(const std::string& program = "dot");

// Error: environment where there is no such program, where it fails, and where the disk is full; infeasible
// where it takes too long.
DotPicture run_dot(std::string_view text, const DotRun& run);

}  // namespace nadi::inline show
