#include "solver/space/candidates.hpp"

#include <algorithm>
#include <bit>

#include "model/resource/plan.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t most_tiles = std::int64_t{1} << 26;
constexpr std::size_t most_memo = std::size_t{1} << 20;  // combinations of the knobs that one rule reads

/// A rule of knobs, decided once for all tiles that agree in the knobs that it reads.
class DecidedRule {
 public:
  DecidedRule(const TileRule& rule, const Space& space) : rule_(rule), strides_(space.domains.size(), 0) {
    std::size_t size = 1;
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      if ((rule.knobs & knob_bit(static_cast<KnobId>(k))) == 0) continue;
      strides_[k] = size;
      size *= space.domains[k].size();
      if (size > most_memo) return;  // too large to keep: decided for each tile by itself
    }
    verdicts_.assign(size, unknown);
  }
  [[nodiscard]] bool holds(const std::vector<std::size_t>& digits, const Tile& tile) {
    if (verdicts_.empty()) return !rule_.check(tile);
    std::size_t at = 0;
    for (std::size_t k = 0; k < strides_.size(); ++k) at += strides_[k] * digits[k];
    if (verdicts_[at] == unknown) verdicts_[at] = rule_.check(tile) ? broken : held;
    return verdicts_[at] == held;
  }

 private:
  enum Verdict : std::uint8_t { unknown, held, broken };
  const TileRule& rule_;
  std::vector<std::size_t> strides_;  // strides by knob; 0 for knobs that it does not read
  std::vector<Verdict> verdicts_;
};

/// Advances the digits of a tile's rank, the last knob fastest, from the first of `tiles` tiles that differ in whole
/// domains of the last knobs.
void next_tile(const Space& space, std::int64_t tiles, std::vector<std::size_t>& digits, Tile& tile) {
  for (std::size_t k = digits.size(); k-- > 0;) {
    if (space.strides[k] < tiles) continue;
    digits[k] = digits[k] + 1 < space.domains[k].size() ? digits[k] + 1 : 0;
    tile.values[k] = space.domains[k][digits[k]];
    if (digits[k] != 0) return;
  }
}

/// Returns the first rule of the plan that the tile violates, as an index into Rules::plan; the number of rules if it
/// violates none.
std::size_t find_misfit(const Rules& rules, const PlacedDiagram& placed, const Plan& needs, Candidates::Misfit& out) {
  std::size_t first = rules.plan.size();
  double part = 0;
  for (std::size_t r = 0; r < rules.plan.size(); ++r) {
    const auto one = rules.plan[r].check(placed, needs);
    if (!one) continue;
    first = std::min(first, r);
    ++out.violated;
    const double exceeded = one->needed / std::max(one->available, 1.0);
    if (exceeded <= part) continue;
    part = exceeded;
    out.worst = static_cast<std::uint16_t>(r);
    out.excess = *one;
  }
  return first;
}

KnobSet knobs_of_rules(const Rules& rules) {
  KnobSet set = 0;
  for (const TileRule& rule : rules.tile) set |= rule.lengths ? rule.knobs : 0;
  return set;
}

/// Returns the knobs that size an axis divided by blocks or chunks; lengths cut their domains.
KnobSet knobs_of_divided_axes(const Setup& setup) {
  const LevelMapping* block = block_level_of(*setup.mapping);
  KnobSet set = 0;
  if (block == nullptr) return set;
  for (const auto* axes : {&block->group, &block->stream}) {
    for (const std::string& axis : *axes) {
      const auto size = size_of_axis(*setup.mapping, *block, axis);
      if (size) set |= knobs_of(*size);
    }
  }
  return set;
}

/// Returns the knobs on which it depends how many blocks a length takes, in a grid of whole blocks.
KnobSet knobs_of_whole_grids(const Mapping& mapping) {
  KnobSet set = 0;
  for (const LevelMapping& level : mapping.levels) set |= level.rounds_up ? knobs_of(*level.nodes) : 0;
  return set;
}

}  // namespace

std::string nearest_constraint(const Rejections& rejections) {
  return rejections.rejected.empty() ? std::string() : rejections.rejected.back().first;
}

KnobSet size_knobs(const Setup& setup) {
  KnobSet set = 0;
  for (const KnobSet axis : knobs_by_axis(setup.streamed->diagram, *setup.mapping)) set |= axis;
  for (const Agent& agent : setup.mapping->agents) set |= knobs_of(agent.count) | knobs_of(agent.threads);
  return set;
}

Candidates::Candidates(const Setup& like, const Placer& placer, const Take& take)
    : space_(space_of_kind(like)),
      cuts_(axis_cuts(like)),
      rules_(*like.streamed, *like.mapping, *like.machine, like.problem),
      length_rules_(*like.streamed, *like.mapping, *like.machine, like.problem) {
  if (space_.candidates > Count(most_tiles))
    throw Error(like.mapping->name, "a space of " + std::to_string(space_.candidates.get()) + " tiles is too large",
                "at most 2^26: fix some knobs");
  length_knobs_ =
      size_knobs(like) | knobs_of_rules(rules_) | knobs_of_divided_axes(like) | knobs_of_whole_grids(*like.mapping);
  judge(placer, take);
}

