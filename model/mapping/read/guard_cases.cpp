#include "model/mapping/read/guard_cases.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace napkin::internal {
namespace {

/// Returns values of each knob, one from each set of values for which every guard gives the same result.
std::vector<std::vector<std::int64_t>> told_apart(const Mapping& m, const std::vector<const Guard*>& guards) {
  std::vector<std::vector<std::int64_t>> told(m.knobs.size());
  for (std::size_t k = 0; k < m.knobs.size(); ++k) {
    std::set<std::vector<bool>> seen;
    for (const std::int64_t v : m.knobs[k].domain) {
      std::vector<bool> named;
      for (const Guard* guard : guards) {
        for (const auto& [knob, values] : guard->all) {
          if (static_cast<std::size_t>(knob) == k)
            named.push_back(std::find(values.begin(), values.end(), v) != values.end());
        }
      }
      if (seen.insert(std::move(named)).second) told[k].push_back(v);
    }
  }
  return told;
}

/// Returns true if `b` holds wherever `a` does.
bool implies(const Guard& a, const Guard& b) {
  return std::all_of(b.all.begin(), b.all.end(), [&](const auto& wanted) {
    return std::any_of(a.all.begin(), a.all.end(), [&](const auto& term) {
      return term.first == wanted.first && std::all_of(term.second.begin(), term.second.end(), [&](std::int64_t v) {
               return std::find(wanted.second.begin(), wanted.second.end(), v) != wanted.second.end();
             });
    });
  });
}

}  // namespace

bool holds(const Guard& guard, const KnobValues& values) {
  return std::all_of(guard.all.begin(), guard.all.end(), [&](const auto& term) {
    const std::int64_t v = values[static_cast<std::size_t>(term.first)];
    return std::find(term.second.begin(), term.second.end(), v) != term.second.end();
  });
}

void for_each_case(const Mapping& m, const std::vector<const Guard*>& guards, const Location& where,
                   const std::function<void(const KnobValues&)>& visit) {
  const std::vector<std::vector<std::int64_t>> told = told_apart(m, guards);
  std::size_t cases = 1;
  std::vector<std::int64_t> values(m.knobs.size());
  for (const auto& one : told) {
    cases *= one.size();
    if (cases > 4096) throw Error(where, "", "guards tell more than 4096 cases apart", "fewer knobs in 'when'");
  }
  for (std::size_t index = 0; index < cases; ++index) {
    std::size_t rest = index;
    for (std::size_t k = 0; k < told.size(); ++k) {
      values[k] = told[k][rest % told[k].size()];
      rest /= told[k].size();
    }
    visit(values);
  }
}

std::string text_of_case(const Mapping& m, const std::vector<const Guard*>& guards, const KnobValues& values) {
  std::vector<std::string> words;
  for (std::size_t k = 0; k < m.knobs.size(); ++k) {
    const auto names = [&](const Guard* g) {
      return std::any_of(g->all.begin(), g->all.end(),
                         [&](const auto& t) { return static_cast<std::size_t>(t.first) == k; });
    };
    if (std::none_of(guards.begin(), guards.end(), names)) continue;
    const Knob& knob = m.knobs[k];
    words.push_back(knob.name + "=" +
                    (knob.words.empty() ? std::to_string(values[k]) : knob.words[static_cast<std::size_t>(values[k])]));
  }
  return words.empty() ? "always" : joined(words, ",");
}

std::vector<const Guard*> weakest(const std::vector<const Guard*>& guards) {
  std::vector<const Guard*> out;
  for (const Guard* guard : guards) {
    if (std::any_of(out.begin(), out.end(), [&](const Guard* other) { return implies(*guard, *other); })) continue;
    out.erase(std::remove_if(out.begin(), out.end(), [&](const Guard* other) { return implies(*other, *guard); }),
              out.end());
    out.push_back(guard);
  }
  return out;
}

}  // namespace napkin::internal
