/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON of one run: stable keys, %.17g, non-finite numbers as strings. */
#include "experiments/simulate/simulate.h"
#include "experiments/simulate/simulate_contacts.h"

#include <math.h>
#include <string.h>

static void simulate_json_put_text(FILE *out, const char *text)
{
  fputc('"', out);
  for (const unsigned char *s = (const unsigned char *)text; *s != '\0'; s++) {
    if (*s == '"' || *s == '\\')
      fprintf(out, "\\%c", *s);
    else if (*s < 0x20)
      fprintf(out, "\\u%04x", *s);
    else
      fputc(*s, out);
  }
  fputc('"', out);
}

static void put_number(FILE *out, double x)
{
  if (isnan(x))
    fputs("\"nan\"", out);
  else if (isinf(x))
    fputs(x > 0 ? "\"inf\"" : "\"-inf\"", out);
  else
    fprintf(out, "%.17g", x);
}

static void put_array(FILE *out, const double *x, int n)
{
  fputc('[', out);
  for (int i = 0; i < n; i++) {
    if (i > 0) fputs(", ", out);
    put_number(out, x[i]);
  }
  fputc(']', out);
}

typedef struct field {
  const char *key;
  const char *text; /* NULL: a number */
  double number;
} field;

/* "key": { ... } of fields; texts that are empty are left out */
static void put_object(FILE *out, const char *key, const field *f, size_t n)
{
  const char *separator = "";
  fprintf(out, "  \"%s\": {", key);
  for (size_t i = 0; i < n; i++) {
    if (f[i].text != NULL && f[i].text[0] == '\0') continue;
    fputs(separator, out);
    separator = ", ";
    simulate_json_put_text(out, f[i].key);
    fputs(": ", out);
    if (f[i].text != NULL)
      simulate_json_put_text(out, f[i].text);
    else
      put_number(out, f[i].number);
  }
  fputs("},\n", out);
}

/* The "groups" section: counts, and each group at the end. */
static void put_groups(FILE *out, const perp_result *r)
{
  const perp_group_count *c = &r->group_count;
  const field counts[] = {
    { "now", NULL, c->groups },
    { "idle", NULL, c->idle },
    { "max", NULL, c->most },
    { "merges", NULL, (double)c->merges },
    { "splits", NULL, (double)c->splits },
    { "transactions.aborted", NULL, (double)c->aborted },
    { "advances", NULL, (double)c->advanced },
    { "advances.undone", NULL, (double)c->undone },
    { "advances.skipped", NULL, (double)c->skipped },
    { "steps", NULL, (double)c->steps },
    { "rhs.bodies", NULL, (double)c->rhs_bodies },
    { "restart_s", NULL, c->restart_s },
    { "advance_s", NULL, c->advance_s },
  };
  put_object(out, "groups", counts, sizeof counts / sizeof *counts);
  fputs("  \"groups.each\": [", out);
  for (int i = 0; i < c->groups; i++) {
    const perp_group_info *g = &r->groups[i];
    fprintf(out, "%s\n    {\"first\": %d, \"bodies\": %d, \"idle\": %s, \"steps\": %lld, ",
            i > 0 ? "," : "", g->first, g->bodies, g->idle ? "true" : "false", (long long)g->steps);
    fprintf(out, "\"rhs.calls\": %lld, \"h\": ", (long long)g->rhs);
    put_number(out, g->h);
    fputc('}', out);
  }
  fputs("],\n", out);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

void perp_result_json(const perp_result *r, FILE *out)
{
  const field parts[] = {
    { "formulation", r->formulation, 0 },
    { "ode", r->ode, 0 },
    { "kkt", r->kkt, 0 },
    { "lcp", r->lcp, 0 },
    { "stab", r->stab, 0 },
    { "contact", r->contact, 0 },
  };
  const field time[] = {
    { "step_us", NULL, r->step_us },
    { "collision_us", NULL, r->collision_us },
    { "assembly_us", NULL, r->assembly_us },
    { "kkt_us", NULL, r->kkt_us },
    { "lcp_us", NULL, r->lcp_us },
    { "integrate_us", NULL, r->integrate_us },
    { "cpu_s", NULL, r->cpu_s },
    { "wall_s", NULL, r->wall_s },
  };
  const perp_ode_counters *c = &r->ode_count;
  const field counters[] = {
    { "steps", NULL, (double)c->steps },
    { "steps.rejected", NULL, (double)c->rejected },
    { "bisections", NULL, (double)c->bisections },
    { "restarts", NULL, (double)c->restarts },
    { "changed", NULL, (double)c->changed },
    { "rhs.calls", NULL, (double)c->rhs },
    { "ode.iterations", NULL, (double)c->iterations },
    { "h.least", NULL, c->h_least },
    { "h.most", NULL, c->h_most },
    { "kkt.factorizations", NULL, r->kkt_count.factorizations },
    { "kkt.iterations", NULL, r->kkt_count.iterations },
    { "kkt.fallbacks", NULL, r->kkt_count.fallbacks },
  };
  const perp_contact_count *contacts = &r->contact_count;
  const field events[] = {
    { "impacts", NULL, (double)contacts->impacts },
    { "impacts.plastic", NULL, (double)contacts->plastic },
    { "switches", NULL, (double)contacts->switches },
    { "bisections", NULL, (double)c->bisections },
    { "critical", NULL, (double)contacts->critical },
    { "critical.stopped", NULL, (double)contacts->stopped },
  };
  field metrics[PERP_METRICS_MAX];
  for (int i = 0; i < r->n_metrics; i++)
    metrics[i] = (field){ r->metrics[i].name, NULL, r->metrics[i].value };

  char cause[512];
  fprintf(out, "{\n  \"status\": \"%s\",\n  \"reason\": \"%s\",\n  \"partial\": %s,\n",
          perp_result_status_name(r), perp_result_reason(r),
          perp_result_partial(r) ? "true" : "false");
  fputs("  \"message\": ", out);
  simulate_json_put_text(out, perp_result_cause(r, cause, sizeof cause));
  fputs(",\n  \"events\": ", out);
  simulate_json_put_text(out, r->events);
  fputs(",\n  \"scene\": ", out);
  simulate_json_put_text(out, r->scene);
  fputs(",\n", out);
  put_object(out, "parts", parts, COUNT(parts));
  fputs("  \"truth\": ", out);
  simulate_json_put_text(out, r->truth);
  fputs(",\n", out);
  const field published[] = {
    { "source", r->published.what, 0 },
    { "t", NULL, r->published.t },
    { "err.q", NULL, r->published.err_q },
    { "err.v", NULL, r->published.err_v },
  };
  if (r->published.what[0] != '\0') put_object(out, "published", published, COUNT(published));
  fputs("  \"h\": ", out);
  put_number(out, r->h);
  fputs(",\n  \"t_end\": ", out);
  put_number(out, r->t_end);
  fputs(",\n", out);
  put_object(out, "metrics", metrics, (size_t)r->n_metrics);
  put_object(out, "time", time, COUNT(time));
  put_object(out, "counters", counters, COUNT(counters));
  if (r->lcp[0] != '\0') perp_contacts_json(contacts, out);
  if (r->groups != NULL) put_groups(out, r);
  if (contacts->events) put_object(out, "events", events, COUNT(events));
  fputs("  \"final\": {\"t\": ", out);
  put_number(out, r->t);
  fputs(", \"q\": ", out);
  put_array(out, r->q, r->nq);
  fputs(", \"v\": ", out);
  put_array(out, r->v, r->nv);
  fputs(", \"energy\": ", out);
  put_number(out, r->energy);
  fputs("}\n}\n", out);
}
