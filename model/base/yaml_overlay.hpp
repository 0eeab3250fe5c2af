#pragma once
// An Overlay lays one YAML document over another: a product's numbers over those of its architecture.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/base/yaml.hpp"

namespace napkin::internal::yaml {

/// A document in which the values of `over` replace those of `base`. Values keep their own file, position and path.
class Overlay {
 public:
  using IsWhole = std::function<bool(const Node&)>;
  using IsSame = std::function<bool(const Node& below, const Node& above)>;

  /// Prepares overlays. Values for which `whole` is true are replaced; other maps are merged by key, other lists by
  /// items that `same` matches. New items go before the next item that both documents have, else to the end. Keys in
  /// `alternatives` exclude each other: one of them in `over` replaces each in `base`.
  Overlay(IsWhole whole, IsSame same, std::vector<std::string> alternatives)
      : whole_(std::move(whole)), same_(std::move(same)), alternatives_(std::move(alternatives)) {}
  [[nodiscard]] Document joined(Document base, Document over) const;

 private:
  /// A node of one of the two documents; if it is joined, with the children of both.
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

}  // namespace napkin::internal::yaml
