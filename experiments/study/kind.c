/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/kind.h"

#include <string.h>

const char *const perp_cell_status_names[] = {
  "planned",  "ok",       "fixed-work", "several solutions",
  "unsolved", "unsuited", "diverged",   "maxiter",
  "timeout",  "oom",      "crash",      "setup-failed",
  "skipped",  NULL
};

perp_cell_status perp_cell_status_of(const char *name)
{
  int i = 0;
  while (i < PERP_CELL_STATUSES && strcmp(perp_cell_status_names[i], name) != 0) i++;
  return (perp_cell_status)i;
}

bool perp_cell_infrastructure(perp_cell_status status)
{
  return status == PERP_CELL_OOM || status == PERP_CELL_CRASH || status == PERP_CELL_SETUP_FAILED;
}

perp_cell_status perp_cell_failed(perp_status status)
{
  return status == PERP_ERR_NOMEM                                   ? PERP_CELL_OOM
         : status == PERP_ERR_EXTERNAL || status == PERP_ERR_RAISED ? PERP_CELL_CRASH
                                                                    : PERP_CELL_SETUP_FAILED;
}

bool perp_cell_whole(perp_cell_status status)
{
  return status == PERP_CELL_OK || status == PERP_CELL_FIXED_WORK || status == PERP_CELL_SEVERAL ||
         status == PERP_CELL_UNSOLVED;
}

bool perp_cell_timed(const perp_cell_kind *kind, perp_cell_status status)
{
  return status == PERP_CELL_OK || (perp_cell_whole(status) && kind->runs);
}

void perp_outcome_add(perp_outcome *outcome, const char *name, double value)
{
  for (int i = 0; i < outcome->n; i++)
    if (strcmp(outcome->value[i].name, name) == 0) {
      outcome->value[i].value = value;
      return;
    }
  if (outcome->n == PERP_OUTCOME_VALUES) return;
  snprintf(outcome->value[outcome->n].name, sizeof outcome->value[outcome->n].name, "%s", name);
  outcome->value[outcome->n++].value = value;
}

int perp_kind_params(const perp_cell_kind *kind)
{
  int n = 0;
  while (kind->params[n].type != PERP_PARAM_END) n++;
  return n;
}

int perp_kind_param(const perp_cell_kind *kind, const char *key)
{
  for (int param = 0; kind->params[param].type != PERP_PARAM_END; param++)
    if (strcmp(kind->params[param].key, key) == 0) return param;
  return -1;
}

static const perp_cell_kind *const none[] = { NULL };
static const perp_cell_kind *const *registered = none;

void perp_register_kinds(const perp_cell_kind *const *kinds)
{
  registered = kinds;
}

const perp_cell_kind *const *perp_registered_kinds(void)
{
  return registered;
}
