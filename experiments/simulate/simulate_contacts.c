/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/simulate_contacts.h"

#include "experiments/base/util.h"

#include <math.h>

double perp_contacts_share(const perp_contact_count *c)
{
  const int64_t all = c->problems + c->reused;
  return all > 0 ? (double)(c->solved + c->reused) / (double)all : 1;
}

static void contacts_member(FILE *out, const char *key, int64_t n)
{
  fprintf(out, ", \"%s\": %lld", key, (long long)n);
}

static void contacts_number(FILE *out, const char *key, double x)
{
  if (isfinite(x))
    fprintf(out, ", \"%s\": %.17g", key, x);
  else
    fprintf(out, ", \"%s\": \"%s\"", key, isnan(x) ? "nan" : "inf");
}

/* a name as JSON text */
static void contacts_name(FILE *out, const char *s)
{
  fputc('"', out);
  for (; *s != '\0'; s++) {
    if (*s == '"' || *s == '\\') fputc('\\', out);
    fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
  }
  fputc('"', out);
}

void perp_contacts_json(const perp_contact_count *c, FILE *out)
{
  fprintf(out, "  \"lcp\": {\"problems\": %lld", (long long)(c->problems + c->reused));
  contacts_member(out, "solved", c->solved);
  contacts_member(out, "reused", c->reused);
  contacts_member(out, "swept", c->swept);
  contacts_member(out, "refuted", c->refuted);
  contacts_member(out, "failures", c->failures);
  for (int i = 0; i < PERP_REASONS; i++) {
    char key[48];
    if (c->failed[i] == 0) continue;
    snprintf(key, sizeof key, "failures.%s", perp_reason_name((perp_reason)-i));
    contacts_member(out, key, c->failed[i]);
  }
  contacts_number(out, "share", perp_contacts_share(c));
  fputs(", \"by\": {", out);
  for (int i = 0; i < PERP_SOLVED_BY && c->by[i].name[0] != '\0'; i++) {
    if (i > 0) fputs(", ", out);
    contacts_name(out, c->by[i].name);
    fprintf(out, ": %lld", (long long)c->by[i].n);
  }
  fputs("}", out);
  contacts_number(out, "residual.max", c->residual);
  contacts_number(out, "data.max", c->data);
  contacts_member(out, "iterations", c->iterations);
  contacts_member(out, "retries", c->retries);
  contacts_member(out, "thrown", c->thrown);
  fputs("},\n", out);
}

void perp_contacts_text(const perp_contact_count *c, FILE *out)
{
  const long long all = (long long)(c->problems + c->reused);
  perp_text t = { 0 };
  if (all == 0) return;
  perp_text_add(&t, "%lld problem%s: ", all, all == 1 ? "" : "s");
  const char *comma = "";
  for (int i = 0; i < PERP_SOLVED_BY && c->by[i].name[0] != '\0'; i++) {
    perp_text_add(&t, "%s%lld solved by %s", comma, (long long)c->by[i].n, c->by[i].name);
    comma = ", ";
  }
  if (c->reused > 0) {
    perp_text_add(&t, "%s%lld by the answer of the step before", comma, (long long)c->reused);
    comma = ", ";
  }
  if (c->swept > 0) {
    perp_text_add(&t, "%s%lld left by the sweeps asked for", comma, (long long)c->swept);
    comma = ", ";
  }
  if (c->refuted > 0) {
    perp_text_add(&t, "%s%lld given up, shown to have no solution", comma, (long long)c->refuted);
    comma = ", ";
  }
  if (c->failures > 0) {
    perp_text_add(&t, "%s%lld not solved (", comma, (long long)c->failures);
    comma = "";
    for (int i = 0; i < PERP_REASONS; i++) {
      if (c->failed[i] == 0) continue;
      perp_text_add(&t, "%s%lld %s", comma, (long long)c->failed[i],
                    perp_reason_name((perp_reason)-i));
      comma = ", ";
    }
    perp_text_add(&t, "): the best impulses found were used");
  }
  perp_text_add(&t, "; of all impulses used, residual at most %.2g, in units of the data %.2g",
                c->residual, c->data);
  if (c->thrown > 0)
    perp_text_add(&t, "; %lld had impulses nearer to a solution that would have thrown bodies",
                  (long long)c->thrown);
  if (c->critical > 0)
    perp_text_add(&t, "; critical contacts, which no forces satisfy, at %lld state%s: %s",
                  (long long)c->critical, c->critical == 1 ? "" : "s",
                  c->stopped == c->critical ? "their bodies were stopped"
                  : c->stopped > 0          ? "not all of their bodies were stopped"
                                            : "the run ends there");
  perp_wrap_after(out, "lcp      ", 9, t.s);
  fputc('\n', out);
  perp_text_free(&t);
}
