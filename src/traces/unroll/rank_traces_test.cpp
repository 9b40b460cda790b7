#include "nadi/unroll/rank_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/graph/ops/point_to_point.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/testing/text_files.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct TraceCase {
  std::string name;
  Plan plan;
  StepRequest request = {.seq_length = 8};
};

void PrintTo(const TraceCase& trace_case, std::ostream* out) {
  *out << trace_case.name;
}

const std::vector<TraceCase>& trace_cases() {
  static const std::vector<TraceCase> cases{
      {"one_rank", {.micro_batches = 2}},
      {"tp2", {.tp = 2}},
      {"cp2", {.cp = 2}},
      {"pp2", {.pp = 2, .micro_batches = 4}},
      {"pp4_gpipe", {.pp = 4, .schedule = ScheduleKind::kGPipe, .micro_batches = 4}},
      {"dp2_tp2_pp2_sequence_parallel",
       {.tp = 2, .dp = 2, .pp = 2, .sequence_parallel = true, .micro_batches = 2}},
      {"interleaved",
       {.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 4}},
      {"zero1", {.dp = 2, .zero_stage = 1, .micro_batches = 2}},
      {"all_at_once",
       {.tp = 2, .cp = 2, .dp = 2, .pp = 2, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 2}},
      {"generate_tp2", {.tp = 2}, {.kind = StepKind::kGenerate, .input_tokens = 4, .output_tokens = 3}},
  };
  return cases;
}

// The programs of all stages of a plan.
struct Stages {
  Plan plan;
  std::vector<Program> programs;
  std::vector<const Program*> pointers;

  explicit Stages(const TraceCase& trace_case) : plan(trace_case.plan) {
    StepRequest request = trace_case.request;
    request.batch_size = plan.micro_batches;
    for (std::int64_t stage = 0; stage < plan.pp; ++stage)
      programs.push_back(build_step(even_model(), request, plan, stage));
    for (const Program& program : programs) pointers.push_back(&program);
  }
  const Program& of(Rank rank) const {
    return programs[static_cast<std::size_t>(coordinates_of(plan, rank).pp)];
  }
  std::vector<Rank> ranks() const {
    std::vector<Rank> ranks;
    for (std::int32_t rank = 0; rank < plan.world_size(); ++rank) ranks.push_back(Rank{rank});
    return ranks;
  }
};

template <typename Action>
std::optional<Error> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

std::int64_t integer(const Trace& trace, std::size_t row, std::string_view name) {
  const std::optional<TraceAttribute> attribute = trace.find_attribute(row, name);
  EXPECT_TRUE(attribute) << trace.name(row) << " has no " << name;
  return attribute ? attribute->integer().value() : -1;
}
std::string text(const Trace& trace, std::size_t row, std::string_view name) {
  const std::optional<TraceAttribute> attribute = trace.find_attribute(row, name);
  EXPECT_TRUE(attribute) << trace.name(row) << " has no " << name;
  return attribute ? std::string(attribute->string().value()) : "";
}

bool is_message(NodeType type) {
  return type == NodeType::kCommSend || type == NodeType::kCommRecv;
}

// What a node waits for, of both kinds, in ascending order.
std::set<std::size_t> parents(const Trace& trace, std::size_t row) {
  std::set<std::size_t> rows;  // ids count rows
  for (const TraceNodeId id : trace.data_deps(row)) rows.insert(to_number(id));
  for (const TraceNodeId id : trace.ctrl_deps(row)) rows.insert(to_number(id));
  return rows;
}

// First and last row of each instruction of a program; views are no nodes.
struct Rows {
  std::size_t begin, end;
};
std::vector<Rows> rows_of_instructions(const Program& program) {
  std::vector<Rows> rows;
  std::size_t next = 0;
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    Rows own{next, next};
    for (std::uint32_t op = section.first_op; op < section.end_op; ++op)
      if (definition(program.graph_of(section).ops()[op].kind).op_class != OpClass::kView) ++own.end;
    next = own.end;
    rows.push_back(own);
  }
  return rows;
}

