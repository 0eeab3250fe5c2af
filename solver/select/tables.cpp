// Tables by kind of question.

#include <algorithm>
#include <list>
#include <mutex>

#include "solver/select/scan.hpp"

namespace napkin {

struct Tables::Kept {
  struct One {
    const void *streamed, *mapping, *machine;
    std::string kind;
    std::shared_ptr<Table> table;
    bool of_one_shape;
  };
  static constexpr std::size_t most = 96, most_of_one_shape = 8;

  [[nodiscard]] std::shared_ptr<Table>& find(const Question& question);

  /// Drops the table that was used longest ago, so that many shapes take no more memory than few.
  void drop() {
    std::size_t all = 0, of_one_shape = 0;
    tables.remove_if(
        [&](const One& one) { return ++all > most || (one.of_one_shape && ++of_one_shape > most_of_one_shape); });
  }

  std::mutex mutex;
  std::list<One> tables;  // latest first
};

Tables::Tables() : kept_(std::make_unique<Kept>()) {}
Tables::~Tables() = default;

/// Returns the place of the question's table and makes it the latest used; it holds nullptr if the table is new.
std::shared_ptr<Table>& Tables::Kept::find(const Question& question) {
  std::string kind = kind_of(question);
  const auto known = std::find_if(tables.begin(), tables.end(), [&](const One& one) {
    return one.streamed == question.streamed && one.mapping == question.mapping && one.machine == question.machine &&
           one.kind == kind;
  });
  if (known != tables.end()) {
    tables.splice(tables.begin(), tables, known);
  } else {
    tables.push_front({question.streamed, question.mapping, question.machine, std::move(kind), nullptr,
                       serves_one_shape(*question.mapping)});
    drop();
  }
  return tables.front().table;
}

std::shared_ptr<Table> Tables::of(const Question& question) {
  const std::lock_guard lock(kept_->mutex);
  std::shared_ptr<Table>& table = kept_->find(question);
  if (table == nullptr) table = std::make_shared<Table>(question);
  return table;
}

std::shared_ptr<Table> Tables::find(const Question& question) {
  const std::lock_guard lock(kept_->mutex);
  return kept_->find(question);
}

void Tables::forget(const Table& table) {
  const std::lock_guard lock(kept_->mutex);
  kept_->tables.remove_if([&](const Kept::One& one) { return one.table.get() == &table; });
}

bool any_legal(const Question& question, Tables& tables) {
  const std::shared_ptr<Table> table = tables.of(question);
  const Allowed allowed(question, table->candidates());
  const std::vector<std::uint32_t>& legal = table->candidates().legal();
  return std::any_of(legal.begin(), legal.end(), [&](std::int64_t rank) { return allowed(rank); });
}

Selector::Selector(const Question& question, Tables& tables) {
  const std::shared_ptr<Table> table = tables.of(question);
  try {
    scan_ = std::make_unique<Scan>(table, question);
    scan_->find_parts();
  } catch (...) {
    tables.forget(*table);
    throw;
  }
}
Selector::~Selector() = default;
Selection Selector::rank(int top) const { return scan_->rank(top); }
Selection Selector::best(Seconds limit) const { return scan_->best(limit.value); }
Rejections Selector::count_rejections() const { return scan_->count(); }
std::optional<Prediction> Selector::noticed(const Tile& tile) const { return scan_->noticed(tile); }

std::optional<Prediction> noticed(const Question& question, const Tile& tile, Tables& tables) {
  std::shared_ptr<Table> table = tables.find(question);
  return table != nullptr ? Scan(std::move(table), question).noticed(tile) : std::nullopt;
}

std::string nearest_constraint(const Rejections& rejections) {
  return rejections.rejected.empty() ? std::string() : rejections.rejected.back().first;
}

}  // namespace napkin
