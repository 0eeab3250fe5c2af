#pragma once
// KeptPlacers lends placers of questions met before: one of attention_sm90 on an H200 is bound to another length in a
// tenth of the time that a new one takes. Internal to apps/.

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "model/mapping/placed.hpp"

namespace napkin {

/// A thread-safe pool of placers, keyed by the parts that they were made for.
class KeptPlacers {
 public:
  /// The key of a kept placer: fields that it cannot be rebound over. The first three are compared by address.
  struct Key {
    const Streamed* streamed = nullptr;
    const Mapping* mapping = nullptr;
    const Machine* machine = nullptr;
    DType dtype = DType::bf16;
    Mask::Kind mask = Mask::Kind::none;
    bool operator==(const Key&) const = default;
  };
  struct Bound {
    Problem problem;
    std::optional<Placer> placer;
  };
  /// Takes a placer of that key out; nullptr if there is none.
  [[nodiscard]] std::unique_ptr<Bound> take(const Key& key);
  void give_back(const Key& key, std::unique_ptr<Bound> bound);

 private:
  std::mutex mutex_;
  std::list<std::pair<Key, std::unique_ptr<Bound>>> kept_;  // the latest first
};

/// A placer on loan from the pool, bound to its own copy of a problem. Placed diagrams must not outlive it.
class KeptPlacer {
 public:
  KeptPlacer(KeptPlacers& from, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
             const Problem& problem);
  ~KeptPlacer() {
    if (bound_ != nullptr) from_.give_back(key_, std::move(bound_));
  }
  KeptPlacer(const KeptPlacer&) = delete;
  KeptPlacer& operator=(const KeptPlacer&) = delete;
  operator const Placer&() const { return *bound_->placer; }
  const Placer* operator->() const { return &*bound_->placer; }

 private:
  KeptPlacers& from_;
  KeptPlacers::Key key_;
  std::unique_ptr<KeptPlacers::Bound> bound_;
};

}  // namespace napkin