class RankTraces : public testing::TestWithParam<TraceCase> {
 protected:
  fs::path prefix(const std::string& name = "step") const { return folder_ / name; }
  static fs::path file(const fs::path& prefix, Rank rank) {
    return prefix.string() + "." + std::to_string(to_number(rank)) + ".et";
  }
  RankTraceReport write(const Stages& stages, const RankTraceOptions& options = {},
                        const std::string& name = "step") const {
    return write_rank_traces(stages.plan, stages.pointers, prefix(name), options);
  }
  std::vector<Trace> read(const Stages& stages, const std::string& name = "step") const {
    std::vector<Trace> traces;
    for (const Rank rank : stages.ranks()) traces.push_back(read_chakra(file(prefix(name), rank)));
    return traces;
  }
  std::map<std::string, std::vector<std::int64_t>> groups(const std::string& name = "step") const {
    std::map<std::string, std::vector<std::int64_t>> groups;
    const fs::path path = prefix(name).string() + ".groups.json";
    if (!fs::exists(path)) return groups;
    const JsonDocument document = read_json(path);
    for (const auto& [key, members] : document.root().items())
      for (const JsonValue& member : members.elements())
        groups[std::string(key)].push_back(member.as_int64());
    return groups;
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Plans, RankTraces, testing::ValuesIn(trace_cases()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(RankTraces, EveryFileIsReplayableAndAddsUp) {
  const Stages stages(GetParam());
  const RankTraceReport report = write(stages);
  EXPECT_EQ(report.files, stages.plan.world_size());
  std::int64_t nodes = 0, bytes = 0, flops = 0, data_edges = 0, control_edges = 0;
  for (const Rank rank : stages.ranks()) {
    const Trace trace = read_chakra(file(prefix(), rank));  // refuses cycles and missing parents
    const WorkSummary total = summarize(stages.of(rank)).total();
    EXPECT_EQ(static_cast<std::int64_t>(trace.size()), total.ops);
    std::int64_t work = 0;
    for (std::size_t row = 0; row < trace.size(); ++row) {
      EXPECT_EQ(to_number(trace.id(row)), row);
      if (trace.type(row) == NodeType::kComp) work += integer(trace, row, "num_ops");
      data_edges += static_cast<std::int64_t>(trace.data_deps(row).size());
      control_edges += static_cast<std::int64_t>(trace.ctrl_deps(row).size());
    }
    // What only moves memory is one op.
    EXPECT_GE(work, total.cost.flops().count());
    EXPECT_LE(work, total.cost.flops().count() + total.ops);
    EXPECT_EQ(trace.metadata.attributes.find("rank")->integer(), to_number(rank));
    EXPECT_EQ(trace.metadata.attributes.find("tensors")->string(), "first_micro_batch");
    nodes += static_cast<std::int64_t>(trace.size());
    flops += work;
    bytes += static_cast<std::int64_t>(fs::file_size(file(prefix(), rank)));
  }
  EXPECT_EQ(report.nodes, nodes);
  EXPECT_EQ(report.bytes.count(), bytes);
  EXPECT_EQ(report.flops.value().count(), flops);
  EXPECT_EQ(report.data_edges, data_edges);
  EXPECT_EQ(report.control_edges, control_edges);
}

TEST_P(RankTraces, SharedEncodingGivesTheBytesOfTheReference) {
  const Stages stages(GetParam());
  for (const TraceFlavor flavor : {TraceFlavor::kChakra, TraceFlavor::kAstraSim})
    for (const TensorListing tensors :
         {TensorListing::kFirstMicroBatch, TensorListing::kAll, TensorListing::kNone}) {
      const RankTraceOptions options{.flavor = flavor,
                                     .tensors = tensors,
                                     .overwrite = Overwrite::kAllow,
                                     .metadata = {{"model", "tiny"}, {"step", "train"}}};
      write(stages, options);
      std::set<GroupKind> kinds;
      for (const Program& program : stages.programs) kinds.merge(collective_groups(program));
      const ProcessGroups groups(stages.plan, kinds);
      for (const Rank rank : stages.ranks()) {
        std::string expected;
        write_rank_trace(stages.plan, stages.of(rank), groups, rank, options,
                         [&](std::string_view bytes) { expected += bytes; });
        EXPECT_TRUE(read_text(file(prefix(), rank)) == expected) << "rank " << to_number(rank);
      }
    }
}

TEST_P(RankTraces, RanksOfAStageDifferInWhomTheyTalkToOnly) {
  const Stages stages(GetParam());
  write(stages);
  const std::vector<Trace> traces = read(stages);
  const auto shared_attributes = [](const Trace& trace, std::size_t row) {
    std::vector<TraceAttribute> attributes;
    for (std::size_t i = 0; i < trace.attribute_count(row); ++i) {
      const TraceAttribute attribute = trace.attribute(row, i);
      if (attribute.name != "pg_name" && attribute.name != "comm_src" && attribute.name != "comm_dst")
        attributes.push_back(attribute);
    }
    return attributes;
  };
  for (const Rank rank : stages.ranks()) {
    const Trace& own = traces[static_cast<std::size_t>(to_number(rank))];
    const Rank first = rank_at(stages.plan, Coordinates{.pp = coordinates_of(stages.plan, rank).pp});
    const Trace& other = traces[static_cast<std::size_t>(to_number(first))];
    ASSERT_EQ(own.size(), other.size());
    for (std::size_t row = 0; row < own.size(); ++row) {
      ASSERT_EQ(own.name(row), other.name(row));
      ASSERT_EQ(own.type(row), other.type(row));
      ASSERT_EQ(own.inputs(row), other.inputs(row));
      ASSERT_EQ(own.outputs(row), other.outputs(row));
      ASSERT_TRUE(std::ranges::equal(own.data_deps(row), other.data_deps(row)));
      ASSERT_TRUE(std::ranges::equal(own.ctrl_deps(row), other.ctrl_deps(row)));
      ASSERT_EQ(shared_attributes(own, row), shared_attributes(other, row));
    }
  }
}

TEST_P(RankTraces, EverySendHasItsReceive) {
  const Stages stages(GetParam());
  write(stages);
  const std::vector<Trace> traces = read(stages);
  using Message = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // from, to, tag
  std::map<Message, std::int64_t> sent, received;
  for (const Rank rank : stages.ranks()) {
    const Trace& trace = traces[static_cast<std::size_t>(to_number(rank))];
    for (std::size_t row = 0; row < trace.size(); ++row) {
      if (!is_message(trace.type(row))) continue;
      const bool sends = trace.type(row) == NodeType::kCommSend;
      const Message message{integer(trace, row, "comm_src"), integer(trace, row, "comm_dst"),
                            integer(trace, row, "comm_tag")};
      EXPECT_EQ(sends ? std::get<0>(message) : std::get<1>(message), to_number(rank));
      EXPECT_TRUE((sends ? sent : received).emplace(message, integer(trace, row, "comm_size")).second)
          << "a tag is used twice";
    }
  }
  EXPECT_EQ(sent, received);
  // Each edge between chunks is passed once forward and once backward, by each micro-batch and each column of
  // the grid.
  const Plan& plan = stages.plan;
  const std::int64_t edges = plan.pp * plan.virtual_stages - 1;
  EXPECT_EQ(static_cast<std::int64_t>(sent.size()),
            plan.pp == 1 ? 0 : 2 * edges * plan.micro_batches * plan.tp * plan.cp * plan.dp);
}

TEST_P(RankTraces, MembersOfAGroupSeeTheSameCollectives) {
  const Stages stages(GetParam());
  write(stages);
  const std::vector<Trace> traces = read(stages);
  const auto members = groups();
  using Collective = std::tuple<std::int64_t, std::int64_t, std::string>;  // type, size, op
  std::map<std::string, std::map<std::int64_t, std::vector<Collective>>> seen;
  for (const Rank rank : stages.ranks()) {
    const Trace& trace = traces[static_cast<std::size_t>(to_number(rank))];
    for (std::size_t row = 0; row < trace.size(); ++row)
      if (trace.type(row) == NodeType::kCommColl)
        seen[text(trace, row, "pg_name")][to_number(rank)].emplace_back(
            integer(trace, row, "comm_type"), integer(trace, row, "comm_size"), text(trace, row, "op"));
  }
  for (const auto& [group, by_rank] : seen) {
    ASSERT_TRUE(members.contains(group));
    std::vector<std::int64_t> ranks;
    for (const auto& [rank, collectives] : by_rank) {
      ranks.push_back(rank);
      EXPECT_EQ(collectives, by_rank.begin()->second) << "group " << group << ", rank " << rank;
    }
    EXPECT_EQ(ranks, members.at(group));
  }
  EXPECT_EQ(seen.size(), members.size());
}

// All files together: every rank does whatever does not have to wait, until nobody can do anything. A message
// is received once it is sent; a collective happens once all members have come to it.
TEST_P(RankTraces, AllRanksTogetherComeToTheEnd) {
  const Stages stages(GetParam());
  for (const TraceFlavor flavor : {TraceFlavor::kChakra, TraceFlavor::kAstraSim}) {
    write(stages, {.flavor = flavor, .overwrite = Overwrite::kAllow});
    const std::vector<Trace> traces = read(stages);
    const auto members = groups();
    std::vector<std::vector<bool>> done;
    std::size_t left = 0;
    for (const Trace& trace : traces) {
      done.emplace_back(trace.size());
      left += trace.size();
    }
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> sent;
    std::map<std::string, std::map<std::size_t, std::size_t>> waiting;  // group, rank: row
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t rank = 0; rank < traces.size(); ++rank) {
        const Trace& trace = traces[rank];
        for (std::size_t row = 0; row < trace.size(); ++row) {
          if (done[rank][row]) continue;
          if (!std::ranges::all_of(parents(trace, row), [&](std::size_t p) { return done[rank][p]; }))
            continue;
          const NodeType type = trace.type(row);
          if (is_message(type)) {
            const std::tuple message{integer(trace, row, "comm_src"), integer(trace, row, "comm_dst"),
                                     integer(trace, row, "comm_tag")};
            if (type == NodeType::kCommSend) sent.insert(message);
            if (!sent.contains(message)) continue;
          } else if (type == NodeType::kCommColl) {
            const std::string group = text(trace, row, "pg_name");
            auto& present = waiting[group];
            const auto [entry, fresh] = present.emplace(rank, row);
            ASSERT_EQ(entry->second, row) << "two collectives of a group at once";
            if (present.size() < members.at(group).size()) continue;
            for (const auto& [member, its_row] : present) done[member][its_row] = true;
            left -= present.size();
            present.clear();
            progress = true;
            continue;
          }
          done[rank][row] = true;
          --left;
          progress = true;
        }
      }
    }
    EXPECT_EQ(left, 0u);
  }
}

TEST_P(RankTraces, ScheduleIsInTheFile) {
  const Stages stages(GetParam());
  write(stages);
  for (const Rank rank : stages.ranks()) {
    const Trace trace = read_chakra(file(prefix(), rank));
    const Program& program = stages.of(rank);
    const std::vector<Rows> rows = rows_of_instructions(program);
    ASSERT_EQ(rows.back().end, trace.size());

    // Computation of an instruction follows, if not directly, the last computation before it.
    std::optional<std::size_t> last;
    for (const Rows& own : rows) {
      std::vector<bool> after(own.end - own.begin);
      std::optional<std::size_t> last_own;
      for (std::size_t row = own.begin; row < own.end; ++row) {
        for (const std::size_t parent : parents(trace, row))
          if (parent == last || (parent >= own.begin && after[parent - own.begin]))
            after[row - own.begin] = true;
        if (trace.type(row) != NodeType::kComp) continue;
        EXPECT_TRUE(!last || after[row - own.begin]) << trace.name(row);
        last_own = row;
      }
      if (last_own) last = last_own;
    }

    // What is posted together does not wait for each other.
    for (std::size_t i = 0; i + 1 < rows.size(); ++i)
      for (std::size_t j = i; program.instructions[j].with_next; ++j)
        for (const std::size_t parent : parents(trace, rows[j + 1].begin))
          EXPECT_FALSE(parent >= rows[i].begin && parent < rows[i].end) << trace.name(rows[j + 1].begin);
  }
}

// Several micro-batches are under way at once, on the same graph.
TEST_P(RankTraces, BackwardPassesReadTheActivationsOfTheirOwnMicroBatch) {
  const Stages stages(GetParam());
  write(stages);
  std::int64_t found = 0;
  for (const Trace& trace : read(stages))
    for (std::size_t row = 0; row < trace.size(); ++row) {
      if (text(trace, row, "phase") != "backward") continue;
      for (const TraceNodeId id : trace.data_deps(row)) {
        if (text(trace, to_number(id), "phase") != "forward") continue;
        ++found;
        EXPECT_EQ(integer(trace, to_number(id), "micro_batch"), integer(trace, row, "micro_batch"))
            << trace.name(row);
      }
    }
  EXPECT_EQ(found > 0, GetParam().request.kind == StepKind::kTrain);
}

TEST_P(RankTraces, AstraSimFilesHaveTheSameOrderInDataDependencies) {
  const Stages stages(GetParam());
  write(stages);
  const RankTraceReport report = write(stages, {.flavor = TraceFlavor::kAstraSim}, "astra");
  EXPECT_EQ(report.control_edges, 0);
  const std::vector<Trace> chakra = read(stages), astra = read(stages, "astra");
  for (std::size_t rank = 0; rank < chakra.size(); ++rank) {
    std::vector<std::size_t> before;  // the latest collective, and what was sent since: the next one waits
    for (std::size_t row = 0; row < chakra[rank].size(); ++row) {
      ASSERT_THAT(astra[rank].ctrl_deps(row), IsEmpty());
      auto expected = parents(chakra[rank], row);
      const NodeType type = astra[rank].type(row);
      if (type == NodeType::kCommColl) {
        expected.insert(before.begin(), before.end());
        before.clear();
      }
      if (type == NodeType::kCommColl || type == NodeType::kCommSend) before.push_back(row);
      ASSERT_EQ(parents(astra[rank], row), expected);
      ASSERT_NE(type, NodeType::kMetadata);
    }
  }
}

TEST_P(RankTraces, SameArgumentsSameBytes) {
  const Stages stages(GetParam());
  write(stages, {}, "first");
  write(Stages(GetParam()), {}, "second");
  for (const Rank rank : stages.ranks())
    EXPECT_TRUE(read_text(file(prefix("first"), rank)) == read_text(file(prefix("second"), rank)));
  EXPECT_EQ(groups("first"), groups("second"));
}

TraceCase case_named(std::string_view name) {
  return *std::ranges::find(trace_cases(), name, &TraceCase::name);
}

using RankTracesOnce = RankTraces;

TEST_F(RankTracesOnce, GroupsAreNumberedByKindThenByFirstMember) {
  const Stages stages(case_named("dp2_tp2_pp2_sequence_parallel"));
  const RankTraceReport report = write(stages);
  EXPECT_EQ(report.groups_file, prefix().string() + ".groups.json");
  // rank = tp + 2 dp + 4 pp. Tensor, data, model (for the norm of the gradients) and embedding groups.
  EXPECT_EQ(read_text(report.groups_file),
            "{\n"
            "  \"1\": [0, 1],\n  \"2\": [2, 3],\n  \"3\": [4, 5],\n  \"4\": [6, 7],\n"
            "  \"5\": [0, 2],\n  \"6\": [1, 3],\n  \"7\": [4, 6],\n  \"8\": [5, 7],\n"
            "  \"9\": [0, 1, 4, 5],\n  \"10\": [2, 3, 6, 7],\n"
            "  \"11\": [0, 4],\n  \"12\": [1, 5],\n  \"13\": [2, 6],\n  \"14\": [3, 7]\n"
            "}\n");
}

TEST_F(RankTracesOnce, WithoutCollectivesThereIsNoGroupsFile) {
  EXPECT_TRUE(write(Stages(case_named("one_rank"))).groups_file.empty());
  EXPECT_THAT(entries(), ElementsAre("step.0.et"));
}

TEST_F(RankTracesOnce, CommunicationIsDescribedAsSimulatorsWantIt) {
  const Stages stages(case_named("dp2_tp2_pp2_sequence_parallel"));
  write(stages);
  // Rank 5 is tp 1, dp 0 of the second stage. Activations are 1 sequence x 8 tokens x 8 wide in fp32, of
  // which sequence parallelism gives each of two ranks half: 128 bytes.
  const Trace trace = read_chakra(file(prefix(), Rank{5}));
  std::map<NodeType, std::size_t> first;
  std::map<std::string, std::size_t> first_op;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    first.emplace(trace.type(row), row);
    first_op.emplace(text(trace, row, "op"), row);
  }
  const std::size_t receive = first.at(NodeType::kCommRecv);
  EXPECT_EQ(trace.find_attribute(receive, "comm_src")->kind, TraceAttributeKind::kInt32);
  EXPECT_EQ(integer(trace, receive, "comm_src"), 1);
  EXPECT_EQ(integer(trace, receive, "comm_dst"), 5);
  EXPECT_EQ(trace.find_attribute(receive, "comm_tag")->kind, TraceAttributeKind::kInt32);
  EXPECT_EQ(trace.find_attribute(receive, "comm_size")->kind, TraceAttributeKind::kInt64);
  EXPECT_EQ(integer(trace, receive, "comm_size"), 128);
  const std::size_t send = first.at(NodeType::kCommSend);
  EXPECT_EQ(integer(trace, send, "comm_src"), 5);
  EXPECT_EQ(integer(trace, send, "comm_dst"), 1);
  // A rank gives its half to an all-gather, and the whole to a reduce-scatter.
  const std::size_t gather = first_op.at("all_gather");
  EXPECT_EQ(trace.find_attribute(gather, "comm_type")->kind, TraceAttributeKind::kInt64);
  EXPECT_EQ(integer(trace, gather, "comm_type"), static_cast<std::int64_t>(CollectiveType::kAllGather));
  EXPECT_EQ(integer(trace, gather, "comm_size"), 128);
  EXPECT_EQ(text(trace, gather, "pg_name"), "3");
  EXPECT_FALSE(trace.find_attribute(gather, "reduce_op"));
  const std::size_t scatter = first_op.at("reduce_scatter");
  EXPECT_EQ(integer(trace, scatter, "comm_type"), static_cast<std::int64_t>(CollectiveType::kReduceScatter));
  EXPECT_EQ(integer(trace, scatter, "comm_size"), 256);
  EXPECT_EQ(text(trace, first_op.at("all_reduce"), "reduce_op"),
            "max");  // of the logits, over the vocabulary
}

