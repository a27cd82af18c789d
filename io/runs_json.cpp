#include "io/runs_json.hpp"

#include <stdexcept>

#include "io/job_json.hpp"
#include "io/one_line.hpp"
#include "io/operation_json.hpp"
#include "io/schema.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

Engine engine_of(Origin origin) {
  return origin == Origin::native ? Engine::native : Engine::torch;
}

Job job_of(const Reader& from) {
  Job job;
  job.gpus = from.at("gpus").integer(1, kMostRanks);
  // Left out, they are what ddpx-predict takes them for.
  if (const auto strategy = from.find("strategy")) job.strategy = strategy_of(*strategy);
  if (const auto scaling = from.find("scaling")) job.scaling = scaling_of(*scaling);
  if (const auto dtype = from.find("dtype")) job.dtype = dtype_of(*dtype);
  if (const auto optimizer = from.find("optimizer")) job.optimizer = optimizer_of(*optimizer);
  if (const auto graphs = from.find("graphs")) job.graphs = graphs->boolean();
  const Reader batch = from.at("batch_per_rank");
  job.batch_per_rank = batch.whole();
  if (job.scaling == Scaling::strong && job.batch_per_rank < job.gpus) {
    batch.refuse_value(
        "under strong scaling the batch of one GPU, at least one sample for each of " +
        std::to_string(job.gpus) + " ranks");
  }
  return job;
}

Timeline timeline_of(const Reader& from) {
  Timeline timeline;
  for (const Reader& element : from.filled()) {
    element.only({"name", "stream", "start_s", "end_s"});
    Span span;
    span.name = element.at("name").label();
    span.stream =
        element.at("stream").one_of({Stream::compute, Stream::communication, Stream::host});
    span.start = Seconds(element.at("start_s").non_negative());
    span.end = Seconds(element.at("end_s").non_negative());
    if (span.end < span.start) element.at("end_s").refuse_value("a time from start_s on");
    timeline.spans.push_back(std::move(span));
  }
  return timeline;
}

JsonArray timeline_json(const Timeline& timeline) {
  JsonArray spans;
  for (const Span& span : timeline.spans) {
    JsonObject members;
    members.emplace_back("name", span.name);
    members.emplace_back("stream", name(span.stream));
    members.emplace_back("start_s", span.start.value());
    members.emplace_back("end_s", span.end.value());
    spans.emplace_back(std::move(members));
  }
  return spans;
}

// What was run.
RunRow work_of(const Reader& from) {
  from.only({"network", "gpus", "link", "strategy", "scaling", "dtype", "optimizer",
             "batch_per_rank", "graphs", "engine", "processes", "device_busy_share",
             "communication_share", "timeline", "note", "context"});
  RunRow row;
  row.network = from.at("network").label();
  row.job = job_of(from);
  return row;
}

RunRow run_row_of(const Reader& from) {
  RunRow row = work_of(from);
  row.link = row.job.gpus > 1 ? from.at("link").label() : text_or_empty(from, "link");
  for (const Reader& process : from.at("processes").filled()) {
    process.only({"step_times_s"});
    row.processes.push_back({process.at("step_times_s").all_positive(kMeasuredTime)});
  }
  if (const auto share = from.find("device_busy_share")) row.device_busy_share = share->share();
  if (const auto share = from.find("communication_share")) {
    row.measured_communication_share = share->share();
  }
  if (const auto timeline = from.find("timeline")) row.timeline = timeline_of(*timeline);
  row.note = text_or_empty(from, "note");
  if (const auto context = from.find("context")) row.context = context->pairs();
  return row;
}

JsonObject row_json(const RunRow& row, Origin origin) {
  if (row.job.engine != engine_of(origin)) {
    throw std::logic_error("a row's engine does not fit the origin of its runs");
  }
  JsonArray processes;
  for (const RunProcess& process : row.processes) {
    JsonObject members;
    members.emplace_back("step_times_s", array_json(process.step_times_s));
    processes.emplace_back(std::move(members));
  }
  JsonObject members;
  members.emplace_back("network", row.network);
  append_job(members, row.job, row.link, row.job.batch_per_rank);
  members.emplace_back("engine", name(origin));
  members.emplace_back("processes", std::move(processes));
  if (row.device_busy_share) members.emplace_back("device_busy_share", *row.device_busy_share);
  if (row.measured_communication_share) {
    members.emplace_back("communication_share", *row.measured_communication_share);
  }
  if (!row.timeline.spans.empty()) members.emplace_back("timeline", timeline_json(row.timeline));
  if (!row.note.empty()) members.emplace_back("note", row.note);
  if (!row.context.empty()) members.emplace_back("context", pairs_json(row.context));
  return members;
}

}  // namespace

Runs runs_from_json(std::string_view text, std::string_view place) {
  const Document document = open_document(text, place, kRunsSchema);
  const Reader top(document);
  Runs runs;
  runs.context = context_of(document, {"name", "source", "rows", "notes"});
  runs.name = top.at("name").label();
  runs.source = text_or_empty(top, "source");
  for (const Reader& element : top.at("rows").filled()) {
    runs.rows.push_back(run_row_of(element));
    const Reader engine = element.at("engine");
    const auto origin = engine.one_of({Origin::native, Origin::torch, Origin::imported});
    if (runs.rows.size() > 1 && origin != runs.origin) {
      engine.refuse_value("one engine per file, and earlier rows are of " +
                          std::string(name(runs.origin)) + "; split the file");
    }
    runs.origin = origin;
    runs.rows.back().job.engine = engine_of(origin);
  }
  if (const auto notes = top.find("notes")) runs.notes = notes->texts();
  return runs;
}

std::vector<RunRow> work_from_json(std::string_view text, std::string_view place) {
  const Document document = open_document(text, place, kRunsSchema);
  const Reader top(document);
  static_cast<void>(context_of(document, {"name", "source", "rows", "notes"}));
  std::vector<RunRow> rows;
  for (const Reader& element : top.at("rows").filled()) {
    rows.push_back(work_of(element));
    rows.back().link = text_or_empty(element, "link");
    rows.back().job.engine = Engine::native;
  }
  return rows;
}

std::string to_json(const Runs& runs) {
  JsonArray rows;
  for (const RunRow& row : runs.rows) rows.emplace_back(row_json(row, runs.origin));
  JsonObject members = opening(kRunsSchema, runs.context);
  members.emplace_back("name", runs.name);
  members.emplace_back("source", runs.source);
  members.emplace_back("rows", std::move(rows));
  members.emplace_back("notes", array_json(runs.notes));
  return print(std::move(members));
}

}  // namespace ddpx::io
