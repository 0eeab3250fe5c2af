#pragma once
// A NeedAnswer has the values of a machine's numbers with which an algorithm reaches a target: attention in 600 us on
// an H100 needs 1,060 W, and no other number, raised alone, suffices. Each number is changed by itself, or two
// together.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "napkin/answers.hpp"
#include "napkin/ask.hpp"

namespace napkin {

/// A target: exactly one of time, flops and joules.
struct NeedAsk {
  Ask ask;
  std::optional<double> time;    ///< seconds, at most
  std::optional<double> flops;   ///< FLOP/s, at least, of visible pairs
  std::optional<double> joules;  ///< joules of a call, at most
  std::vector<std::string> of;   ///< numbers by name; empty: the levels', the pipes', the clocks' and the power's
  std::optional<std::pair<std::string, std::string>> line;  ///< two numbers: the least of the first, for values of the
                                                            ///< second
};

/// The value that a number of the machine needs, or several that change together, while all others keep today's values.
struct NeedRow {
  std::string name, unit;  ///< name and unit, as sensitivity gives them
  double value = 0;        ///< today's value, in `unit`
  bool reached = false;
  bool upward = true;  ///< true if values from `needed` upwards reach the target; false: from there downwards
  double needed = 0;   ///< value in `unit` that reaches the target and is nearest to today's
  double got = 0;      ///< time, FLOP/s or joules with `needed`; if the target is not reached, the best that was found
  std::string bound;   ///< the resource that limits with `needed`
  std::string why;     ///< the reason why the target was not reached, or a remark that the effect is not monotone
};

/// The least value of one number at several values of another.
struct NeedLine {
  std::string name, unit, along, along_unit;
  struct Point {
    double along = 0;  ///< value of the second number, in its unit
    NeedRow row;
  };
  std::vector<Point> points;
};

struct NeedAnswer {
  Head head;
  PredictedAnswer predicted;  ///< today's prediction
  std::string goal;           ///< quantity of the target: "time", "flops" or "joules"
  double target = 0;
  double today = 0;           ///< today's value of the target's quantity
  bool met = false;           ///< true if today's value meets the target
  std::vector<NeedRow> rows;  ///< needs, least change first, unreached ones last; without numbers that change nothing
  std::optional<NeedLine> line;
};

}  // namespace napkin
