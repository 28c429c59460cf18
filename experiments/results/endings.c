/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/endings.h"

#include "experiments/results/tally.h"
#include "experiments/base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The parameter that the plot names, -1 without. */
static int endings_part(const perp_study *study)
{
  static const char plot[] = "failure-matrix(";
  for (int i = 0; i < study->report.n_plots; i++) {
    const char *text = study->report.plots[i];
    if (strncmp(text, plot, sizeof plot - 1) != 0) continue;
    char key[64];
    text += sizeof plot - 1;
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, ")"), text);
    return perp_kind_param(study->kind, key);
  }
  return -1;
}

/* Was it run, or refused before? */
static bool endings_counts(const perp_record *record)
{
  return record->status != PERP_CELL_PLANNED &&
         (record->status != PERP_CELL_SKIPPED || record->attempt > 0);
}

bool perp_results_endings(perp_results *results, perp_endings *endings)
{
  const perp_study *study = results->study;
  const int part = endings_part(study), scene = perp_kind_param(study->kind, "scene");
  *endings = (perp_endings){ 0 };
  if (part < 0 || scene < 0) return false;
  endings->part = study->kind->params[part].key;
  for (int cell = 0; cell < results->plan.n; cell++) {
    if (!endings_counts(&results->record[cell])) continue;
    perp_names_index(&results->pool, &endings->rows, results->plan.cells[cell].value[part].text,
                     -1);
    perp_names_index(&results->pool, &endings->scenes, results->plan.cells[cell].value[scene].text,
                     -1);
  }
  endings->at = perp_pool_alloc(
      &results->pool, (size_t)endings->rows.n * (size_t)endings->scenes.n + 1, sizeof *endings->at);
  for (int cell = 0; cell < results->plan.n; cell++) {
    const perp_record *record = &results->record[cell];
    if (!endings_counts(record)) continue;
    const int row = perp_names_index(&results->pool, &endings->rows,
                                     results->plan.cells[cell].value[part].text, -1),
              col = perp_names_index(&results->pool, &endings->scenes,
                                     results->plan.cells[cell].value[scene].text, -1);
    perp_ending *to = &endings->at[row * endings->scenes.n + col];
    to->of++;
    if (record->status > to->worst) { /* the statuses are in this order */
      to->worst = record->status;
      to->n = 0;
      to->cell = cell;
    }
    to->n += record->status == to->worst;
  }
  return endings->rows.n > 0;
}

static char endings_letter(const perp_ending *ending)
{
  static const char letters[PERP_CELL_STATUSES] = {
    [PERP_CELL_PLANNED] = ' ',  [PERP_CELL_OK] = '+',       [PERP_CELL_FIXED_WORK] = '+',
    [PERP_CELL_SEVERAL] = 's',  [PERP_CELL_UNSOLVED] = 'u', [PERP_CELL_UNSUITED] = '-',
    [PERP_CELL_DIVERGED] = 'D', [PERP_CELL_MAXITER] = 'M',  [PERP_CELL_TIMEOUT] = 'T',
    [PERP_CELL_OOM] = 'O',      [PERP_CELL_CRASH] = 'C',    [PERP_CELL_SETUP_FAILED] = 'S',
    [PERP_CELL_SKIPPED] = 'R'
  };
  return letters[ending->worst];
}

static void endings_causes(perp_results *results, const perp_endings *endings, FILE *out)
{
  enum { MOST = 4 };
  bool some = false;
  for (int k = 0; k < endings->rows.n * endings->scenes.n; k++)
    some = some || endings->at[k].worst > PERP_CELL_FIXED_WORK;
  if (some) fprintf(out, "\nCauses, with the number of scenes\n");
  for (int row = 0; row < endings->rows.n; row++) {
    perp_tally causes = { 0 };
    for (int thing = row * endings->scenes.n; thing < (row + 1) * endings->scenes.n; thing++) {
      const perp_ending *ending = &endings->at[thing];
      if (ending->worst <= PERP_CELL_FIXED_WORK) continue;
      const perp_record *rec = &results->record[ending->cell];
      const char *cause = rec->cause[0] != '\0' ? rec->cause : rec->reason;
      perp_tally_add(
          &causes,
          perp_pool_printf(
              &results->pool, "%s: %s", perp_cell_status_names[ending->worst],
              ending->worst == PERP_CELL_UNSOLVED && rec->reason[0] != '\0' ? rec->reason : cause),
          thing);
    }
    perp_tally_sort(&causes);
    if (causes.n > 0) perp_wrap(out, 2, endings->rows.text[row]);
    for (int c = 0; c < causes.n && c < MOST; c++)
      perp_wrapf(out, 4, "%d %s", causes.count[c].n, causes.count[c].name);
    if (causes.n > MOST) fprintf(out, "    and %d other causes\n", causes.n - MOST);
    free(causes.count);
  }
}

void perp_endings_print(perp_results *results, const perp_endings *endings, FILE *out)
{
  int name = 8;
  for (int row = 0; row < endings->rows.n; row++)
    name = (int)fmax(name, (double)strlen(endings->rows.text[row]));
  if (name > 32) name = 32;
  const int most = PERP_TABLE_WIDTH - 4 - name;
  fprintf(out, "\nWorst outcome of each %s on each scene\n", endings->part);
  perp_wrap(out, 0,
            "(+ ok, u unsolved problems, - outside the domain of the method, D diverged, M "
            "maxiter, T timeout, O out of memory, C crash, S failed set-up, R refused)");
  for (int from = 0; from < endings->scenes.n; from += most) {
    const int to = from + most < endings->scenes.n ? from + most : endings->scenes.n;
    fprintf(out, "  %-*s  ", name, "");
    for (int c = from; c < to; c++) putc(perp_names_letter(c), out);
    for (int row = 0; row < endings->rows.n; row++) {
      fprintf(out, "\n  %-*.*s  ", name, name, endings->rows.text[row]);
      for (int c = from; c < to; c++)
        putc(endings_letter(&endings->at[row * endings->scenes.n + c]), out);
    }
    putc('\n', out);
    perp_names_legend(out, &endings->scenes, from, to);
  }
  endings_causes(results, endings, out);
}
