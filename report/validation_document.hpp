// The validation report: the verdict first, then what it rests on, then every number.
#pragma once

#include "report/document.hpp"
#include "report/validation_facts.hpp"

namespace ddpx::report {

[[nodiscard]] Document validation_document(const ValidationFacts& facts);

}  // namespace ddpx::report
