#pragma once
// A Reader reads the sections of a mapping file, one by one, into a Mapping. (YAML form and every key:
// docs/own-kernel.md, "Sections")

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/base/yaml.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin::internal::mapping_text {

/// A table that a mapping names; without a path there is none.
struct TableFile {
  std::string path, text;
  bool bundled = false;
};
using FindTable = std::function<TableFile(const std::string& name)>;

inline constexpr std::int64_t most_count = 1 << 20;  // instructions or blocks that a count may name

/// The reader of a mapping's document. Knobs come first, since everything else may name them.
class Reader {
 public:
  /// Reads a mapping. Throws Error (file:line:column, field path, what, what would be right).
  [[nodiscard]] static Mapping read(const yaml::Node& document, const std::string& file, const FindTable& find_table);

 private:
  Reader(Mapping& mapping, const FindTable& find_table) : m_(mapping), find_table_(find_table) {}

  void knobs(const yaml::Node& node);
  void relations(const yaml::Node& node);
  void agents(const yaml::Node& node);
  void levels(const yaml::Node& node);
  [[nodiscard]] OwnParts own_parts(const yaml::Node& node, const LevelMapping& level) const;
  void variables(const yaml::Node& node);
  void operations(const yaml::Node& node);
  void edges(const yaml::Node& node);
  void combine(const yaml::Node& node);
  void launches(const yaml::Node& node);
  void sizes(const yaml::Node& node);
  void tables(const yaml::Node& node);
  /// Checks that the section `tables`, which replaces tables by others, names only tables that the mapping reads.
  void check_tables(const yaml::Node& node) const;
  void packs(const yaml::Node& node);

  [[nodiscard]] Knob knob(const std::string& name, const yaml::Node& node) const;
  [[nodiscard]] Relation relation(const yaml::Node& node);
  [[nodiscard]] Overhead overhead(const yaml::Node& node);
  void splits(const yaml::Node& node, Agent& agent);
  [[nodiscard]] VariableMapping variable(const std::string& name, const yaml::Node& node);
  [[nodiscard]] OperationMapping operation(const std::string& name, const yaml::Node& node);
  void read_product(const yaml::Node& node, OperationMapping& out);
  [[nodiscard]] WorkMapping work(const yaml::Node& node);
  [[nodiscard]] std::vector<std::int64_t> domain(const yaml::Node& node, std::int64_t least) const;
  [[nodiscard]] std::int64_t knob_value(const Knob& knob, const yaml::Node& node) const;
  [[nodiscard]] static std::vector<Mask::Kind> mask_kinds(const yaml::Node& node);
  /// Reads a guard; `of_problem` allows conditions on the problem's mask and on sizes of axes.
  [[nodiscard]] Guard guard(const yaml::Node* node, bool of_problem = false);
  [[nodiscard]] Guarded<std::string> words(const yaml::Node& node);
  [[nodiscard]] Value value(const yaml::Node& node, std::int64_t least);
  [[nodiscard]] Guarded<Value> values(const yaml::Node& node, std::int64_t least, bool of_problem = false);
  /// Reads {table: NAME, number: COLUMN}; without a column, the registers.
  [[nodiscard]] Value table_value(const yaml::Node& node);
  [[nodiscard]] std::shared_ptr<const RegisterTable> table(const yaml::Node& name);
  [[nodiscard]] std::vector<Value> product(const yaml::Node& node);
  [[nodiscard]] std::vector<std::pair<std::string, Value>> axis_values(const yaml::Node* node, std::int64_t least = 1);
  [[nodiscard]] std::vector<std::string> axes(const yaml::Node* node);
  [[nodiscard]] std::string type(const yaml::Node& node) const;
  void refer(Reference::Kind kind, const std::string& name, const yaml::Node& node);

  Mapping& m_;
  const FindTable& find_table_;
  std::vector<std::pair<std::string, std::shared_ptr<const RegisterTable>>> tables_;  ///< tables read so far, as named
  std::vector<std::pair<std::string, std::string>> in_place_;  ///< tables and those that are read in place of them
};

constexpr std::int64_t most = std::int64_t{1} << 40;  ///< upper limit of any literal: far above every size of a GPU

/// Returns true for letters, digits, _ and ., a letter first.
[[nodiscard]] bool is_name(const std::string& text);
/// Returns true if the text begins like a number.
[[nodiscard]] bool is_number(const std::string& text);
[[nodiscard]] std::vector<std::string> knob_names(const Mapping& mapping);
/// Checks that an order's axes are those that the block's level groups, each once.
void check_orders(const Mapping& mapping, const yaml::Node& knobs);
/// Checks that a knob that sizes an axis is never 0.
void check_sizes(const Mapping& mapping);

/// Checks everything that needs neither diagram nor machine: names within the mapping, aliases, that guards always
/// leave an alternative. Throws Error with a position.
void check_within(const Mapping& mapping);

}  // namespace napkin::internal::mapping_text
