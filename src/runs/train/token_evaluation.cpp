#include "nadi/train/token_evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/half.h"
#include "nadi/base/round_up.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/data/batch_source.h"
#include "nadi/engine/engine.h"
#include "nadi/graph/ops/cross_entropy.h"
#include "nadi/model/dropout.h"
#include "nadi/model/expert_names.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/run/agreement.h"
#include "nadi/run/sharded_state.h"
#include "nadi/train/step_inputs.h"
#include "nadi/train/step_requests.h"

namespace nadi::inline runs {
namespace {

ModelConfig without_dropout(ModelConfig config) {
  set_dropout(config, 0);
  return config;
}

Plan whole_batch_plan(Plan plan) {
  plan.zero_stage = 0;
  plan.micro_batches = 1;
  return plan;
}

// A schedule over virtual stages wants as many micro-batches as there are stages.
Plan gradient_plan(const Plan& plan) {
  return with_micro_batches(whole_batch_plan(plan), plan.virtual_stages > 1 ? plan.pp : 1);
}

// Where this rank has a parameter's gradient; nowhere: it is on another.
struct GradientPlace {
  const Tensor* gradient = nullptr;
  std::int64_t first = 0, elements = 0;
};

class TokenRun {
 public:
  TokenRun(const TokenEvaluationRequest& request, Communicator& world)
      : request_(request),
        config_(without_dropout(request.config)),
        plan_(whole_batch_plan(request.plan)),
        gradient_plan_(gradient_plan(request.plan)),
        world_(world),
        agreement_(world),
        groups_(world, plan_),
        place_(coordinates_of(plan_, world.rank())),
        tokens_(padded_tokens()),
        rows_(rounded_up(static_cast<std::int64_t>(request.sequences.size()),
                         plan_.dp * gradient_plan_.micro_batches)),
        forward_(config_, step_request(StepKind::kEvaluate), plan_) {
    if (request.gradients) {
      if (request.dtype == DType::kF16)
        throw usage_error("gradients of fp16 are scaled, and no others' equals",
                          "bf16 and fp32 have them as they are");
      backward_.emplace(config_, step_request(StepKind::kTrain), gradient_plan_);
    }
    engine_ = make_engine(
        request.device,
        {.threads = request.threads, .groups = world.size() > 1 ? &groups_ : nullptr, .math = request.math});
  }

  TokenEvaluation run() {
    const ProgramHandle forward = engine_->load(forward_.of(place_.pp));
    std::optional<ProgramHandle> backward;
    if (backward_) backward = engine_->load(backward_->of(place_.pp));
    engine_->bind();
    TokenEvaluation result;
    if (!request_.weights.empty()) {
      ShardedState state(*engine_, world_, forward_);
      result.unused_weights = state.load_weights(request_.weights, request_.verify);
      result.notes = state.notes();
    }
    engine_->initialize(request_.seed);
    result.targets = target_count();
    const StepScalars scalars{.seed = request_.seed, .token_count = result.targets};

    feed({*engine_, forward}, scalars, 1);
    const Ticket ticket = engine_->run(forward);
    engine_->wait(ticket);
    // Each rank of the last stage has the share of its own tokens; tensor-parallel ones have the same.
    const bool contributes = last_stage() && place_.tp == 0;
    result.loss = agreement_.sum(contributes ? engine_->scalar(ticket, "loss") : 0);
    add_auxiliary_loss(ticket, result);
    for (const TokenPlace& place : request_.positions) result.logits.push_back(logits_of(place));
    if (!backward) return result;

    feed({*engine_, *backward}, scalars, gradient_plan_.micro_batches);
    engine_->wait(engine_->run(*backward));
    result.gradients = gradient_norms();
    return result;
  }

 private:
  // Ranks have the share of their own tokens, or all of tensor-parallel ones the same.
  void add_auxiliary_loss(Ticket ticket, TokenEvaluation& result) const {
    if (config_.experts == 0) return;
    const bool contributes =
        engine_->find_variable("auxiliary_loss") != nullptr && (place_.tp == 0 || plan_.sequence_parallel);
    result.auxiliary_loss = agreement_.sum(contributes ? engine_->scalar(ticket, "auxiliary_loss") : 0);
    result.loss += config_.balance_coefficient * result.auxiliary_loss;
  }

