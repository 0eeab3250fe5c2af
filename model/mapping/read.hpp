#pragma once
// The sections of a mapping file, read one by one into a Mapping. (YAML form and every key: kernels/README.md)

#include <string>
#include <vector>

#include "model/base/yaml.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin::mapping_text {

/// Reads one document. Knobs come first: everything else may name them.
class Reader {
 public:
  /// Throws Error (file:line:column, field path, what, what would be right).
  [[nodiscard]] static Mapping read(const yaml::Node& document, const std::string& file);

 private:
  explicit Reader(Mapping& mapping) : m_(mapping) {}

  void knobs(const yaml::Node& node);
  void relations(const yaml::Node& node);
  void agents(const yaml::Node& node);
  void levels(const yaml::Node& node);
  void variables(const yaml::Node& node);
  void operations(const yaml::Node& node);
  void edges(const yaml::Node& node);
  void combine(const yaml::Node& node);
  void launches(const yaml::Node& node);
  void sizes(const yaml::Node& node);

  [[nodiscard]] Knob knob(const std::string& name, const yaml::Node& node) const;
  [[nodiscard]] Relation relation(const yaml::Node& node);
  [[nodiscard]] VariableMapping variable(const std::string& name, const yaml::Node& node);
  [[nodiscard]] OperationMapping operation(const std::string& name, const yaml::Node& node);
  [[nodiscard]] WorkMapping work(const yaml::Node& node);
  [[nodiscard]] std::vector<std::int64_t> domain(const yaml::Node& node) const;
  [[nodiscard]] std::int64_t knob_value(const Knob& knob, const yaml::Node& node) const;
  [[nodiscard]] static std::vector<Mask::Kind> mask_kinds(const yaml::Node& node);
  /// `masks`: it may ask for the problem's mask too.
  [[nodiscard]] Guard guard(const yaml::Node* node, bool masks = false) const;
  [[nodiscard]] Value value(const yaml::Node& node, std::int64_t least);
  [[nodiscard]] Guarded<Value> values(const yaml::Node& node, std::int64_t least, bool masks = false);
  [[nodiscard]] std::vector<Value> product(const yaml::Node& node);
  [[nodiscard]] std::vector<std::pair<std::string, Value>> axis_values(const yaml::Node* node);
  [[nodiscard]] std::vector<std::string> axes(const yaml::Node* node);
  [[nodiscard]] std::string type(const yaml::Node& node) const;
  void refer(Reference::Kind kind, const std::string& name, const yaml::Node& node);

  Mapping& m_;
};

/// What can be checked without diagram and machine: names within the mapping, aliases, that guards leave nothing
/// without an alternative. Throws Error with a position.
void check_within(const Mapping& mapping);

}  // namespace napkin::mapping_text