// The input of a column-split layer is gathered again for its weight's gradient: not before the backward pass
// gets there, and the gradient of the input does not wait for it.
TEST_F(RankTracesOnce, WhatIsGatheredAgainIsAskedForInItsPlace) {
  const Stages stages(case_named("dp2_tp2_pp2_sequence_parallel"));
  write(stages);
  const Trace trace = read_chakra(file(prefix(), Rank{0}));
  std::map<std::string, std::size_t> rows;  // of micro-batch 0
  for (std::size_t row = 0; row < trace.size(); ++row)
    if (integer(trace, row, "micro_batch") == 0) rows.emplace(trace.name(row), row);
  const std::string layer = "transformer.h.1.mlp.c_fc.";
  const std::size_t gather = rows.at(layer + "all_gather.again");
  // In order: what the layer behind computes last, the gather, the gradients of input and weight.
  EXPECT_TRUE(parents(trace, gather).contains(rows.at("transformer.h.1.mlp.c_proj.matmul.grad_b")));
  EXPECT_FALSE(parents(trace, rows.at(layer + "gelu_grad")).contains(gather));
  EXPECT_FALSE(parents(trace, rows.at(layer + "matmul.grad_a")).contains(gather));
  EXPECT_TRUE(parents(trace, rows.at(layer + "matmul.grad_b")).contains(gather));
  const std::size_t scatter = rows.at(layer + "reduce_scatter.grad");
  EXPECT_LT(scatter, rows.at(layer + "matmul.grad_b"));
  EXPECT_FALSE(parents(trace, rows.at(layer + "matmul.grad_b")).contains(scatter));
}

