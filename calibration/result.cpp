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

namespace ddpx {

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
  return {io::to_json(holder.links, io::provenance()), summary_text(holder.links, report, shown)};
}

}  // namespace ddpx
