#include "solver/select/workspace.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "model/base/byte_stream.hpp"
#include "model/clock/time_model.hpp"

namespace napkin::internal {

std::string Workspace::key_of(const Problem& problem) {
  ByteWriter key;
  for (const Count size : problem.sizes) key.put(size.get());
  key.put(std::array{static_cast<std::int64_t>(problem.mask.kind), problem.mask.left, problem.mask.right,
                     static_cast<std::int64_t>(problem.dtype)});
  return key.take();
}

std::shared_ptr<Workspace> make_workspace(std::shared_ptr<TableMemory> memory) {
  return std::make_shared<Workspace>(memory != nullptr ? std::move(memory) : make_table_memory());
}

Prediction Workspace::predicted(const PlacedDiagram& placed) {
  constexpr std::size_t most_graphs = 1024;
  std::unique_ptr<Periods> own;  // one caller at a time uses it, so that others need not wait
  {
    const std::lock_guard lock(mutex_);
    if (!periods_.empty()) {
      own = std::move(periods_.back());
      periods_.pop_back();
    }
  }
  if (own == nullptr || own->size() > most_graphs) own = std::make_unique<Periods>();
  Prediction prediction = predict(placed, {.periods = own.get()});
  const std::lock_guard lock(mutex_);
  periods_.push_back(std::move(own));
  return prediction;
}

std::unique_ptr<KeptPlacer> Workspace::take_placer(const Problem& problem) {
  const auto can_be_bound = [&](const std::unique_ptr<KeptPlacer>& one) {
    return one->problem.dtype == problem.dtype && one->problem.mask.kind == problem.mask.kind;
  };
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(placers_.begin(), placers_.end(), can_be_bound);
  if (found == placers_.end()) return nullptr;
  std::unique_ptr<KeptPlacer> out = std::move(*found);
  placers_.erase(found);
  return out;
}

void Workspace::give_back(std::unique_ptr<KeptPlacer> placer) {
  constexpr std::size_t most_kept = 64;
  const std::lock_guard lock(mutex_);
  placers_.push_front(std::move(placer));
  if (placers_.size() > most_kept) placers_.pop_back();
}

Setup on_machine(Setup setup, std::shared_ptr<const Machine> machine) {
  setup.machine = std::move(machine);
  setup.workspace = make_workspace();
  return setup;
}

std::shared_ptr<KeptPlacer> kept_placer(const Setup& setup, const Problem& problem) {
  std::unique_ptr<KeptPlacer> own = setup.workspace != nullptr ? setup.workspace->take_placer(problem) : nullptr;
  const bool is_new = own == nullptr;
  if (is_new) own = std::make_unique<KeptPlacer>();
  own->problem = problem;
  if (is_new)
    own->placer.emplace(*setup.streamed, *setup.mapping, *setup.machine, own->problem);
  else
    own->placer->rebind(own->problem);
  return {own.release(), [from = setup.workspace](KeptPlacer* one) {
            std::unique_ptr<KeptPlacer> back(one);
            if (from != nullptr) from->give_back(std::move(back));
          }};
}

const PlacedDiagram& KeptPlacer::place(const Tile& tile, std::size_t number) {
  if (placed.size() <= number) placed.resize(number + 1);
  placer->place(tile, placed[number]);
  return placed[number];
}

}  // namespace napkin::internal
