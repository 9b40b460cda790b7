#include "nadi/parallel/chunk_graph.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/graph/ops/point_to_point.h"
#include "nadi/model/model.h"
#include "nadi/parallel/parallel_layers.h"

namespace nadi::inline describe {
namespace {

// Messages into chunk c have tag 2c; their gradients, the other way, 2c + 1.
PeerArgs peer_of_chunk(const Plan& plan, std::int64_t chunk, std::int64_t tag_of) {
  return {.group = std::string(to_string(GroupKind::kPipeline)), .peer = chunk % plan.pp, .tag = 2 * tag_of};
}

class ChunkBuilder {
 public:
  ChunkBuilder(const ModelConfig& config, const Plan& plan, const ChunkRequest& request)
      : config_(config),
        plan_(plan),
        request_(request),
        layers_(builder_, config, request.options, plan, request.whole_tokens) {}

  ChunkGraph build() {
    // Ops of a block, forward, backward and recomputed: 40 to 90, depending on the architecture.
    constexpr std::int64_t kOpsPerLayer = 64;
    builder_.reserve(
        static_cast<std::size_t>((request_.end_layer - request_.first_layer + 2) * kOpsPerLayer));
    if (!request_.names) builder_.leave_out_names();
    layers_.accumulate_loss(request_.accumulate);
    forward();
    if (request_.options.mode == ForwardMode::kTrain) backward();
    chunk_.graph = builder_.take();
    return std::move(chunk_);
  }

 private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(builder_.graph().ops().size()); }

  void forward() {
    const Model& model = model_of(config_.architecture);
    TensorId x;
    if (request_.first()) {
      chunk_.forward.first = here();
      x = model.embed(layers_);
    } else {
      const auto scope = builder_.in_layer("pipeline");
      x = receive(builder_, layers_.stream_shape(), request_.options.dtype,
                  peer_of_chunk(plan_, request_.number - 1, request_.number));
      chunk_.receive_input = {0, here()};
      chunk_.forward.first = here();
    }
    for (std::int64_t number = request_.first_layer; number < request_.end_layer; ++number) {
      const auto block = builder_.in_block(static_cast<std::int32_t>(number));
      x = model.block(layers_, number, x);
    }
    if (request_.last()) model.head(layers_, x);
    chunk_.forward.end = here();
    chunk_.send_output = {here(), here()};
    if (request_.last()) return;
    const auto scope = builder_.in_layer("pipeline");
    send(builder_, x, peer_of_chunk(plan_, request_.number + 1, request_.number + 1));
    chunk_.send_output.end = here();
  }

  // The gradient rule of `send` receives, and that of `receive` sends: first and last of what is added.
  void backward() {
    BackwardOptions options{.seeds = {}, .recompute = request_.recompute, .accumulate = request_.accumulate};
    std::vector<TensorId> losses{layers_.balance_loss(), layers_.router_z_loss()};
    if (request_.last()) losses.push_back(layers_.loss());
    std::erase(losses, kNoTensor);
    if (!losses.empty()) {
      const TensorId seed =
          request_.options.dtype == DType::kF16
              ? make_loss_scale(builder_).scale
              : builder_.constant("loss.grad", Shape{}, DType::kF32, Initializer::constant(1));
      for (const TensorId loss : losses) options.seeds.emplace_back(loss, seed);
    }
    const std::uint32_t first = here();
    chunk_.gradients = add_backward(builder_, options).parameters;
    const std::uint32_t end = here();
    if (request_.first() && group_size(plan_, GroupKind::kData) > 1) embeddings_first(first);
    const std::uint32_t received = request_.last() ? 0 : 1;
    const std::uint32_t sent = request_.first() ? 0 : 1;
    chunk_.receive_gradient = {first, first + received};
    chunk_.backward = {first + received, end - sent};
    chunk_.send_gradient = {end - sent, end};
    const auto is = [&](std::uint32_t op, OpKind kind) { return builder_.graph().ops()[op].kind == kind; };
    check(received == 0 || is(first, OpKind::kReceive), "a chunk's backward pass starts with its gradient");
    check(sent == 0 || is(end - 1, OpKind::kSend), "a chunk's backward pass ends with its input's gradient");
  }

  // The gradient of the embeddings, a third of all gradients of a small model, is computed last, so no
  // computation would overlap its reduction. The ops for the parameter gradients of the first block are moved
  // behind it: no other op waits for them.
  void embeddings_first(std::uint32_t first) {
    builder_.move_behind(first, [&](const Op& op) {
      return op.block == request_.first_layer && std::ranges::all_of(op.outputs, [&](const OpOutput& output) {
               return builder_.tensor(output.tensor).role == Role::kGradient;
             });
    });
  }

  const ModelConfig& config_;
  const Plan& plan_;
  const ChunkRequest& request_;
  GraphBuilder builder_;
  ParallelLayers layers_;
  ChunkGraph chunk_;
};

}  // namespace

ChunkGraph build_chunk(const ModelConfig& config, const Plan& plan, const ChunkRequest& request) {
  return ChunkBuilder(config, plan, request).build();
}

}  // namespace nadi::inline describe