namespace {

/// Calls visit(rank, digits, verdict, misfit, tiles, placed) for every tile, or once for `tiles` consecutive tiles with
/// equal `kept` knobs and verdict: the index of the first violated rule, tile rules before plan rules, or one more for
/// legal tiles. Without `lengths`, rules of lengths are left out. Misfits and legal tiles are placed.
template <class Visit>
void each_verdict(const Space& space, const Rules& rules, bool lengths, KnobSet kept, const Placer& placer,
                  const Visit& visit) {
  const std::size_t tile_rules = rules.tile.size();
  std::vector<std::pair<std::size_t, DecidedRule>> decided;
  // number of consecutive tiles, by rule, with equal knobs of that rule and all earlier ones
  std::vector<std::int64_t> alike;
  for (std::size_t r = 0; r < tile_rules; ++r) {
    if (rules.tile[r].lengths && !lengths) continue;
    decided.emplace_back(r, DecidedRule(rules.tile[r], space));
    kept |= rules.tile[r].knobs;
    alike.push_back(1);
    for (std::size_t k = space.domains.size(); k-- > 0 && (kept & knob_bit(static_cast<KnobId>(k))) == 0;)
      alike.back() *= static_cast<std::int64_t>(space.domains[k].size());
  }
  std::vector<std::size_t> digits(space.domains.size(), 0);
  Tile tile = space.tile(0);
  PlacedDiagram placed;
  Footprints footprints;
  for (std::int64_t rank = 0, tiles = 1; rank < space.candidates.get(); next_tile(space, tiles, digits, tile)) {
    const auto broken =
        std::find_if(decided.begin(), decided.end(), [&](auto& one) { return !one.second.holds(digits, tile); });
    tiles = broken == decided.end() ? 1 : alike[static_cast<std::size_t>(broken - decided.begin())];
    Candidates::Misfit misfit;
    misfit.rank = static_cast<std::uint32_t>(rank);
    rank += tiles;
    if (broken != decided.end()) {
      visit(rank - tiles, digits, broken->first, misfit, tiles, placed);
      continue;
    }
    placer.place(tile, placed);
    const std::size_t rule = find_misfit(rules, placed, footprints.of(placed).plan(placed), misfit);
    visit(rank - 1, digits, tile_rules + rule, misfit, tiles, placed);
  }
}

/// Counts by a rule's index, legal tiles last, as names with their counts: zeros left out, equal names added up.
Rejections named(const Rules& rules, std::vector<std::int64_t> sums) {
  Rejections out;
  out.legal = Count(sums.back());
  sums.pop_back();
  for (std::size_t r = 0; r < sums.size(); ++r) {
    if (sums[r] == 0) continue;
    const std::string& name = r < rules.tile.size() ? rules.tile[r].name : rules.plan[r - rules.tile.size()].name;
    const auto known =
        std::find_if(out.rejected.begin(), out.rejected.end(), [&](const auto& one) { return one.first == name; });
    if (known == out.rejected.end())
      out.rejected.emplace_back(name, Count(sums[r]));
    else
      known->second += Count(sums[r]);
  }
  return out;
}

}  // namespace

