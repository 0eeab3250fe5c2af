#pragma once
// picture_of() draws what `derive --picture` asks for: the columns of a question, the stages of its derivation, the
// expansion of its stream, the machine's hierarchy, or the tiling of a product.

#include <string>

#include "apps/library/question/question.hpp"
#include "apps/napkin/command.hpp"
#include "apps/report/diagram/columns.hpp"
#include "apps/report/diagram/drawing.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal::cli {

/// Makes the columns of a placed question, with the divisors of its sizes.
[[nodiscard]] report::ColumnDiagram columns_of(const Question& question, const Setup& setup,
                                               const PlacedDiagram& placed);
/// Makes the columns of the tile that the question names, or that select selects.
[[nodiscard]] report::ColumnDiagram columns_of(const Ask& ask);

/// Draws the picture that --picture names; the hierarchy and the tiling need a placed diagram.
[[nodiscard]] report::Drawing picture_of(const std::string& which, const report::ColumnDiagram& columns,
                                         const Streamed& streamed, const PlacedDiagram* placed);

/// Returns the value of --picture. Throws Error if it is not a known format.
[[nodiscard]] std::string picture_asked(const Arguments& arguments);

}  // namespace napkin::internal::cli
