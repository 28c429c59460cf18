/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/simulate_contacts.h"

#include "experiments/base/memory.h"
#include "experiments/base/table.h"

#include <math.h>

/* (solved + reused) / all, 1 where there is none. */
static double contacts_share(const perp_contact_count *c)
{
  const int64_t all = c->problems + c->reused;
  return all > 0 ? (double)(c->solved + c->reused) / (double)all : 1;
}

void perp_contacts_json(const perp_contact_count *c, perp_json *j)
{
  perp_json_members(j,
                    "problems %lld, solved %lld, reused %lld, swept %lld, refuted %lld, "
                    "failures %lld",
                    (long long)(c->problems + c->reused), (long long)c->solved,
                    (long long)c->reused, (long long)c->swept, (long long)c->refuted,
                    (long long)c->failures);
  for (int i = 0; i < PERP_REASONS; i++) {
    char key[48];
    snprintf(key, sizeof key, "failures.%s", perp_reason_name((perp_reason)-i));
    if (c->failed[i] != 0) perp_json_int(j, key, c->failed[i]);
  }
  perp_json_real(j, "share", contacts_share(c));
  perp_json_open(j, "by", '{');
  for (int i = 0; i < PERP_SOLVED_BY && c->by[i].name[0] != '\0'; i++)
    perp_json_int(j, c->by[i].name, c->by[i].n);
  perp_json_close(j, '}');
  if (c->coulomb.measured)
    perp_json_members(
        j, "coulomb.violation %g, coulomb.beyond %g, coulomb.missing %g, coulomb.angle %g",
        c->coulomb.violation, c->coulomb.beyond, c->coulomb.missing, c->coulomb.angle);
  perp_json_members(
      j, "residual.max %g, data.max %g, work %g, iterations %lld, again %lld, thrown %lld",
      c->residual, c->data, c->work, (long long)c->iterations, (long long)c->again,
      (long long)c->thrown);
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
  const struct {
    int64_t n;
    const char *what;
  } others[] = { { c->reused, "by the solution of the previous step" },
                 { c->swept, "above the tolerance after the requested sweeps" },
                 { c->refuted, "in discarded evaluations" } };
  for (int i = 0; i < 3; i++) {
    if (others[i].n == 0) continue;
    perp_text_add(&t, "%s%lld %s", comma, (long long)others[i].n, others[i].what);
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
    perp_text_add(&t, "); the best impulses found were used");
  }
  if (isnan(c->residual)) /* schemes that make sweeps, and no problem that could be judged */
    perp_text_add(&t, "; their residual was not measured");
  else
    perp_text_add(&t, "; residual of the impulses at most %.2g, in units of the data %.2g",
                  c->residual, c->data);
  if (c->again > 0)
    perp_text_add(&t, "; %lld of the solved ones were solved once more, more accurately",
                  (long long)c->again);
  if (c->coulomb.measured)
    perp_text_add(&t, "; friction is off Coulomb's law by at most %.2g mu N%s",
                  c->coulomb.violation,
                  c->coulomb.violation > 0.01 ? " (--contact cone --lcp auto follows it)" : "");
  if (c->thrown > 0)
    perp_text_add(&t,
                  "; in %lld, impulses with a smaller residual were rejected because they would "
                  "have thrown bodies",
                  (long long)c->thrown);
  if (c->critical > 0)
    perp_text_add(&t, "; critical contacts, for which no contact forces exist, at %lld state%s: %s",
                  (long long)c->critical, c->critical == 1 ? "" : "s",
                  c->stopped == c->critical ? "their bodies were stopped"
                  : c->stopped > 0          ? "not all of their bodies were stopped"
                                            : "the run ends there");
  if (c->piled > 0)
    perp_text_add(&t, "; events accumulate in %lld step%s; these are of first order",
                  (long long)c->piled, c->piled == 1 ? "" : "s");
  perp_wrap_after(out, "lcp      ", 9, t.s);
  fputc('\n', out);
  perp_text_free(&t);
}

void perp_solutions_text(const perp_solution_steps *s, FILE *out)
{
  perp_text t = { 0 };
  if (s->open + s->chosen + s->undecided == 0) return;
  perp_text_add(&t,
                "impulses not unique in %lld of %lld steps, motion depends on the choice in %lld",
                (long long)s->open, (long long)s->steps, (long long)s->several);
  if (s->chosen > 0)
    perp_text_add(&t, "; the option choice replaced the solution of the solver in %lld",
                  (long long)s->chosen);
  if (s->unexamined > 0)
    perp_text_add(&t, "; in %lld, islands were too large to look for other motions",
                  (long long)s->unexamined);
  if (s->undecided > 0)
    perp_text_add(&t, "; in %lld, the search for another motion failed", (long long)s->undecided);
  perp_wrap_after(out, "choice   ", 9, t.s);
  fputc('\n', out);
  perp_text_free(&t);
}
