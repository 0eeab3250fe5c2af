#pragma once
// A DiagramMaker makes valid diagrams out of a list of choices: a shorter or smaller list is a simpler diagram, so that
// a property test shrinks. Every kind of operation, broadcasts, several consumers and outputs occur.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal::testing {

class DiagramMaker {
 public:
  explicit DiagramMaker(std::vector<std::uint8_t> choices) : choices_(std::move(choices)) {}

  Diagram make() {
    d_.name = "random";
    axes();
    inputs();
    const std::size_t operations = 1 + choose(7);
    for (std::size_t i = 0; i < operations; ++i) operation();
    results();
    return d_;
  }

 private:
  // A number below n; a list that has ended chooses 0.
  std::size_t choose(std::size_t n) { return at_ < choices_.size() ? choices_[at_++] % n : 0; }

  void axes() {
    const std::size_t n = 1 + choose(5);
    for (std::size_t i = 0; i < n; ++i) {
      Axis a{std::string(1, static_cast<char>('a' + i)), {}, {}};
      switch (choose(4)) {
        case 1: a.fallback = static_cast<std::int64_t>(1 + choose(9)); break;
        case 2:
          if (i > 0) a.fallback = static_cast<AxisId>(choose(i));
          break;
        default: break;
      }
      d_.axes.push_back(std::move(a));
    }
  }

  ArrayId add(std::vector<AxisId> axes) {
    d_.arrays.push_back(Array{"T" + std::to_string(d_.arrays.size()), std::move(axes), {}});
    return static_cast<ArrayId>(d_.arrays.size()) - 1;
  }

  void inputs() {
    const std::size_t n = 1 + choose(4);
    std::vector<bool> carried(d_.axes.size(), false);
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<AxisId> axes;
      for (std::size_t a = 0; a < d_.axes.size(); ++a) {
        const bool last_chance = i + 1 == n && !carried[a];
        if (choose(3) == 0 && !last_chance) continue;
        axes.push_back(static_cast<AxisId>(a));
        carried[a] = true;
      }
      if (choose(2) == 1) std::reverse(axes.begin(), axes.end());
      d_.inputs.push_back(add(std::move(axes)));
    }
  }

  const std::vector<AxisId>& axes_of(ArrayId id) const { return d_.arrays[static_cast<std::size_t>(id)].axes; }
  ArrayId any_array() { return static_cast<ArrayId>(d_.arrays.size() - 1 - choose(d_.arrays.size())); }

  std::vector<AxisId> union_of(const std::vector<ArrayId>& arrays) const {
    std::vector<AxisId> all;
    for (ArrayId id : arrays) {
      for (AxisId a : axes_of(id)) {
        if (std::find(all.begin(), all.end(), a) == all.end()) all.push_back(a);
      }
    }
    return all;
  }

  std::vector<AxisId> some_of(const std::vector<AxisId>& axes) {
    std::vector<AxisId> some{axes[choose(axes.size())]};
    for (AxisId a : axes) {
      if (a != some[0] && choose(4) == 3) some.push_back(a);
    }
    return some;
  }

  static std::vector<AxisId> without(std::vector<AxisId> axes, const std::vector<AxisId>& own) {
    std::erase_if(axes, [&](AxisId a) { return std::find(own.begin(), own.end(), a) != own.end(); });
    return axes;
  }

  void operation() {
    constexpr OpKind kinds[] = {OpKind::map,      OpKind::contract, OpKind::softmax,  OpKind::contract, OpKind::sum,
                                OpKind::multiply, OpKind::add,      OpKind::subtract, OpKind::max,      OpKind::copy};
    Operation op;
    op.kind = kinds[choose(std::size(kinds))];
    op.inputs = {any_array()};
    const bool several = op.kind == OpKind::contract || op.kind == OpKind::multiply || op.kind == OpKind::add ||
                         op.kind == OpKind::subtract;
    if (several) op.inputs.push_back(any_array());
    if (several && op.kind != OpKind::subtract && choose(5) == 4) op.inputs.push_back(any_array());
    const std::vector<AxisId> all = union_of(op.inputs);
    const bool consumes =
        op.kind == OpKind::contract || op.kind == OpKind::softmax || op.kind == OpKind::sum || op.kind == OpKind::max;
    if (consumes && all.empty()) return;
    if (consumes) op.own = some_of(all);
    if (op.kind == OpKind::map) op.function = map_functions()[choose(map_functions().size())];
    attributes(op, all);
    outputs(op, all);
    d_.operations.push_back(std::move(op));
  }

  void attributes(Operation& op, const std::vector<AxisId>& all) {
    const bool scalable =
        op.kind == OpKind::softmax || op.kind == OpKind::map || op.kind == OpKind::contract || op.kind == OpKind::sum;
    if (scalable && choose(3) == 2) {
      op.scale.factor = choose(2) == 0 ? 1.0 : 0.1 * static_cast<double>(1 + choose(40));
      if (choose(2) == 1) {
        op.scale.axis = static_cast<AxisId>(choose(d_.axes.size()));
        op.scale.numerator = 2 * static_cast<int>(choose(5)) - 5;
        op.scale.denominator = 2;
      }
    }
    const bool maskable = op.kind == OpKind::softmax || (op.kind == OpKind::map && op.function == "exp");
    if (maskable && axes_of(op.inputs[0]).size() >= 2 && choose(2) == 1) {
      const auto& axes = axes_of(op.inputs[0]);
      const std::size_t row = choose(axes.size());
      op.mask = {axes[row], axes[(row + 1 + choose(axes.size() - 1)) % axes.size()]};
    }
    (void)all;
  }

  void outputs(Operation& op, std::vector<AxisId> all) {
    const std::vector<AxisId> rest = without(all, op.own);
    if (op.kind == OpKind::copy && choose(2) == 1) {
      const auto extra = static_cast<AxisId>(choose(d_.axes.size()));
      if (std::find(all.begin(), all.end(), extra) == all.end()) all.push_back(extra);
    }
    const bool keeps = op.kind == OpKind::softmax || op.kind == OpKind::copy;
    op.outputs = {add(keeps ? all : rest)};
    if (op.kind == OpKind::softmax && choose(3) == 2) op.outputs.push_back(add(rest));
  }

  // Adds an operation for every input that none uses; every result that none uses becomes an output.
  void results() {
    for (ArrayId in : d_.inputs) {
      if (!d_.consumers(in).empty()) continue;
      Operation copy;
      copy.inputs = {in};
      copy.outputs = {add(axes_of(in))};
      d_.operations.push_back(std::move(copy));
    }
    for (std::size_t i = d_.inputs.size(); i < d_.arrays.size(); ++i) {
      const auto id = static_cast<ArrayId>(i);
      if (d_.consumers(id).empty() || choose(6) == 5) d_.outputs.push_back(id);
    }
  }

  std::vector<std::uint8_t> choices_;
  std::size_t at_ = 0;
  Diagram d_;
};

inline Diagram make_diagram(std::vector<std::uint8_t> choices) { return DiagramMaker(std::move(choices)).make(); }

}  // namespace napkin::internal::testing
