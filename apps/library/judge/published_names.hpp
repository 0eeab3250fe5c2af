#pragma once
// PublishedNames holds the meanings of the words in published rows: "H100 SXM5" is the profile h100-sxm,
// "FlashAttention-2" the mapping flash_attention_2. (data/names.yaml) Internal to apps/.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/library/judge/published.hpp"

namespace napkin::internal {

/// Returns true if `text` matches `pattern`, in which * stands for any text.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

/// A condition on rows. Empty fields match any row.
struct PublishedMatch {
  std::string gpu, kernel, source, note, dtype;
  std::vector<std::int64_t> d;
  std::optional<bool> causal;
  [[nodiscard]] bool operator()(const PublishedRow& row) const;
};

struct PublishedKernel {
  std::vector<std::string> names, dtypes, mappings;
  std::set<std::string> more_cases;  ///< mappings that share a kernel with the next one, for another case of it
  std::string algorithm;
  bool fastest = false;  ///< true if the fastest mapping's prediction counts; else the first mapping that fits
  bool divided = false;  ///< true if the entry fits only where the mapping's own rule divides the keys
  std::optional<std::int64_t> most_queries;             ///< queries of a sequence up to which the entry fits
  std::vector<std::string> tile;                        ///< the knobs of "128x64"
  std::vector<std::pair<std::string, TileText>> tiles;  ///< whole texts of a row's tile that say more than sizes
  struct Knobs {
    PublishedMatch match;
    std::vector<std::string> architectures;  ///< empty: all
    TileText set;
    std::vector<std::pair<std::string, std::vector<std::string>>> among;  ///< knobs that the source's autotuner tried
  };
  std::vector<Knobs> knobs;
};

struct PublishedNames {
  std::vector<std::pair<std::string, std::string>> dtypes;             ///< the source's word, then Napkin's
  std::vector<std::pair<std::vector<std::string>, std::string>> gpus;  ///< patterns, profile
  struct NoJudge {
    std::string named, why;  ///< a pattern
  };
  std::vector<NoJudge> no_judges;
  std::vector<PublishedKernel> kernels;
  struct Condition {
    PublishedMatch match;
    std::optional<double> clock, power, held, host;
    bool one_by_one = false;
    bool burst = false, cold_l2 = false;
    double launches = 0;  ///< launches from the rest to the middle of the timed ones
    std::string ahead;    ///< algorithm that runs ahead of the row's within the timed call; empty: none
  };
  std::vector<Condition> conditions;
  std::vector<std::pair<PublishedMatch, std::string>> doubts;

  [[nodiscard]] const std::string* profile(const std::string& gpu) const;  ///< Returns the profile of a published GPU,
                                                                           ///< or nullptr.
  [[nodiscard]] const NoJudge* no_judge(const std::string& kernel) const;
  /// Returns the first entry that fits. If `divided` is false, leaves out entries that hold only where keys are
  /// divided.
  [[nodiscard]] const PublishedKernel* kernel(const PublishedRow& row, std::string_view algorithm,
                                              bool divided = true) const;
  [[nodiscard]] std::string doubt(const PublishedRow& row) const;
  /// Returns Napkin's word for a source's type; the source's own if none is listed.
  [[nodiscard]] std::string dtype(const std::string& name) const;
};

[[nodiscard]] PublishedNames parse_published_names(std::string_view text, const std::string& file);
/// Returns the built-in names.yaml.
[[nodiscard]] const PublishedNames& published_names();

/// Returns the kernel's knobs for a row: one text, or one for each tile that the source's autotuner tried, the row's
/// own tile last; none unless the tile reads like "128x64,4w" or "128x176,2WG,cluster 2". Of "fwd 128x64,4w; bwd
/// 64x128,8w" it reads the algorithm's part alone.
[[nodiscard]] std::vector<TileText> published_tiles(const PublishedKernel& kernel, const std::string& architecture,
                                                    const PublishedRow& row);

}  // namespace napkin::internal
