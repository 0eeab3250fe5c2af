#include "model/dependence/build.hpp"

#include <numbers>

namespace napkin::dependence {

Expression map_of(const std::string& f, const Expression& x) {
  for (const char* same : {"exp", "log", "tanh", "sqrt", "abs"}) {
    if (f == same) return call(same, x);
  }
  if (f == "identity") return x;
  if (f == "negate") return -x;
  if (f == "relu") return larger(x, number(0));
  if (f == "square") return x * x;
  if (f == "reciprocal") return number(1) / x;
  if (f == "rsqrt") return number(1) / call("sqrt", x);
  if (f == "sigmoid") return number(1) / (number(1) + call("exp", -x));
  if (f == "silu") return x / (number(1) + call("exp", -x));
  if (f == "gelu") return number(0.5) * x * (number(1) + call("erf", x / number(std::numbers::sqrt2)));
  throw Error(f, "no expression for this map", "one of the diagram's functions");
}

}  // namespace napkin::dependence
