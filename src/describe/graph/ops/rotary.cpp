#include "nadi/graph/ops/rotary.h"

#include <cmath>
#include <numbers>

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer(const OpView& op) {
  const std::int64_t heads = op.attributes().integer("heads");
  const Shape& x = op.in(0);
  op.require(x.rank() == 3 && heads >= 1 && x[2] % (2 * heads) == 0,
             "takes [B, T, H*D] with an even head width D");
  if (op.has(1)) op.require(op.in(1) == Shape{x[0]}, "positions must be [B]");
  if (op.has(2))
    op.require(!op.has(1) && op.in(2) == Shape{x[1]},
               "token positions must be a 1-D tensor [T]; positions must be absent");
  return {{x, op.input(0).dtype}};
}

// A rotation's transpose is the rotation the other way.
void gradient(GradientRule& rule) {
  Attributes attributes = rule.attributes();
  attributes.set("inverse", !attributes.boolean("inverse"));
  rule.emit({.kind = OpKind::kRotary,
             .inputs = {rule.gradient(0), rule.input(1), rule.input(2)},
             .attributes = attributes},
            {0});
}

}  // namespace

std::vector<double> RotaryFrequencies::values(std::int64_t head_width) const {
  std::vector<double> result(head_width / 2);
  write(result);
  return result;
}

void RotaryFrequencies::write(std::span<double> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    double frequency = std::pow(theta, -static_cast<double>(i) / static_cast<double>(values.size()));
    if (original_positions > 0) {
      const double wavelength = 2 * std::numbers::pi / frequency;
      const double positions = static_cast<double>(original_positions);
      if (wavelength > positions / low_frequency_factor) {
        frequency /= factor;
      } else if (wavelength >= positions / high_frequency_factor) {
        const double blend =
            (positions / wavelength - low_frequency_factor) / (high_frequency_factor - low_frequency_factor);
        frequency = (1 - blend) * frequency / factor + blend * frequency;
      }
    }
    values[i] = frequency;
  }
}

RotaryFrequencies rotary_frequencies(const Attributes& attributes) {
  return {.theta = attributes.real("theta"),
          .factor = attributes.real("factor"),
          .low_frequency_factor = attributes.real("low_frequency_factor"),
          .high_frequency_factor = attributes.real("high_frequency_factor"),
          .original_positions = attributes.integer("original_positions")};
}

TensorId rotary(GraphBuilder& builder, const RotaryArgs& args) {
  return builder.add_one({.kind = OpKind::kRotary,
                          .inputs = {args.x, args.positions, args.token_positions},
                          .attributes = {{"heads", args.heads},
                                         {"theta", args.frequencies.theta},
                                         {"factor", args.frequencies.factor},
                                         {"low_frequency_factor", args.frequencies.low_frequency_factor},
                                         {"high_frequency_factor", args.frequencies.high_frequency_factor},
                                         {"original_positions", args.frequencies.original_positions}}});
}

OpDefinition rotary_definition() {
  return {.kind = OpKind::kRotary,
          .name = "rotary",
          .work = WorkKind::kElementwise,
          .attributes = {{"heads", std::int64_t{1}},
                         {"theta", 10000.0},
                         {"factor", 1.0},
                         {"low_frequency_factor", 1.0},
                         {"high_frequency_factor", 1.0},
                         {"original_positions", std::int64_t{0}},
                         {"inverse", false}},
          .inputs = {"x", "positions?", "token_positions?"},
          .infer = infer,
          // Two products and a sum per element; the table of sines and cosines is made once, not per step.
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * 3; },
          .saves = [](const OpView&) { return Saved{.inputs = bit(1) | bit(2)}; },
          .gradient = gradient,
          .in_place_input = 0};
}

}  // namespace nadi::inline describe
