// A timeline as a page for a browser: lanes, zoom, search, details, sums over a range.
//
//   write_timeline_page(view, "timeline.html", Overwrite::kRefuse);
//
// The page's data are columns, each a block of html_page.h: all events lane by lane, in a lane row by row
// (timeline_rows.h), in a row by start. Numbers are varints (7 bits a byte, lowest first; signed ones with
// the sign in the lowest bit):
//
//   texts      count; length and bytes of each
//   labels     per label: text, kind
//   details    per detail: number of pairs, then key and value of each as texts
//   starts     per event: signed, from the end of the one before in the row (the first: from 0)
//   durations  per event
//   label      per event
//   detail     per event, if the view has details
//   batch      per event: micro-batch + 1, if any has one; chunk likewise
//   number.N   column N: per event that has a figure: events since the last one that has, signed difference
//   of
//              the figures
//   links      sorted by `to`: difference of `to`, signed `to` - `from`, kind; events as their place in this
//   order
//
// The head has titles, groups, lanes with the number of events in each row, marks and the origin of time.
//
// Throws Error (infeasible) where the timeline is longer than 2^52 ns, some 52 days, or has 2^32 - 1 events
// or more.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {

class HtmlPage;

// Returns the size of the page.
Bytes write_timeline_page(const TimelineView& view, const std::filesystem::path& path, Overwrite overwrite);

// The same within another page: that page's head holds head(), its blocks these columns. The view must
// outlive this.
class TimelineBlocks {
 public:
  explicit TimelineBlocks(const TimelineView& view);
  ~TimelineBlocks();

  std::string head() const;  // JSON
  void write(HtmlPage& page) const;

 private:
  class Encoder;
  std::unique_ptr<const Encoder> encoder_;
};

}  // namespace nadi::inline show
