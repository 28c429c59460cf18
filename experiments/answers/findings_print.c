/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings on a terminal: those that lead, the figure on top, the others, and how they are known.
 */
#include "experiments/answers/findings.h"
#include "experiments/answers/headline.h"
#include "experiments/base/table.h"

void perp_findings_print(const perp_ctx *ctx, perp_results *results, bool plot, FILE *out)
{
  const perp_finding *list;
  const int n = perp_results_findings(ctx, results, &list);
  int lead = 0;
  putc('\n', out);
  for (; lead < n && list[lead].lead; lead++) perp_wrap_after(out, "* ", 2, list[lead].text);
  if (plot) perp_headline_print(ctx, results, out);
  if (lead > 0 && lead < n) putc('\n', out);
  for (int i = lead; i < n; i++) perp_wrap_after(out, "* ", 2, list[i].text);
  if (n > 0) fputs("\nHow we know\n", out);
  for (int i = 0; i < n; i++)
    if (list[i].basis[0] != '\0') perp_wrap(out, 2, list[i].basis);
}
