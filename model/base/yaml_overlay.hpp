#pragma once
// An Overlay lays one YAML document over another: a product's numbers over those of its architecture.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/base/yaml.hpp"

namespace napkin::yaml {

/// What `over` says stands in the place of what `base` says. Values keep their own file, position and path.
class Overlay {
 public:
  using IsWhole = std::function<bool(const Node&)>;
  using IsSame = std::function<bool(const Node& below, const Node& above)>;

  /// `whole`: maps and lists that are replaced in one piece. Other maps are joined key by key; of other lists each item
  /// is joined with the item that it is the `same` as, or comes last. `alternatives`: keys that say one thing in
  /// several ways; one of them above takes the place of each below.
  Overlay(IsWhole whole, IsSame same, std::vector<std::string> alternatives)
      : whole_(std::move(whole)), same_(std::move(same)), alternatives_(std::move(alternatives)) {}
  [[nodiscard]] Document joined(Document base, Document over) const;

 private:
  /// A node of one of the two documents, with other children where it is a join.
  struct Joined {
    const Node* node = nullptr;
    bool is_join = false;
    std::vector<Joined> children;
  };
  [[nodiscard]] Joined join(Joined below, const Node& over) const;
  [[nodiscard]] std::vector<Joined> children_of(const Joined& below, bool without_alternatives) const;
  [[nodiscard]] bool is_alternative(const Node& node) const;
  static std::size_t nodes_in(const Joined& joined);
  static Node* copy(const Joined& joined, Node* to, std::uint32_t parent);

  IsWhole whole_;
  IsSame same_;
  std::vector<std::string> alternatives_;
};

}  // namespace napkin::yaml
