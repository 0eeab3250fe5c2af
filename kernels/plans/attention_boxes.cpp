#include "kernels/plans/attention_boxes.hpp"

namespace napkin {

TensorBox AttentionBoxes::queries(std::size_t offset, const std::string& name, const TensorView& view, int columns,
                                  int heads, int rows) const {
  return box_of(offset, name, type, {columns, g, q, h, b}, {view.head, view.row, view.head * g, view.batch},
                {span_of(columns), static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(rows), 1, 1});
}

TensorBox AttentionBoxes::keys(std::size_t offset, const std::string& name, const TensorView& view, int columns,
                               int rows) const {
  return box_of(offset, name, type, {columns, x, h, key_sequences}, {view.row, view.head, view.batch},
                {span_of(columns), static_cast<std::uint32_t>(rows), 1, 1});
}

}  // namespace napkin
