#include "solver/space/workspace.hpp"

#include <array>

#include "model/base/byte_stream.hpp"

namespace napkin::internal {

std::string Workspace::key_of(const Problem& problem) {
  ByteWriter key;
  for (const Count size : problem.sizes) key.put(size.get());
  key.put(std::array{static_cast<std::int64_t>(problem.mask.kind), problem.mask.left, problem.mask.right,
                     static_cast<std::int64_t>(problem.dtype)});
  return key.take();
}

Prediction Workspace::predicted(const PlacedDiagram& placed) {
  constexpr std::size_t most_graphs = 1024;
  std::unique_ptr<Periods> own = periods_.take([](const Periods&) { return true; });
  if (own == nullptr || own->size() > most_graphs) own = std::make_unique<Periods>();
  Prediction prediction = predict(placed, {.periods = own.get()});
  periods_.give_back(std::move(own));
  return prediction;
}

std::shared_ptr<KeptPlacer> kept_placer(const Setup& setup, const Problem& problem) {
  const auto can_be_bound = [&](const KeptPlacer& one) {
    return one.problem.dtype == problem.dtype && one.problem.mask.kind == problem.mask.kind;
  };
  std::unique_ptr<KeptPlacer> own = setup.workspace != nullptr ? setup.workspace->placers.take(can_be_bound) : nullptr;
  const bool is_new = own == nullptr;
  if (is_new) own = std::make_unique<KeptPlacer>();
  own->problem = problem;
  if (is_new)
    own->placer.emplace(*setup.streamed, *setup.mapping, *setup.machine, own->problem);
  else
    own->placer->rebind(own->problem);
  return {own.release(), [from = setup.workspace](KeptPlacer* one) {
            std::unique_ptr<KeptPlacer> back(one);
            if (from != nullptr) from->placers.give_back(std::move(back));
          }};
}

const PlacedDiagram& KeptPlacer::place(const Tile& tile, std::size_t number) {
  if (placed.size() <= number) placed.resize(number + 1);
  placer->place(tile, placed[number]);
  return placed[number];
}

}  // namespace napkin::internal
