#include "apps/library/question/known.hpp"

#include <cstdint>
#include <functional>

#include "model/clock/time_model.hpp"

namespace napkin {

std::size_t LeastTransferKey::Hash::operator()(const LeastTransferKey& key) const {
  std::size_t hash = std::hash<const void*>()(key.streamed) ^ std::hash<const void*>()(key.machine) * 31;
  for (const Count size : key.sizes) hash = hash * 1099511628211U ^ static_cast<std::size_t>(size.get());
  return hash;
}

std::shared_ptr<Known> make_known() { return std::make_shared<Known>(); }

Prediction Known::predicted(const PlacedDiagram& placed, const Plan& plan) {
  constexpr std::size_t most_graphs = 1024;
  std::unique_ptr<Periods> own;  // one asks it at a time, so that others need not wait
  {
    const std::lock_guard lock(mutex);
    if (!periods.empty()) {
      own = std::move(periods.back());
      periods.pop_back();
    }
  }
  if (own == nullptr || own->size() > most_graphs) own = std::make_unique<Periods>();
  Prediction prediction = predict(placed, plan, *own);
  const std::lock_guard lock(mutex);
  periods.push_back(std::move(own));
  return prediction;
}

}  // namespace napkin
