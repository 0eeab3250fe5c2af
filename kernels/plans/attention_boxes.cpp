#include "kernels/plans/attention_boxes.hpp"

namespace napkin {

TensorBox AttentionBoxes::queries(std::size_t offset, const std::string& name, const TensorView& view,
                                  const HeadColumns& columns, int heads, int rows) const {
  return box_of(offset, name, type, {columns.own, g, q, h, b}, {view.head, view.row, view.head * g, view.batch},
                {span_of(columns.held), static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(rows), 1, 1});
}

TensorBox AttentionBoxes::keys(std::size_t offset, const std::string& name, const TensorView& view,
                               const HeadColumns& columns, int rows) const {
  return box_of(offset, name, type, {columns.own, x, h, key_sequences}, {view.row, view.head, view.batch},
                {span_of(columns.held), static_cast<std::uint32_t>(rows), 1, 1});
}

}  // namespace napkin
