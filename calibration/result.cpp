#include "calibration/result.hpp"

#include "calibration/fit.hpp"
#include "calibration/fit_beside.hpp"
#include "calibration/fit_box.hpp"
#include "calibration/fit_links.hpp"
#include "calibration/summary.hpp"
#include "io/content_hash.hpp"
#include "io/link_json.hpp"
#include "io/machine_json.hpp"
#include "io/measurements_json.hpp"
#include "io/provenance.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

// A file that no program reads is of no use to anyone: better none.
std::string readable(std::string text, const std::string& place) {
  try {
    static_cast<void>(io::links_from_json(text, "the links"));
  } catch (const InputError& error) {
    throw InputError(place, "its times give a link that no file may hold (" +
                                std::string(error.what()) +
                                "); measure again, more sizes from 8 B to 1 GiB "
                                "(all_reduce_perf -b 8 -e 1G -f 2)");
  }
  return text;
}

}  // namespace

Fitted fit(const Gathered& gathered, bool every_residual) {
  FitReport report;
  report.notes = gathered.notes;
  const SummaryOptions shown{every_residual};
  FitOptions options;
  options.place = gathered.place;
  if (!gathered.only_links) {
    Machine machine = fit_machine(gathered.measurements, options, report);
    machine.context = gathered.measurements.context;
    machine.measurements_hash = gathered.file_hash.empty()
                                    ? io::content_hash(io::to_json(gathered.measurements))
                                    : gathered.file_hash;
    return {io::to_json(machine), summary_text(machine, report, shown)};
  }
  Machine holder;
  holder.device = gathered.measurements.device;
  fit_links(gathered.measurements, options, holder, report);
  fit_beside(gathered.measurements, holder, report);
  for (std::string& note : box_notes(gathered.measurements))
    report.notes.push_back(std::move(note));
  return {readable(io::to_json(holder.links, io::provenance()), gathered.place),
          summary_text(holder.links, report, shown)};
}

}  // namespace ddpx
