// The colours of levels.
#include <iterator>

#include "apps/report/diagram/frame.hpp"
#include "apps/report/diagram/picture.hpp"

namespace napkin::internal::report {

std::vector<std::string> level_colours(const std::vector<DiagramLevel>& levels, LevelId compute, LevelId threads) {
  static constexpr const char* below[] = {"#1f6fc4", "#0b7285", "#c92a2a", "#846358", "#5c940d"};
  std::vector<std::string> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (i == 0) {
      out.emplace_back(dark);
    } else if (levels[i].kind == LevelKind::cache) {
      out.emplace_back("#7048a8");
    } else if (levels[i].kind == LevelKind::cross_transfer) {
      out.emplace_back("#b8327a");
    } else if (static_cast<LevelId>(i) == compute) {
      out.emplace_back("#d9690b");
    } else if (static_cast<LevelId>(i) == threads) {
      out.emplace_back("#2b8a3e");
    } else {
      out.emplace_back(below[next++ % std::size(below)]);
    }
  }
  return out;
}

}  // namespace napkin::internal::report
