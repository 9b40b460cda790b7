// How each sampler is made; sampler.h is what users of this room include.
#pragma once

#include <memory>

#include "nadi/sampling/sampler.h"

namespace nadi::inline tuning {

std::unique_ptr<TrialSampler> make_auto_sampler(const SamplerSettings& settings, SearchSpace space);
std::unique_ptr<TrialSampler> make_random_sampler(const SamplerSettings& settings, SearchSpace space);
std::unique_ptr<TrialSampler> make_grid_sampler(const SamplerSettings& settings, SearchSpace space);
std::unique_ptr<TrialSampler> make_quasi_random_sampler(const SamplerSettings& settings, SearchSpace space);
std::unique_ptr<TrialSampler> make_tpe_sampler(const SamplerSettings& settings, SearchSpace space);
std::unique_ptr<TrialSampler> make_univariate_tpe_sampler(const SamplerSettings& settings, SearchSpace space);
std::unique_ptr<TrialSampler> make_cmaes_sampler(const SamplerSettings& settings, SearchSpace space);
std::unique_ptr<TrialSampler> make_gaussian_process_sampler(const SamplerSettings& settings,
                                                            SearchSpace space);

}  // namespace nadi::inline tuning
