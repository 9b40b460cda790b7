// The graph of traces: their ops, the tensors between them, and communication between ranks.
//
//   GraphMaker maker({.members = true});
//   read_run(files, {}, [&](const ReadRank& rank) { maker.add(rank.trace, rank.rank); });
//   GraphView view = maker.finish();
//
// A tensor that an op lists among its outputs is a new node each time: a variable that is written in place
// has one node for each of its values. Who reads it is the op that waits for the writer and names it; a name
// that nobody wrote before is an input or a parameter, one node for all its readers. A name that an op reads
// and nobody wrote is a view where the op waits for a writer of a tensor that it can be a view of.
// Dependencies that no tensor explains become edges between ops.
//
// Ranks: a message's two ends are joined by the k-th send and the k-th receive of a tag between two ranks,
// the members of a collective by the k-th call of its group; each group is a chain of edges, closed to a ring
// where there are more than two.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "nadi/draw/graph_view.h"

namespace nadi::inline traces {
class Trace;
}  // namespace nadi::inline traces

namespace nadi::inline show {

struct GraphMakerOptions {
  bool members = false;     // keep all that the trace says, for files that hold it
  bool many_ranks = false;  // ids name the rank
  // More nodes than this are refused: Error (infeasible).
  std::uint64_t most_nodes = 20'000'000;
};

class GraphMaker {
 public:
  explicit GraphMaker(const GraphMakerOptions& options) : options_(options) {}

  void add(const Trace& trace, std::int64_t rank);
  // Joins the ranks. Called once, last.
  GraphView finish();

 private:
  friend class RankGraph;
  struct Ends {
    std::map<std::int64_t, std::vector<std::uint32_t>> by_rank = {};  // nodes in their order
  };

  void join_collectives();
  void join_messages();

  GraphMakerOptions options_;
  GraphView view_;
  std::map<std::string, Ends> groups_;
  using Line = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // from rank, to rank, tag
  std::map<Line, std::vector<std::uint32_t>> sends_, receives_;
};

}  // namespace nadi::inline show
