// Tables by kind of question, in the memory that they share with those of other mappings.

#include <algorithm>
#include <list>
#include <mutex>

#include "solver/select/table.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal {

class TableMemory {
 public:
  explicit TableMemory(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Returns the owner's table of a kind and makes it the latest used; nullptr if there is none.
  std::shared_ptr<Table> find(const Tables& owner, const std::string& kind) {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(tables_.begin(), tables_.end(),
                                    [&](const One& one) { return one.owner == &owner && one.kind == kind; });
    if (known == tables_.end()) return nullptr;
    tables_.splice(tables_.begin(), tables_, known);
    return known->table;
  }
  void put(const Tables& owner, std::string kind, std::shared_ptr<Table> table) {
    const std::lock_guard lock(mutex_);
    tables_.push_front({&owner, std::move(kind), std::move(table)});
  }
  /// Notes the table's bytes, and drops tables used longest ago, never this one, if all take too many.
  void count(const Table& table, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::size_t sum = bytes;
    tables_.remove_if([&](One& one) {
      if (one.table.get() != &table) return (sum += one.bytes) > most_bytes_;
      one.bytes = bytes;
      return false;
    });
  }
  void drop(const Tables& owner) {
    const std::lock_guard lock(mutex_);
    tables_.remove_if([&](const One& one) { return one.owner == &owner; });
  }

 private:
  struct One {
    const Tables* owner;  ///< owner, which drops its tables at its end
    std::string kind;
    std::shared_ptr<Table> table;
    std::size_t bytes = 0;
  };

  std::mutex mutex_;
  std::size_t most_bytes_;
  std::list<One> tables_;  // latest first
};

std::shared_ptr<TableMemory> make_table_memory(std::size_t most_bytes) {
  return std::make_shared<TableMemory>(most_bytes);
}

Tables::Tables(std::shared_ptr<TableMemory> memory) : memory_(std::move(memory)) {}
Tables::~Tables() { memory_->drop(*this); }

std::shared_ptr<Table> Tables::of(const Setup& setup) {
  std::string kind = kind_of(setup);
  const std::lock_guard lock(making_);
  if (auto known = memory_->find(*this, kind)) return known;
  auto table = std::make_shared<Table>(setup);
  memory_->put(*this, std::move(kind), table);
  count_bytes(*table);
  return table;
}

std::shared_ptr<Workspace> make_workspace(std::shared_ptr<TableMemory> memory) {
  if (memory == nullptr) memory = make_table_memory();
  return std::make_shared<Workspace>(std::make_shared<Tables>(std::move(memory)));
}

Setup on_machine(Setup setup, std::shared_ptr<const Machine> machine) {
  setup.machine = std::move(machine);
  setup.workspace = make_workspace();
  return setup;
}

void Tables::count_bytes(Table& table) { memory_->count(table, table.bytes()); }

}  // namespace napkin::internal