TEST_F(RankTracesOnce, TensorsAreListedForTheFirstMicroBatchOnly) {
  const Stages stages(case_named("pp2"));
  write(stages);
  const Trace trace = read_chakra(file(prefix(), Rank{0}));
  for (std::size_t row = 0; row < trace.size(); ++row)
    EXPECT_EQ(trace.inputs(row).empty(), integer(trace, row, "micro_batch") != 0) << trace.name(row);
}

TEST_F(RankTracesOnce, OnlyTheRanksAskedForAreWritten) {
  const Stages stages(case_named("dp2_tp2_pp2_sequence_parallel"));
  std::vector<const Program*> last_stage{nullptr, stages.pointers[1]};
  const RankTraceReport report =
      write_rank_traces(stages.plan, last_stage, prefix(), {.ranks = {Rank{6}, Rank{4}, Rank{6}}});
  EXPECT_EQ(report.files, 2);
  EXPECT_THAT(entries(), ElementsAre("step.4.et", "step.6.et", "step.groups.json"));

  const auto error = error_of([&] { write(stages, {.ranks = {Rank{8}}}, "other"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kUsage);
  EXPECT_EQ(error->message(), "there is no rank 8: the plan has 8");
}

TEST_F(RankTracesOnce, AnExistingFileIsRefusedBeforeAnythingIsWritten) {
  const Stages stages(case_named("dp2_tp2_pp2_sequence_parallel"));
  for (const std::string name : {"step.7.et", "step.groups.json"}) {
    write_text(folder_ / name, "mine");
    const auto error = error_of([&] { write(stages); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kUsage);
    EXPECT_THAT(error->what(), HasSubstr(name));
    EXPECT_THAT(entries(), ElementsAre(name));
    EXPECT_EQ(read_text(folder_ / name), "mine");
    write(stages, {.overwrite = Overwrite::kAllow});
    EXPECT_NE(read_text(folder_ / name), "mine");
    EXPECT_EQ(entries().size(), 9u);
    for (const std::string& entry : entries()) fs::remove(folder_ / entry);
  }
}

TEST_F(RankTracesOnce, ProgressIsReportedAndMayStopTheWriting) {
  const Stages stages(case_named("dp2_tp2_pp2_sequence_parallel"));
  std::vector<std::int64_t> reported;
  std::int64_t all = 0;
  const RankTraceReport report = write(stages, {.progress = [&](std::int64_t done, std::int64_t total) {
                                         all = total;
                                         reported.push_back(done);
                                       }});
  EXPECT_TRUE(std::ranges::is_sorted(reported));
  EXPECT_EQ(reported.back(), all);
  EXPECT_EQ(all, report.nodes) << "nodes of all eight files";

  struct Stop {};
  EXPECT_THROW(write(stages, {.progress = [](std::int64_t, std::int64_t) { throw Stop(); }}, "other"), Stop);
  EXPECT_EQ(entries().size(), 9u);  // of the first time
}

TEST_F(RankTracesOnce, WhatWouldTakeTooMuchIsRefusedBeforehand) {
  const Stages stages(case_named("dp2_tp2_pp2_sequence_parallel"));
  const RankTraceReport report = write(stages, {});
  Bytes estimated;
  for (std::int32_t rank = 0; rank < 8; ++rank)
    estimated += estimate_rank_trace(stages.plan, stages.of(Rank{rank}), Rank{rank}, {});
  EXPECT_EQ(estimated, report.bytes) << "small traces are estimated to the byte";
  for (const std::string& entry : entries()) fs::remove(folder_ / entry);

  // Files of one stage differ in a few bytes, and the first stands for all.
  const RankTraceOptions::Limit too_little{Bytes{report.bytes.count() * 9 / 10}, "the disk is small"};
  const RankTraceOptions::Limit enough{Bytes{report.bytes.count() * 11 / 10}};
  try {
    write(stages, {.limit = too_little});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), testing::StartsWith("the traces of 8 ranks would take about "));
    EXPECT_THAT(error.message(), testing::EndsWith("; the disk is small"));
  }
  EXPECT_THAT(entries(), IsEmpty());
  EXPECT_EQ(write(stages, {.limit = enough}).files, 8);
}

TEST_F(RankTracesOnce, MessagesToOnePeerStayInOrderUnlessPostedTogether) {
  GraphBuilder builder;
  const TensorId x = builder.variable({.name = "x", .shape = {4}});
  for (const std::int64_t tag : {0, 2}) send(builder, x, {.group = "pp", .peer = 1, .tag = tag});
  Program program;
  program.graphs.push_back(builder.take());
  program.sections.push_back({.name = "first", .graph = 0, .first_op = 0, .end_op = 1});
  program.sections.push_back({.name = "second", .graph = 0, .first_op = 1, .end_op = 2});
  program.instructions = {{.section = SectionId{0}, .with_next = true},
                          {.section = SectionId{1}},
                          {.section = SectionId{0}, .micro_batch = 1},
                          {.section = SectionId{1}, .micro_batch = 1}};
  const Plan plan{.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 2};
  const std::vector<const Program*> programs{&program, nullptr};
  write_rank_traces(plan, programs, prefix(), {.ranks = {Rank{0}}});
  const Trace trace = read_chakra(file(prefix(), Rank{0}));
  EXPECT_THAT(parents(trace, 0), IsEmpty());
  EXPECT_THAT(parents(trace, 1), IsEmpty());
  EXPECT_THAT(parents(trace, 2), ElementsAre(0, 1));
  EXPECT_THAT(parents(trace, 3), ElementsAre(2));
  // Two tags for each of four chunks, for each micro-batch.
  EXPECT_EQ(integer(trace, 1, "comm_tag"), 2);
  EXPECT_EQ(integer(trace, 3, "comm_tag"), 2 + 8);
}

TEST_F(RankTracesOnce, AstraSimCannotReduce) {
  GraphBuilder builder;
  const TensorId x = builder.variable({.name = "x", .shape = {4}});
  {
    const auto scope = builder.in_layer("here");
    reduce(builder, x, {.group = "tp", .size = 2}, 0);
  }
  Program program;
  program.graphs.push_back(builder.take());
  program.sections.push_back({.name = "forward", .graph = 0, .first_op = 0, .end_op = 1});
  program.instructions.push_back({});
  const std::vector<const Program*> programs{&program};
  const auto error =
      error_of([&] { write_rank_traces({.tp = 2}, programs, prefix(), {.flavor = TraceFlavor::kAstraSim}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInfeasible);
  EXPECT_EQ(error->message(), "op 'here.reduce' is a reduce, at which ASTRA-sim stops");
  EXPECT_THAT(entries(), IsEmpty());

  write_rank_traces({.tp = 2}, programs, prefix(), {});
  EXPECT_EQ(integer(read_chakra(file(prefix(), Rank{1})), 0, "comm_size"), 16);  // 4 x fp32
}

TEST_F(RankTracesOnce, WhatDoesNotFitInMemoryIsNotShared) {
  const Stages stages(case_named("tp2"));
  const StepTraceOptions options{.plan = &stages.plan};
  EXPECT_FALSE(StageEncoding::make(stages.programs[0], options, 1_KiB));
  EXPECT_TRUE(StageEncoding::make(stages.programs[0], options, 1_MiB));
}

TEST_F(RankTracesOnce, TagsMustFit32Bits) {
  // 2 tags x 2 stages x 2^29 micro-batches = 2^31, one more than the largest.
  const Plan plan{.pp = 2, .micro_batches = std::int64_t{1} << 29};
  const auto error = error_of([&] { StepTracer(Program{}, {.plan = &plan}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInfeasible);
  EXPECT_THAT(error->message(), HasSubstr("536870912 micro-batches over 2 stages"));
}

}  // namespace
}  // namespace nadi::inline traces
