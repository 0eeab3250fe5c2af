#include "model/base/yaml_overlay.hpp"

#include <algorithm>

namespace napkin::internal::yaml {

bool Overlay::is_alternative(const Node& node) const {
  return std::find(alternatives_.begin(), alternatives_.end(), node.key_) != alternatives_.end();
}

std::vector<Overlay::Joined> Overlay::children_of(const Joined& below, bool without_alternatives) const {
  std::vector<Joined> out;
  if (below.is_join) {
    out = below.children;
  } else {
    for (const Node* child = below.node->first(); child != below.node->next(); child = child->next())
      out.push_back({child, false, {}});
  }
  if (without_alternatives) std::erase_if(out, [&](const Joined& child) { return is_alternative(*child.node); });
  return out;
}

Overlay::Joined Overlay::join(Joined below, const Node& over) const {
  const Node& base = *below.node;
  if (over.kind_ != base.kind_ || whole_(over) || whole_(base) || (!over.is_map() && !over.is_sequence()))
    return {&over, false, {}};
  bool replaces = false;
  for (const Node* child = over.first(); child != over.next(); child = child->next())
    replaces = replaces || (over.is_map() && is_alternative(*child));
  std::vector<Joined> children = children_of(below, replaces);
  const auto place_of = [&](const Node* child) {
    return std::find_if(children.begin(), children.end(), [&](const Joined& other) {
      return over.is_map() ? other.node->key_ == child->key_ : same_(*other.node, *child);
    });
  };
  for (const Node* child = over.first(); child != over.next(); child = child->next()) {
    auto place = place_of(child);
    if (place != children.end()) {
      *place = join(std::move(*place), *child);
      continue;
    }
    for (const Node* next = child->next(); next != over.next() && place == children.end(); next = next->next())
      place = place_of(next);
    children.insert(place, {child, false, {}});
  }
  return {&over, true, std::move(children)};
}

std::size_t Overlay::nodes_in(const Joined& joined) {
  if (!joined.is_join) return joined.node->nodes_;
  std::size_t nodes = 1;
  for (const Joined& child : joined.children) nodes += nodes_in(child);
  return nodes;
}

/// Copies a joined node to `to`, with its parent `parent` nodes before it. Returns the place after it.
Node* Overlay::copy(const Joined& joined, Node* to, std::uint32_t parent) {
  const Node& from = *joined.node;
  const std::size_t copied = joined.is_join ? 1 : from.nodes_;
  for (std::size_t i = 0; i < copied; ++i) to[i].take(*(&from + i));
  to->parent_ = parent;
  if (!joined.is_join) return to + copied;
  Node* next = to + 1;
  for (const Joined& child : joined.children) next = copy(child, next, static_cast<std::uint32_t>(next - to));
  to->nodes_ = static_cast<std::uint32_t>(next - to);
  to->children_ = static_cast<std::uint32_t>(joined.children.size());
  return next;
}

Document Overlay::joined(Document base, Document over) const {
  const Joined joined = join({&base.root(), false, {}}, over.root());
  Document out;
  out.nodes_.reset(new Node[nodes_in(joined)]);
  copy(joined, out.nodes_.get(), 0);
  out.parts_.push_back(std::move(base));
  out.parts_.push_back(std::move(over));
  return out;
}

}  // namespace napkin::internal::yaml