  bool last_stage() const { return place_.pp == plan_.pp - 1; }
  std::int64_t own_rows() const { return rows_ / plan_.dp; }

  // Of the longest sequence, and as many more as divide over the ranks that share it.
  std::int64_t padded_tokens() const {
    std::int64_t longest = 1;
    for (const std::vector<TokenId>& sequence : request_.sequences)
      longest = std::max(longest, static_cast<std::int64_t>(sequence.size()));
    std::int64_t parts = plan_.cp > 1 ? 2 * plan_.cp : 1;
    if (plan_.sequence_parallel) parts *= plan_.tp;
    return rounded_up(longest, parts);
  }

  StepRequest step_request(StepKind kind) const {
    return {.kind = kind,
            .batch_size = own_rows(),
            .seq_length = tokens_,
            .dtype = request_.dtype,
            .fused_attention = request_.fused_attention,
            // Nothing is updated that anybody reads.
            .optimizer = {.kind = OptimizerKind::kSgd,
                          .momentum = 0,
                          .weight_decay = 0,
                          .learning_rate = {.decay = Decay::kConstant},
                          .max_grad_norm = 0},
            .keeps_logits = kind == StepKind::kEvaluate && !request_.positions.empty()};
  }

  bool next_token() const { return config_.architecture->generates(); }

  std::int64_t target_count() const {
    std::int64_t count = 0;
    for (const std::vector<TokenId>& sequence : request_.sequences)
      count += static_cast<std::int64_t>(sequence.size()) - (next_token() ? 1 : 0);
    return count;
  }

  // Rows beyond the last sequence have no targets.
  Batch batch_of(std::int64_t first, std::int64_t rows) const {
    const auto size = static_cast<std::size_t>(rows * tokens_);
    Batch batch{.input_ids = std::vector<std::int32_t>(size, 0),
                .token_type_ids = std::vector<std::int32_t>(size, 0),
                .targets = std::vector<std::int32_t>(size, kIgnoredTarget),
                .lengths = std::vector<std::int32_t>(static_cast<std::size_t>(rows), 1)};
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto number = static_cast<std::size_t>(first + row);
      if (number >= request_.sequences.size()) break;
      const std::vector<TokenId>& sequence = request_.sequences[number];
      const auto at = static_cast<std::size_t>(row * tokens_);
      batch.lengths[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(sequence.size());
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        batch.input_ids[at + i] = sequence[i];
        if (!next_token())
          batch.targets[at + i] = sequence[i];
        else if (i > 0)
          batch.targets[at + i - 1] = sequence[i];
      }
    }
    return batch;
  }

  void feed(const StepInputs& inputs, const StepScalars& scalars, std::int64_t micro_batches) const {
    set_step_scalars(inputs, scalars);
    const std::int64_t rows = own_rows() / micro_batches;
    for (std::int64_t m = 0; m < micro_batches; ++m) {
      const std::int64_t first = place_.dp * own_rows() + m * rows;
      set_batch(inputs, split_over_context(batch_of(first, rows), plan_, place_.cp), m);
      set_random(inputs, scalars, m, first);
    }
  }

  // Context-parallel ranks have two pieces of a sequence each, the i-th from the front and the i-th from the
  // back; what they kept stands one rank's after the other's.
  std::int64_t kept_place(std::int64_t position) const {
    if (plan_.cp == 1) return position;
    const std::int64_t piece_tokens = tokens_ / (2 * plan_.cp), piece = position / piece_tokens;
    const bool from_front = piece < plan_.cp;
    const std::int64_t rank = from_front ? piece : 2 * plan_.cp - 1 - piece;
    return (2 * rank + (from_front ? 0 : 1)) * piece_tokens + position % piece_tokens;
  }

  std::vector<float> logits_of(const TokenPlace& place) const {
    const auto vocabulary = static_cast<std::size_t>(config_.vocabulary);
    std::vector<float> logits(vocabulary, 0);
    const Coordinates owner{.dp = place.sequence / own_rows(), .pp = plan_.pp - 1};
    const Rank from = rank_at(plan_, owner);
    if (world_.rank() == from) {
      const Tensor& kept = *engine_->find_variable("logits");
      const std::int64_t columns = kept.shape[-1];  // the vocabulary, padded where it is split
      const std::int64_t first =
          ((place.sequence % own_rows()) * tokens_ + kept_place(place.position)) * columns;
      read_floats(kept, first, logits);
    }
    world_.wait(world_.broadcast(kWorld, std::as_writable_bytes(std::span(logits)), to_number(from)));
    return logits;
  }

