#include "predict/answer.hpp"

#include <iostream>
#include <sstream>
#include <string_view>

#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/forecast_json.hpp"
#include "io/forecast_json_link_check.hpp"
#include "io/provenance.hpp"
#include "predict/by_flag.hpp"
#include "predict/diagnose.hpp"
#include "predict/listing.hpp"
#include "predict/request_learned.hpp"
#include "predict/resolve.hpp"
#include "predict/table.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

std::string listing(const Options& options) {
  if (options.list_links) return links_text(io::interconnects());
  std::vector<Machine> machines;
  for (const std::string& name : io::machine_names()) machines.push_back(io::find_machine(name));
  return machines_text(machines);
}

// Names in it are others'.
void say(const std::ostringstream& talk) {
  std::istringstream lines(talk.str());
  for (std::string line; std::getline(lines, line);) std::cerr << printable(line) << "\n";
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    std::cerr << "ddpx-predict: warning: " << printable(warning) << "\n";
}

Answer link_answer(const Options& options) {
  std::ostringstream talk;
  const LinkCheck result = check_link_file(options, resolvers(talk));
  say(talk);
  warn(result.warnings);
  const std::string text = options.json ? io::to_json(result, io::provenance()) : result.text;
  const bool corrupts =
      result.measured && !(result.measured->corrupts.empty() && result.measured->dead.empty());
  return {text,
          corrupts || result.standing == Standing::below ? ExitCode::unmet : ExitCode::success};
}

ForecastDocument document_of(const Options& options, const Resolvers& names) {
  if (options.infer_link) return infer(options, names);
  if (options.diagnose) return diagnose(options, names);
  const Query query = query_from(options, names);
  ForecastDocument document = run(query);
  check_learned(query, document);
  return document;
}

Answer forecast_answer(const Options& options) {
  std::ostringstream talk;  // held back: a failure says one line and no more
  const Resolvers names = resolvers(talk);
  ForecastDocument document;
  bool written = false;
  if (options.csv && !options.infer_link && !options.diagnose) {
    const Query query = query_from(options, names);
    // A plan is the cheapest of all rows, and a validation has to speak of one of them.
    written = !query.plan.asked() && !query.learned;
    document = written ? write_csv(query, [](std::string_view text) { io::write_text("-", text); })
                       : run(query);
    if (!written) check_learned(query, document);
  } else {
    document = document_of(options, names);
  }
  say(talk);
  warn(document.warnings);
  const bool unmet = document.unmet() || (options.deadline && !document.decision->row);
  const ExitCode code = unmet ? ExitCode::unmet : ExitCode::success;
  if (written) return {"", code};
  if (options.json) return {io::to_json(document, io::provenance()), code};
  return {options.csv ? csv_of(document) : text_of(document), code};
}

Answer unnamed(const Options& options) {
  check(options);
  if (options.list_links || options.list_machines) return {listing(options)};
  if (options.check_link) return link_answer(options);
  return forecast_answer(options);
}

}  // namespace

Answer answer(const Options& options) {
  try {
    return unnamed(options);
  } catch (const InputError& error) {
    throw by_flag(error);
  }
}

}  // namespace ddpx
