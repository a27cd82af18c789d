// What is odd about a diagnosed run besides its verdict. Of diagnose.cpp.
#pragma once

#include "predict/request_diagnose.hpp"
#include "predict/result.hpp"

namespace ddpx {

// Adds to result.notes: suspect points, equal walls, ranks that do other work than one GPU did,
// counts that need different links. After the diagnosis.
void add_notes(const MeasuredRun& run, DiagnosedRun& result);

}  // namespace ddpx
