#include "nadi/parallel/gradient_reduction.h"

#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline describe {
namespace {

GroupArgs group_args(const Plan& plan, GroupKind kind) {
  return {std::string(to_string(kind)), group_size(plan, kind)};
}

class ReductionBuilder {
 public:
  ReductionBuilder(std::span<const ChunkGraph> chunks, const Plan& plan, const ReductionRequest& request,
                   const LayoutRules& rules)
      : chunks_(chunks), plan_(plan), request_(request), stage_(stage_layout(rules, plan, request.stage)) {}

  ReductionGraph build() {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) add_parameters(chunk);
    const ParameterLayout layout(parameters_, stage_);
    rows_.assign(layout.rows, kNoRow);
    gathers_.resize(layout.buckets.size());
    const auto phase = builder_.in_phase(Phase::kBackward);
    for (const ParameterBucket& bucket : layout.buckets) reduce(bucket);
    const std::uint32_t first = here();
    optimize(layout);
    result_.optimizer = {first, here()};
    if (gathers_early()) gather_early(layout);
    add_state_buckets();
    result_.graph = builder_.take();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  // A parameter's variables in the reduction's graph.
  struct Variables {
    TensorId parameter = kNoTensor;
    TensorId gradient = kNoTensor;
  };

  std::uint32_t here() const { return static_cast<std::uint32_t>(builder_.graph().ops().size()); }
  bool last_stage() const { return request_.stage == plan_.pp - 1; }
  bool gathers_early() const { return stage_.rules.gathers == GatherTime::kBeforeUse; }

  void add_parameters(std::size_t chunk) {
    const Graph& graph = chunks_[chunk].graph;
    for (ReadyParameter& parameter :
         ready_parameters(chunks_[chunk], {.split = plan_.tp > 1,
                                          .tied_parameter = request_.tied_parameter,
                                          .numbers_experts = plan_.numbers_experts()})) {
      parameter.chunk = chunk;
      parameters_.push_back(parameter);
    }
    for (const auto& [parameter, gradient] : chunks_[chunk].gradients) {
      const TensorId of_parameter = builder_.variable(graph.tensor(parameter));
      variables_.push_back({of_parameter, builder_.variable(graph.tensor(gradient))});
    }
  }

  void reduce(const ParameterBucket& bucket) {
    const std::uint32_t first = here();
    const auto scope = builder_.in_layer(format("gradients.{}", result_.buckets.size()));
    const GroupArgs data = group_args(plan_, bucket.kind.reduced_over);
    if (data.size > 1 || bucket.at_end) first_norm_part_ = input_.norm.size();
    std::vector<TensorId> gradients, parameters;
    for (const ParameterBucket::Member& member : bucket.members) {
      gradients.push_back(variables_[member.parameter].gradient);
      parameters.push_back(variables_[member.parameter].parameter);
    }
    if (bucket.partial) bucket_all_reduce(builder_, gradients, group_args(plan_, GroupKind::kTensor));
    if (bucket.kind.tied) bucket_all_reduce(builder_, gradients, group_args(plan_, GroupKind::kEmbedding));
    if (bucket.part > 0) {
      shard(bucket, gradients, parameters, data);
    } else {
      lay_out(bucket, gradients, parameters);
      if (data.size > 1) bucket_all_reduce(builder_, gradients, data);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        input_.updates.push_back({parameters[i], gradients[i], bucket.kind.decays});
        count_in_norm(bucket, gradients[i]);
      }
    }
    result_.buckets.push_back({.ops = {first, here()},
                               .chunk = bucket.chunk,
                               .ready_after = bucket.ready_after,
                               .at_end = bucket.at_end});
  }

  void lay_out(const ParameterBucket& bucket, const std::vector<TensorId>& gradients,
               const std::vector<TensorId>& parameters) {
    std::size_t& row = rows_[bucket.row];
    if (row == kNoRow) {
      row = result_.variables.size();
      result_.variables.resize(row + 2);
    }
    const auto add = [](VariableBucket& to, const std::vector<std::string>& tensors) {
      to.tensors.insert(to.tensors.end(), tensors.begin(), tensors.end());
    };
    add(result_.variables[row], names(gradients));
    add(result_.variables[row + 1], names(parameters));
  }

