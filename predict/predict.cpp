// ddpx-predict: answers whether another GPU pays, from the model alone.
#include <iostream>
#include <sstream>

#include "cli/program.hpp"
#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/forecast_json.hpp"
#include "io/forecast_json_link_check.hpp"
#include "io/provenance.hpp"
#include "predict/diagnose.hpp"
#include "predict/listing.hpp"
#include "predict/options.hpp"
#include "predict/resolve.hpp"
#include "predict/table.hpp"
#include "predict/text.hpp"

namespace {

using namespace ddpx;

std::string listing(const Options& options) {
  if (options.list_links) return links_text(io::interconnects());
  std::vector<Machine> machines;
  for (const std::string& name : io::machine_names()) machines.push_back(io::find_machine(name));
  return machines_text(machines);
}

struct Answer {
  std::string text;
  ExitCode code = ExitCode::success;
};

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    std::cerr << "ddpx-predict: warning: " << warning << "\n";
}

Answer link_answer(const Options& options) {
  std::ostringstream talk;
  const LinkCheck result = check_link_file(options, resolvers(talk));
  std::cerr << talk.str();
  warn(result.warnings);
  const std::string text = options.json ? io::to_json(result, io::provenance()) : result.text;
  return {text, result.standing == Standing::below ? ExitCode::unmet : ExitCode::success};
}

ForecastDocument document_of(const Options& options, const Resolvers& names) {
  if (options.infer_link) return infer(options, names);
  return options.diagnose ? diagnose(options, names) : run(query_from(options, names));
}

Answer forecast_answer(const Options& options) {
  std::ostringstream talk;  // held back: a failure says one line and no more
  const Resolvers names = resolvers(talk);
  const ForecastDocument document = document_of(options, names);
  std::cerr << talk.str();
  warn(document.warnings);
  const bool unmet = document.unmet() || (options.deadline && !document.decision->row);
  const ExitCode code = unmet ? ExitCode::unmet : ExitCode::success;
  if (options.json) return {io::to_json(document, io::provenance()), code};
  return {options.csv ? csv_of(document) : text_of(document), code};
}

Answer answer(const Options& options) {
  check(options);
  if (options.list_links || options.list_machines) return {listing(options)};
  if (options.check_link) return link_answer(options);
  return forecast_answer(options);
}

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
