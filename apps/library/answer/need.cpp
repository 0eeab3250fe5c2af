#include "napkin/need.hpp"

#include "apps/library/answer/answering.hpp"

namespace napkin {

NeedAnswer need_answer(const Request&, const NeedAsk&) { throw Error("need", "is not there yet", ""); }

}  // namespace napkin
