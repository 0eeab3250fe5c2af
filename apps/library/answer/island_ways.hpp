#pragma once
// ways_of lists the ways in which an island can divide a question, each with its launches' predictions and its time.
// Internal to apps/.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/question/question.hpp"
#include "model/island/schedule.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal {

/// A question about an island with its names resolved.
struct IslandQuestion {
  Ask ask;
  Island island;
  std::shared_ptr<const Machine> machine;  ///< a GPU of the island
  std::vector<Split> splits;               ///< candidate splits
  std::vector<PartOrder> orders;           ///< orders that the user asked for
  std::int64_t gpus = 1;                   ///< GPUs that take part
  Problem problem;
  NamedSizes shape;  ///< every axis
};
/// Resolves the names of a question. Throws Error for every mistake in it.
[[nodiscard]] IslandQuestion island_question(const Session& session, const Ask& ask);

/// The launches of one shape, by all GPUs, with the Session's answer for one.
struct AskedLaunch {
  DeviceLaunch launch;
  std::int64_t count = 0;
  std::shared_ptr<const QueryAnswer> answer;
  double adding = 0;   ///< seconds to add a launch's part to the running results
  bool stays = false;  ///< true if its blocks stay to its end (StepTime)
};

struct Way {
  Division division;
  std::vector<Transport> transports;
  std::vector<AskedLaunch> launches;
  std::vector<std::vector<StepTime>> steps;  ///< times by GPU, then by step
  double finishing = 0;                      ///< seconds after the last step
  double held = 0;                           ///< share of a GPU's nodes that a copy holds
  IslandTime time;
  double flops = 0;      ///< FLOP of all GPUs together
  double imbalance = 1;  ///< work of the busiest GPU over the mean
  std::optional<std::int64_t> memory_limit;

  /// Returns the launch that takes most.
  [[nodiscard]] const AskedLaunch& heaviest() const;
  /// Returns the seconds that the way takes over the links of another island.
  [[nodiscard]] double time_on(const Island& island) const;
};

struct IslandWays {
  std::vector<Way> ways;  ///< the fastest first
  std::vector<std::pair<std::string, std::string>> refused;
};
/// Returns the question about one of a way's launches, on one GPU.
[[nodiscard]] Ask ask_of(const IslandQuestion& question, const Diagram& diagram, const DeviceLaunch& launch);
/// Predicts every way. Throws Error if the question names a split that is impossible.
[[nodiscard]] IslandWays ways_of(const Session& session, const IslandQuestion& question);

/// Returns the least length of the sequence, in steps of 64 for each part, from which on the way's ring is hidden;
/// nothing: none up to 4 M, or rows and columns of different lengths.
[[nodiscard]] std::optional<std::int64_t> hidden_from(const Session& session, const IslandQuestion& question,
                                                      const Way& from);

[[nodiscard]] NamedSizes sizes_by_name(const Diagram& diagram, const Sizes& sizes);

}  // namespace napkin::internal
