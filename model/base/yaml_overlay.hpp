#pragma once
// An Overlay lays one YAML document over another: a product's numbers over those of its architecture.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/base/yaml.hpp"

namespace napkin::yaml {

/// What `over` says stands in the place of what `base` says. Values keep their own file and position.
class Overlay {
 public:
  using IsWhole = std::function<bool(const Node&)>;
  using IsSame = std::function<bool(const Node& below, const Node& above)>;

  /// `whole`: maps and lists that are replaced in one piece. Other maps are joined key by key; of other lists each item
  /// is joined with the item that it is the `same` as, or comes last. `alternatives`: keys that say one thing in
  /// several ways; one of them above takes the place of each below.
  Overlay(IsWhole whole, IsSame same, std::vector<std::string> alternatives)
      : whole_(std::move(whole)), same_(std::move(same)), alternatives_(std::move(alternatives)) {}
  [[nodiscard]] Node joined(const Node& base, const Node& over) const;

 private:
  void put(std::vector<std::pair<std::string, Node>>& entries, const std::string& key, const Node& over) const;
  void put(std::vector<Node>& items, const Node& over) const;

  IsWhole whole_;
  IsSame same_;
  std::vector<std::string> alternatives_;
};

}  // namespace napkin::yaml
