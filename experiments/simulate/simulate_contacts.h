/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What became of the contact problems of a run: how many were solved, by whom, and how well. */
#ifndef PERP_SIMULATE_CONTACTS_H
#define PERP_SIMULATE_CONTACTS_H

#include "experiments/metrics/metrics.h"
#include "models/contact/laws/contact.h"
#include "experiments/base/json.h"

/* The members of "lcp".  problems = solved + reused + swept + failures; by: those solved, by the
 * solver whose answer it is; share: of solved and reused ones (1 where there is no problem). */
void perp_contacts_json(const perp_contact_count *c, perp_json *j);
/* For people, at most 80 columns wide; nothing where there was no problem. */
void perp_contacts_text(const perp_contact_count *c, FILE *out);
/* One line: in how many steps impulses are not unique, and the motion depends on the choice;
 * nothing where they are, and where no contact has friction. */
void perp_solutions_text(const perp_solution_steps *s, FILE *out);

#endif
