#include "apps/library/answer/session.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "apps/library/answer/answering.hpp"
#include "apps/library/question/on_all_cores.hpp"
#include "apps/library/question/setups.hpp"
#include "model/island/island.hpp"

namespace napkin::internal {
namespace {

constexpr std::size_t most_sequences = 4096;  // sequences of a packed batch up to which its answer is kept

/// Lists the fields that an answer depends on. Names are compared as given: two names of the same thing are two
/// questions.
auto fields_of(const Ask& ask) {
  return std::tie(ask.algorithm, ask.gpu, ask.memory, ask.shape, ask.lengths, ask.dtype, ask.mask, ask.kernel, ask.tile,
                  ask.split, ask.bundled, ask.conditions);
}

class Hash {
 public:
  void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x9E3779B97F4A7C15U ^ value_ >> 29U; }
  void add(std::string_view text) { add(std::hash<std::string_view>()(text)); }
  [[nodiscard]] std::size_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Returns true if the answer may be kept. Answers that need a run or a compilation depend on more than the question.
bool is_kept(const Ask& ask) { return !ask.check && !ask.compile && ask.lengths.size() <= most_sequences; }

/// Returns the answer that is kept, else a new one.
template <class Answer, class Make>
std::shared_ptr<const Answer> answer_of(Answers<Answer>& answers, const AskedAs& asked, const Make& make) {
  if (!is_kept(asked.ask)) return std::make_shared<const Answer>(make());
  if (auto known = answers.find(asked)) return known;
  std::vector<FileStamp> files = files_of(asked.ask);
  return answers.keep(asked, std::move(files), std::make_shared<const Answer>(make()));
}

}  // namespace

std::size_t AskedHash::operator()(const AskedAs& asked) const {
  const Ask& ask = asked.ask;
  Hash hash;
  for (const std::string* text : {&ask.algorithm, &ask.gpu, &ask.dtype, &ask.kernel, &ask.split}) hash.add(*text);
  hash.add(static_cast<std::uint64_t>(ask.memory.value_or(-1)));
  hash.add(static_cast<std::uint64_t>(ask.bundled));
  for (const auto& [axis, size] : ask.shape) {
    hash.add(axis);
    hash.add(static_cast<std::uint64_t>(size));
  }
  for (const SequenceLengths& one : ask.lengths) {
    hash.add(static_cast<std::uint64_t>(one.q));
    hash.add(static_cast<std::uint64_t>(one.x));
  }
  for (const std::int64_t number : {static_cast<std::int64_t>(ask.mask.kind), ask.mask.left, ask.mask.right})
    hash.add(static_cast<std::uint64_t>(number));
  for (const auto& [knob, value] : ask.tile) {
    hash.add(knob);
    hash.add(value);
  }
  if (ask.conditions != CardConditions{}) hash.add(text_of(ask.conditions));
  hash.add(static_cast<std::uint64_t>(asked.top));
  return hash.value();
}

bool AskedEqual::operator()(const Asked& a, const AskedAs& b) const {
  return a.top == b.top && a.parts == b.parts && fields_of(a.ask) == fields_of(b.ask);
}

template <class Answer>
std::shared_ptr<const Answer> Answers<Answer>::find(const AskedAs& asked) {
  const std::lock_guard lock(mutex_);
  const Kept* known = kept_.find(asked);
  if (known == nullptr) return nullptr;
  for (const FileStamp& file : known->files) {
    if (file != stamp_of(file.path)) return nullptr;
  }
  return known->answer;
}

template <class Answer>
std::shared_ptr<const Answer> Answers<Answer>::keep(const AskedAs& asked, std::vector<FileStamp> files,
                                                    std::shared_ptr<const Answer> answer) {
  const std::lock_guard lock(mutex_);
  if (const Kept* known = kept_.find(asked); known != nullptr && known->files == files) return known->answer;
  Ask ask = asked.ask;
  ask.progress = nullptr;
  return kept_.put({std::move(ask), asked.top, asked.parts}, {std::move(answer), std::move(files)}).answer;
}

Question question_of(const Session& session, const Ask& ask) { return session.state().question(ask); }

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

Question Session::State::question(const Ask& ask) {
  const std::lock_guard lock(mutex);
  return make_question(ask, catalog);
}

Question Session::State::problem(const Ask& ask) {
  const std::lock_guard lock(mutex);
  return resolve_problem(ask, catalog);
}

Question Session::State::kernels(const Ask& ask) {
  const std::lock_guard lock(mutex);
  Question question = resolve_problem(ask, catalog);
  try {
    question.setups = at_shape([&] { return all_setups(question, catalog); });
  } catch (const Overflow&) {
    throw;
  } catch (const Error&) {  // no kernel has the user's knobs
  }
  return question;
}

std::shared_ptr<const Machine> Session::State::machine(const std::string& gpu, const CardConditions& conditions) {
  if (gpu.empty()) throw Error("--gpu", "is missing", "a profile's name or a path to a YAML file, or here");
  const std::lock_guard lock(mutex);
  return catalog.machine(gpu == "here" ? catalog.gpu_here() : gpu, conditions);
}

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::shared_ptr<const QueryAnswer> Session::query(const Ask& ask, AnswerParts parts) const {
  return answer_of(state_->queries, {ask, 0, parts}, [&] { return query_answer(state_->question(ask), parts); });
}

std::shared_ptr<const SelectAnswer> Session::select(const Ask& ask, int top, AnswerParts parts) const {
  return answer_of(state_->selections, {ask, top, parts},
                   [&] { return select_answer(state_->question(ask), top, parts); });
}

std::vector<std::shared_ptr<const SelectAnswer>> Session::select_many(const Ask& ask,
                                                                      const std::vector<NamedSizes>& shapes, int top,
                                                                      AnswerParts parts) const {
  std::vector<std::shared_ptr<const SelectAnswer>> answers(shapes.size());
  on_all_cores(shapes.size(), [&](std::size_t i) {
    Ask one = ask;
    one.shape.insert(one.shape.end(), shapes[i].begin(), shapes[i].end());
    try {
      answers[i] = select(one, top, parts);
    } catch (const Error& error) {
      if (error.where() != "--shape") throw;
      throw Error("shapes[" + std::to_string(i) + "]", error.problem(), error.right());
    }
  });
  return answers;
}

SensitivityAnswer Session::sensitivity(const Ask& ask) const {
  if (ask.memory) throw Error("--memory", "has no clock", "--gpu with a profile (napkin list gpus)");
  return sensitivity_answer(state_->question(ask));
}

StepAnswer Session::step(const StepAsk& ask) const {
  if (!is_island(ask.gpu)) return step_answer(*this, ask, *state_->machine(ask.gpu, ask.conditions), nullptr);
  const Island island = load_island(ask.gpu, "--gpu");
  return step_answer(*this, ask, *state_->machine(island.gpu, ask.conditions), &island);
}

NeedAnswer Session::need(const NeedAsk& ask) const {
  if (ask.ask.memory) throw Error("--memory", "has no clock", "--gpu with a profile (napkin list gpus)");
  return need_answer(state_->question(ask.ask), ask);
}

Session& default_session() {
  static Session& one = *new Session;  // never destroyed: a call at the end of the program may still ask
  return one;
}

std::shared_ptr<const QueryAnswer> query(const Ask& ask, AnswerParts parts) {
  return default_session().query(ask, parts);
}

std::shared_ptr<const SelectAnswer> select(const Ask& ask, int top, AnswerParts parts) {
  return default_session().select(ask, top, parts);
}

std::vector<std::shared_ptr<const SelectAnswer>> select_many(const Ask& ask, const std::vector<NamedSizes>& shapes,
                                                             int top, AnswerParts parts) {
  return default_session().select_many(ask, shapes, top, parts);
}

std::optional<LoadAnswer> other_load(const Ask& ask, const Head& head) {
  return default_session().other_load(ask, head);
}
std::vector<KernelAnswer> kernels(const Ask& ask, double limit) { return default_session().kernels(ask, limit); }

FamilyAnswer select_family(const Ask& ask, const ShapeFamily& family) {
  return default_session().select_family(ask, family);
}

CompareAnswer compare(const Ask& ask, const std::vector<std::string>& gpus, const std::vector<std::string>& dtypes,
                      const std::vector<std::string>& kernels, AnswerParts parts) {
  return default_session().compare(ask, gpus, dtypes, kernels, parts);
}

SensitivityAnswer sensitivity(const Ask& ask) { return default_session().sensitivity(ask); }

StepAnswer step(const StepAsk& ask) { return default_session().step(ask); }
NeedAnswer need(const NeedAsk& ask) { return default_session().need(ask); }

Emission emit(const Ask& ask, const std::string& form, int top) { return default_session().emit(ask, form, top); }

}  // namespace napkin
