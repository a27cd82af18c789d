// ddpx-predict: answers whether another GPU pays, from the model alone.
#include "cli/program.hpp"
#include "io/file.hpp"
#include "predict/answer.hpp"

namespace {

using namespace ddpx;

ExitCode predict(int argc, char** argv) {
  const ParsedOptions parsed = parse_options(argc, argv, version_text("ddpx-predict"));
  const Answer result = parsed.message ? Answer{*parsed.message} : answer(parsed.options);
  // In one piece, at the end: a failure prints nothing before it.
  io::write_text("-", result.text);
  return result.code;
}

}  // namespace

int main(int argc, char** argv) {
  return ddpx::run_program("ddpx-predict", [&] { return predict(argc, argv); });
}
