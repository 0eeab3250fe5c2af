#pragma once
// A Session keeps the parts of its questions, and the latest answers, 256 of queries and 256 of selections. Internal to
// apps/.

#include <memory>
#include <mutex>
#include <vector>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/question.hpp"
#include "model/base/latest.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal {

/// The key of a kept answer.
struct Asked {
  Ask ask;
  int top = 0;  ///< runners-up asked for; 0 for a query
  AnswerParts parts;
};
/// A reference to a question, by which a kept answer is looked up without a copy.
struct AskedAs {
  const Ask& ask;
  int top = 0;
  AnswerParts parts;
};

/// The hash over all fields that an answer depends on, without `progress`.
struct AskedHash {
  std::size_t operator()(const AskedAs& asked) const;
  std::size_t operator()(const Asked& asked) const { return (*this)(AskedAs{asked.ask, asked.top, asked.parts}); }
};
struct AskedEqual {
  bool operator()(const Asked& a, const AskedAs& b) const;
  bool operator()(const Asked& a, const Asked& b) const { return (*this)(a, AskedAs{b.ask, b.top, b.parts}); }
};

/// The latest answers of one kind.
template <class Answer>
class Answers {
 public:
  /// Finds the kept answer; nullptr if the question is new, or a file that it names has changed.
  [[nodiscard]] std::shared_ptr<const Answer> find(const AskedAs& asked);
  /// Keeps an answer and returns the one that is kept for the question: that of the thread that came first.
  std::shared_ptr<const Answer> keep(const AskedAs& asked, std::vector<FileStamp> files,
                                     std::shared_ptr<const Answer> answer);

 private:
  struct Kept {
    std::shared_ptr<const Answer> answer;
    std::vector<FileStamp> files;  ///< files as they were before the first was read
  };
  std::mutex mutex_;
  Latest<Asked, Kept, AskedHash, AskedEqual> kept_{256};
};

}  // namespace napkin::internal

namespace napkin {

struct Session::State {
  /// Resolves the question with its setups; problem() resolves it without.
  [[nodiscard]] internal::Question question(const Ask& ask);
  [[nodiscard]] internal::Question problem(const Ask& ask);
  /// Resolves the question with the setups of all kernels, bundled and peers', that have the user's knobs; maybe none.
  [[nodiscard]] internal::Question kernels(const Ask& ask);

  /// Returns the profile of that name or path, or of the GPU here, under the conditions.
  [[nodiscard]] std::shared_ptr<const internal::Machine> machine(const std::string& gpu,
                                                                 const CardConditions& conditions);

  std::mutex mutex;  ///< guards the catalog
  internal::Catalog catalog;
  internal::Answers<QueryAnswer> queries;
  internal::Answers<SelectAnswer> selections;
};

}  // namespace napkin
