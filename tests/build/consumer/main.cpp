// A program of a user: asks which tile attention should use, reads the answer as plain values, and computes attention.
#include <napkin/napkin.hpp>

#include <cstdio>

int main() {
  napkin::Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.shape = napkin::parse_shape("h=16,q=8192,x=8192,d=128");
  const auto answer = napkin::select(ask);
  if (!answer->found || !answer->predicted) return 1;

  std::printf("consumer: %s:", answer->head.kernel->c_str());
  for (const napkin::KnobValue& knob : answer->head.tile) {
    std::printf(" %s=%s", knob.name.c_str(),
                knob.word.empty() ? std::to_string(knob.number).c_str() : knob.word.c_str());
  }
  std::printf(", %.0f us\n", answer->predicted->time * 1e6);

  if (napkin::select(ask) != answer) return 1;  // a repeated question: the very answer

  const napkin::Session session;
  ask.tile = napkin::parse_tile("q=128,x=128");
  for (const napkin::LevelAnswer& level : session.query(ask)->levels) {
    std::printf("consumer: %s moves %lld bytes\n", level.name.c_str(), static_cast<long long>(level.transfer));
  }

  try {
    ask.gpu = "h200";
    (void)napkin::query(ask);
    return 1;
  } catch (const napkin::Error& error) {
    std::printf("consumer: %s\n", error.what());
  }

  // The call fails: its arguments have no memory, and the machine may have no GPU.
  napkin::AttentionArgs args;
  args.sizes.h = 16;
  args.sizes.q = args.sizes.x = 8192;
  args.sizes.d = 128;
  args.mask.kind = napkin::Mask::Kind::causal;
  try {
    napkin::attention(args, nullptr);
    return 1;
  } catch (const napkin::Error& error) {
    std::printf("consumer: %s\n", error.what());
  } catch (const napkin::CudaFailure& failure) {
    std::printf("consumer: %s\n", failure.what());
  }
  return 0;
}
