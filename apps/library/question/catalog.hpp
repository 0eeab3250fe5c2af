#pragma once
// The Catalog keeps each profile, diagram and mapping that was read, so that a second question about the H200 parses
// nothing. Not for several threads at once: a Session locks it for as long as it makes one question. Internal to apps/.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/question/question.hpp"
#include "model/base/latest.hpp"

namespace napkin::internal {

class TableMemory;

/// The identity of a file's content; a changed file has another. All zero: no file has that name.
struct FileStamp {
  std::string path;
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};
[[nodiscard]] FileStamp stamp_of(const std::string& path);
/// Returns the stamps of the files among a question's names. Empty if all names are built in.
[[nodiscard]] std::vector<FileStamp> files_of(const Ask& ask);

class Catalog {
 public:
  Catalog();

  [[nodiscard]] std::shared_ptr<const Diagram> diagram(const std::string& name);
  /// Returns the diagram with its products in the cheapest order at these sizes; the diagram itself if that is the
  /// written order.
  [[nodiscard]] std::shared_ptr<const Diagram> at_sizes(const std::shared_ptr<const Diagram>& diagram,
                                                        const Sizes& sizes);
  [[nodiscard]] std::shared_ptr<const Machine> machine(const std::string& name);
  /// Returns the machine under the conditions. Throws Error if the profile lacks a number that they need.
  [[nodiscard]] std::shared_ptr<const Machine> machine(const std::string& name, const CardConditions& conditions);
  [[nodiscard]] std::shared_ptr<const Mapping> mapping(const std::string& name, const std::string& where);
  /// Returns the mapping on the machine, and the diagram streamed as the mapping says. Throws Error if the mapping
  /// names something that the diagram does not have.
  [[nodiscard]] Setup setup(const std::shared_ptr<const Diagram>& diagram,
                            const std::shared_ptr<const Mapping>& mapping,
                            const std::shared_ptr<const Machine>& machine);
  /// Returns true if the machine has what the mapping names: levels, and instructions for the type.
  [[nodiscard]] bool has_all(const std::shared_ptr<const Machine>& machine,
                             const std::shared_ptr<const Mapping>& mapping, DType dtype);
  /// Returns the names of the mappings for an algorithm, of bundled kernels or of peers.
  [[nodiscard]] const std::vector<std::string>& kernels(const std::string& algorithm, bool bundled);
  /// Returns the name of the profile of the GPU in this machine.
  [[nodiscard]] const std::string& gpu_here();
  /// Returns the memory that the tables of all setups share.
  [[nodiscard]] const std::shared_ptr<TableMemory>& tables() const { return tables_; }

 private:
  template <class Part>
  struct Read {
    std::shared_ptr<const Part> part;
    FileStamp file;  ///< stamp of the file; empty for a built-in part
  };
  template <class Part>
  using Parts = Latest<std::string, Read<Part>>;
  template <class Part, class Load>
  std::shared_ptr<const Part> find_or_read(Parts<Part>& parts, const std::string& name, const Load& load);

  struct Conditioned {
    std::shared_ptr<const Machine> from, machine;
  };
  /// The parts of a setup, kept alive with it.
  struct SetupParts {
    std::shared_ptr<const Diagram> diagram;
    std::shared_ptr<const Mapping> mapping;
    std::shared_ptr<const Machine> machine;
    bool operator==(const SetupParts&) const = default;
  };
  struct SetupPartsHash {
    std::size_t operator()(const SetupParts& parts) const {
      return (std::hash<decltype(parts.diagram)>()(parts.diagram) * 31 +
              std::hash<decltype(parts.mapping)>()(parts.mapping)) *
                 31 +
             std::hash<decltype(parts.machine)>()(parts.machine);
    }
  };
  using Verdicts = std::map<DType, bool>;

  std::shared_ptr<TableMemory> tables_;
  Parts<Diagram> diagrams_;
  Parts<Machine> machines_;
  Latest<std::string, Conditioned> conditioned_;  // machines by name and conditions
  Parts<Mapping> mappings_;
  Latest<std::string, std::shared_ptr<const Diagram>> reordered_;  // diagrams by their text
  Latest<SetupParts, Setup, SetupPartsHash> setups_;
  Latest<SetupParts, Verdicts, SetupPartsHash> has_all_;  // verdicts of has_all(), whatever the diagram
  std::map<std::pair<std::string, bool>, std::vector<std::string>> kernels_;
  std::optional<std::string> gpu_here_;
};

}  // namespace napkin::internal
