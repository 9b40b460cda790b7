#include "nadi/parallel/gradient_reduction.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline describe {
namespace {

GroupArgs group_args(const Plan& plan, GroupKind kind) {
  return {std::string(to_string(kind)), group_size(plan, kind)};
}

// Kernels of all devices like addresses at multiples of so many elements.
constexpr std::int64_t kRoundExtent = 8;

// A parameter of a chunk with what decides where it goes.
struct Member {
  std::string name;
  std::size_t chunk = 0;
  std::uint32_t ready_after = 0;
  bool decays = false;
  bool replicated = false;         // every tensor-parallel rank has all of it
  bool partial = false;            // and each has the gradient of its own tokens only
  bool tied = false;               // another stage has it, too
  TensorId parameter = kNoTensor;  // in the reduction's graph
  TensorId gradient = kNoTensor;

  bool at_end() const { return partial || tied; }
  // Members of one bucket agree in these.
  auto kind() const { return std::tuple(at_end(), chunk, decays, replicated, partial, tied); }
};

class ReductionBuilder {
 public:
  ReductionBuilder(std::span<const ChunkGraph> chunks, const Plan& plan, const ReductionRequest& request,
                   std::int64_t bucket_elements)
      : chunks_(chunks), plan_(plan), request_(request), bucket_elements_(bucket_elements) {}

  ReductionGraph build() {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) add_members(chunk);
    if (bucket_elements_ == kBucketsAsTheyFit) bucket_elements_ = fitting_bucket(all_elements());
    const auto phase = builder_.in_phase(Phase::kBackward);
    for (const std::vector<Member>& bucket : buckets()) reduce(bucket);
    const std::uint32_t first = here();
    optimize();
    result_.optimizer = {first, here()};
    add_state_buckets();
    result_.graph = builder_.take();
    return std::move(result_);
  }

