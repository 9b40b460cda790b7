// A trace made from a profile of PyTorch (Kineto), with or without the trace of its host, or from that trace
// alone.
//
//   GroupNumbers groups;                                              // shared by all ranks
//   const ConvertedTrace trace({.kineto = kineto, .host = host, .rank = 0}, groups);
//   TraceNode node;
//   for (std::size_t row = 0; row < trace.size(); ++row) {
//     trace.get(row, node);
//     writer.write(node);
//   }
//   trace.report()                                                    // what was matched, dropped, guessed
//
// What was read is kept as it is, and nodes are put together when they are asked for: 34 bytes a node come on
// top of it. Each node comes after all that it depends on.
//
// Replaying the result (each node starts when all that it depends on has ended, and lasts as long as it says)
// gives the timeline of the profile:
//   - ops of the host, annotations, and calls of the runtime are COMP nodes with `is_cpu_op`. Those of a
//   thread
//     are a chain; a node's duration is what it spends outside of nested events, and `inclusive_ns` all of it
//     (host_threads.h). Control dependency: the op that called it, by the host's trace or by nesting.
//   - kernels, copies and memsets are nodes without `is_cpu_op` that wait for the call that launched them,
//   the op
//     before on their stream (device_streams.h), what synchronisation says (synchronisation.h), and for other
//     streams that kept the device busy (device_contention.h). Control dependency: the op around the launch.
//     Those without a launch wait for their stream only.
//   - kernels of communication libraries are COMM nodes (communication.h).
// Nodes of the host's trace keep their ids; the others have ids above. A node has the attributes of both; of
// the same name and with different values, the profile's is called "kineto <name>". Besides these there are
// `category` (Kineto's, or "host_gap"), `thread` or `stream` and `device`, `correlation`, `phase` (forward,
// backward, optimizer), `layer` (modules, "GPT2Model_0.Linear_3") and `step` where they are known, and of
// communication `pg_name_pytorch`, since `pg_name` is the group's number in GroupNumbers.
//
// A host's trace without a profile gives nodes without times: its ops, those of a thread as a chain
// (host_order.h), with the communication that they record.
//
// Profiles that Nadi writes of its own runs (kineto_writer.h) have no device: their ops are the work itself,
// and say so by the attribute "op". Only these become nodes, as in the trace of the same run: without
// is_cpu_op, with num_ops and tensor_size, named like the op. They wait for the op before on their thread and
// for what ended on other threads since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nadi/convert/communication.h"
#include "nadi/convert/conversion_report.h"
#include "nadi/convert/event_roles.h"
#include "nadi/convert/host_match.h"
#include "nadi/convert/kernel_work.h"
#include "nadi/convert/link_graph.h"
#include "nadi/convert/process_group_numbers.h"
#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_trace.h"
#include "nadi/trace/string_table.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

struct ConversionSource {
  std::shared_ptr<const KinetoTrace> kineto = nullptr;  // this or `host`, or both
  std::shared_ptr<const HostTrace> host = nullptr;
  std::optional<std::int64_t> process = {};  // of a profile of several: only this one
  std::int64_t rank = 0;
};

struct ConversionOptions {
  // Only the attributes that simulators read (common_attributes.h), and category, stream and device.
  bool simulate_only = false;
  // Kernels have num_ops and tensor_size, by the shapes of the ops that launched them (kernel_work.h).
  bool num_ops = false;
  // How far a replay may move what is short to keep it from being a node: see host_threads.h, which has the
  // default.
  std::optional<Nanoseconds> moved_time = {};
};

class ConvertedTrace {
 public:
  // Error (input) for nodes of the host's trace with the same id, or that call each other in a circle.
  ConvertedTrace(ConversionSource source, GroupNumbers& groups, const ConversionOptions& options = {});

  std::size_t size() const { return order_.size(); }
  // Texts and lists point into this trace.
  void get(std::size_t row, TraceNode& node) const;

  // `rank` (int64) and what else the files say about themselves.
  GlobalMetadata metadata() const;
  const ConversionReport& report() const { return report_; }
  std::int64_t rank() const { return source_.rank; }
  bool is_own_run() const { return host_is_device_; }  // one of Nadi, as above

 private:
  struct Step {
    Nanoseconds start;
    Nanoseconds end;
    std::int64_t number = 0;
  };

  void link(GroupNumbers& groups);
  void find_steps(const EventRoles& roles);
  void add_process(GlobalMetadata& metadata) const;
  void count();

  void get_dependencies(std::uint32_t number, TraceNode& node) const;
  void get_host_op(std::uint32_t number, TraceNode& node) const;
  void get_device_op(std::uint32_t number, TraceNode& node) const;
  void get_gap(std::uint32_t number, TraceNode& node) const;
  void get_host_node(std::uint32_t number, TraceNode& node) const;
  void get_own_op(std::uint32_t number, TraceNode& node) const;
  void add_host_attributes(std::uint32_t host_row, TraceNode& node) const;
  void add_event_attributes(std::uint32_t row, std::size_t host_attributes, TraceNode& node) const;
  void add_origin(std::uint32_t number, Nanoseconds start, TraceNode& node) const;
  void add_communication(const CommunicationNode& communication, TraceNode& node) const;
  const CommunicationNode* communication_of(std::uint32_t number) const;
  TraceNodeId id_of(std::uint32_t number) const;

  bool has_profile() const { return source_.kineto != nullptr; }

  ConversionSource source_;
  ConversionOptions options_;
  KinetoTrace no_profile_;     // empty, for a host's trace alone
  const KinetoTrace* kineto_;  // of the source, or that
  bool host_is_device_ = false;

  LinkGraph graph_;
  HostMatch match_;
  StringTable layers_;
  std::vector<CommunicationNode> communication_;
  std::vector<bool> communicates_;        // by node: whether it is in communication_
  KernelWork kernel_work_;                // empty unless num_ops is asked for
  std::vector<Step> steps_;               // by start
  std::vector<std::uint32_t> order_;      // by row: the node
  std::vector<std::uint32_t> positions_;  // by node: the row
  std::uint64_t first_id_ = 0;            // of nodes that the host's trace does not have
  ConversionReport report_;
};

// All nodes of it, and its metadata, as if it had been written and read again.
Trace to_trace(const ConvertedTrace& converted);

// The ranks whose events a profile holds: one, or as many as there are processes with ops. What it does not
// say is left out: `process` of a single one, `rank` where neither the file nor its processes are named
// ("nadi rank 3") or numbered so.
struct ProfiledRank {
  std::optional<std::int64_t> rank = {};
  std::optional<std::int64_t> process = {};
};
std::vector<ProfiledRank> profiled_ranks(const KinetoTrace& kineto);

}  // namespace nadi::inline traces
