#pragma once
// A ReportAnswer holds the contents of a question's page: the tile with the reasons for it, its transfers and memory,
// roofline, timeline, the landscape of tiles around it, sensitivities, nearby measurements, and the certainty of the
// prediction. Internal to apps/.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/answer/landscape.hpp"
#include "apps/library/answer/timeline.hpp"
#include "apps/library/judge/beside.hpp"
#include "apps/library/judge/roofline.hpp"
#include "model/fusion/streamed.hpp"
#include "napkin/ask.hpp"
#include "napkin/napkin.hpp"
#include "napkin/sensitivity.hpp"

namespace napkin::internal {

struct ReportAnswer {
  QueryAnswer query;                           ///< query of the tile: the user's, or the selected one
  SelectAnswer selected;                       ///< selection of that kernel, with every knob free
  bool picked = false;                         ///< true if the tile is the selected one
  Streamed streamed;                           ///< the algorithm as the kernel streams it
  std::optional<RooflineAnswer> roofline;      ///< roofline of a prediction with FLOP
  std::optional<TimelineAnswer> timeline;      ///< timeline of a kernel's legal tile
  std::vector<LandscapeAnswer> landscapes;     ///< landscapes of a kernel
  std::optional<SensitivityAnswer> sensitive;  ///< sensitivity of a kernel's legal tile
  std::vector<BesideAnswer> recorded, published;
  std::vector<ClassError> classes;  ///< errors of the kernel's classes, the prediction's own first
  /// Lines by identifier of the answer: knobs, pipes, steps of the timeline, numbers of the machine.
  std::map<std::string, std::string> about;
  std::map<std::string, std::string> rules;  ///< lines by rule that keeps tiles out
};

/// Makes all parts of the report; packed sequences have no optimum and no timeline. `published` holds the built-in
/// rows. Throws Error for every mistake in the question, and for the abstract machine.
[[nodiscard]] ReportAnswer report_answer(const Session& session, const Ask& ask,
                                         const std::vector<PublishedRow>& published);

}  // namespace napkin::internal
