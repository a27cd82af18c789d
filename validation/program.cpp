#include "validation/program.hpp"

#include <algorithm>
#include <span>

#include "io/file.hpp"
#include "io/one_line.hpp"
#include "io/provenance.hpp"
#include "io/runs_json.hpp"
#include "io/validation_json.hpp"
#include "model/gpu_type.hpp"
#include "report/html.hpp"
#include "report/terminal.hpp"
#include "report/trace.hpp"
#include "report/validation_document.hpp"
#include "report/validation_words.hpp"
#include "report/words.hpp"
#include "text/page.hpp"
#include "validation/compare.hpp"
#include "validation/prepare.hpp"
#include "validation/resolve.hpp"
#include "validation/summary.hpp"

namespace ddpx {
namespace {

std::vector<Runs> read_runs(const ValidateOptions& options) {
  std::vector<Runs> files;
  for (const std::string& path : options.measured) {
    files.push_back(io::runs_from_json(io::read_text(path), io::shown_path(path)));
  }
  return files;
}

// Runs that say which GPU they are of, and the machine is another's.
std::optional<std::string> of_another_gpu(const Runs& runs, const Machine& machine) {
  const GpuType* judged = gpu_type_of(machine.device);
  for (const auto& [key, value] : runs.context) {
    if (key != "gpu") continue;
    Device device;
    device.name = value;
    const GpuType* ran = gpu_type_of(device);
    if (judged != nullptr && ran != nullptr && judged != ran)
      return "runs " + io::quoted(runs.name) + " are of " + io::quoted(value) + ", and machine " +
             io::quoted(machine.name) + " is " + io::quoted(machine.device.name) +
             ": the error is the distance between the two";
  }
  return std::nullopt;
}

// The measured step as it was traced; without a trace only its length is known and, where it was
// measured, how much of it compute waited.
Timeline measured_timeline(const ComparedRow& row) {
  if (!row.run->timeline.spans.empty()) return row.run->timeline;
  const Seconds step(row.measured.value);
  Timeline timeline;
  timeline.spans.push_back({"measured step", Stream::compute, Seconds{}, step});
  if (const auto share = row.run->measured_communication_share) {
    timeline.spans.push_back({"exposed communication, whenever it was", Stream::communication,
                              step * (1.0 - *share), step});
  }
  return timeline;
}

std::string trace_of(const ComparedRow& row, const Machine& machine, const Link& link,
                     const Network& network) {
  const StepModel model(machine, link, network, row.run->job);
  const std::string name = report::row_name(row);
  return report::chrome_trace(std::vector<report::TracedStep>{
      {"forecast: " + name, model.timeline()}, {"measured: " + name, measured_timeline(row)}});
}

class Answer {
 public:
  Answer(const ValidateOptions& options, const report::ValidationFacts& facts)
      : options_(options), facts_(facts) {}

  void add_reports() {
    if (!options_.markdown && !options_.html) return;
    const report::Document document = report::validation_document(facts_);
    if (options_.markdown) {
      for (report::ReportFile& file : report::markdown(document, *options_.markdown))
        add(std::move(file));
      say("The report is " + *options_.markdown);
    }
    if (options_.html) {
      add({*options_.html, report::html(document)});
      say("The report as a page is " + *options_.html);
    }
  }

  void add_trace(RowResolver& resolver) {
    if (!options_.trace) return;
    const ComparedRow& row = *worst_first(facts_.comparison.rows).front();
    add({*options_.trace,
         trace_of(row, facts_.machine, resolver.link_of(*row.run), resolver.network_of(*row.run))});
    say("The trace is " + *options_.trace +
        ", of the row with the largest error: " + report::row_name(row));
  }

  ValidationAnswer take(bool within) && {
    answer_.within_tolerance = within;
    const bool taken = std::any_of(answer_.files.begin(), answer_.files.end(),
                                   [](const report::ReportFile& file) { return file.path == "-"; });
    if (options_.json) {
      std::vector<std::string> measured;
      for (const Runs& runs : facts_.files) measured.push_back(runs.name);
      answer_.text = io::to_json(
          io::ValidationDocument{facts_.machine.name, measured, facts_.comparison, facts_.notes},
          io::provenance());
    } else if (!taken) {
      answer_.text = report::validation_text(facts_) + where_;
    }
    return std::move(answer_);
  }

 private:
  void add(report::ReportFile file) { answer_.files.push_back(std::move(file)); }
  void say(const std::string& sentence) {
    if (where_.empty()) where_ = "\n";
    where_ += wrapped(sentence + ".", {.rest = 2});
  }

  const ValidateOptions& options_;
  const report::ValidationFacts& facts_;
  ValidationAnswer answer_;
  std::string where_;
};

}  // namespace

ValidationAnswer validate(const ValidateOptions& options) {
  const std::vector<Runs> files = read_runs(options);
  const ResolvedMachine machine = resolve_machine(options, files);
  RowResolver resolver(options, files, machine.machine);
  const Comparison comparison = compare(
      machine.machine, files, [&](const RunRow& row) { return resolver.network_of(row); },
      [&](const RunRow& row) { return resolver.link_of(row); }, ForecastOptions{});
  resolver.check_overrides_used();

  std::vector<std::string> notes = resolver.notes();
  if (!machine.note.empty()) notes.insert(notes.begin(), machine.note);
  for (const Runs& runs : files) {
    if (const auto note = of_another_gpu(runs, machine.machine)) notes.push_back(*note);
    if (of_one_gpu(std::span(&runs, 1)) && !of_one_gpu(files))
      notes.push_back("runs " + io::quoted(runs.name) +
                      " are of one GPU alone and not judged beside runs of several; give them by "
                      "themselves");
  }
  const std::vector<Link> links = resolver.links();
  std::vector<std::string> shown = notes;
  if (const auto note = unlike_this_host(options)) shown.push_back(*note);
  const report::ValidationFacts facts{machine.machine,
                                      files,
                                      links,
                                      comparison,
                                      options.tolerance,
                                      shown,
                                      "ddpx-validate " + io::version()};
  const double median = comparison.summary.median_abs_error;
  const bool within = !options.tolerance || median <= *options.tolerance;
  Answer answer(options, facts);
  answer.add_reports();
  answer.add_trace(resolver);
  ValidationAnswer result = std::move(answer).take(within);
  result.talk = notes;
  if (!within) {
    result.talk.push_back("the median error of " + report::percent(median) +
                          " is outside the tolerance of " + report::percent(*options.tolerance));
  }
  return result;
}

}  // namespace ddpx
