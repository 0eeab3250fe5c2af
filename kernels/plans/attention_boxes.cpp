#include "kernels/plans/attention_boxes.hpp"

namespace napkin::internal {

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

TensorView pairs_of_bytes(const std::string& name, TensorView view, std::int64_t heads, std::int64_t rows,
                          std::int64_t batches) {
  const auto halve = [&](std::int64_t& stride, std::int64_t length) {
    if (length != 1 && stride % 16 != 0)
      throw Error(name, "has a stride of " + std::to_string(stride) + " elements", "a multiple of 16 elements");
    stride /= 2;
  };
  halve(view.row, rows);
  halve(view.head, heads);
  halve(view.batch, batches);
  return view;
}

}  // namespace napkin::internal
