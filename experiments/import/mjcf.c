/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sections of a scene are written with: lines of what is lost, names, numbers, places. */
#include "experiments/import/mjcf_model.h"
#include "experiments/base/json.h"
#include "solvers/core/core.h"

#include <stdarg.h>
#include <string.h>

void perp_mj_lost(perp_mj *mj, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text_add(&mj->to->said, "lost: ");
  perp_text_vadd(&mj->to->said, fmt, ap);
  perp_text_add(&mj->to->said, "\n");
  mj->to->lost++;
  va_end(ap);
}

void perp_mj_note(perp_mj *mj, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text_add(&mj->to->said, "note: ");
  perp_text_vadd(&mj->to->said, fmt, ap);
  perp_text_add(&mj->to->said, "\n");
  va_end(ap);
}

void perp_mj_refuse(perp_mj *mj, const char *hint, const char *fmt, ...)
{
  va_list ap;
  if (mj->to->error.n > 0) return; /* the first one says it */
  va_start(ap, fmt);
  perp_text_vadd(&mj->to->error, fmt, ap);
  perp_text_add(&mj->to->hint, "%s", hint);
  va_end(ap);
}

/* ---- words ---- */

const char *perp_mj_name(perp_mj *mj, mjtObj type, const char *kind, int id)
{
  const char *name = mj_id2name(mj->m, (int)type, id);
  if (name == NULL || name[0] == '\0') return perp_pool_printf(&mj->pool, "%s %d", kind, id);
  char *s = perp_pool_strdup(&mj->pool, name);
  for (char *c = s; *c != '\0'; c++) /* braces hold expressions in a scene */
    if (*c == '{' || *c == '}' || (unsigned char)*c < ' ') *c = '_';
  return s;
}

const char *perp_mj_fresh(perp_mj *mj, perp_names *names, const char *name)
{
  const char *s = name;
  if (strspn(s, "0123456789") == strlen(s) || strcmp(s, "world") == 0)
    s = perp_pool_printf(&mj->pool, "b_%s", s);
  for (int before = names->n; perp_names_index(&mj->pool, names, s, -1) < before;)
    s = perp_pool_printf(&mj->pool, "%s_", s);
  return s;
}

void perp_mj_digits(perp_mj *mj, double v)
{
  char text[40];
  perp_format_real(v, text, sizeof text);
  fputs(text, mj->out);
}

void perp_mj_vector(perp_mj *mj, const char *key, int n, const double *v)
{
  fprintf(mj->out, ", %s: [", key);
  for (int i = 0; i < n; i++) {
    if (i > 0) fputs(", ", mj->out);
    perp_mj_digits(mj, v[i]);
  }
  fputs("]", mj->out);
}

void perp_mj_number(perp_mj *mj, const char *key, double v)
{
  fprintf(mj->out, ", %s: ", key);
  perp_mj_digits(mj, v);
}

void perp_mj_body(perp_mj *mj, const char *key, int body)
{
  fprintf(mj->out, ", %s: ", key);
  if (mj->root[body] == 0)
    fputs("world", mj->out);
  else
    perp_write_quoted(mj->out, mj->body[mj->root[body]]);
}

void perp_mj_local(const perp_mj *mj, int body, bool place, const double p[3], double s[3])
{
  const int r = mj->root[body];
  double d[3];
  memcpy(s, p, 3 * sizeof *s);
  if (r == 0) return;
  for (int i = 0; i < 3; i++) d[i] = p[i] - (place ? mj->d->xpos[3 * r + i] : 0);
  mju_rotVecMatT(s, d, mj->d->xmat + 9 * r);
  for (int i = 0; i < 3 && place; i++) s[i] -= mj->com[3 * r + i];
}

bool perp_mj_disabled(const perp_mj *mj, int bit)
{
  return (mj->m->opt.disableflags & bit) != 0;
}
