// ddpx-validate: forecasts beside measured steps.
#include <iostream>

#include "cli/program.hpp"
#include "io/file.hpp"
#include "io/provenance.hpp"
#include "validation/options.hpp"
#include "validation/program.hpp"

namespace {

using namespace ddpx;

ExitCode run_validate(int argc, char** argv) {
  const ParsedValidateOptions parsed =
      parse_validate_options(argc, argv, "ddpx-validate " + io::version() + "\n");
  if (parsed.message) {
    io::write_text("-", *parsed.message);
    return ExitCode::success;
  }
  const ValidationAnswer answer = validate(parsed.options);
  for (const report::ReportFile& file : answer.files) io::write_text(file.path, file.text);
  for (const std::string& line : answer.talk) std::cerr << "ddpx-validate: " << line << "\n";
  if (!answer.text.empty()) io::write_text("-", answer.text);
  return answer.within_tolerance ? ExitCode::success : ExitCode::unmet;
}

}  // namespace

int main(int argc, char** argv) {
  return ddpx::run_program("ddpx-validate", [&] { return run_validate(argc, argv); });
}
