#pragma once
// The published rows and their predictions, made once for all tests of a program.

#include <string>
#include <vector>

#include "apps/library/judge/published_names.hpp"
#include "apps/report/record/published.hpp"

namespace published {

inline const std::vector<napkin::internal::PublishedRow>& rows() {
  static const std::vector<napkin::internal::PublishedRow> read =
      napkin::internal::report::parse_published(napkin::internal::published_rows_text(), "published.json");
  return read;
}

inline const std::vector<napkin::internal::PublishedAnswer>& answers() {
  static const std::vector<napkin::internal::PublishedAnswer> asked = napkin::internal::ask_published(rows());
  return asked;
}

/// Returns a file of one row, in which a field is another one.
inline std::string row_of(const std::string& changed = R"("b": 4)") {
  return R"([{"gpu": "RTX 3090", "kernel": "FlashAttention-2", "direction": "fwd", "dtype": "fp16", )" + changed +
         R"(, "h": 32, "s": 1024, "d": 128, "causal": false, "tflops": 62, "source": "mine"}])";
}

}  // namespace published
