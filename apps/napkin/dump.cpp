#include "apps/napkin/dump.hpp"

#include <algorithm>
#include <filesystem>

#include "model/base/error.hpp"
#include "model/interpret/storage.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal::cli {

std::vector<std::string> observed_at(const Arguments& arguments, const Streamed& streamed,
                                     const std::vector<NamedPart>& parts, const std::vector<std::string>& inputs) {
  if (arguments.has("--at") && !arguments.has("--dump"))
    throw Error("--at", "has no meaning without --dump", "add --dump DIR, or leave it out");
  const auto at = arguments.find("--at");
  if (!at) return {};
  std::vector<std::string> known;
  for (const Operation& op : streamed.diagram.operations) {
    for (const ArrayId out : op.outputs) known.push_back(streamed.diagram.arrays[static_cast<std::size_t>(out)].name);
  }
  for (const NamedPart& part : parts) known.push_back(part.name);
  for (const Auxiliary& auxiliary : streamed.auxiliaries) known.push_back(auxiliary.name);
  known.insert(known.end(), inputs.begin(), inputs.end());
  if (std::find(known.begin(), known.end(), *at) == known.end())
    throw Error("--at", in_quotes(*at) + " is no intermediate of " + streamed.diagram.name, one_of(*at, known));
  return {*at};
}

void make_dump_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw Error("--dump", in_quotes(folder) + " cannot be made: " + failed.message(), "a folder that you may write to");
}

Tensors dump_inputs(const Streamed& streamed, const Problem& problem) {
  Tensors inputs = random_inputs(streamed.diagram, problem.sizes, 1);
  if (problem.dtype == DType::i8 || problem.dtype == DType::i32) return inputs;  // integers need no rounding
  for (auto& [name, tensor] : inputs) {
    for (double& value : tensor.data) value = round_to(problem.dtype, value);
  }
  return inputs;
}

}  // namespace napkin::internal::cli
