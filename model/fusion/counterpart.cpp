#include "model/fusion/counterpart.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace napkin::internal {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool is_one_by_default(const Axis& axis) {
  const auto* size = std::get_if<std::int64_t>(&axis.fallback);
  return size != nullptr && *size == 1;
}

/// Compares two diagrams while some axes of the known one are left out, and finds what the others are.
class Comparison {
 public:
  Comparison(const Diagram& own, const Diagram& known, std::vector<bool> left_out)
      : own_(own),
        known_(known),
        left_out_(std::move(left_out)),
        axes_(known.axes.size()),
        arrays_(known.arrays.size(), -1) {}

  [[nodiscard]] std::optional<AxesOfKnown> run() {
    if (!inputs() || !operations() || !outputs()) return std::nullopt;
    return axes_;
  }

 private:
  [[nodiscard]] bool inputs() {
    if (own_.inputs.size() != known_.inputs.size()) return false;
    return std::all_of(known_.inputs.begin(), known_.inputs.end(), [&](ArrayId id) {
      const auto same = own_.find_array(known_.arrays[at(id)].name);
      return same && own_.is_input(*same) && pair(id, *same);
    });
  }

  [[nodiscard]] bool operations() {
    return std::equal(known_.operations.begin(), known_.operations.end(), own_.operations.begin(),
                      own_.operations.end(), [&](const Operation& a, const Operation& b) { return operation(a, b); });
  }

  [[nodiscard]] bool outputs() const {
    return std::equal(known_.outputs.begin(), known_.outputs.end(), own_.outputs.begin(), own_.outputs.end(),
                      [&](ArrayId a, ArrayId b) {
                        return arrays_[at(a)] == b && known_.arrays[at(a)].name == own_.arrays[at(b)].name;
                      });
  }

  [[nodiscard]] bool operation(const Operation& a, const Operation& b) {
    const bool parts = a.kind == b.kind && a.function == b.function && a.scale.factor == b.scale.factor &&
                       a.scale.numerator == b.scale.numerator && a.scale.denominator == b.scale.denominator &&
                       a.outputs.size() == b.outputs.size();
    if (!parts || !std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                              [&](ArrayId x, ArrayId y) { return arrays_[at(x)] == y; }))
      return false;
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
      if (!pair(a.outputs[i], b.outputs[i])) return false;
    }
    return along(a.own, b.own) && along(list_of(a.scale.axis), list_of(b.scale.axis)) &&
           along(list_of(a.mask), list_of(b.mask));
  }

  static std::vector<AxisId> list_of(const std::optional<AxisId>& axis) {
    return axis ? std::vector<AxisId>{*axis} : std::vector<AxisId>{};
  }
  static std::vector<AxisId> list_of(const std::optional<std::array<AxisId, 2>>& axes) {
    return axes ? std::vector<AxisId>{axes->begin(), axes->end()} : std::vector<AxisId>{};
  }

  /// Pairs two arrays; returns false if they differ.
  [[nodiscard]] bool pair(ArrayId known, ArrayId own) {
    const Array &a = known_.arrays[at(known)], &b = own_.arrays[at(own)];
    arrays_[at(known)] = own;
    return a.type == b.type && a.reindexed.empty() && b.reindexed.empty() && along(a.axes, b.axes);
  }

  /// Pairs the axes one after another, without those left out; returns false if one has another partner already.
  [[nodiscard]] bool along(const std::vector<AxisId>& known, const std::vector<AxisId>& own) {
    std::size_t next = 0;
    for (const AxisId axis : known) {
      if (left_out_[at(axis)]) continue;
      if (next == own.size() || !partners(axis, own[next++])) return false;
    }
    return next == own.size();
  }

  [[nodiscard]] bool partners(AxisId known, AxisId own) {
    std::optional<AxisId>& partner = axes_[at(known)];
    if (partner) return *partner == own;
    if (std::find(axes_.begin(), axes_.end(), std::optional<AxisId>(own)) != axes_.end()) return false;
    partner = own;
    return true;
  }

  const Diagram& own_;
  const Diagram& known_;
  std::vector<bool> left_out_;
  AxesOfKnown axes_;
  std::vector<ArrayId> arrays_;  // own array of each known one
};

/// Returns how many axes have the same name in both.
std::size_t same_names(const AxesOfKnown& axes, const Diagram& own, const Diagram& known) {
  std::size_t same = 0;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a] && own.axes[at(*axes[a])].name == known.axes[a].name) ++same;
  }
  return same;
}

}  // namespace

std::optional<AxesOfKnown> counterpart(const Diagram& own, const Diagram& known) {
  if (own.axes.size() > known.axes.size() || !own.folds.empty() || !known.folds.empty()) return std::nullopt;
  std::vector<std::size_t> ones;
  for (std::size_t a = 0; a < known.axes.size(); ++a) {
    if (is_one_by_default(known.axes[a])) ones.push_back(a);
  }
  std::optional<AxesOfKnown> best;
  for (std::uint32_t some = 0; some < (std::uint32_t{1} << std::min<std::size_t>(ones.size(), 8)); ++some) {
    std::vector<bool> left_out(known.axes.size());
    std::size_t left = known.axes.size();
    for (std::size_t i = 0; i < ones.size(); ++i) {
      if ((some >> i & 1U) != 0) left_out[ones[i]] = true, --left;
    }
    if (left != own.axes.size()) continue;
    auto found = Comparison(own, known, std::move(left_out)).run();
    if (found && (!best || same_names(*found, own, known) > same_names(*best, own, known))) best = std::move(found);
  }
  return best;
}

}  // namespace napkin::internal
