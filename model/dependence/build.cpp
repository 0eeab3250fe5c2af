#include "model/dependence/build.hpp"

#include <limits>
#include <numbers>

namespace napkin::internal::dependence {

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
  const Expression size = larger(call("abs", x), number(std::numeric_limits<double>::min()));
  if (f == "relu_slope") return larger(x, number(0)) / size;
  if (f == "abs_slope") return x / size;
  if (f == "is_zero") return number(1) - call("abs", x) / size;
  if (f == "tanh_slope") return number(1) - call("tanh", x) * call("tanh", x);
  const Expression sigmoid = number(1) / (number(1) + call("exp", -x));
  if (f == "sigmoid_slope") return sigmoid * (number(1) - sigmoid);
  if (f == "silu_slope") return sigmoid * (number(1) + x * (number(1) - sigmoid));
  if (f == "gelu_slope") {
    return number(0.5) * (number(1) + call("erf", x / number(std::numbers::sqrt2))) +
           x * call("exp", number(-0.5) * x * x) * number(0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  }
  throw Error(f, "no expression for this map", "one of the diagram's functions");
}

}  // namespace napkin::internal::dependence
