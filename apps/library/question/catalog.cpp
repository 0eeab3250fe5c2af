#include "apps/library/question/catalog.hpp"

#include <sys/stat.h>

#include "apps/library/question/here.hpp"
#include "model/base/library.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/algorithm.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/rewrite.hpp"
#include "model/island/island.hpp"
#include "model/machine/load.hpp"
#include "model/machine/under.hpp"
#include "model/mapping/read/load.hpp"
#include "solver/select/select.hpp"

namespace napkin::internal {
namespace {

/// Profiles, diagrams and mappings that are kept, of each kind; some forty are built in.
constexpr std::size_t parts_kept = 256;
constexpr std::size_t layouts_kept = 96;  // setups that are kept, with their workspaces

}  // namespace

FileStamp stamp_of(const std::string& path) {
  FileStamp stamp{path};
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return stamp;
  stamp.device = found.st_dev;
  stamp.inode = found.st_ino;
  stamp.size = found.st_size;
  stamp.seconds = found.st_mtim.tv_sec;
  stamp.nanoseconds = found.st_mtim.tv_nsec;
  return stamp;
}

std::vector<FileStamp> files_of(const Ask& ask) {
  std::vector<FileStamp> files;
  const std::string diagram = diagram_part(ask.algorithm);
  for (const std::string* name : {&diagram, &ask.gpu, &ask.kernel}) {
    if (names_file(*name)) files.push_back(stamp_of(*name));
  }
  return files;
}

Catalog::Catalog()
    : tables_(make_table_memory()),
      diagrams_(parts_kept),
      machines_(parts_kept),
      conditioned_(parts_kept),
      mappings_(parts_kept),
      reordered_(parts_kept),
      setups_(layouts_kept),
      has_all_(layouts_kept) {}

template <class Part, class Load>
std::shared_ptr<const Part> Catalog::find_or_read(Parts<Part>& parts, const std::string& name, const Load& load) {
  Read<Part>* const known = parts.find(name);
  const bool built_in = !names_file(name);
  if (known != nullptr && built_in) return known->part;
  // Its state is noted before it is read: a file that changes meanwhile counts as changed.
  FileStamp file = built_in ? FileStamp{} : stamp_of(diagram_part(name));
  if (known != nullptr && known->file == file) return known->part;
  auto part = std::make_shared<const Part>(load(name));
  return parts.put(name, {std::move(part), std::move(file)}).part;
}

std::shared_ptr<const Diagram> Catalog::diagram(const std::string& name) {
  return find_or_read(diagrams_, name, [](const std::string& given) { return load_algorithm(given); });
}

std::shared_ptr<const Diagram> Catalog::at_sizes(const std::shared_ptr<const Diagram>& diagram, const Sizes& sizes) {
  Diagram other = reassociated(*diagram, sizes);
  if (other.rewritings.size() == diagram->rewritings.size()) return diagram;
  const std::string text = print(other);
  if (const auto* known = reordered_.find(text)) return *known;
  return reordered_.put(text, std::make_shared<const Diagram>(std::move(other)));
}

std::shared_ptr<const Machine> Catalog::machine(const std::string& name) {
  return find_or_read(machines_, name, [](const std::string& given) {
    try {
      return load_machine(given, "--gpu");
    } catch (const Error& error) {
      std::vector<std::string> known = builtin_machines();
      if (names_file(given) || error.where() != "--gpu") throw;
      for (const std::string& island : builtin_islands()) known.push_back(island);
      throw Error(error.where(), error.problem(), one_of(given, known) + ", or the path of a profile");
    }
  });
}

std::shared_ptr<const Machine> Catalog::machine(const std::string& name, const CardConditions& conditions) {
  auto from = machine(name);
  if (conditions == CardConditions{}) return from;
  const std::string key = name + '\n' + text_of(conditions);
  const Conditioned* known = conditioned_.find(key);
  if (known != nullptr && known->from == from) return known->machine;
  auto made = std::make_shared<const Machine>(under(*from, conditions));
  return conditioned_.put(key, {std::move(from), std::move(made)}).machine;
}

std::shared_ptr<const Mapping> Catalog::mapping(const std::string& name, const std::string& where) {
  return find_or_read(mappings_, name, [&](const std::string& given) { return load_mapping(given, where); });
}

Setup Catalog::setup(const std::shared_ptr<const Diagram>& diagram, const std::shared_ptr<const Mapping>& mapping,
                     const std::shared_ptr<const Machine>& machine) {
  SetupParts parts{diagram, mapping, machine};
  if (const Setup* known = setups_.find(parts)) return *known;
  auto streamed = std::make_shared<const Streamed>(streamed_by(*mapping, *diagram));
  Setup setup{std::move(streamed), mapping, machine, {}, {}, false, make_workspace(tables_)};
  return setups_.put(std::move(parts), std::move(setup));
}

bool Catalog::has_all(const std::shared_ptr<const Machine>& machine, const std::shared_ptr<const Mapping>& mapping,
                      DType dtype) {
  SetupParts parts{nullptr, mapping, machine};
  Verdicts* verdicts = has_all_.find(parts);
  if (verdicts == nullptr) verdicts = &has_all_.put(std::move(parts), {});
  const auto [verdict, is_new] = verdicts->try_emplace(dtype, false);
  if (!is_new) return verdict->second;
  try {
    check(*mapping, *machine, dtype);
    verdict->second = true;
  } catch (const Error&) {  // it lacks something
  }
  return verdict->second;
}

const std::vector<std::string>& Catalog::kernels(const std::string& algorithm, bool bundled) {
  const std::pair key(algorithm, bundled);
  const auto known = kernels_.find(key);
  if (known != kernels_.end()) return known->second;
  return kernels_.emplace(key, bundled ? bundled_mappings(algorithm) : peers_mappings(algorithm)).first->second;
}

const std::string& Catalog::gpu_here() {
  if (!gpu_here_) gpu_here_ = profile_here();
  return *gpu_here_;
}

}  // namespace napkin::internal
