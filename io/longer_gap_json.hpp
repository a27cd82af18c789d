// What collectives add to the gaps between kernels, by engine, in a machine file.
#pragma once

#include "io/json_reader.hpp"
#include "model/machine.hpp"

namespace ddpx::io {

// longer_gap_s, or the shared_gap_s of earlier fits: the whole gap of a step with collectives,
// whichever engine ran it, of which machine.kernel_gap is taken off, with a note. Throws InputError
// where a file has both. machine.kernel_gap and machine.notes must be set.
void take_longer_gap(const Reader& top, Machine& machine);
// Nothing where neither engine has any.
void append_longer_gap(JsonObject& members, const Machine& machine);

}  // namespace ddpx::io
