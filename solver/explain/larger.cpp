#include "solver/explain/larger.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

/// The values that each of some tiles' knobs has in all of them.
class Common {
 public:
  explicit Common(const Space& space) : space_(space), values_(space.domains.size()), several_(values_.size(), false) {}
  void add(std::int64_t rank) {
    for (std::size_t k = 0; k < values_.size(); ++k) {
      if (several_[k]) continue;
      const std::int64_t value = space_.value(rank, k);
      several_[k] = any_ && values_[k] != value;
      values_[k] = value;
    }
    any_ = true;
  }
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] std::vector<std::pair<KnobId, std::int64_t>> beside(const Tile& tile, KnobId knob) const {
    std::vector<std::pair<KnobId, std::int64_t>> out;
    for (std::size_t k = 0; k < values_.size(); ++k) {
      if (!several_[k] && static_cast<KnobId>(k) != knob && values_[k] != tile.values[k])
        out.emplace_back(static_cast<KnobId>(k), values_[k]);
    }
    return out;
  }

 private:
  const Space& space_;
  std::vector<std::int64_t> values_;
  std::vector<bool> several_;
  bool any_ = false;
};

/// Returns true if `a` is closer to legal: it violates fewer rules, or, of equally many, the worst by a smaller part.
bool closer(const Candidates::Misfit& a, const Candidates::Misfit& b) {
  const auto part = [](const Candidates::Misfit& m) { return m.excess.needed / std::max(m.excess.available, 1.0); };
  return a.violated != b.violated ? a.violated < b.violated : part(a) < part(b);
}

}  // namespace

std::optional<Larger> next_larger(const Selector& selector, const Tile& tile, KnobId knob) {
  const Candidates& all = selector.table().candidates();
  const Allowed& allowed = selector.allowed();
  std::vector<std::int64_t> values = allowed.domain(at(knob));
  std::erase_if(values, [&](std::int64_t value) { return value <= tile.values[at(knob)]; });
  std::sort(values.begin(), values.end());
  for (const std::int64_t value : values) {
    const auto has_value = [&](std::int64_t rank) { return all.space().value(rank, at(knob)) == value; };
    Larger out{knob, value, {}, true, {}, {}};
    Common common(all.space());
    for (const std::int64_t rank : all.legal()) {
      if (has_value(rank) && allowed(rank)) common.add(rank);
    }
    if (!common.any()) {
      const Candidates::Misfit* closest = nullptr;
      for (const Candidates::Misfit& misfit : all.misfits()) {
        if (!has_value(misfit.rank) || !allowed(misfit.rank)) continue;
        common.add(misfit.rank);
        if (closest == nullptr || closer(misfit, *closest)) closest = &misfit;
      }
      if (closest == nullptr) continue;
      out.fits = false;
      out.rule = all.rules().plan[at(closest->worst)].name;
      out.excess = closest->excess;
    }
    out.implied = common.beside(tile, knob);
    return out;
  }
  return std::nullopt;
}

}  // namespace napkin::internal
