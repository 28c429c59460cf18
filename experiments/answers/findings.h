/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a study found, in sentences that stand alone: the first thing that terminal, page, LaTeX and
 * JSON say.  Made from the answers (answers.h) and the analysis of variance (explain.h). */
#ifndef PERP_FINDINGS_H
#define PERP_FINDINGS_H

#include "experiments/answers/finding.h"

/* The findings of a results folder, the most telling first; all memory is of the pool of results,
 * which keeps them. */
int perp_results_findings(const perp_ctx *ctx, perp_results *results, const perp_finding **list);
/* What explains the primary metric, then time, where something can: shares [2] out; their number.
 */
int findings_shares(const perp_ctx *ctx, perp_results *results, answers_explained *shares[2]);
/* As text: those that lead, with plot the figure on top in letters (headline.h), the others, and
 * what they rest on. */
void perp_findings_print(const perp_ctx *ctx, perp_results *results, bool plot, FILE *out);
/* Members `findings`, `shares`, `constant` and `floor` of an object (docs/reference/report.md). */
void perp_findings_json(const perp_ctx *ctx, perp_results *results, perp_json *json);

#endif
