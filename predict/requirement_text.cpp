#include "predict/requirement_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "predict/text.hpp"
#include "predict/words.hpp"

namespace ddpx {
namespace {

std::string with_unit(Metric metric, const std::string& number) {
  return number + (metric == Metric::speedup ? "x" : " %");
}

double shown_scale(Metric metric) { return metric == Metric::speedup ? 1 : 100; }

std::string digits(double value, int count) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", count, value);
  return text;
}

// As it was asked for, not rounded to another requirement.
std::string required_text(const Requirement& r) {
  return with_unit(r.metric, digits(r.value * shown_scale(r.metric), 10));
}

// With as many digits as keep the value on its side of what is required; what no digit tells from
// it without meeting it is a tie.
std::string metric_text(const Requirement& r, double value) {
  const double shown = value * shown_scale(r.metric);
  const auto kept = [&](const std::string& text) {
    return r.met_by(std::strtod(text.c_str(), nullptr) / shown_scale(r.metric)) == r.met_by(value);
  };
  std::string text = three_digits(shown);
  for (int count = 4; count <= 9 && !kept(text); ++count) text = digits(shown, count);
  if (!kept(text)) return with_unit(r.metric, three_digits(shown)) + " (a tie)";
  return with_unit(r.metric, text);
}

std::string asked(const Requirement& requirement) {
  const bool share = requirement.metric == Metric::communication_share;
  std::string noun(name(requirement.metric));
  if (share) noun = "communication share";
  return noun + (share ? " of at most " : " of at least ") + required_text(requirement);
}

constexpr const char* kDoesNotFit = " (does not fit)";

constexpr int kLinkDigits = 6;  // as many as keep a link fed back on its side of a jump

// To kLinkDigits, up or down.
double rounded(double value, bool up) {
  const double digit = std::pow(10, std::floor(std::log10(value)) - (kLinkDigits - 1));
  constexpr double kSlack = 1e-9;  // of a value that has no more digits
  const double steps = value / digit;
  return (up ? std::ceil(steps - kSlack) : std::floor(steps + kSlack)) * digit;
}

std::string value_text(const UnknownRow& row, double value) {
  switch (row.unknown) {
    case Unknown::link_bandwidth:
      return rate_text(BytesPerSecond(value));
    case Unknown::link_latency:
      return time_text(Seconds(value));
    default:
      return row.what == "parameters" ? amount_text(value) : count_text(value);
  }
}

// The end of what meets a requirement, from which on up, or down to which: a link's is rounded to
// the side that meets it.
std::string end_text(const UnknownRow& row, double value, bool at_least) {
  switch (row.unknown) {
    case Unknown::link_bandwidth:
      return rate_text(BytesPerSecond(rounded(value, at_least)), kLinkDigits);
    case Unknown::link_latency:
      return time_text(Seconds(rounded(value, at_least)), kLinkDigits);
    default:
      return value_text(row, value);
  }
}

bool scales_link(const UnknownRow& row) {
  return row.unknown == Unknown::link_bandwidth || row.unknown == Unknown::link_latency;
}

std::string needed_text(const UnknownRow& row, bool with_ratio) {
  const Solution& s = row.solution;
  if (s.outcome == Outcome::never) return "no value";
  if (s.outcome == Outcome::always) return "any value";
  return std::string(s.at_least ? "at least " : "at most ") + end_text(row, s.value, s.at_least) +
         (with_ratio && scales_link(row) ? " (x" + digits(s.value / row.now, 3) + ")" : "") +
         (row.fits || scales_link(row) ? "" : kDoesNotFit);
}

// All that meets it, where that is not one side of the boundary shown: "up to 8, 12 to 16 and from
// 24 on".
std::string ranges_text(const UnknownRow& row) {
  const std::vector<MetRange>& ranges = row.solution.ranges;
  if (ranges.empty() || (ranges.size() == 1 && !(ranges[0].from && ranges[0].to))) return "";
  std::string text = "- " + row.what + ": met ";
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0) text += i + 1 == ranges.size() ? " and " : ", ";
    const auto& [from, to] = ranges[i];
    if (!from) {
      text += "up to " + end_text(row, *to, false);
    } else if (!to) {
      text += "from " + end_text(row, *from, true) + " on";
    } else if (*from == *to) {
      text += "at " + value_text(row, *from);
    } else {
      text += "from " + end_text(row, *from, true) + " to " + end_text(row, *to, false);
    }
  }
  return wrapped(text + ".", {.rest = 2});
}

// Where no value gives what is required, for the metric jumps past it.
std::string jump_text(const UnknownRow& row, const Requirement& requirement) {
  const Solution& s = row.solution;
  const bool whole = !scales_link(row) && row.what != "parameters";
  if (whole || !s.jumps(requirement)) return "";
  return wrapped("- " + row.what + ": jumps there, from " + metric_text(requirement, s.beyond) +
                     " just " + (s.at_least ? "below" : "above") + ".",
                 {.rest = 2});
}

std::string flags_text(const UnknownRow& row, const Requirement& requirement) {
  if (row.flags.empty()) return "";
  const std::string what = scales_link(row) ? row.what + " of a link by two figures: "
                                            : row.what + " " + value_text(row, row.solution.value) +
                                                  ", the step in proportion: ";
  return wrapped("- " + what + row.flags + " (" + metric_text(requirement, row.flags_reached) + ")",
                 {.rest = 2});
}

