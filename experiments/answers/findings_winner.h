/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings that answer questions: who is best, and by how much. */
#ifndef PERP_FINDINGS_WINNER_H
#define PERP_FINDINGS_WINNER_H

#include "experiments/answers/finding.h"

/* What the questions of the study, or those assumed, come to; and, where none of them compares the
 * factor that matters most (NULL: none does), who is best of its levels. */
void findings_answers(struct writing *w, const answers_factor *factor);

#endif