Rejections count_each(const Setup& setup, const Placer& placer) {
  const Rules rules(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
  std::vector<std::int64_t> sums(rules.tile.size() + rules.plan.size() + 1, 0);
  each_verdict(space_of(setup), rules, true, 0, placer,
               [&](std::int64_t, const auto&, std::size_t verdict, const auto&, std::int64_t tiles, const auto&) {
                 sums[verdict] += tiles;
               });
  return named(rules, std::move(sums));
}

void Candidates::judge(const Placer& placer, const Take& take) {
  const std::size_t verdicts = rules_.tile.size() + rules_.plan.size() + 1;
  std::vector<std::size_t> cell_strides(space_.domains.size(), 0);
  std::size_t cells = 1;
  for (std::size_t k = cell_strides.size(); k-- > 0;) {  // the order of tiles: neighbours have adjacent numbers
    if ((length_knobs_ & knob_bit(static_cast<KnobId>(k))) == 0) continue;
    cell_strides[k] = cells;
    cells *= space_.domains[k].size();
  }
  std::vector<std::uint32_t> counts(cells * verdicts, 0);
  each_verdict(space_, rules_, false, length_knobs_, placer,
               [&](std::int64_t rank, const auto& digits, std::size_t verdict, const Misfit& misfit, auto tiles,
                   const PlacedDiagram& placed) {
                 std::size_t cell = 0;
                 for (std::size_t k = 0; k < digits.size(); ++k) cell += cell_strides[k] * digits[k];
                 counts[cell * verdicts + verdict] += static_cast<std::uint32_t>(tiles);
                 if (verdict + 1 == verdicts) {
                   legal_.push_back(static_cast<std::uint32_t>(rank));
                   take(*this, rank, placed);
                 } else if (verdict >= rules_.tile.size()) {
                   misfits_.push_back(misfit);
                 }
               });
  keep(counts, verdicts);
}

/// Stores the counts above 0, cell by cell.
void Candidates::keep(const std::vector<std::uint32_t>& counts, std::size_t verdicts) {
  std::vector<KnobId> knobs;
  for (auto k = static_cast<KnobId>(space_.domains.size()); k-- > 0;) {
    if ((length_knobs_ & knob_bit(k)) != 0) knobs.push_back(k);
  }
  for (std::size_t cell = 0; cell < counts.size() / verdicts; ++cell) {
    std::int64_t rank = 0;
    std::size_t rest = cell;
    for (const KnobId k : knobs) {  // the last knob has stride 1
      const std::size_t size = space_.domains[at(k)].size();
      rank += static_cast<std::int64_t>(rest % size) * space_.strides[at(k)];
      rest /= size;
    }
    const auto first = static_cast<std::uint32_t>(counts_.size());
    for (std::size_t v = 0; v < verdicts; ++v) {
      const std::uint32_t tiles = counts[cell * verdicts + v];
      if (tiles > 0) counts_.push_back({static_cast<std::uint32_t>(v), tiles});
    }
    const auto last = static_cast<std::uint32_t>(counts_.size());
    if (last > first) cells_.push_back({static_cast<std::uint32_t>(rank), first, last});
  }
}

Allowed::Allowed(const Setup& setup, const Candidates& candidates)
    : all_(candidates),
      candidates_(all_.space().candidates),
      own_(all_.space().domains.size()),
      length_rules_(candidates.length_rules().at(*setup.streamed, *setup.mapping, *setup.machine, setup.problem)) {
  for (const AxisCut& one : all_.cuts()) {
    std::vector<std::int64_t> own = domain(at(one.knob));
    if (!one.packed) cut_to_axis(setup, one, own);
    if (own.size() < domain(at(one.knob)).size()) own_[at(one.knob)] = std::move(own);
  }
  for (const auto& [knob, value] : setup.fixed) {
    if (domain(at(knob)) != std::vector{value}) own_[at(knob)] = {value};
  }
  for (std::size_t k = 0; k < own_.size(); ++k) {
    const std::vector<std::int64_t>&whole = all_.space().domains[k], &own = own_[k];
    if (own.empty()) continue;
    candidates_ =
        candidates_ / Count(static_cast<std::int64_t>(whole.size())) * Count(static_cast<std::int64_t>(own.size()));
    cut_ |= knob_bit(static_cast<KnobId>(k));
    if ((all_.length_knobs() & knob_bit(static_cast<KnobId>(k))) == 0)
      fixed_.emplace_back(k, std::find(whole.begin(), whole.end(), own.front()) - whole.begin());
  }
}

bool Allowed::lengths_hold(const Tile& tile) const {
  return in_domains(tile, cut_ & all_.length_knobs()) && first_broken(tile) == all_.rules().tile.size();
}

bool Allowed::is_as_fixed(std::int64_t rank) const {
  return std::all_of(fixed_.begin(), fixed_.end(),
                     [&](const auto& one) { return all_.space().digit(rank, one.first) == one.second; });
}

bool Allowed::operator()(std::int64_t rank) const { return is_as_fixed(rank) && lengths_hold(all_.space().tile(rank)); }

Rejections Candidates::count(const Allowed& allowed) const {
  std::vector<std::int64_t> sums(rules_.tile.size() + rules_.plan.size() + 1, 0);
  Tile tile;
  for (const Cell& cell : cells_) {
    space_.tile(cell.rank, tile);
    if (!allowed.in_domains(tile)) continue;
    const std::size_t broken = allowed.first_broken(tile);
    for (std::uint32_t i = cell.first; i < cell.last; ++i) {
      const auto verdict = static_cast<std::size_t>(counts_[i].verdict);
      sums[broken < rules_.tile.size() ? std::min(broken, verdict) : verdict] += counts_[i].tiles;
    }
  }
  return named(rules_, std::move(sums));
}

std::size_t Allowed::first_broken(const Tile& tile) const {
  const auto broken = std::find_if(length_rules_.begin(), length_rules_.end(),
                                   [&](const auto& rule) { return rule.second.check(tile).has_value(); });
  return broken == length_rules_.end() ? all_.rules().tile.size() : broken->first;
}

bool Allowed::in_domains(const Tile& tile, KnobSet knobs) const {
  for (KnobSet left = knobs; left != 0; left &= left - 1) {
    const auto k = static_cast<std::size_t>(std::countr_zero(left));
    if (std::find(domain(k).begin(), domain(k).end(), tile.values[k]) == domain(k).end()) return false;
  }
  return true;
}

}  // namespace napkin::internal
