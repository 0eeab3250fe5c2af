#include "model/base/yaml_overlay.hpp"

#include <algorithm>

namespace napkin::yaml {

Node Overlay::joined(const Node& base, const Node& over) const {
  if (over.kind_ != base.kind_ || whole_(over) || whole_(base) || (!over.is_map() && !over.is_sequence())) return over;
  const auto is_alternative = [&](const auto& entry) {
    return std::find(alternatives_.begin(), alternatives_.end(), entry.first) != alternatives_.end();
  };
  const bool replaces = std::any_of(over.entries_.begin(), over.entries_.end(), is_alternative);
  Node out = over;
  out.entries_.clear();
  for (const auto& entry : base.entries_) {
    if (!replaces || !is_alternative(entry)) out.entries_.push_back(entry);
  }
  out.items_ = base.items_;
  for (const auto& [key, value] : over.entries_) put(out.entries_, key, value);
  for (const Node& item : over.items_) put(out.items_, item);
  return out;
}

void Overlay::put(std::vector<std::pair<std::string, Node>>& entries, const std::string& key, const Node& over) const {
  for (auto& [name, below] : entries) {
    if (name != key) continue;
    below = joined(below, over);
    return;
  }
  entries.emplace_back(key, over);
}

void Overlay::put(std::vector<Node>& items, const Node& over) const {
  for (Node& below : items) {
    if (!same_(below, over)) continue;
    below = joined(below, over);
    return;
  }
  items.push_back(over);
}

}  // namespace napkin::yaml