// A model known by its step alone grows and shrinks with it: said where no flags say it.
std::string proportion_text(const RequirementRow& row) {
  bool scaled = false;
  const auto look = [&](const UnknownRow& unknown) {
    scaled = scaled || unknown.what == "parameters";
    return unknown.what != "parameters" || unknown.flags.empty();
  };
  bool unsaid = true;
  for (const UnknownRow& unknown : row.unknowns) unsaid = look(unknown) && unsaid;
  if (row.crossing) unsaid = look(*row.crossing) && unsaid;
  if (!scaled || !unsaid) return "";
  return wrapped("- parameters: with the measured step in proportion to them.", {.rest = 2});
}

std::string reached_text(const UnknownRow& row, const Requirement& requirement, bool where) {
  std::string reached = metric_text(requirement, row.solution.reached);
  if (row.solution.outcome != Outcome::never) return reached;
  return "best " + reached + (where ? " at " + value_text(row, row.solution.value) : "") +
         (row.fits || scales_link(row) ? "" : kDoesNotFit);
}

std::string useful_text(const RequirementRow& row) {
  const auto count = [&](int units) { return std::to_string(units * row.gpus_step); };
  const UsefulGpus& u = *row.useful;
  const std::string unit = row.gpus_step > 1 ? "node" : "GPU";
  if (u.most == 1)
    return "No number of " + unit + "s looked at raises throughput above one " + unit + "'s.";
  std::string text =
      (u.dips ? "Throughput is highest on " : "Throughput rises up to ") + count(u.most) + " GPUs";
  if (u.most_is_last) text += ", the most looked at";
  if (u.most_is_last && !row.gpus_note.empty()) text += " (" + row.gpus_note + ")";
  if (u.dips) text += ", with dips on the way";
  if (u.half == 1)
    return text + "; already the second " + unit +
           " adds less than half of what the first one does.";
  return text + "; up to " + count(u.half) + " each further " + unit +
         " adds at least half of what the first one does.";
}

// Of which one can be looked at: a width, a number of parameters.
std::string one_of(const UnknownRow& row) {
  return row.what == "parameters" ? "number of parameters"
         : row.what == "hidden"   ? "hidden size"
                                  : row.what;
}

std::string crossing_text(const UnknownRow& row) {
  const Solution& s = row.solution;
  if (s.outcome == Outcome::always)
    return "Another GPU pays at every " + one_of(row) + " looked at.";
  if (s.outcome == Outcome::never)
    return "At no " + one_of(row) + " looked at does another GPU pay: at best " +
           metric_text({Metric::speedup, 1}, s.reached) + " at " + value_text(row, s.value) + ".";
  const std::string value = value_text(row, s.value);
  return std::string("Another GPU pays ") + (s.at_least ? "from " : "up to ") +
         (row.what == "parameters" ? value + " parameters"
                                   : row.what + " " + value + " (" +
                                         amount_text(row.parameters.value_or(0)) + " parameters)") +
         ".";
}

// Where a line would be too long, where the best is reached gives way first, then a link's ratio.
std::string unknowns_text(const RequirementRow& row) {
  const auto made = [&](bool where, bool with_ratio) {
    TextTable table({{"what", true}, {"now"}, {"needed", true}, {"then", true}});
    for (const UnknownRow& unknown : row.unknowns) {
      table.add({unknown.what, value_text(unknown, unknown.now), needed_text(unknown, with_ratio),
                 reached_text(unknown, row.requirement, where)});
    }
    return table;
  };
  for (const bool where : {true, false}) {
    if (const TextTable table = made(where, true); table.width() <= kColumns) return table.text();
  }
  return made(false, false).text();
}

}  // namespace

std::string requirement_text(const ForecastDocument& document, const RequirementRow& row) {
  const Job& job = row.of.job;
  const std::string what = asked(row.requirement);
  std::string text = (what.starts_with('e') ? "An " : "A ") + what + " on " +
                     setting_text(job.gpus, document.device, row.of.link) + ", training " +
                     printable(row.of.network) + " at batch " + count_text(job.batch_per_rank) +
                     (job.scaling == Scaling::strong ? " of all ranks" : " per rank") + " with " +
                     describe(job.strategy) + ": it is " + metric_text(row.requirement, row.now) +
                     " now. ";
  text += row.can_be_met() ? "Each line alone, all else as it is:"
                           : "Nothing alone can meet it; the best each could do:";
  text = wrapped(text) + "\n";
  text += unknowns_text(row) + "\n";
  for (const UnknownRow& unknown : row.unknowns)
    text += ranges_text(unknown) + jump_text(unknown, row.requirement) +
            flags_text(unknown, row.requirement);
  const bool scaled =
      std::any_of(row.unknowns.begin(), row.unknowns.end(), [](const UnknownRow& u) {
        return scales_link(u) && u.solution.outcome == Outcome::boundary;
      });
  // A link by figures has its comma: it is what the flags say.
  if (scaled && row.of.nodes > 1) {
    const bool alone = row.of.nodes == job.gpus;  // in its node
    text += wrapped("xN: the link" + std::string(alone ? "" : "s within nodes and") + " between " +
                    (alone ? "nodes" : "them, both") + " with " + (alone ? "its" : "their") +
                    " curves scaled by N; figures are of an all-reduce over all ranks.");
  } else if (scaled && row.of.link.find(',') == std::string::npos) {
    text += wrapped("xN: this link with its curves scaled by N.");
  }
  if (row.useful) text += wrapped(useful_text(row));
  if (row.crossing)
    text += wrapped(crossing_text(*row.crossing)) + ranges_text(*row.crossing) +
            flags_text(*row.crossing, {Metric::speedup, 1});
  text += proportion_text(row);
  for (const std::string& left : row.left_out)
    text += wrapped("- not varied: " + printable(left), {.rest = 2});
  return text;
}

}  // namespace ddpx