 private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(builder_.graph().ops().size()); }
  bool sharded_optimizer() const { return plan_.zero_stage >= 1 && group_size(plan_, GroupKind::kData) > 1; }

  void add_members(std::size_t chunk) {
    const Graph& graph = chunks_[chunk].graph;
    std::map<TensorId, std::uint32_t> last_write;
    for (std::uint32_t i = 0; i < graph.ops().size(); ++i)
      for (const OpOutput& output : graph.ops()[i].outputs)
        if (graph.tensor(output.tensor).role == Role::kGradient) last_write[output.tensor] = i;
    for (const auto& [parameter, gradient] : chunks_[chunk].gradients) {
      const Tensor& tensor = graph.tensor(parameter);
      Member member{.name = tensor.name, .chunk = chunk, .ready_after = last_write.at(gradient)};
      member.decays = tensor.shape.rank() >= 2;
      member.replicated = plan_.tp > 1 && tensor.shards.empty();
      member.partial = member.replicated && plan_.sequence_parallel;
      member.tied = tensor.name == request_.tied_parameter;
      member.parameter = builder_.variable(tensor);
      member.gradient = builder_.variable(graph.tensor(gradient));
      members_.push_back(std::move(member));
    }
  }

  std::int64_t all_elements() const {
    std::int64_t elements = 0;
    for (const Member& member : members_) elements += builder_.shape(member.parameter).elements();
    return elements;
  }

  std::vector<std::vector<Member>> buckets() const {
    std::vector<Member> sorted = members_;
    std::ranges::stable_sort(sorted, {}, &Member::ready_after);
    // Open buckets by kind; each closes when it is full.
    std::map<decltype(sorted[0].kind()), std::vector<Member>> open;
    std::map<decltype(sorted[0].kind()), std::int64_t> filled;
    std::vector<std::vector<Member>> closed;
    for (const Member& member : sorted) {
      const auto kind = member.kind();
      open[kind].push_back(member);
      filled[kind] += builder_.shape(member.parameter).elements();
      if (filled[kind] < bucket_elements_) continue;
      closed.push_back(std::move(open[kind]));
      open.erase(kind);
      filled.erase(kind);
    }
    for (auto& [kind, bucket] : open) closed.push_back(std::move(bucket));
    std::ranges::stable_sort(closed, {}, [](const std::vector<Member>& bucket) {
      const Member& last = bucket.back();
      return std::tuple(last.at_end(), last.chunk, last.ready_after);
    });
    return closed;
  }

  // Members lie in memory in this order. A tensor of an odd number of elements, as the bias of a vocabulary
  // has, comes last, so that the others begin at round addresses, which kernels of all devices like.
  std::vector<Member> in_memory_order(std::vector<Member> bucket) const {
    // Not that of std::ranges, which clang 14 does not compile: the fuzzers are built with it.
    std::stable_partition(bucket.begin(), bucket.end(), [&](const Member& member) {
      return builder_.shape(member.parameter).elements() % kRoundExtent == 0;
    });
    return bucket;
  }

  void reduce(const std::vector<Member>& by_readiness) {
    const Member& last = by_readiness.back();
    const std::vector<Member> bucket = in_memory_order(by_readiness);
    const std::uint32_t first = here();
    const auto scope = builder_.in_layer(format("gradients.{}", result_.buckets.size()));
    const GroupArgs data = group_args(plan_, GroupKind::kData);
    if (data.size > 1 || last.at_end()) first_norm_part_ = input_.norm.size();
    std::vector<TensorId> gradients, parameters;
    for (const Member& member : bucket) {
      gradients.push_back(member.gradient);
      parameters.push_back(member.parameter);
    }
    if (last.partial) bucket_all_reduce(builder_, gradients, group_args(plan_, GroupKind::kTensor));
    if (last.tied) bucket_all_reduce(builder_, gradients, group_args(plan_, GroupKind::kEmbedding));
    if (sharded_optimizer()) {
      shard(bucket, gradients, parameters, data);
    } else {
      lay_out(bucket, gradients, parameters);
      if (data.size > 1) bucket_all_reduce(builder_, gradients, data);
      for (const Member& member : bucket) {
        input_.updates.push_back({member.parameter, member.gradient, member.decays});
        count_in_norm(member, {member.gradient});
      }
    }
    result_.buckets.push_back({.ops = {first, here()},
                               .chunk = last.chunk,
                               .ready_after = last.ready_after,
                               .at_end = last.at_end()});
  }

  // Buckets that nobody else has a part in lie one after the other, so that one kernel can go over more of
  // them. A table of tokens ends the row: the memory behind its last row must be free for devices that pad
  // it.
  void lay_out(const std::vector<Member>& bucket, const std::vector<TensorId>& gradients,
               const std::vector<TensorId>& parameters) {
    const bool reduced = group_size(plan_, GroupKind::kData) > 1 || bucket[0].at_end();
    const auto before = open_row_.find(bucket[0].kind());
    if (reduced || before == open_row_.end()) {
      result_.variables.push_back({.tensors = names(gradients)});
      result_.variables.push_back({.tensors = names(parameters)});
    } else {
      const auto add = [](VariableBucket& to, const std::vector<std::string>& tensors) {
        to.tensors.insert(to.tensors.end(), tensors.begin(), tensors.end());
      };
      add(result_.variables[before->second], names(gradients));
      add(result_.variables[before->second + 1], names(parameters));
    }
    if (reduced) return;
    if (before == open_row_.end()) open_row_.emplace(bucket[0].kind(), result_.variables.size() - 2);
    const Shape& last = builder_.shape(parameters.back());
    if (last[0] % kRoundExtent != 0) open_row_.erase(bucket[0].kind());
  }

  // Each data-parallel rank gets the summed gradients of its part of the bucket and updates that part.
  void shard(const std::vector<Member>& bucket, const std::vector<TensorId>& gradients,
             const std::vector<TensorId>& parameters, const GroupArgs& data) {
    std::int64_t elements = 0;
    for (const TensorId parameter : parameters) elements += builder_.shape(parameter).elements();
    const Shape part{bucket_part(elements, data.size)};
    const std::vector<Shard> shards{{.group = data.group, .parts = data.size, .axis = 0}};
    const std::string name = format("bucket.{}", result_.buckets.size());
    const TensorId own_gradients = builder_.variable({.name = name + ".gradients",
                                                      .shape = part,
                                                      .role = Role::kGradient,
                                                      .shards = shards,
                                                      .shares_memory = true});
    const TensorId own_parameters = builder_.variable({.name = name + ".parameters",
                                                       .shape = part,
                                                       .dtype = builder_.tensor(parameters[0]).dtype,
                                                       .role = Role::kOptimizerState,
                                                       .initializer = Initializer::flat(parameters),
                                                       .shards = shards,
                                                       .shares_memory = true});
    bucket_reduce_scatter(builder_, gradients, data, own_gradients);
    input_.updates.push_back({own_parameters, own_gradients, bucket[0].decays});
    count_in_norm(bucket[0], {own_gradients});
    gathers_.push_back({own_parameters, parameters});
    result_.variables.push_back(
        {.tensors = names(gradients), .part = name + ".gradients", .parts = data.size});
    result_.variables.push_back(
        {.tensors = names(parameters), .part = name + ".parameters", .parts = data.size});
  }

  std::vector<std::string> names(const std::vector<TensorId>& tensors) const {
    std::vector<std::string> result;
    for (const TensorId tensor : tensors) result.push_back(builder_.tensor(tensor).name);
    return result;
  }

  // Optimizer state that has the shape of its parameter lies as the parameters do.
  void add_state_buckets() {
    if (sharded_optimizer()) return;  // a variable of each bucket
    const std::size_t reduced = result_.variables.size();
    for (std::size_t b = 1; b < reduced; b += 2)  // buckets of parameters
      for (const std::string_view suffix : kStateSuffixes) {
        VariableBucket state;
        for (const std::string& parameter : result_.variables[b].tensors)
          if (const std::string name = parameter + std::string(suffix); builder_.graph().find_tensor(name))
            state.tensors.push_back(name);
        if (state.tensors.empty()) continue;
        check(state.tensors.size() == result_.variables[b].tensors.size(),
              "some parameters of a bucket have a kind of optimizer state, others not");
        result_.variables.push_back(std::move(state));
      }
  }

  // Tied weights count once, on the first stage; replicated ones once, by a share of each rank. Each bucket
  // that is reduced has parts of its own: its norm is taken while later ones are still on their way.
  void count_in_norm(const Member& member, std::vector<TensorId> gradients) {
    if (member.tied && request_.last_stage) return;
    const double factor = member.replicated ? 1.0 / static_cast<double>(plan_.tp) : 1.0;
    for (std::size_t i = first_norm_part_; i < input_.norm.size(); ++i)
      if (OptimizerInput::NormPart& part = input_.norm[i]; part.factor == factor) {
        part.gradients.insert(part.gradients.end(), gradients.begin(), gradients.end());
        return;
      }
    input_.norm.push_back({std::move(gradients), factor});
  }

  void optimize() {
    const auto phase = builder_.in_phase(Phase::kOptimizer);
    if (sharded_optimizer()) input_.norm_groups.push_back(group_args(plan_, GroupKind::kData));
    if (group_size(plan_, GroupKind::kModel) > 1)
      input_.norm_groups.push_back(group_args(plan_, GroupKind::kModel));
    const LossScale loss_scale = request_.fp16 ? make_loss_scale(builder_) : LossScale{};
    if (request_.last_stage && group_size(plan_, GroupKind::kData) > 1) {
      const auto scope = builder_.in_layer("optimizer");
      const TensorId loss = builder_.variable({.name = "loss", .role = Role::kMetric});
      all_reduce(builder_, {.x = loss, .group = group_args(plan_, GroupKind::kData), .into = {loss}});
    }
    add_optimizer(builder_, input_, request_.optimizer, loss_scale);
    for (const auto& [part, parameters] : gathers_) {
      const auto scope = builder_.in_layer("optimizer");
      bucket_all_gather(builder_, part, group_args(plan_, GroupKind::kData), parameters);
    }
  }

  std::span<const ChunkGraph> chunks_;
  const Plan& plan_;
  const ReductionRequest& request_;
  std::int64_t bucket_elements_;
  GraphBuilder builder_;
  std::vector<Member> members_;
  OptimizerInput input_;
  std::size_t first_norm_part_ = 0;  // of the bucket under way
  std::vector<std::pair<TensorId, std::vector<TensorId>>> gathers_;
  // By kind of bucket: which of the result's variables, gradients and then parameters, go on with the next.
  std::map<decltype(Member{}.kind()), std::size_t> open_row_;
  ReductionGraph result_;
};

}  // namespace

std::int64_t fitting_bucket(std::int64_t elements) {
  return std::clamp(elements / kBucketsPerRank, kFewestBucketElements, kMostBucketElements);
}

ReductionGraph build_reduction(std::span<const ChunkGraph> chunks, const Plan& plan,
                               const ReductionRequest& request, std::int64_t bucket_elements) {
  return ReductionBuilder(chunks, plan, request, bucket_elements).build();
}

}  // namespace nadi::inline describe