  // Each data-parallel rank gets the summed gradients of its part of the bucket and updates that part.
  void shard(const ParameterBucket& bucket, const std::vector<TensorId>& gradients,
             const std::vector<TensorId>& parameters, const GroupArgs& data) {
    const Shape part{bucket.part};
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
    input_.updates.push_back({own_parameters, own_gradients, bucket.kind.decays});
    count_in_norm(bucket, own_gradients);
    gathers_[result_.buckets.size()] = {own_parameters, parameters};
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

  // Optimizer state that has the shape of its parameter lies as the parameters do; of a bucket that ranks divide it
  // is one variable.
  void add_state_buckets() {
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
  void count_in_norm(const ParameterBucket& bucket, TensorId gradient) {
    if (bucket.kind.tied && last_stage()) return;
    double factor = bucket.kind.replicated ? 1.0 / static_cast<double>(plan_.tp) : 1.0;
    // Squares are summed over all ranks, of which so many have the same gradients.
    if (plan_.numbers_experts() && bucket.part == 0)
      factor /= static_cast<double>(stage_.ranks_over(bucket.kind.reduced_over));
    for (std::size_t i = first_norm_part_; i < input_.norm.size(); ++i)
      if (OptimizerInput::NormPart& part = input_.norm[i]; part.factor == factor) {
        part.gradients.push_back(gradient);
        return;
      }
    input_.norm.push_back({{gradient}, factor});
  }

  void optimize(const ParameterLayout& layout) {
    const auto phase = builder_.in_phase(Phase::kOptimizer);
    if (plan_.numbers_experts()) {
      input_.norm_groups.push_back(group_args(plan_, GroupKind::kWorld));
    } else {
      if (stage_.splits_state) input_.norm_groups.push_back(group_args(plan_, GroupKind::kData));
      if (group_size(plan_, GroupKind::kModel) > 1)
        input_.norm_groups.push_back(group_args(plan_, GroupKind::kModel));
    }
    const LossScale loss_scale = request_.fp16 ? make_loss_scale(builder_) : LossScale{};
    if (last_stage() && group_size(plan_, GroupKind::kData) > 1) {
      const auto scope = builder_.in_layer("optimizer");
      const TensorId loss = builder_.variable({.name = "loss", .role = Role::kMetric});
      all_reduce(builder_, {.x = loss, .group = group_args(plan_, GroupKind::kData), .into = {loss}});
    }
    add_optimizer(builder_, input_, request_.optimizer, loss_scale);
    if (gathers_early()) return;
    for (std::size_t b = 0; b < layout.buckets.size(); ++b)
      if (layout.buckets[b].part > 0) gather(layout.buckets[b], gathers_[b]);
  }

  void gather_early(const ParameterLayout& layout) {
    const auto phase = builder_.in_phase(Phase::kOptimizer);
    for (const std::size_t b : layout.by_first_use()) {
      if (layout.buckets[b].part == 0) continue;
      const std::uint32_t first = here();
      gather(layout.buckets[b], gathers_[b]);
      result_.gathers.push_back({first, here()});
    }
  }

  // An updated part, and the parameters that it is part of.
  struct Gather {
    TensorId part = kNoTensor;
    std::vector<TensorId> parameters;
  };
  void gather(const ParameterBucket& bucket, const Gather& gather) {
    const auto scope = builder_.in_layer("optimizer");
    bucket_all_gather(builder_, gather.part, group_args(plan_, bucket.kind.reduced_over), gather.parameters);
  }

  std::span<const ChunkGraph> chunks_;
  const Plan& plan_;
  const ReductionRequest& request_;
  const StageLayout stage_;
  GraphBuilder builder_;
  std::vector<ReadyParameter> parameters_;
  std::vector<Variables> variables_;  // by parameter
  OptimizerInput input_;
  std::size_t first_norm_part_ = 0;  // of the bucket under way
  std::vector<Gather> gathers_;      // by bucket
  std::vector<std::size_t> rows_;    // by row: the result's variables, gradients and then parameters
  ReductionGraph result_;
};

}  // namespace

ReductionGraph build_reduction(std::span<const ChunkGraph> chunks, const Plan& plan,
                               const ReductionRequest& request, const LayoutRules& rules) {
  return ReductionBuilder(chunks, plan, request, rules).build();
}

}  // namespace nadi::inline describe
