#include "apps/library/answer/standing.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "apps/library/question/on_all_cores.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/kind.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "model/base/library.hpp"
#include "model/clock/graph/needs.hpp"
#include "model/machine/numbers.hpp"
#include "model/mapping/knobs.hpp"
#include "model/mapping/read/load.hpp"
#include "solver/select/select.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal {
namespace {

constexpr double change = 1.1;         // factor of a number's change that shows whether it matters
constexpr double least_change = 5e-3;  // least change of the time that counts, as a fraction

/// A tile of a question, to be predicted on machines that differ in one number.
struct TimedTile {
  const Question& question;
  const Setup& setup;
  const Tile& tile;

  template <class Use>
  auto placed(const std::shared_ptr<const Machine>& machine, Use&& use) const {
    const Setup other = on_machine(setup, machine);
    const Placer placer = placer_of(other);
    return use(place(placer, tile));
  }
  [[nodiscard]] double seconds_on(Machine machine) const {
    return placed(std::make_shared<const Machine>(std::move(machine)), [&](const Placement& p) {
      // most numbers change nothing in the event graph, which is then reused
      if (!setup.ideal) return setup.workspace->predicted(p.placed).time.value;
      const auto least = least_time(p.placed);
      return least ? least->time.value : 0.0;
    });
  }
};

/// Returns true if a number of that name can matter to the tile; numbers of instructions and units that it does not use
/// cannot.
bool may_matter(const PlacedDiagram& placed, const std::vector<Need>& needs, const std::string& name) {
  const auto begins = [&](std::string_view word) { return name.starts_with(word); };
  if (begins("constants.") || begins("fitted."))
    return std::any_of(needs.begin(), needs.end(), [&](const Need& need) { return need.name == name; });
  if (!begins("tensor.")) return true;
  return std::any_of(placed.operations.begin(), placed.operations.end(), [&](const PlacedOperation& op) {
    return op.instruction != nullptr &&
           begins("tensor." + op.instruction->name + "." + std::string(name_of(op.instruction->type)) + ".");
  });
}

struct Weight {
  std::string name;
  double effect = 0;
};

/// Finds the weakest basis among the numbers that matter, and the numbers of that basis.
BasisAnswer weakest_of(const TimedTile& subject, const PlacedDiagram& placed) {
  const std::vector<Need> needs = needs_of(placed);
  const Machine& machine = *subject.question.machine;
  const double now = subject.seconds_on(machine);
  const auto numbers = numbers_of(machine);
  Basis weakest = Basis::assumed;
  std::vector<Weight> found;
  for (; weakest > Basis::measured; weakest = static_cast<Basis>(static_cast<int>(weakest) - 1)) {
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (basis_of(machine, numbers[i].from) == weakest && may_matter(placed, needs, numbers[i].name))
        asked.push_back(i);
    }
    found.resize(asked.size());
    const auto weigh = [&](std::size_t n) {
      const double then = subject.seconds_on(with_number_times(machine, asked[n], change));
      found[n] = {numbers[asked[n]].name, std::abs(then / now - 1)};
    };
    on_all_cores(asked.size(), weigh, 4);
    std::erase_if(found, [](const Weight& one) { return one.effect < least_change; });
    if (!found.empty()) break;
  }
  std::stable_sort(found.begin(), found.end(), [](const Weight& a, const Weight& b) { return a.effect > b.effect; });
  BasisAnswer out{std::string(name_of(weakest)), {}};
  for (Weight& each : found) out.numbers.push_back(std::move(each.name));
  return out;
}

std::string why_no_graph(const TimedTile& subject, const PlacedDiagram& placed) {
  if (subject.setup.ideal) return "no mapping of a kernel";
  const Mapping& mapping = *placed.mapping;
  if (!runs_on(mapping, *placed.machine)) return mapping.name + " is not made for " + placed.machine->architecture;
  const auto in_force = [&](const EdgeMapping& e) { return holds(e.when, placed.tile); };
  if (std::none_of(mapping.edges.begin(), mapping.edges.end(), in_force))
    return mapping.name + (mapping.edges.empty() ? " has no edges" : " has no edges with that tile");
  const auto by_threads = [](const PlacedOperation& op) { return op.tensor && op.instruction == nullptr; };
  if (std::any_of(placed.operations.begin(), placed.operations.end(), by_threads))
    return "products of that type by threads";
  return placed.packed.empty() ? "" : "sequences of several lengths that blocks do not take one by one";
}

/// Adds the error band of a kernel's prediction; none for a bound, since no measurement says how far kernels stay from
/// bounds.
void add_band(const TimedTile& subject, const PlacedDiagram& placed, StandingAnswer& out) {
  if (subject.setup.ideal) return;
  if (!out.by_graph) {
    out.unsure = "how far calls are above a bound was not compared";
    return;
  }
  const Prediction prediction = subject.setup.workspace->predicted(placed);
  PredictionKind kind = kind_of(subject.question, subject.setup, placed, prediction);
  const Ask& ask = subject.question.ask;
  kind.own_mapping = names_file(ask.kernel), kind.own_machine = names_file(ask.gpu);
  kind.burst = ask.conditions.load.kind == CardLoad::Kind::burst;
  out.band = band_of(kind);
}

StandingAnswer standing_of(const TimedTile& subject, const PlacedDiagram& placed, AnswerParts parts) {
  StandingAnswer out;
  out.by_graph = !subject.setup.ideal && has_event_graph(placed);
  if (!out.by_graph) out.why = why_no_graph(subject, placed);
  if (parts.weakest) out.weakest = weakest_of(subject, placed);
  for (const Need& need : needs_of(placed)) {
    if (need.known) continue;
    (need.without == Without::no_graph ? out.missing : out.left_out).push_back(need.name);
  }
  if (const auto least = least_time(placed)) out.least = least->time.value;
  add_band(subject, placed, out);
  return out;
}

}  // namespace

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

std::optional<PredictedAnswer::Likely> PredictedAnswer::likely() const {
  if (!standing || !standing->band) return std::nullopt;
  const Band& band = *standing->band;
  const double least = std::min(standing->least.value_or(0), time);
  const auto after = [&](double factor) { return std::max(time * factor, least); };
  return Likely{after(band.mean), after(band.low), after(band.high), time * band.low < least};
}

}  // namespace napkin

namespace napkin::internal {

std::optional<StandingAnswer> standing_of(const Question& question, const Setup& setup, const Tile& tile,
                                          AnswerParts parts) {
  if (!parts.standing && !parts.weakest) return std::nullopt;
  const TimedTile subject{question, setup, tile};
  return subject.placed(question.machine, [&](const Placement& placement) {
    return std::optional(standing_of(subject, placement.placed, parts));
  });
}

}  // namespace napkin::internal