  void read_floats(const Tensor& tensor, std::int64_t first, std::span<float> into) const {
    if (tensor.dtype == DType::kF32) return engine_->read(tensor.name, first, std::as_writable_bytes(into));
    std::vector<std::uint16_t> halves(into.size());
    engine_->read(tensor.name, first, std::as_writable_bytes(std::span(halves)));
    std::ranges::transform(halves, into.begin(), tensor.dtype == DType::kBF16 ? &from_bf16 : &from_f16);
  }

  // Reduced gradients are equal on all data- and context-parallel ranks, and on tensor-parallel ones where the
  // parameter is not split. Tied embeddings are on the first stage and on the last.
  double own_squares(const std::string& parameter, const GradientPlace& place) const {
    const Tensor* const gradient = place.gradient;
    if (gradient == nullptr) return 0;
    if (plan_.numbers_experts() && is_of_every_expert(gradient->name)) {
      const ExpertCoordinates at = expert_coordinates_of(plan_, world_.rank());
      const bool is_split =
          std::ranges::any_of(gradient->shards, [](const Shard& shard) { return shard.axis > 0; });
      return at.edp == 0 && (at.etp == 0 || is_split) ? squares_of(place) : 0;
    }
    if (place_.dp != 0 || place_.cp != 0) return 0;
    if (place_.tp != 0 && gradient->shards.empty()) return 0;
    const bool has_copy = plan_.pp > 1 && last_stage() && config_.tied_embeddings &&
                          parameter == config_.architecture->word_embeddings();
    if (has_copy) return 0;
    return squares_of(place);
  }

  double squares_of(const GradientPlace& place) const {
    double squares = 0;
    std::vector<float> values(static_cast<std::size_t>(place.elements));
    engine_->read(place.gradient->name, place.first, std::as_writable_bytes(std::span(values)));
    for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
    return squares;
  }

  // Of each parameter as files have it: experts' are in one variable.
  std::map<std::string, GradientPlace> gradient_places() const {
    constexpr std::string_view kSuffix = ".grad";
    std::map<std::string, GradientPlace> places;
    for (const Tensor* const variable : engine_->variables()) {
      if (variable->role != Role::kGradient || !variable->name.ends_with(kSuffix)) continue;
      const std::string parameter = variable->name.substr(0, variable->name.size() - kSuffix.size());
      if (!is_of_every_expert(parameter)) {
        places[parameter] = {.gradient = variable, .elements = variable->shape.elements()};
        continue;
      }
      const std::int64_t experts = variable->shape[0], elements = variable->shape.elements() / experts;
      const std::int64_t first = experts * expert_coordinates_of(plan_, world_.rank()).ep;
      for (std::int64_t expert = 0; expert < experts; ++expert)
        places[name_of_expert(parameter, first + expert)] = {
            .gradient = variable, .first = expert * elements, .elements = elements};
    }
    return places;
  }

  std::vector<GradientNorm> gradient_norms() const {
    std::vector<GradientNorm> norms;
    std::map<std::string, GradientPlace> places = gradient_places();
    for (const WantedTensor& parameter : whole_parameters(config_))
      norms.push_back(
          {parameter.name, std::sqrt(agreement_.sum(own_squares(parameter.name, places[parameter.name])))});
    return norms;
  }

  const TokenEvaluationRequest& request_;
  const ModelConfig config_;
  const Plan plan_, gradient_plan_;
  Communicator& world_;
  const Agreement agreement_;
  const PlanGroups groups_;
  const Coordinates place_;
  const std::int64_t tokens_, rows_;  // of the padded batch of all data-parallel ranks
  const StagePrograms forward_;
  std::optional<StagePrograms> backward_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

TokenEvaluation evaluate_tokens(const TokenEvaluationRequest& request, Communicator& world) {
  check(!request.sequences.empty(), "there are sequences");
  if (request.config.experts > 0 && request.config.balance_loss && request.plan.pp > 1)
    throw usage_error(
        "the loss of routers is of the tokens of all layers, which stages of a pipeline do not have together",
        "--tp shares the model over ranks, too");
  return TokenRun(request, world).run();
}

}  // namespace nadi::inline runs
