// A tile in a burst beside sustained load.

#include "apps/library/answer/session.hpp"
#include "napkin/napkin.hpp"

namespace napkin {

using namespace internal;

std::optional<LoadAnswer> Session::other_load(const Ask& ask, const Head& head) const {
  if (!head.gpu || !head.kernel || head.tile.empty()) return std::nullopt;
  Ask other = ask;
  other.check = other.compile = false;
  other.progress = nullptr;
  other.conditions.load = {};
  if (!question_of(*this, other).machine->power.burst) return std::nullopt;
  if (ask.conditions.load.kind == CardLoad::Kind::sustained) other.conditions.load.kind = CardLoad::Kind::burst;
  if (other.kernel.empty()) other.kernel = *head.kernel;
  other.tile.clear();
  for (const KnobValue& knob : head.tile)
    other.tile.emplace_back(knob.name, knob.word.empty() ? std::to_string(knob.number) : knob.word);
  const auto answer = query(other);
  if (!answer->predicted || answer->predicted->at_least) return std::nullopt;
  return LoadAnswer{other.conditions.load, answer->predicted->time, answer->predicted->clock, answer->predicted->power};
}

}  // namespace napkin
