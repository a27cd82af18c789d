// ddpx-validate: forecasts beside measured steps, read from files or measured now.
#include <iostream>
#include <string_view>
#include <vector>

#include "cli/program.hpp"
#include "io/file.hpp"
#include "io/provenance.hpp"
#include "profiler/launch.hpp"
#include "validation/measure_rows.hpp"
#include "validation/options.hpp"
#include "validation/program.hpp"
#include "validation/rank.hpp"
#include "validation/torch_rows.hpp"

namespace {

using namespace ddpx;

ExitCode run_validate(int argc, char** argv) {
  // One of the ranks that --run starts.
  if (argc == 4 && std::string_view(argv[1]) == kRankWord) {
    train_as_rank(argv[2]);
    return ExitCode::success;
  }
  const ParsedValidateOptions parsed =
      parse_validate_options(argc, argv, "ddpx-validate " + io::version() + "\n");
  if (parsed.message) {
    io::write_text("-", *parsed.message);
    return ExitCode::success;
  }
  ValidateOptions options = parsed.options;
  if (options.measure.run) {
    options.measured = {measure_rows(options)};
    std::cerr << "ddpx-validate: the measured steps are " << options.measured.front() << "\n";
  }
  if (options.measure.torch) {
    const TorchRuns runs = measure_torch_rows(options);
    if (runs.exit_code != 0) return static_cast<ExitCode>(runs.exit_code);
    options.measured = {runs.path};
  }
  const ValidationAnswer answer = validate(options);
  std::vector<io::NamedText> files;
  for (const report::ReportFile& file : answer.files) files.push_back({file.path, file.text});
  io::write_texts(files);
  for (const std::string& line : answer.talk) std::cerr << "ddpx-validate: " << line << "\n";
  if (!answer.text.empty()) io::write_text("-", answer.text);
  return answer.within_tolerance ? ExitCode::success : ExitCode::unmet;
}

}  // namespace

int main(int argc, char** argv) {
  return ddpx::run_program("ddpx-validate", [&] {
    try {
      return run_validate(argc, argv);
    } catch (const Interrupted& interrupted) {
      std::cerr << "ddpx-validate: " << interrupted.what() << "\n";
      return ExitCode::interrupted;
    }
  });
}
